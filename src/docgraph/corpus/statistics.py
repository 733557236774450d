"""Statistics of a prepared corpus (`docgraph debug data`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from docgraph.corpus.store import Integers, PreparedCorpus
from docgraph.graph import Cliques, DocumentGraph, Edges, LexicalLinks, RelationOptions, build_graph

HISTOGRAM = (1, 6, 11, 21, 31, 51, 101, 201, 1001)
"""Lower bounds of the bins for sub-words per sentence; the last bin has no upper bound."""


@dataclass(frozen=True)
class Outlier:
    """A sentence pair or document with an extreme value."""

    value: float
    path: str
    line: int
    document: str


@dataclass
class SideStatistics:
    """Sub-words of one side."""

    tokens: int
    """Including ends of sentences."""
    longest: int
    unknown: int
    byte_pieces: int
    """Pieces that represent a byte of a character outside the vocabulary."""
    histogram: list[int]
    """Number of sentences by their number of sub-words."""


@dataclass
class SplitStatistics:
    """Statistics of a split."""

    split: str
    documents: int
    sentences: int
    words: int
    longest_document: int
    """In sentences."""
    source: SideStatistics
    target: SideStatistics
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
        """Returns the statistics, with shares, as plain values for JSON."""
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
    """Computes the statistics of a split, with the `worst` outliers of each kind."""
    sizes = corpus.sizes
    result = SplitStatistics(
        corpus.split,
        documents=len(corpus),
        sentences=int(sizes.sentences.sum()),
        words=int(sizes.words.sum()),
        longest_document=int(sizes.sentences.max(initial=0)),
        source=_side_statistics(corpus, "source"),
        target=_side_statistics(corpus, "target"),
        outliers=_outliers(corpus, worst),
    )
    for index in range(len(corpus)):
        _count_graph(result, build_graph(corpus.annotation(index), relations, options))
        owners = np.concatenate(corpus.sentences(index, "source")[1])
        result.wordless_pieces += int((owners < 0).sum()) - int(sizes.sentences[index])
    return result


def _side_statistics(corpus: PreparedCorpus, side: Literal["source", "target"]) -> SideStatistics:
    unknown, is_byte_piece = getattr(corpus.tokenizer, side).special_pieces()
    ids, lengths = corpus.flat(side), _lengths(corpus, side)
    bins = np.maximum(np.searchsorted(HISTOGRAM, lengths, side="right") - 1, 0)
    return SideStatistics(
        tokens=len(ids),
        longest=int(lengths.max(initial=0)),
        unknown=int((ids == unknown).sum()),
        byte_pieces=int(is_byte_piece[ids].sum()),
        histogram=np.bincount(bins, minlength=len(HISTOGRAM)).tolist(),
    )


def _lengths(corpus: PreparedCorpus, side: str) -> Integers:
    """Returns the sub-words of each sentence of the split, [S], without the end of sentence."""
    return corpus.flat(f"{side}_lengths").astype(np.int64) - 1


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
    """Returns the sentences with a link to another sentence, without expanding cliques."""
    sentence_of = graph.sentence_of_node
    if isinstance(links, Cliques):
        own = sentence_of[links.nodes]
        # Members are in document order, so that the first and the last linked member decide.
        first, last = sentence_of[links.nodes[links.first]], sentence_of[links.nodes[links.last - 1]]
        return np.asarray(own[(first != own) | (last != own)])
    source, target = sentence_of[links.source], sentence_of[links.target]
    return np.concatenate([source[source != target], target[source != target]])


def _outliers(corpus: PreparedCorpus, count: int) -> dict[str, list[Outlier]]:
    """Returns the `count` largest values of each kind; ties go to the earlier sentence."""
    source, target = _lengths(corpus, "source"), _lengths(corpus, "target")
    # One sub-word is added to each side, so that pairs of one-word sentences are not outliers.
    ratios = (np.maximum(source, target) + 1) / (np.minimum(source, target) + 1)
    kinds = {"longest source": source, "longest target": target, "most unequal lengths": ratios}
    outliers = {
        kind: [_outlier(corpus, values[index], index) for index in _largest(values, count)]
        for kind, values in kinds.items()
    }
    documents = corpus.sizes.sentences
    longest = [(documents[index], corpus.first_sentences[index]) for index in _largest(documents, count)]
    return outliers | {"longest document": [_outlier(corpus, value, first) for value, first in longest]}


def _largest(values: npt.NDArray[Any], count: int) -> list[int]:
    """Returns the indices of the largest values in descending order."""
    order: list[int] = np.argsort(-values, kind="stable")[:count].tolist()
    return order


def _outlier(corpus: PreparedCorpus, value: float, sentence: int) -> Outlier:
    """Returns the outlier at a sentence, counted over the whole split."""
    document = int(np.searchsorted(corpus.first_sentences, sentence, side="right")) - 1
    name, path, lines = corpus.location(document)
    return Outlier(float(value), path, int(lines[sentence - corpus.first_sentences[document]]), name)
