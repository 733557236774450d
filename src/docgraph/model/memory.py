"""Memories: the state vectors that context attention reads, and the layouts that let many sentences share them.

A memory holds R states. Their keys and values are projected once, for all sentences, beams and steps that read them.
A `SlotMemory` holds the sentences of a document (or a few words) in slots. A `WordMemory` holds the words of the
sentences just before each sentence, as spans.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from docgraph.model.attention import memory_attention, unmask_empty_rows
from docgraph.model.packing import Blocks, Packing, pad_rows
from docgraph.model.sparse import HAS_TRITON

if TYPE_CHECKING:  # needs Triton
    from docgraph.model.gpu.prefix_attention import PrefixLayout


@dataclass(frozen=True, eq=False)
class Memory:
    """R states that S sentences read. Each type of memory has its own type of context attention."""

    states: Tensor
    """[R, d]."""

    def layout(self, queries: Queries) -> Any:
        """Returns which states each query row sees, in the form that the attention over this memory takes."""
        raise NotImplementedError

    def for_queries(self, queries: Queries) -> Memory:
        """Returns the memory in the form whose keys and values are projected for these query rows."""
        return self

    def arrange(self, projected: Any, queries: Queries) -> Any:
        """Arranges keys and values of the memory that `for_queries` returned for these query rows or later ones."""
        return projected

    def of_sentences(self, sentences: range | Tensor) -> Memory:
        """Returns the memory for some of the S sentences (ascending), renumbered from 0."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Memories:
    """The context of a batch of documents: computed once per document, read by all its sentences."""

    source: Memory | None = None
    target: Memory | None = None


@dataclass(frozen=True, eq=False)
class Queries:
    """N rows that read a memory, ordered by sentence."""

    sentence: Tensor
    """[N] int64: the sentence of each row."""
    documents: Blocks
    """The rows of each document."""
    sentences: Packing
    """The rows of each sentence."""
    blocks: Blocks | None = None
    """The rows of each sentence in blocks; None if each sentence is one block."""
    fused: bool = False
    """True if all rows of the documents are present and only the result is needed, so that GPU kernels can run."""

    def through_kernels(self, states: Tensor) -> bool:
        """Returns True if GPU kernels can read these states for these rows."""
        half = states.dtype in (torch.float16, torch.bfloat16)
        return self.fused and HAS_TRITON and states.is_cuda and half

    @classmethod
    def of_beams(cls, sentences: Tensor, beams: int, document_of: Tensor, num_documents: int) -> Queries:
        """Returns K adjacent rows for each of these sentences [S'] (ascending) of a batch with `document_of` [S]."""
        by_document = document_of[sentences].bincount(minlength=num_documents) * beams
        by_sentence = sentences.bincount(minlength=len(document_of)) * beams
        documents, rows = (Packing.of(sizes, sentences.device) for sizes in (by_document, by_sentence))
        blocks = Blocks(Packing.of([beams] * len(sentences), sentences.device), sentences)
        return cls(sentences.repeat_interleave(beams), Blocks(documents), rows, blocks)


@dataclass(frozen=True, eq=False)
class Prefix:
    """Slots that the kernels read as a prefix: a sentence sees the first slots of its group, in order."""

    first: Tensor
    """[G] int64: the state in the first slot."""
    count: Tensor
    """[G] int64: the number of used slots."""
    seen: Tensor
    """[S] int64: the number of slots that each sentence sees."""


