"""DocumentBatch: whole documents as tensors, with packed sentences and a block-diagonal graph.

A batch has D documents with C sentences. S of these sentences are translated; C = S unless a long document comes in
windows, whose other sentences are only context. Each document's graph is in the batch once, for all its sentences.
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
from docgraph.model.graph_encoder import GraphStructure, source_structure, target_structure
from docgraph.model.hints import Hint
from docgraph.model.memory import Prefix, Queries
from docgraph.model.packing import Blocks, Packing

Ids = npt.NDArray[np.integer]
StateCache = dict[tuple[Any, ...], Tensor]
"""States of the base model, by sub-word ids, least recently used first."""


@dataclass(frozen=True, eq=False)
class DocumentExample:
    """One document as arrays: the sub-words of its sentences and, for a graph, the words they belong to."""

    source: Sequence[Ids]
    """M arrays of sub-word ids, each with end-of-sentence."""
    target: Sequence[Ids] = ()
    """M arrays likewise; empty if there is no translation yet."""
    graph: DocumentGraph | None = None
    source_words: Sequence[Ids] = ()
    """M arrays parallel to `source`: the word of the document each sub-word belongs to, -1 for none."""
    target_words: Sequence[Ids] = ()
    """M arrays parallel to `context_target`: the word of its sentence each sub-word belongs to, -1 for none."""
    window: range | None = None
    """The consecutive sentences to translate; the others are only context. None: all."""
    selection: Selection | None = None
    """Words and sentences each sentence is linked with, if the model reads them."""
    given: npt.NDArray[np.bool_] | None = None
    """[M]: True for translations supplied by the user, False for the model's own; None: all were supplied."""
    ahead: bool = False
    """A sentence may also see supplied translations of later sentences (for models that read only supplied ones)."""
    memory_sentences: npt.NDArray[np.integer] | None = None
    """[M, K]: sentences that each sentence may read in addition to its linked ones, -1 for none. These are entries of
    a translation memory; they come after the sentences of the graph."""
    hints: Sequence[Hint] = ()
    """Hints by the relations of the model, such as what pronouns refer to."""
    lookups: Sequence[Hint] = ()
    """Hints by dictionaries. A sentence reads only those whose words its translation without hints lacks."""
    context_translations: Sequence[Ids] = ()
    """M arrays like `target`: the translations that other sentences see, if they differ from `target`."""

    @property
    def context_target(self) -> Sequence[Ids]:
        """The translations that other sentences see."""
        return self.context_translations or self.target

    @property
    def translated(self) -> range:
        """The sentences to translate."""
        return range(len(self.source)) if self.window is None else self.window


@dataclass(frozen=True, eq=False)
class Side:
    """The packed sub-words of one side, N in all."""

    tokens: Tensor
    """[N] int64."""
    sentences: Packing
    documents: Blocks
    blocks: Blocks | None = None
    """The blocks of each sentence; None: each sentence is one block."""

    @property
    def ids(self) -> list[tuple[int, ...]]:
        """The sub-words of each sentence."""
        tokens = self.tokens.tolist()
        return [tuple(tokens[a:b]) for a, b in itertools.pairwise(self.sentences.boundaries.tolist())]

    @property
    def queries(self) -> Queries:
        """The rows that read a memory: every sub-word."""
        return Queries(self.sentences.sequence_of, self.documents, self.sentences, self.blocks, fused=True)


@dataclass(frozen=True, eq=False)
class GraphInput:
    """A graph to encode: the sub-words of its words, and its structure."""

    tokens: Tensor
    """[P] int64: sub-words, in the order of their words."""
    offsets: Tensor
    """[W+1] int64: the first sub-word of each word, and P."""
    structure: GraphStructure
    places: Tensor | None = None
    """[P] int64: the index of each sub-word among those of its side; None if they are random words of no side."""


@dataclass(frozen=True, eq=False)
class Linked:
    """The links of each of S sentences, strongest first; -1 fills unused entries."""

    words: Tensor
    """[S, K] int64: words of the batch's graph in other sentences of the document."""
    sentences: Tensor
    """[S, T] int64: sentences, among the C, whose translations are read."""


