"""Statistics of a prepared corpus, computed with one document in memory at a time (`docgraph debug data`)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from docgraph.annotation import BoolArray
from docgraph.corpus.store import Integers, PreparedCorpus
from docgraph.graph import Cliques, DocumentGraph, Edges, LexicalLinks, RelationOptions, build_graph

HISTOGRAM = (1, 6, 11, 21, 31, 51, 101, 201, 1001)
"""Lower bounds of the bins for sub-words per sentence; the last bin has no upper bound."""


@dataclass(frozen=True, order=True)
class Outlier:
    """A sentence pair or document with an extreme value."""

    value: float
    path: str
    line: int
    document: str


@dataclass
class SideStatistics:
    """Sub-words of one side."""

    tokens: int = 0
    """Including ends of sentences."""
    longest: int = 0
    unknown: int = 0
    byte_pieces: int = 0
    """Pieces that represent a byte of a character outside the vocabulary."""
    histogram: list[int] = field(default_factory=lambda: [0] * len(HISTOGRAM))
    """Number of sentences by their number of sub-words."""


@dataclass
class SplitStatistics:
    """Statistics of a split."""

    split: str
    documents: int = 0
    sentences: int = 0
    words: int = 0
    longest_document: int = 0
    """In sentences."""
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    edges: dict[str, int] = field(default_factory=dict)
    """Number of edges by relation, and of their `union`."""
    linked_sentences: int = 0
    """Sentences with a link to another sentence."""
    isolated_words: int = 0
    """Words whose only edge is the one to their sentence."""
    wordless_pieces: int = 0
    """Source sub-words that belong to no word, without ends of sentences."""
    outliers: dict[str, list[Outlier]] = field(default_factory=dict)
    """The largest values of each kind, in descending order."""

    def to_dict(self) -> dict[str, Any]:
        """Return the statistics, with shares, as plain values for JSON."""
        shares = {
            "linked_share": self.linked_sentences / max(self.sentences, 1),
            "edges_per_word": {name: count / max(self.words, 1) for name, count in self.edges.items()},
        }
        return {**asdict(self), **shares, "histogram_bins": list(HISTOGRAM)}


def statistics(
    corpus: PreparedCorpus,
    relations: str | Iterable[str] = "all",
    options: RelationOptions = RelationOptions(),
    worst: int = 5,
) -> SplitStatistics:
    """Compute the statistics of a split, with the `worst` outliers of each kind."""
    result = SplitStatistics(corpus.split)
    coders = {"source": corpus.tokenizer.source, "target": corpus.tokenizer.target}
    special = {side: coder.special_pieces() for side, coder in coders.items()}
    outliers = _Outliers(worst)
    for index in range(len(corpus)):
        annotation = corpus.annotation(index)
        lengths = {side: _count_side(getattr(result, side), corpus, index, side, *special[side]) for side in coders}
        result.documents += 1
        result.sentences += annotation.num_sentences
        result.words += annotation.num_words
        result.longest_document = max(result.longest_document, annotation.num_sentences)
        _count_graph(result, build_graph(annotation, relations, options))
        owners = np.concatenate(corpus.sentences(index, "source")[1])
        result.wordless_pieces += int((owners < 0).sum()) - annotation.num_sentences
        outliers.add_document(corpus, index, lengths["source"], lengths["target"])
    result.outliers = outliers.ranked()
    return result


def _count_side(
    side: SideStatistics, corpus: PreparedCorpus, index: int, name: str, unknown: int, byte_pieces: BoolArray
) -> Integers:
    """Count a side of a document; return the sub-words per sentence without the end of sentence, [M]."""
    sentences, _ = corpus.sentences(index, name)
    ids = np.concatenate(sentences)
    lengths = np.array([len(sentence) - 1 for sentence in sentences])
    side.tokens += len(ids)
    side.longest = max(side.longest, int(lengths.max(initial=0)))
    side.unknown += int((ids == unknown).sum())
    side.byte_pieces += int(byte_pieces[ids].sum())
    bins = np.maximum(np.searchsorted(HISTOGRAM, lengths, side="right") - 1, 0)
    for index_of_bin, count in enumerate(np.bincount(bins, minlength=len(HISTOGRAM)).tolist()):
        side.histogram[index_of_bin] += count
    return lengths


def _count_graph(result: SplitStatistics, graph: DocumentGraph) -> None:
    linked = np.zeros(graph.num_sentences, dtype=np.bool_)
    for name, links in graph.relations.items():
        result.edges[name] = result.edges.get(name, 0) + len(links)
        parts = [cliques for _, cliques in links.signed[:2]] if isinstance(links, LexicalLinks) else [links]
        for part in parts:
            linked[_linked_sentences(graph, part)] = True
    result.edges["union"] = result.edges.get("union", 0) + graph.num_edges
    result.linked_sentences += int(linked.sum())
    result.isolated_words += int(((graph.degrees[0] + graph.degrees[1])[: graph.num_words] <= 1).sum())


def _linked_sentences(graph: DocumentGraph, links: Edges | Cliques) -> Integers:
    """Return the sentences with a link to another sentence, without expanding cliques."""
    sentence_of = graph.sentence_of_node
    if isinstance(links, Cliques):
        own = sentence_of[links.nodes]
        # Members are in document order, so that the first and the last linked member decide.
        first, last = sentence_of[links.nodes[links.first]], sentence_of[links.nodes[links.last - 1]]
        return np.asarray(own[(first != own) | (last != own)])
    source, target = sentence_of[links.source], sentence_of[links.target]
    return np.concatenate([source[source != target], target[source != target]])


class _Outliers:
    """The largest values of each kind."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._heaps: dict[str, list[Outlier]] = {}

    def add_document(self, corpus: PreparedCorpus, index: int, source: Integers, target: Integers) -> None:
        """Consider a document, given the sub-words per sentence of both sides, [M]."""
        name, path, lines = corpus.place(index)
        # One sub-word is added to each side, so that pairs of one-word sentences are no outliers.
        ratios = (np.maximum(source, target) + 1) / (np.minimum(source, target) + 1)
        kinds = {"longest source": source, "longest target": target, "most unequal lengths": ratios}
        for kind, values in kinds.items():
            for sentence in np.argsort(-values, kind="stable")[: self._count].tolist():
                self._add(kind, Outlier(float(values[sentence]), path, int(lines[sentence]), name))
        self._add("longest document", Outlier(float(len(lines)), path, int(lines[0]), name))

    def _add(self, kind: str, outlier: Outlier) -> None:
        heap = self._heaps.setdefault(kind, [])
        heapq.heappush(heap, outlier)
        if len(heap) > self._count:
            heapq.heappop(heap)

    def ranked(self) -> dict[str, list[Outlier]]:
        """Return the outliers of each kind in descending order."""
        return {kind: sorted(heap, reverse=True) for kind, heap in self._heaps.items()}