@dataclass(frozen=True, eq=False)
class SlotMemory(Memory):
    """States in the M slots of G groups of sentences. A group is a document or a single sentence."""

    slots: Tensor
    """[G, M] int64: the state in each slot; an unused slot holds any valid index and is visible to no sentence."""
    visible: Tensor
    """[S, M] bool."""
    per: Literal["document", "sentence"]
    """What a group is: a document, whose sentences share the slots, or a single sentence."""
    places: Tensor | None = None
    """[R] int64: the slot (g * M + m) of each state, if every state has exactly one."""
    owner: Tensor | None = None
    """[B] int64: the group of each block of rows; None if the blocks are the groups."""
    prefix: Prefix | None = None
    """The content of `visible` as prefixes, if the memory is built in that order."""
    packed: bool = False
    """True if keys and values stay in the order of the states, [R, h, e]."""

    def in_slots(self, projected: Tensor) -> Tensor:
        """Gathers projected states [R, h, e] into the slots that each block reads, [B, h, M, e]; no-op if `packed`."""
        if self.packed:
            return projected
        if self.places is not None:
            return copy_groups(pad_rows(projected, self.slots, self.places), self.owner).transpose(1, 2)
        # One copy, not one per group and another per block: slots of sentences are most of a step's memory.
        return projected[self.slots_of_blocks].transpose(1, 2)

    @property
    def slots_of_blocks(self) -> Tensor:
        """[B, M] int64: the state in each slot that each block reads."""
        return self.slots if self.owner is None else self.slots[self.owner]

    def layout(self, queries: Queries) -> SlotLayout | PrefixLayout:
        """Returns the layout of the GPU kernels if they can run, else `slot_layout`."""
        if self.prefix is not None and self._through_kernel(queries):
            from docgraph.model.gpu.prefix_attention import PrefixLayout

            limits, rows = self.prefix.seen[queries.sentence], queries.documents.boundaries
            return PrefixLayout.of(limits, rows, self.prefix.first, self.prefix.count, self.slots.shape[1])
        return self.slot_layout(queries)

    def slot_layout(self, queries: Queries) -> SlotLayout:
        """Returns the layout without GPU kernels."""
        rows, seen = self._blocks(queries).rows, self.visible[queries.sentence]
        return SlotLayout(rows, unmask_empty_rows(rows.pad(seen)[:, None]), seen.any(-1, keepdim=True))

    def for_queries(self, queries: Queries) -> SlotMemory:
        """Returns the memory with the blocks of these query rows."""
        packed = self._gathers_later or self._through_kernel(queries)
        return replace(self, owner=self._blocks(queries).owner, packed=packed)

    def arrange(self, projected: Any, queries: Queries) -> Any:
        """Gathers keys and values into slots if `for_queries` left them in the order of the states."""
        if not self._gathers_later:
            return projected
        return projected.in_slots(replace(self, owner=self._blocks(queries).owner))

    def of_sentences(self, sentences: range | Tensor) -> SlotMemory:
        """Returns the memory for some of the S sentences; slots per document are shared, not copied."""
        part = _selector(sentences)
        slots = self.slots if self.per == "document" else self.slots[part]
        prefix = None if self.prefix is None else replace(self.prefix, seen=self.prefix.seen[part])
        return replace(self, slots=slots, visible=self.visible[part], prefix=prefix)

    @property
    def _gathers_later(self) -> bool:
        """True if the states are projected once and gathered again whenever sentences finish decoding."""
        return self.per == "sentence" and not torch.is_grad_enabled()

    def _through_kernel(self, queries: Queries) -> bool:
        return self.prefix is not None and queries.through_kernels(self.states)

    def _blocks(self, queries: Queries) -> Blocks:
        return queries.documents if self.per == "document" else queries.blocks or Blocks(queries.sentences)


def copy_groups(groups: Tensor, owner: Tensor | None) -> Tensor:
    """Returns groups[owner], the group that each of B blocks reads: [G, ...] -> [B, ...].

    A matrix product, so that the gradient is one too: deterministic, and summed in fp32.
    """
    if owner is None:
        return groups
    chosen = owner[:, None] == torch.arange(len(groups), device=owner.device)
    return (chosen.to(groups.dtype) @ groups.flatten(1)).view(len(owner), *groups.shape[1:])


def _selector(sentences: range | Tensor) -> slice | Tensor:
    """Returns an index for these sentences: a slice, which copies nothing, if they are consecutive."""
    return slice(sentences.start, sentences.stop) if isinstance(sentences, range) else sentences


@dataclass(frozen=True, eq=False)
class SlotLayout:
    """Which slots N query rows see: computed once for all layers that read the memory."""

    rows: Packing
    """The rows of each block."""
    visible: Tensor
    """[B, 1, L, M] bool; a row that sees no slot is marked as seeing all, and its result is discarded later."""
    some: Tensor
    """[N, 1] bool: the row sees at least one slot."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Computes attention of query [N, h, e] over key and value [B, h, M, e] -> [N, h, e]."""
        attended = memory_attention(self.rows.pad(query).transpose(1, 2), key, value, self.visible)
        return self.rows.pack(attended.transpose(1, 2))


@dataclass(frozen=True, eq=False)
class WordMemory(Memory):
    """The words of sentences, and the J spans of them that each sentence reads."""

    spans: tuple[Spans, ...]

    def layout(self, queries: Queries) -> WordLayout:
        """Returns which spans each query row sees."""
        visible = torch.stack([span.lengths[queries.sentence] > 0 for span in self.spans], dim=1)
        rows = queries.sentences.with_empty(self.spans[0].packing.num_sequences)
        return WordLayout(rows, visible, visible.any(-1, keepdim=True))

    def of_sentences(self, sentences: range | Tensor) -> WordMemory:
        """Returns the memory with the spans of some of the S sentences."""
        return replace(self, spans=tuple(span.of_sentences(sentences) for span in self.spans))


