"""Memories: what context attention reads, and the layouts that let many sentences share one memory.

A memory is R state vectors. Keys and values are projected once for them, whatever the number of sentences, beams or
steps that read them. Slots hold sentences (or few words) for all sentences of a document; runs hold the words of the
sentences just before each sentence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from docgraph.model.attention import memory_attention, unmask_empty_rows
from docgraph.model.packing import Blocks, Packing, pad_rows
from docgraph.model.runs import Runs, places
from docgraph.model.sparse import HAS_TRITON

if TYPE_CHECKING:  # it needs Triton
    from docgraph.model.gpu.prefix_attention import PrefixLayout


@dataclass(frozen=True, eq=False)
class Memory:
    """R states that S sentences read; a kind of memory and the attention that reads it go together."""

    states: Tensor
    """[R, d]."""

    def layout(self, queries: Queries) -> Any:
        """How query rows meet the memory."""
        raise NotImplementedError

    def for_blocks(self, queries: Queries) -> Memory:
        """The same memory, whose keys and values come in the blocks that these rows are read in."""
        return self

    def laid_out(self, projected: Any, queries: Queries) -> Any:
        """Keys and values, as `for_blocks` has them made, for these rows or others."""
        return projected

    def of_sentences(self, sentences: range | Tensor) -> Memory:
        """The same memory as these sentences, ascending, see it, now counted from 0."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Memories:
    """What a batch of documents offers as context; computed once per document, read by all its sentences."""

    source: Memory | None = None
    target: Memory | None = None


@dataclass(frozen=True, eq=False)
class Prefix:
    """That what a sentence sees is the first slots of its group, whose states follow each other."""

    first: Tensor
    """[G] int64: the state in the first slot."""
    count: Tensor
    """[G] int64: how many slots are used."""
    seen: Tensor
    """[S] int64: how many of them each sentence sees."""


@dataclass(frozen=True, eq=False)
class SlotMemory(Memory):
    """States in the M slots of G groups of sentences (a document, or a sentence by itself)."""

    slots: Tensor
    """[G, M] int64: the state in each slot; an unused slot holds any number in range and is visible to nobody."""
    visible: Tensor
    """[S, M] bool."""
    per: Literal["document", "sentence"]
    """Whether a group is a document (its sentences share the slots) or a single sentence."""
    places: Tensor | None = None
    """[R] int64: the one slot (g * M + m) of each state, where every state has exactly one."""
    owner: Tensor | None = None
    """[B] int64: the group of each block of rows, where these are not whole groups."""
    prefix: Prefix | None = None
    """What `visible` says in two numbers, where the kind of memory makes sure that it can be said so."""
    packed: bool = False
    """Whether keys and values are read where they are, [R, h, e], by a kernel."""

    def in_slots(self, projected: Tensor) -> Tensor:
        """What was made of the states, [R, h, e], in the slots that each block reads: [B, h, M, e]."""
        if self.packed:
            return projected
        if self.places is not None:
            return copied(pad_rows(projected, self.slots, self.places), self.owner).transpose(1, 2)
        # One copy, not one a group and another a block: slots of sentences are the larger part of a step's memory.
        return projected[self.slots_of_blocks].transpose(1, 2)

    @property
    def slots_of_blocks(self) -> Tensor:
        """[B, M] int64: the state in each slot that each block reads."""
        return self.slots if self.owner is None else self.slots[self.owner]

    def layout(self, queries: Queries) -> Layout | PrefixLayout:
        if self.prefix is not None and self._through_kernel(queries):
            from docgraph.model.gpu.prefix_attention import PrefixLayout

            limits, rows = self.prefix.seen[queries.sentence], queries.documents.boundaries
            return PrefixLayout.of(limits, rows, self.prefix.first, self.prefix.count, self.slots.shape[1])
        return self.written_out(queries)

    def written_out(self, queries: Queries) -> Layout:
        """The layout for those who read the slots block by block."""
        rows, seen = self._blocks(queries).rows, self.visible[queries.sentence]
        return Layout(rows, unmask_empty_rows(rows.pad(seen)[:, None]), seen.any(-1, keepdim=True))

    def for_blocks(self, queries: Queries) -> SlotMemory:
        packed = self._gathers_later or self._through_kernel(queries)
        return replace(self, owner=self._blocks(queries).owner, packed=packed)

    def laid_out(self, projected: Any, queries: Queries) -> Any:
        if not self._gathers_later:
            return projected
        return projected.in_slots(replace(self, owner=self._blocks(queries).owner))

    @property
    def _gathers_later(self) -> bool:
        """Whether states are projected once, and gathered anew for the sentences still being decoded."""
        return self.per == "sentence" and not torch.is_grad_enabled()

    def _through_kernel(self, queries: Queries) -> bool:
        return self.prefix is not None and queries.through_kernels(self.states)

    def _blocks(self, queries: Queries) -> Blocks:
        return queries.documents if self.per == "document" else queries.blocks or Blocks(queries.sentences)

    def of_sentences(self, sentences: range | Tensor) -> SlotMemory:
        part = places(sentences)
        slots = self.slots if self.per == "document" else self.slots[part]
        prefix = None if self.prefix is None else replace(self.prefix, seen=self.prefix.seen[part])
        return replace(self, slots=slots, visible=self.visible[part], prefix=prefix)


