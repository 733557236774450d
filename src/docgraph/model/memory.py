"""Memories: what context attention reads, and the layout that lets many sentences share one memory.

A memory is R state vectors and, for each of G groups of sentences (a document, or a sentence by itself), the M slots
that hold some of them. Keys and values are projected once for the R states, whatever the number of sentences, beams or
steps that read them; `visible` says which slots a sentence may see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from docgraph.model.attention import never_blind
from docgraph.model.packing import Packing, lay_out


@dataclass(frozen=True, eq=False)
class Memory:
    """R states laid out in slots [G, M], and which of them each of S sentences sees."""

    states: Tensor
    """[R, d]."""
    slots: Tensor
    """[G, M] int64: the state in each slot; an unused slot holds any number in range and is visible to nobody."""
    visible: Tensor
    """[S, M] bool."""
    per: Literal["document", "sentence"]
    """Whether a group is a document (its sentences share the slots) or a single sentence."""
    places: Tensor | None = None
    """[R] int64: the one slot (g * M + m) of each state, where every state has exactly one."""

    def in_slots(self, projected: Tensor) -> Tensor:
        """What was made of the states, [R, h, e], in the slots: [G, h, M, e]."""
        if self.places is None:
            return projected[self.slots].transpose(1, 2)
        return lay_out(projected, self.slots, self.places).transpose(1, 2)


@dataclass(frozen=True, eq=False)
class Queries:
    """Rows that read a memory, [N] in all, in the order of their sentences."""

    sentence: Tensor
    """[N] int64: the sentence of each row."""
    documents: Packing
    """The rows of each document."""
    sentences: Packing
    """The rows of each sentence."""

    @classmethod
    def of_beams(cls, sentences: Tensor, beams: int, document_of: Tensor, num_documents: int) -> Queries:
        """K rows, side by side, for each of some sentences [S'] (ascending) of a batch with `document_of` [S]."""
        by_document = document_of[sentences].bincount(minlength=num_documents) * beams
        by_sentence = sentences.bincount(minlength=len(document_of)) * beams
        packings = (Packing.of(sizes, sentences.device) for sizes in (by_document, by_sentence))
        return cls(sentences.repeat_interleave(beams), *packings)


@dataclass(frozen=True, eq=False)
class Layout:
    """How N query rows meet the slots of a memory: computed once, shared by every layer that reads it."""

    rows: Packing
    """The rows of each group."""
    visible: Tensor
    """[G, 1, L, M] bool; a row that sees nothing sees everything here, and is left as it is in the end."""
    some: Tensor
    """[N, 1] bool: the row sees at least one slot."""

    @classmethod
    def of(cls, memory: Memory, queries: Queries) -> Layout:
        rows = queries.documents if memory.per == "document" else queries.sentences
        seen = memory.visible[queries.sentence]
        return cls(rows, never_blind(rows.pad(seen)[:, None]), seen.any(-1, keepdim=True))