@dataclass(frozen=True, eq=False)
class WordLayout:
    """Which of J spans of words N query rows see."""

    rows: Packing
    """The rows of each sentence, and no rows for the padding sequences of the spans."""
    visible: Tensor
    """[N, J] bool: the span has words for the row."""
    some: Tensor
    """[N, 1] bool: at least one span has words for the row."""


@dataclass(frozen=True, eq=False)
class Spans:
    """One span of consecutive packed tokens for each of S sentences, copied end to end for packed attention.

    The spans of neighbouring sentences overlap, which packed sequences must not: hence the copy, of P tokens. All sizes
    follow from the sizes of the batch, never from the values of a tensor: nothing waits for the GPU, and one compiled
    graph serves all batches.
    """

    begins: Tensor
    """[S] int64, ascending: the first token of each span."""
    lengths: Tensor
    """[S] int64; the ends ascend as well."""
    index: Tensor
    """[P] int64: the token at each position of the copy; positions beyond the last span are never read."""
    packing: Packing
    """The S spans, and padding sequences that cover the rest of the copy."""
    copies: Tensor
    """[R, K] int64: the positions that hold a copy of each token."""
    copied: Tensor
    """[R, K] bool: whether there is a K-th copy."""

    @classmethod
    def of(cls, begins: Tensor, ends: Tensor, tokens: int, times: int, lengths: tuple[int, int]) -> Spans:
        """Returns spans of `tokens` tokens, each token in at most `times` spans.

        `lengths` are upper bounds of the `max_length` and `kernel_length` of the packing.
        """
        sequences, device = len(begins), begins.device
        sizes = ends - begins
        packing = Packing.covering(sizes.cumsum(0), min(times * tokens, sequences * lengths[0]), *lengths)
        bounds, sequence = packing.boundaries.long(), packing.sequence_of
        index = begins[sequence.clamp(max=sequences - 1)] + packing.positions
        token = torch.arange(tokens, device=device)
        ranks = torch.arange(times if sequences else 0, device=device)
        readers = torch.searchsorted(ends, token, right=True)[:, None] + ranks
        reader = readers.clamp(max=sequences - 1)
        copied = (readers < sequences) & (begins[reader] <= token[:, None])
        copies = torch.where(copied, bounds[reader] + token[:, None] - begins[reader], 0)
        return cls(begins, sizes, index.clamp(max=tokens - 1), packing, copies, copied)

    @classmethod
    def before(cls, words: Packing, own: Tensor, index_of: Tensor, far: int, near: int = 1) -> Spans:
        """Returns the words of the sentences `far` to `near` before each of S sentences (0: itself) in its document.

        `words` packs C sentences; `own` [S] are the indices of the S among them, `index_of` [S] their indices in their
        documents.
        """
        first = own - index_of.clamp(max=far)
        end = torch.maximum(own - near + 1, first)
        bounds, times = words.boundaries.long(), far - near + 1
        lengths = times * words.max_length, times * words.kernel_length
        return cls.of(bounds[first], bounds[end], words.num_tokens, times, lengths)

    def of_sentences(self, sentences: range | Tensor) -> Spans:
        """Returns the spans of some sentences, ascending."""
        part = _selector(sentences)
        begins, (tokens, times) = self.begins[part], self.copies.shape
        lengths = self.packing.max_length, self.packing.kernel_length
        return Spans.of(begins, begins + self.lengths[part], tokens, times, lengths)

    def take(self, states: Tensor) -> Tensor:
        """Returns the state at each position of the copy: [R, ...] -> [P, ...]."""
        return _Take.apply(states, self.index, self.copies, self.copied)  # type: ignore[no-untyped-call]


class _Take(torch.autograd.Function):
    """states[index], with a gradient that gathers the copies of each token instead of scattering with atomic sums."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, index: Tensor, copies: Tensor, copied: Tensor) -> Tensor:
        ctx.save_for_backward(copies, copied)
        return states[index]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        copies, copied = ctx.saved_tensors
        if not len(grads[0]):
            return grads[0].new_zeros(len(copies), *grads[0].shape[1:]), None, None, None
        shaped = copied.reshape(*copied.shape, *[1] * (grads[0].dim() - 1))
        return torch.where(shaped, grads[0][copies], 0).sum(1), None, None, None
