"""Selective (Maruf et al. 2019): sparse attention over all other sentences of the document, then over their words.

As in the paper, attention reads the states of Base, and the key of a sentence comes from the mean of its words. The
weight of a word is the weight of its sentence times the weight of the word in the sentence. With sparsemax, most
sentences and most words get a weight of exactly zero.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from docgraph.model.attention import unmask_empty_rows
from docgraph.model.batch import DocumentBatch
from docgraph.model.context_attention import FeedForwardContextLayer
from docgraph.model.memory import Memory, Queries, SlotLayout, SlotMemory, copy_groups
from docgraph.model.packing import Packing, pad_rows
from docgraph.model.systems import context_encoder
from docgraph.model.systems.base_states import BaseStatesContext
from docgraph.model.systems.hm_gdc import sentence_means

if TYPE_CHECKING:  # needs Triton
    from docgraph.model.gpu.two_level_attention import TwoLevelLayout

CELLS = 1 << 26
"""Maximum number of word weights in memory at once."""
LOOK_FIRST = ("cpu",)
"""Devices that skip the words of sentences with weight zero. This halves the time on a CPU; on a GPU the host would
have to wait for the weights."""
STEPS = 16
"""Newton steps of sparsemax: enough for any thousand scores in single precision; six are usual."""


def sparsemax(scores: Tensor) -> Tensor:
    """Returns the point of the simplex nearest to the scores (Martins and Astudillo 2016), [..., M] -> [..., M].

    The result is non-negative, sums to one and has exact zeros. A score of -inf gets zero if another one is finite.
    """
    return _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]


def threshold(scores: Tensor) -> Tensor:
    """Returns tau [..., 1] such that max(scores - tau, 0) sums to one, by Newton's method.

    Sorting, the usual method, would need four times the memory of the scores, of which there are billions. The sum is
    convex in tau. From below, each step divides (its excess over one) x (the number of scores above tau) by at least
    four, and reaches tau exactly once no score changes sides.
    """
    tau = scores.amax(-1, keepdim=True) - 1
    for _ in range(STEPS):
        above = scores > tau
        total = torch.where(above, scores, 0).sum(-1, keepdim=True)
        last, tau = tau, torch.maximum(tau, (total - 1) / above.sum(-1, keepdim=True))
        if scores.device.type == "cpu" and not torch.compiler.is_compiling() and torch.equal(tau, last):
            break  # elsewhere the check would cost more than the remaining steps
    return tau


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
        result = (precise - threshold(precise)).clamp(min=0).to(scores.dtype)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Returns the gradient minus its mean over the support; zero elsewhere (proposition 1 of that paper)."""
        support = ctx.saved_tensors[0] > 0
        inside = torch.where(support, grads[0], 0)
        mean = inside.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (torch.where(support, inside - mean, 0),)


@dataclass(frozen=True, eq=False)
class TwoLevelMemory(Memory):
    """The sentences of D documents, M slots each, and their words, T slots each."""

    sentences: SlotMemory
    slots: Tensor
    """[D, M * T] int64: the state of each word."""
    words: Tensor
    """[D, M, T] bool: whether the slot holds a word."""
    places: Tensor
    """[R] int64: the slot (d * M * T + m * T + t) of each state."""
    packed: bool = False
    """True if kernels read the keys and values of words in the order of the states, [R, h, e]."""

    def layout(self, queries: Queries) -> SlotLayout | TwoLevelLayout:
        """Returns the layout of the GPU kernels if they can run, else that of the sentences."""
        layout = self.sentences.slot_layout(queries)
        if not queries.through_kernels(self.states):
            return layout
        from docgraph.model.gpu.two_level_attention import TwoLevelLayout

        begins, lengths = self.slots.view(self.words.shape)[:, :, 0], self.words.sum(-1)
        return TwoLevelLayout.of(layout, queries.documents.boundaries, begins, lengths, self.words.shape[-1])

    def for_queries(self, queries: Queries) -> TwoLevelMemory:
        """Returns the memory with the blocks of these query rows."""
        packed = queries.through_kernels(self.states)
        return replace(self, sentences=self.sentences.for_queries(queries), packed=packed)

    def of_sentences(self, sentences: range | Tensor) -> TwoLevelMemory:
        """Returns the memory as some of the sentences see it."""
        return replace(self, sentences=self.sentences.of_sentences(sentences))

    def in_slots(self, projected: Tensor) -> Tensor:
        """Gathers [R, h, e] into slots, [B, h, M * T, e]; no-op if `packed`."""
        if self.packed:
            return projected
        return copy_groups(pad_rows(projected, self.slots, self.places), self.sentences.owner).transpose(1, 2)


@dataclass(eq=False)
class TwoLevelKeys:
    """Keys of sentences [B, h, M, e]; keys and values of their words [B, h, M * T, e], or [R, h, e] for kernels."""

    sentence_key: Tensor
    key: Tensor
    value: Tensor
    words: Tensor
    """[B, 1, 1, M, T] bool: whether the slot holds a word; all True for an empty slot, which no row reads."""