@dataclass(frozen=True, eq=False)
class DocumentBatch:
    """D documents with C sentences, of which S are translated (C = S unless there are windows)."""

    source: Side
    """The S sentences."""
    target: Side | None
    """Decoder input of the S sentences: begin-of-sentence, then the reference."""
    gold: Tensor | None
    """[Nt] int64: the reference, then end-of-sentence."""
    slots: Tensor
    """[D, M] int64: the sentences of each document, among the C; unused slots hold 0."""
    used: Tensor
    """[D, M] bool: the slots that hold a sentence."""
    places: Tensor
    """[C] int64: the slot (d * M + m) of each sentence."""
    document_of: Tensor
    """[S] int64: the document of each sentence."""
    index_of: Tensor
    """[S] int64: the position of each sentence in its document."""
    context_index: Tensor
    """[S] int64: the index of each sentence among the C."""
    all_source: Side | None = None
    """The C sentences, if C > S; read `context_source` instead."""
    all_target: Side | None = None
    """The C translations that others see, if they are not `gold`; read `context_target` instead."""
    graph: GraphInput | None = None
    target_graph: GraphInput | None = None
    linked: Linked | None = None
    given: Tensor | None = None
    """[C] bool: True for translations supplied by the user; None: all were."""
    state_cache: StateCache | None = None
    """Cache of Base's states [n, d] of sentences, by their ids and the ids of their translations; document decoding
    keeps it between passes."""

    @property
    def num_sentences(self) -> int:
        """S."""
        return len(self.document_of)

    @property
    def num_documents(self) -> int:
        """D."""
        return len(self.slots)

    def prefix(self, seen: Tensor | None = None) -> Prefix:
        """Returns a mask: each of the S sentences sees the first `seen` [S] sentences of its document (None: all)."""
        count = self.used.sum(1)
        return Prefix(self.slots[:, 0], count, count[self.document_of] if seen is None else seen)

    @property
    def context_source(self) -> Side:
        """The sub-words of all C sentences."""
        return self.source if self.all_source is None else self.all_source

    @property
    def context_target(self) -> Side | None:
        """The translations of all C sentences with end-of-sentence; None without translations."""
        if self.all_target is not None or self.target is None or self.gold is None:
            return self.all_target
        return replace(self.target, tokens=self.gold)

    def to(self, device: torch.device | str) -> DocumentBatch:
        """Returns a copy on `device`."""
        return to_device(self, device)


def collate(documents: Sequence[DocumentExample], bos: int, plain_graph: bool = False) -> DocumentBatch:
    """Makes a batch of documents; `plain_graph` stores adjacency as one sparse matrix, for tests."""
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
        context_index=torch.from_numpy(bounds[:-1][document_of] + index_of),
        all_source=_side([s for document in documents for s in document.source], counts) if windowed else None,
        all_target=_side([s for document in documents for s in document.context_target], counts)
        if known and (windowed or any(document.context_translations for document in documents))
        else None,
        graph=_source_graph(documents, plain_graph),
        target_graph=_target_graph(documents, plain_graph) if known else None,
        linked=_linked(documents, bounds),
        given=_given(documents),
    )


def _slot_width(sentences: int) -> int:
    """Returns the number of slots: 8, 16, 32, then multiples of 64, so that few compiled variants serve all batches."""
    return max(8, 1 << (sentences - 1).bit_length()) if sentences <= 32 else -(-sentences // 64) * 64


def concatenate(arrays: Sequence[Ids]) -> Tensor:
    """All ids as one int64 tensor."""
    return torch.from_numpy(np.concatenate([np.empty(0, np.int64), *arrays]).astype(np.int64))


def _side(sentences: Sequence[Ids], counts: npt.NDArray[np.int64]) -> Side:
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int64)
    bounds = np.concatenate([[0], np.cumsum(lengths)])[np.concatenate([[0], np.cumsum(counts)])]
    by_sentence, by_document = Packing.of_sentences(torch.from_numpy(lengths)), Packing.of(np.diff(bounds).tolist())
    return Side(concatenate(sentences), by_sentence, Blocks(by_document))


def shifted(side: Side, bos: int) -> Tensor:
    """Returns [N]: the sentences with `bos` first and without their last token."""
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
    """Sorts sub-words by the word they belong to and drops sub-words that belong to no word."""
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
