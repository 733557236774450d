"""DocumentBatch: documents, their sentences packed end to end, and their graphs side by side.

S sentences to translate of D documents, in document order, among C sentences in all: a long document comes in windows,
whose other sentences are context alone. A document's graph is in the batch once, for all its sentences.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from docgraph.graph import DocumentGraph, batch_graphs
from docgraph.graph.selection import Selection
from docgraph.model.device import to_device
from docgraph.model.graph_structure import GraphStructure, source_structure, target_structure
from docgraph.model.memory import Prefix, Queries
from docgraph.model.packing import Blocks, Packing

Ids = npt.NDArray[np.integer]


@dataclass(frozen=True, eq=False)
class DocumentExample:
    """One document as numbers: the sub-words of its sentences and, for a graph, the words they make."""

    source: Sequence[Ids]
    """[M] arrays of sub-word ids, end-of-sentence included."""
    target: Sequence[Ids] = ()
    """[M] arrays likewise, or none when there is no translation yet."""
    graph: DocumentGraph | None = None
    source_words: Sequence[Ids] = ()
    """[M] arrays beside `source`: the word of the document each sub-word belongs to, -1 for none."""
    target_words: Sequence[Ids] = ()
    """[M] arrays beside `context_target`: the word of its sentence each sub-word belongs to, -1 for none."""
    window: range | None = None
    """The sentences to translate, consecutive, where not all are; the others are context alone."""
    selection: Selection | None = None
    """What each sentence is linked with, where the model reads that."""
    given: npt.NDArray[np.bool_] | None = None
    """[M]: whether each translation that others see was given, not made by the model; None where all were."""
    ahead: bool = False
    """Whether a sentence may see given translations after it, too, where the model reads no others."""
    remembered: npt.NDArray[np.integer] | None = None
    """[M, K]: sentences that each may read beside those it is linked with, -1 for none: entries of a translation
    memory, which stand after the sentences of the graph."""
    shown: Sequence[Ids] = ()
    """[M] arrays like `target`: the translations that other sentences see, where they are not those."""

    @property
    def context_target(self) -> Sequence[Ids]:
        """The translations that other sentences see."""
        return self.shown or self.target

    @property
    def translated(self) -> range:
        return range(len(self.source)) if self.window is None else self.window


@dataclass(frozen=True, eq=False)
class Side:
    """The packed sub-words of one side, N in all."""

    tokens: Tensor
    """[N] int64."""
    sentences: Packing
    documents: Blocks
    blocks: Blocks | None = None
    """Of sentences, where a sentence is not one."""

    @property
    def ids(self) -> list[tuple[int, ...]]:
        """The sub-words of each sentence."""
        tokens = self.tokens.tolist()
        return [tuple(tokens[a:b]) for a, b in itertools.pairwise(self.sentences.boundaries.tolist())]

    @property
    def queries(self) -> Queries:
        return Queries(self.sentences.sequence_of, self.documents, self.sentences, self.blocks, fused=True)


@dataclass(frozen=True, eq=False)
class GraphInput:
    """A graph to encode: the sub-words of its words, and its structure."""

    tokens: Tensor
    """[P] int64: sub-words, word after word."""
    offsets: Tensor
    """[W+1] int64: where the sub-words of each word begin."""
    structure: GraphStructure
    places: Tensor | None = None
    """[P] int64: where each of these sub-words stands among those of all sentences of its side, if it stands there."""


@dataclass(frozen=True, eq=False)
class Linked:
    """What each of S sentences is linked with, the strongest first; -1 for nothing."""

    words: Tensor
    """[S, K] int64: words of the batch's graph, in other sentences of the document."""
    sentences: Tensor
    """[S, T] int64: those whose translations it reads, among the C."""