class SelectiveAttention(FeedForwardContextLayer):
    """Attention over sentences, then over the words in them, then a feed-forward network."""

    widening = 4

    def create_modules(self, dimension: int, heads: int) -> None:
        """Creates the feed-forward network and the projections of sentences."""
        super().create_modules(dimension, heads)
        self.sentence_query, self.sentence_key = (nn.Linear(dimension, dimension) for _ in range(2))

    def project(self, memory: TwoLevelMemory) -> TwoLevelKeys:
        """Returns keys of sentences, keys and values of words."""
        sentence_key = self.attention.split(self.sentence_key(memory.sentences.states))
        key, value = (memory.in_slots(projected) for projected in self.attention.project(memory.states))
        owner = memory.sentences.owner
        words = unmask_empty_rows(memory.words if owner is None else memory.words[owner])[:, None, None]
        return TwoLevelKeys(memory.sentences.in_slots(sentence_key), key, value, words)

    def attend(self, x: Tensor, projected: TwoLevelKeys, layout: SlotLayout | TwoLevelLayout) -> Tensor:
        """Returns H_c: attention over sentences and words, and the feed-forward network: x [N, d] -> [N, d]."""
        query = self.attention.split(self.attention.query(x))
        if isinstance(layout, SlotLayout):
            sentences = self.sentence_level(x, projected, layout)
            attended = layout.rows.pack(_attend_words(layout.rows.pad(query).transpose(1, 2), projected, sentences))
        else:
            sentences = self.sentence_level(x, projected, layout.sentences)
            attended = layout.attend(query, projected.key, projected.value, sentences)
        return self.feed_forward(self.attention.join(attended))

    def sentence_level(self, x: Tensor, projected: TwoLevelKeys, layout: SlotLayout) -> Tensor:
        """Returns the weights of the sentences: [B, h, L, M]."""
        query = layout.rows.pad(self.attention.split(self.sentence_query(x))).transpose(1, 2)
        scores = (query @ projected.sentence_key.transpose(-2, -1)) * query.shape[-1] ** -0.5
        return sparsemax(scores.masked_fill(~layout.visible, float("-inf")))

    def attention_weights(self, x: Tensor, projected: TwoLevelKeys, layout: SlotLayout) -> Tensor:
        """Returns weights of the sentences of the document."""
        return layout.rows.pack(self.sentence_level(x, projected, layout).mean(1))


def _attend_words(query: Tensor, projected: TwoLevelKeys, sentences: Tensor) -> Tensor:
    """Attends to words: query [B, h, L, e], weights of sentences [B, h, L, M] -> [B, L, h, e].

    There is a weight for every row and word. Without gradients, which need all of them, rows are processed in parts.
    """
    blocks, heads, length, _ = query.shape
    rows = length if torch.is_grad_enabled() else max(1, CELLS // max(1, blocks * heads * projected.key.shape[2]))
    parts = []
    for part, weights in zip(torch.split(query, rows, 2), torch.split(sentences, rows, 2), strict=True):
        words = weights[..., None] * word_level(part, projected, weights)
        parts.append(words.flatten(-2).to(projected.value.dtype) @ projected.value)
    return torch.cat(parts, 2).transpose(1, 2)


def word_level(query: Tensor, projected: TwoLevelKeys, sentences: Tensor) -> Tensor:
    """Returns the weights of words within their sentences, [B, h, L, M, T], for queries [B, h, L, e].

    Where the weight of the sentence, in `sentences` [B, h, L, M], is zero, those of its words are arbitrary.
    """
    scores = (query @ projected.key.transpose(-2, -1)) * query.shape[-1] ** -0.5
    scores = scores.unflatten(-1, projected.words.shape[-2:]).masked_fill(~projected.words, float("-inf"))
    if scores.device.type not in LOOK_FIRST:
        return sparsemax(scores)
    read = sentences > 0
    return torch.zeros_like(scores).masked_scatter(read[..., None], sparsemax(scores[read]))


@context_encoder("selective")
class SelectiveContext(BaseStatesContext):
    """All other sentences of the document with their words; on the target side, the earlier ones."""

    attention = SelectiveAttention

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> TwoLevelMemory:
        """Returns all other sentences of the document or, with `past`, the earlier ones."""
        order = torch.arange(batch.slots.shape[1], device=states.device)
        others = order < batch.index_of[:, None] if past else order != batch.index_of[:, None]
        filled = batch.used & (words.boundaries.diff()[batch.slots] > 0)
        visible = others & filled[batch.document_of]
        means = SlotMemory(sentence_means(states, words), batch.slots, visible, "document", batch.places)
        mask = words.mask[batch.slots] & batch.used[:, :, None]
        places = batch.places[words.sequence_of] * words.max_length + words.positions
        return TwoLevelMemory(states, means, words.index[batch.slots].flatten(1), mask, places)
