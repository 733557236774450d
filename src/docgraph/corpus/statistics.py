"""What a prepared corpus is like, in numbers, one document in memory at a time: the look before the training."""

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
"""Sub-words of a sentence: the first of each bin; the last bin is open."""


@dataclass(frozen=True, order=True)
class Outlier:
    """A sentence pair or document to look at, by how far it stands out."""

    value: float
    path: str
    line: int
    document: str


@dataclass
class SideStatistics:
    """One side's sub-words."""

    tokens: int = 0
    """Ends of sentences included."""
    longest: int = 0
    unknown: int = 0
    byte_pieces: int = 0
    """Pieces that stand for single bytes of characters the vocabulary lacks."""
    histogram: list[int] = field(default_factory=lambda: [0] * len(HISTOGRAM))
    """Sentences by their number of sub-words."""


@dataclass
class SplitStatistics:
    """A split."""

    split: str
    documents: int = 0
    sentences: int = 0
    words: int = 0
    longest_document: int = 0
    """In sentences."""
    source: SideStatistics = field(default_factory=SideStatistics)
    target: SideStatistics = field(default_factory=SideStatistics)
    edges: dict[str, int] = field(default_factory=dict)
    """By relation, and their `union`."""
    linked_sentences: int = 0
    """Sentences that a lexical, coreference or other link joins to another sentence."""
    isolated_words: int = 0
    """Words with no edge but the one to their sentence."""
    wordless_pieces: int = 0
    """Source sub-words that belong to no word; ends of sentences are not counted."""
    outliers: dict[str, list[Outlier]] = field(default_factory=dict)
    """The worst of each kind, worst first."""

    def to_dict(self) -> dict[str, Any]:
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
    """Count a split; `worst` outliers of each kind are kept."""
    found = SplitStatistics(corpus.split)
    coders = {"source": corpus.tokenizer.source, "target": corpus.tokenizer.target}
    special = {side: coder.special_pieces() for side, coder in coders.items()}
    kept = _Worst(worst)
    for index in range(len(corpus)):
        annotation = corpus.annotation(index)
        lengths = {side: _count_side(getattr(found, side), corpus, index, side, *special[side]) for side in coders}
        found.documents += 1
        found.sentences += annotation.num_sentences
        found.words += annotation.num_words
        found.longest_document = max(found.longest_document, annotation.num_sentences)
        graph = build_graph(annotation, relations, options)
        _count_graph(found, graph)
        owners = np.concatenate(corpus.sentences(index, "source")[1])
        found.wordless_pieces += int((owners < 0).sum()) - annotation.num_sentences
        kept.see(corpus, index, lengths["source"], lengths["target"])
    found.outliers = kept.outliers()
    return found


def _count_side(
    side: SideStatistics, corpus: PreparedCorpus, index: int, name: str, unknown: int, byte_pieces: BoolArray
) -> Integers:
    """Add a document to the counts of a side; the sub-words of its sentences without their ends, [M]."""
    sentences, _ = corpus.sentences(index, name)
    ids = np.concatenate(sentences)
    lengths = np.array([len(sentence) - 1 for sentence in sentences])
    side.tokens += len(ids)
    side.longest = max(side.longest, int(lengths.max(initial=0)))
    side.unknown += int((ids == unknown).sum())
    side.byte_pieces += int(byte_pieces[ids].sum())
    bins = np.maximum(np.searchsorted(HISTOGRAM, lengths, side="right") - 1, 0)
    for place, count in enumerate(np.bincount(bins, minlength=len(HISTOGRAM)).tolist()):
        side.histogram[place] += count
    return lengths


def _count_graph(found: SplitStatistics, graph: DocumentGraph) -> None:
    linked = np.zeros(graph.num_sentences, dtype=np.bool_)
    for name, links in graph.relations.items():
        found.edges[name] = found.edges.get(name, 0) + len(links)
        parts = [cliques for _, cliques in links.signed[:2]] if isinstance(links, LexicalLinks) else [links]
        for part in parts:
            linked[_joined_sentences(graph, part)] = True
    found.edges["union"] = found.edges.get("union", 0) + graph.num_edges
    found.linked_sentences += int(linked.sum())
    found.isolated_words += int(((graph.degrees[0] + graph.degrees[1])[: graph.num_words] <= 1).sum())


def _joined_sentences(graph: DocumentGraph, links: Edges | Cliques) -> Integers:
    """The sentences that links join to others; cliques are not expanded."""
    owner = graph.sentence_of_node
    if isinstance(links, Cliques):
        own = owner[links.nodes]
        # Members are in document order: only the furthest that a member is linked to matter.
        across = (owner[links.nodes[links.first]] != own) | (owner[links.nodes[links.last - 1]] != own)
        return np.asarray(own[across])
    source, target = owner[links.source], owner[links.target]
    return np.concatenate([source[source != target], target[source != target]])


class _Worst:
    """The furthest outliers of each kind."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._heaps: dict[str, list[Outlier]] = {}

    def see(self, corpus: PreparedCorpus, index: int, source: Integers, target: Integers) -> None:
        """Look at a document, given the sub-words of its sentences on both sides [M]."""
        name, path, lines = corpus.place(index)
        # One piece more on each side: a pair of one-word sentences is no outlier.
        ratios = (np.maximum(source, target) + 1) / (np.minimum(source, target) + 1)
        kinds = {"longest source": source, "longest target": target, "most unequal lengths": ratios}
        for kind, values in kinds.items():
            for sentence in np.argsort(-values, kind="stable")[: self._count].tolist():
                self._keep(kind, Outlier(float(values[sentence]), path, int(lines[sentence]), name))
        self._keep("longest document", Outlier(float(len(lines)), path, int(lines[0]), name))

    def _keep(self, kind: str, outlier: Outlier) -> None:
        heap = self._heaps.setdefault(kind, [])
        heapq.heappush(heap, outlier)
        if len(heap) > self._count:
            heapq.heappop(heap)

    def outliers(self) -> dict[str, list[Outlier]]:
        return {kind: sorted(heap, reverse=True) for kind, heap in self._heaps.items()}