@dataclass(frozen=True, eq=False)
class DocumentBatch:
    """D documents of C sentences, S of which are to be translated (C = S unless there are windows)."""

    source: Side
    """The S sentences."""
    target: Side | None
    """Decoder input of the S sentences: begin-of-sentence and the reference."""
    gold: Tensor | None
    """[Nt] int64: the reference and end-of-sentence."""
    slots: Tensor
    """[D, M] int64: the sentences of each document, among C; unused slots hold 0."""
    used: Tensor
    """[D, M] bool."""
    places: Tensor
    """[C] int64: the slot (d * M + m) of each sentence."""
    document_of: Tensor
    """[S] int64."""
    index_of: Tensor
    """[S] int64: the place of each sentence in its document."""
    own: Tensor
    """[S] int64: each sentence among the C."""
    all_source: Side | None = None
    """The C sentences, where they are more than the S; read it as `context_source`."""
    all_target: Side | None = None
    """The C translations that others see, where they are not the references of the S; read it as `context_target`."""
    graph: GraphInput | None = None
    target_graph: GraphInput | None = None
    linked: Linked | None = None
    given: Tensor | None = None
    """[C] bool: whether each translation was given; None where all were."""
    kept: dict[tuple[Any, ...], Tensor] | None = None
    """Where a decoder of documents keeps what Base makes of sentences, [n, d], by their ids and translations' ids."""

    @property
    def num_sentences(self) -> int:
        return len(self.document_of)

    @property
    def num_documents(self) -> int:
        return len(self.slots)

    def prefix(self, seen: Tensor | None = None) -> Prefix:
        """That each of the S sentences sees the first `seen` [S] of the sentences of its document, or all of them."""
        count = self.used.sum(1)
        return Prefix(self.slots[:, 0], count, count[self.document_of] if seen is None else seen)

    @property
    def context_source(self) -> Side:
        """The sub-words of all C sentences."""
        return self.source if self.all_source is None else self.all_source

    @property
    def context_target(self) -> Side | None:
        """The translations of all C sentences, as far as there are any, each with its end."""
        if self.all_target is not None or self.target is None or self.gold is None:
            return self.all_target
        return replace(self.target, tokens=self.gold)

    def to(self, device: torch.device | str) -> DocumentBatch:
        return to_device(self, device)


def collate(documents: Sequence[DocumentExample], bos: int, plain_graph: bool = False) -> DocumentBatch:
    """A batch of documents; `plain_graph` keeps adjacency as one sparse matrix, for tests."""
    counts = np.array([len(document.source) for document in documents], dtype=np.int64)
    translated = [document.translated for document in documents]
    begins = np.array([window.start for window in translated], dtype=np.int64)
    sizes = np.array([len(window) for window in translated], dtype=np.int64)
    windowed = bool((sizes != counts).any())
    chosen = [(document, m) for document, window in zip(documents, translated, strict=True) for m in window]
    source = _side([document.source[m] for document, m in chosen], sizes)
    target = gold = None
    known = bool(len(documents)) and all(len(document.target) == len(document.source) for document in documents)
    if known:
        reference = _side([document.target[m] for document, m in chosen], sizes)
        target, gold = replace(reference, tokens=shifted(reference, bos)), reference.tokens
    width = _slot_width(int(counts.max(initial=0)))
    used = np.arange(width)[None, :] < counts[:, None]
    bounds = np.concatenate([[0], np.cumsum(counts)])
    document_of = np.repeat(np.arange(len(sizes)), sizes)
    firsts = np.concatenate([[0], np.cumsum(sizes)])[:-1]
    index_of = np.arange(int(sizes.sum())) - (firsts - begins)[document_of]
    return DocumentBatch(
        source,
        target,
        gold,
        slots=torch.from_numpy(np.where(used, bounds[:-1, None] + np.arange(width)[None, :], 0)),
        used=torch.from_numpy(used),
        places=torch.from_numpy(np.flatnonzero(used)),
        document_of=torch.from_numpy(document_of),
        index_of=torch.from_numpy(index_of),
        own=torch.from_numpy(bounds[:-1][document_of] + index_of),
        all_source=_side([s for document in documents for s in document.source], counts) if windowed else None,
        all_target=_side([s for document in documents for s in document.context_target], counts)
        if known and (windowed or any(document.shown for document in documents))
        else None,
        graph=_source_graph(documents, plain_graph),
        target_graph=_target_graph(documents, plain_graph) if known else None,
        linked=_linked(documents, bounds),
        given=_given(documents),
    )