def copied(groups: Tensor, owner: Tensor | None) -> Tensor:
    """groups[owner]: what each of B blocks reads of G groups, [G, ...] -> [B, ...].

    A product, so that its gradient is one too: the same every time, and summed in fp32.
    """
    if owner is None:
        return groups
    chosen = owner[:, None] == torch.arange(len(groups), device=owner.device)
    return (chosen.to(groups.dtype) @ groups.flatten(1)).view(len(owner), *groups.shape[1:])


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows that read a memory, [N] in all, in the order of their sentences."""

    sentence: Tensor
    """[N] int64: the sentence of each row."""
    documents: Blocks
    """The rows of each document."""
    sentences: Packing
    """The rows of each sentence."""
    blocks: Blocks | None = None
    """The same in blocks, where a sentence is not one."""
    fused: bool = False
    """Whether all rows of the documents come at once and nothing but the result is asked for: kernels do that."""

    def through_kernels(self, states: Tensor) -> bool:
        """Whether there are kernels that read these states for them."""
        half = states.dtype in (torch.float16, torch.bfloat16)
        return self.fused and HAS_TRITON and states.is_cuda and half

    @classmethod
    def of_beams(cls, sentences: Tensor, beams: int, document_of: Tensor, num_documents: int) -> Queries:
        """K rows, side by side, for each of some sentences [S'] (ascending) of a batch with `document_of` [S]."""
        by_document = document_of[sentences].bincount(minlength=num_documents) * beams
        by_sentence = sentences.bincount(minlength=len(document_of)) * beams
        documents, rows = (Packing.of(sizes, sentences.device) for sizes in (by_document, by_sentence))
        blocks = Blocks(Packing.of([beams] * len(sentences), sentences.device), sentences)
        return cls(sentences.repeat_interleave(beams), Blocks(documents), rows, blocks)


@dataclass(frozen=True, eq=False)
class Layout:
    """How N query rows meet the slots of a memory: computed once, shared by every layer that reads it."""

    rows: Packing
    """The rows of each block."""
    visible: Tensor
    """[B, 1, L, M] bool; a row that sees nothing sees everything here, and is left as it is in the end."""
    some: Tensor
    """[N, 1] bool: the row sees at least one slot."""

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """query [N, h, e] over key and value [B, h, M, e] -> [N, h, e]."""
        attended = memory_attention(self.rows.pad(query).transpose(1, 2), key, value, self.visible)
        return self.rows.pack(attended.transpose(1, 2))


@dataclass(frozen=True, eq=False)
class WordMemory(Memory):
    """The words of sentences, and the runs of them that each sentence reads: one, or J that it reads apart."""

    runs: tuple[Runs, ...]

    def layout(self, queries: Queries) -> WordLayout:
        visible = torch.stack([run.lengths[queries.sentence] > 0 for run in self.runs], dim=1)
        rows = queries.sentences.with_empty(self.runs[0].packing.num_sequences)
        return WordLayout(rows, visible, visible.any(-1, keepdim=True))

    def of_sentences(self, sentences: range | Tensor) -> WordMemory:
        return replace(self, runs=tuple(run.of_sequences(sentences) for run in self.runs))


@dataclass(frozen=True, eq=False)
class WordLayout:
    """How N query rows meet J runs of words."""

    rows: Packing
    """The rows of each sentence, and none for the sequences that end a run."""
    visible: Tensor
    """[N, J] bool: the run has words for the row."""
    some: Tensor
    """[N, 1] bool: one of them has."""
