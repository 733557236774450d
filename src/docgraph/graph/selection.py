"""What a sentence should look back at: the words elsewhere in the document that its own words are linked with.

A link counts by how rare its word is in the document (a name says more than "the") and by how near its other end is.
Linear in the document: of a word's other occurrences only the few nearest on either side are weighed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotation import IntArray
from docgraph.graph.document_graph import DocumentGraph
from docgraph.graph.links import Edges, LongArray

REACH = 4
"""Occurrences of a word weighed before and after each of its occurrences."""
Weights = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Selection:
    """For each of M sentences, what it is linked with in others, the strongest first; -1 fills a row."""

    words: IntArray
    """[M, K]: words of other sentences, before and after."""
    sentences: IntArray
    """[M, T]: earlier sentences, by the sum of their links; then the nearest ones where too few are linked."""


def select(graph: DocumentGraph, words: int, sentences: int) -> Selection:
    """The `words` strongest linked words and the `sentences` strongest linked earlier sentences of each sentence."""
    ends, others, weights = _weighted_links(graph)
    home, away = graph.sentence_of[ends], graph.sentence_of[others]
    apart = np.abs(home - away)
    weights = weights / (1.0 + np.log(np.maximum(apart, 1)))
    across = (apart > 0) & (weights > 0)
    home, away, others, weights = home[across], away[across], others[across], weights[across]
    row, word, strength = _merged(home, others, weights, graph.num_words)
    chosen_words = _strongest(row, word, strength, graph.num_sentences, words)
    before = away < home
    row, sentence, strength = _merged(home[before], away[before], weights[before], graph.num_sentences)
    near = _nearest_before(graph.num_sentences, sentences)
    row, sentence, strength = (np.concatenate(pair) for pair in zip((row, sentence, strength), near, strict=True))
    row, sentence, strength = _merged(row, sentence, strength, graph.num_sentences)
    return Selection(chosen_words, _strongest(row, sentence, strength, graph.num_sentences, sentences))


def _weighted_links(graph: DocumentGraph) -> tuple[IntArray, IntArray, Weights]:
    """Words, words they are linked with, and the rarity of the link, [L] each, both ways."""
    parts: list[tuple[Edges, Weights]] = []
    lexical, size = graph.lexical, max(graph.num_sentences, 1)
    for cliques in (lexical.form, lexical.lemma) if lexical is not None else ():
        ranks = np.arange(len(cliques.nodes))
        # A word in every sentence weighs nothing; members in reach stand for the sentences it is in.
        rarity = np.log(size / np.minimum(cliques.last - cliques.first, size))
        for step in range(1, REACH + 1):
            later = np.flatnonzero(ranks - step >= cliques.first)
            parts.append((Edges(cliques.nodes[later - step], cliques.nodes[later]), rarity[later]))
    if "coreference" in graph.relations:
        edges = graph.edges("coreference")
        parts.append((edges, np.full(len(edges), np.log(size))))
    joined = Edges.join([edges for edges, _ in parts])
    weights = np.concatenate([np.empty(0), *(weight for _, weight in parts)])
    both = Edges.join([joined, Edges(joined.target, joined.source)])
    return both.source, both.target, np.concatenate([weights, weights])


def _nearest_before(size: int, count: int) -> tuple[LongArray, LongArray, Weights]:
    """The sentences just before each, weaker than any link, the nearest the least weak."""
    row, back = np.divmod(np.arange(size * count), max(count, 1))
    column = row - back - 1
    there = column >= 0
    return row[there], column[there], 1e-9 / (1.0 + back[there])


def _merged(
    row: npt.NDArray[np.integer], column: npt.NDArray[np.integer], weight: Weights, width: int
) -> tuple[LongArray, LongArray, Weights]:
    """Each (row, column) once, with the sum of its weights."""
    cells, where = np.unique(row.astype(np.int64) * max(width, 1) + column, return_inverse=True)
    sums: Weights = np.bincount(where, weights=weight, minlength=len(cells)).astype(np.float64)
    return cells // max(width, 1), cells % max(width, 1), sums


def _strongest(row: LongArray, column: LongArray, weight: Weights, size: int, count: int) -> IntArray:
    """[size, count]: the columns of each row by falling weight, later columns first on a tie; -1 fills."""
    order = np.lexsort((-column, -np.round(weight, 12), row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row, side="left")
    kept = rank < count
    chosen = np.full((size, count), -1, dtype=np.int32)
    chosen[row[kept], rank[kept]] = column[kept]
    return chosen