def _slot_width(sentences: int) -> int:
    """Slots for so many sentences: 8, 16, 32, then multiples of 64: few compiled variants serve all batches."""
    return max(8, 1 << (sentences - 1).bit_length()) if sentences <= 32 else -(-sentences // 64) * 64


def _concatenate(arrays: Sequence[Ids]) -> Tensor:
    return torch.from_numpy(np.concatenate([np.empty(0, np.int64), *arrays]).astype(np.int64))


def _side(sentences: Sequence[Ids], counts: npt.NDArray[np.int64]) -> Side:
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    bounds = np.concatenate([[0], np.cumsum(lengths)])[np.concatenate([[0], np.cumsum(counts)])]
    by_sentence, by_document = Packing.of_sentences(torch.from_numpy(lengths)), Packing.of(np.diff(bounds).tolist())
    return Side(_concatenate(sentences), by_sentence, Blocks(by_document))


def shifted(side: Side, bos: int) -> Tensor:
    """[N]: each sentence begun with `bos`, its last token left out."""
    return side.tokens.roll(1).masked_fill_(side.sentences.positions == 0, bos)


def _source_graph(documents: Sequence[DocumentExample], plain: bool) -> GraphInput | None:
    graphs = [document.graph for document in documents if document.graph is not None]
    if not documents or len(graphs) != len(documents):
        return None
    bases = np.cumsum([0, *(graph.num_words for graph in graphs)])
    words = [np.concatenate([np.empty(0, np.int64), *document.source_words]) for document in documents]
    words = [np.where(owners >= 0, owners + base, -1) for owners, base in zip(words, bases, strict=False)]
    tokens = [sentence for document in documents for sentence in document.source]
    return _pooled(tokens, words, source_structure(batch_graphs(graphs), plain))


def _target_graph(documents: Sequence[DocumentExample], plain: bool) -> GraphInput | None:
    if not all(len(document.target_words) == len(document.context_target) for document in documents):
        return None
    owners = [sentence for document in documents for sentence in document.target_words]
    sentence_of = np.repeat(np.arange(len(owners)), [len(sentence) for sentence in owners])
    words = np.concatenate([np.empty(0, np.int64), *owners])
    sizes = np.zeros(len(owners), dtype=np.int64)
    np.maximum.at(sizes, sentence_of, words + 1)
    words = np.where(words >= 0, words + (np.cumsum(sizes) - sizes)[sentence_of], -1)
    tokens = [sentence for document in documents for sentence in document.context_target]
    return _pooled(tokens, [words], target_structure(sizes, plain))


def _pooled(tokens: Sequence[Ids], words: Sequence[Ids], structure: GraphStructure) -> GraphInput:
    """Sub-words in the order of the words they belong to; those of no word are left out."""
    flat, owner = (np.concatenate([np.empty(0, np.int64), *arrays]).astype(np.int64) for arrays in (tokens, words))
    places = np.flatnonzero(owner >= 0)
    places = places[np.argsort(owner[places], kind="stable")]
    flat, owner = flat[places], owner[places]
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=structure.num_words))])
    return GraphInput(
        torch.from_numpy(flat), torch.from_numpy(offsets.astype(np.int64)), structure, torch.from_numpy(places)
    )


def _given(documents: Sequence[DocumentExample]) -> Tensor | None:
    given = [document.given for document in documents if document.given is not None]
    return torch.from_numpy(np.concatenate(given)) if given and len(given) == len(documents) else None


def _linked(documents: Sequence[DocumentExample], bounds: npt.NDArray[np.int64]) -> Linked | None:
    words, sentences, base = list[Tensor](), list[Tensor](), 0
    for document, first in zip(documents, bounds, strict=False):
        chosen, window = document.selection, document.translated
        if chosen is None:
            return None
        for rows, raised, table in ((words, base, chosen.words), (sentences, int(first), chosen.sentences)):
            table = table[window.start : window.stop].astype(np.int64)
            rows.append(torch.from_numpy(np.where(table >= 0, table + raised, -1)))
        base += 0 if document.graph is None else document.graph.num_words
    return Linked(torch.cat(words), torch.cat(sentences)) if documents else None
