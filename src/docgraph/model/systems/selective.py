"""Selective (Maruf et al. 2019): sparse attention over all other sentences of the document, then over their words.

As there, what is read are the states of Base; the key of a sentence is made from the mean of its words. The weight of a
word is that of its sentence times its own in the sentence: most sentences and most words weigh exactly nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from docgraph.model.attention import unmask_empty_rows
from docgraph.model.batch import DocumentBatch
from docgraph.model.context_attention import FeedForwardSite
from docgraph.model.memory import Layout, Memory, Queries, SlotMemory, copied
from docgraph.model.packing import Packing, pad_rows
from docgraph.model.systems import context_encoder
from docgraph.model.systems.base_states import BaseStatesContext
from docgraph.model.systems.hm_gdc import sentence_means
from docgraph.model.systems.sparsemax import sparsemax

if TYPE_CHECKING:  # it needs Triton
    from docgraph.model.gpu.two_level_attention import TwoLevelLayout

CELLS = 1 << 26
"""Weights of words held at once."""
LOOK_FIRST = ("cpu",)
"""Devices that leave the words of sentences alone which weigh nothing, as most do: that halves the time of a CPU, while
on a GPU the host would have to wait to learn which."""


@dataclass(frozen=True, eq=False)
class TwoLevelMemory(Memory):
    """The words of the sentences of D documents, T in each of M sentences, and the sentences."""

    sentences: SlotMemory
    slots: Tensor
    """[D, M * T] int64: the state of each word."""
    words: Tensor
    """[D, M, T] bool: whether there is a word."""
    places: Tensor
    """[R] int64: the place (d * M * T + m * T + t) of each state."""
    packed: bool = False
    """Whether keys and values of words are read where they are, [R, h, e], by kernels."""

    def layout(self, queries: Queries) -> Layout | TwoLevelLayout:
        layout = self.sentences.written_out(queries)
        if not queries.through_kernels(self.states):
            return layout
        from docgraph.model.gpu.two_level_attention import TwoLevelLayout

        begins, lengths = self.slots.view(self.words.shape)[:, :, 0], self.words.sum(-1)
        return TwoLevelLayout.of(layout, queries.documents.boundaries, begins, lengths, self.words.shape[-1])

    def for_blocks(self, queries: Queries) -> TwoLevelMemory:
        return replace(self, sentences=self.sentences.for_blocks(queries), packed=queries.through_kernels(self.states))

    def of_sentences(self, sentences: range | Tensor) -> TwoLevelMemory:
        return replace(self, sentences=self.sentences.of_sentences(sentences))

    def in_slots(self, projected: Tensor) -> Tensor:
        """[R, h, e] -> [B, h, M * T, e], unless they are read where they are."""
        if self.packed:
            return projected
        return copied(pad_rows(projected, self.slots, self.places), self.sentences.owner).transpose(1, 2)


@dataclass(eq=False)
class TwoLevelProjected:
    """Keys of sentences [B, h, M, e]; keys and values of their words [B, h, M * T, e], or [R, h, e] for kernels."""

    sentence_key: Tensor
    key: Tensor
    value: Tensor
    words: Tensor
    """[B, 1, 1, M, T] bool; all words where there are none, which no sentence reads."""


class SelectiveAttention(FeedForwardSite):
    """Sentences, words in them, then a feed-forward network."""

    widening = 4

    def prepare(self, dimension: int, heads: int) -> None:
        super().prepare(dimension, heads)
        self.sentence_query, self.sentence_key = (nn.Linear(dimension, dimension) for _ in range(2))

    def project(self, memory: TwoLevelMemory) -> TwoLevelProjected:
        sentence_key = self.attention.split(self.sentence_key(memory.sentences.states))
        key, value = (memory.in_slots(projected) for projected in self.attention.project(memory.states))
        owner = memory.sentences.owner
        words = unmask_empty_rows(memory.words if owner is None else memory.words[owner])[:, None, None]
        return TwoLevelProjected(memory.sentences.in_slots(sentence_key), key, value, words)

    def attend(self, x: Tensor, projected: TwoLevelProjected, layout: Layout | TwoLevelLayout) -> Tensor:
        query = self.attention.split(self.attention.query(x))
        if isinstance(layout, Layout):
            sentences = self.sentence_level(x, projected, layout)
            attended = layout.rows.pack(_read(layout.rows.pad(query).transpose(1, 2), projected, sentences))
        else:
            sentences = self.sentence_level(x, projected, layout.sentences)
            attended = layout.attend(query, projected.key, projected.value, sentences)
        return self.feed_forward(self.attention.join(attended))

    def sentence_level(self, x: Tensor, projected: TwoLevelProjected, layout: Layout) -> Tensor:
        """The weights of the sentences: [B, h, L, M]."""
        query = layout.rows.pad(self.attention.split(self.sentence_query(x))).transpose(1, 2)
        scores = (query @ projected.sentence_key.transpose(-2, -1)) * query.shape[-1] ** -0.5
        return sparsemax(scores.masked_fill(~layout.visible, float("-inf")))

    def attention_weights(self, x: Tensor, projected: TwoLevelProjected, layout: Layout) -> Tensor:
        """Over the sentences of the document."""
        return layout.rows.pack(self.sentence_level(x, projected, layout).mean(1))


def _read(query: Tensor, projected: TwoLevelProjected, sentences: Tensor) -> Tensor:
    """What queries [B, h, L, e] that give sentences these weights [B, h, L, M] read of their words: [B, L, h, e].

    Every word has a weight for every row: without gradients, which need them all, a few rows come at a time.
    """
    blocks, heads, length, _ = query.shape
    rows = length if torch.is_grad_enabled() else max(1, CELLS // max(1, blocks * heads * projected.key.shape[2]))
    parts = []
    for part, weights in zip(torch.split(query, rows, 2), torch.split(sentences, rows, 2), strict=True):
        words = weights[..., None] * word_level(part, projected, weights)
        parts.append(words.flatten(-2).to(projected.value.dtype) @ projected.value)
    return torch.cat(parts, 2).transpose(1, 2)


def word_level(query: Tensor, projected: TwoLevelProjected, sentences: Tensor) -> Tensor:
    """The weights of the words in each sentence, [B, h, L, M, T], for queries [B, h, L, e] that weigh sentences so.

    Where a sentence weighs nothing, those of its words do not matter.
    """
    scores = (query @ projected.key.transpose(-2, -1)) * query.shape[-1] ** -0.5
    scores = scores.unflatten(-1, projected.words.shape[-2:]).masked_fill(~projected.words, float("-inf"))
    if scores.device.type not in LOOK_FIRST:
        return sparsemax(scores)
    read = sentences > 0
    return torch.zeros_like(scores).masked_scatter(read[..., None], sparsemax(scores[read]))


@context_encoder("selective")
class SelectiveContext(BaseStatesContext):
    site = SelectiveAttention

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> TwoLevelMemory:
        order = torch.arange(batch.slots.shape[1], device=states.device)
        others = order < batch.index_of[:, None] if past else order != batch.index_of[:, None]
        filled = batch.used & (words.boundaries.diff()[batch.slots] > 0)
        visible = others & filled[batch.document_of]
        means = SlotMemory(sentence_means(states, words), batch.slots, visible, "document", batch.places)
        mask = words.mask[batch.slots] & batch.used[:, :, None]
        places = batch.places[words.sequence_of] * words.max_length + words.positions
        return TwoLevelMemory(states, means, words.index[batch.slots].flatten(1), mask, places)
