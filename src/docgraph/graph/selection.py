"""What a sentence should look back at: the words elsewhere in the document that its own words are linked with.

A link counts by how rare its word is in the document (a name says more than "the") and by how near its other end is.
Linear in the document: of a word's other occurrences only the few nearest on either side are weighed, of those that may
be chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotation import BoolArray, IntArray
from docgraph.graph.document_graph import DocumentGraph
from docgraph.graph.links import Edges

REACH = 4
"""Occurrences of a word weighed before and after each of its occurrences."""
Weights = npt.NDArray[np.float64]
Cells = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], Weights]
"""Rows, columns and weights, [L] each."""


@dataclass(frozen=True, eq=False)
class Selection:
    """For each of M sentences, what it is linked with in others, the strongest first; -1 fills a row."""

    words: IntArray
    """[M, K]: words of other sentences, before and after."""
    sentences: IntArray
    """[M, T]: earlier sentences, by the sum of their links; then the nearest ones where too few are linked."""

    @classmethod
    def empty(cls, size: int, words: int, sentences: int) -> Selection:
        """Nothing for each of so many sentences."""
        return cls(*(np.full((size, count), -1, dtype=np.int32) for count in (words, sentences)))


def select(graph: DocumentGraph, words: int, sentences: int, among: BoolArray | None = None) -> Selection:
    """The `words` strongest linked words and the `sentences` strongest linked earlier sentences of each sentence.

    `among` [M] says which sentences may be chosen as earlier ones; without it, all.
    """
    size, sentence_of, everything = graph.num_sentences, graph.sentence_of, np.ones(graph.num_sentences, np.bool_)
    later, earlier, weights = links = _links_back(graph, everything)
    both_ways = (sentence_of[later], earlier, weights), (sentence_of[earlier], later, weights)
    chosen_words = _strongest(_merged(both_ways, graph.num_words), size, words)
    later, earlier, weights = links if among is None else _links_back(graph, among)
    back = sentence_of[later], sentence_of[earlier], weights
    near = _nearest_before(everything if among is None else among, sentences)
    return Selection(chosen_words, _strongest(_merged((back, near), size), size, sentences))


def _links_back(graph: DocumentGraph, among: BoolArray) -> Cells:
    """Words, words of earlier sentences `among` [M] these that they are linked with, and how strongly."""
    parts: list[tuple[Edges, Weights]] = []
    lexical, size, sentence_of = graph.lexical, max(graph.num_sentences, 1), graph.sentence_of
    for cliques in (lexical.form, lexical.lemma) if lexical is not None else ():
        nodes, ranks = cliques.nodes, np.arange(len(cliques.nodes))
        # A word in every sentence weighs nothing; members in reach stand for the sentences it is in.
        rarity = np.log(size / np.minimum(cliques.last - cliques.first, size))
        open_to = np.flatnonzero(among[sentence_of[nodes]])
        place = np.searchsorted(open_to, ranks)
        for step in range(1, REACH + 1):
            later = np.flatnonzero(place >= step)
            back = open_to[place[later] - step]
            within = back >= cliques.first[later]
            later, back = later[within], back[within]
            parts.append((Edges(nodes[back], nodes[later]), rarity[later]))
    if "coreference" in graph.relations:
        edges = graph.edges("coreference")
        ordered = Edges(np.minimum(edges.source, edges.target), np.maximum(edges.source, edges.target))
        parts.append((ordered, np.full(len(edges), np.log(size))))
    joined = Edges.join([edges for edges, _ in parts])
    away, home = sentence_of[joined.source], sentence_of[joined.target]
    weights = np.concatenate([np.empty(0), *(weight for _, weight in parts)])
    weights = weights / (1.0 + np.log(np.maximum(home - away, 1)))
    kept = (away < home) & (weights > 0) & among[away]
    return joined.target[kept], joined.source[kept], weights[kept]


def _nearest_before(among: BoolArray, count: int) -> Cells:
    """The sentences just before each, of those that may be chosen, weaker than any link, the nearest the least weak."""
    open_to = np.flatnonzero(among)
    row, back = np.divmod(np.arange(len(among) * count), max(count, 1))
    place = np.searchsorted(open_to, row) - back - 1
    there = place >= 0
    return row[there], open_to[place[there]], 1e-9 / (1.0 + back[there])


def _merged(parts: Sequence[Cells], width: int) -> Cells:
    """Each (row, column) once, with the sum of its weights."""
    row, column, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    cells, where = np.unique(row.astype(np.int64) * max(width, 1) + column, return_inverse=True)
    sums: Weights = np.bincount(where, weights=weight, minlength=len(cells)).astype(np.float64)
    return cells // max(width, 1), cells % max(width, 1), sums


def _strongest(cells: Cells, size: int, count: int) -> IntArray:
    """[size, count]: the columns of each row by falling weight, later columns first on a tie; -1 fills."""
    row, column, weight = cells
    order = np.lexsort((-column, -np.round(weight, 12), row))
    row, column = row[order], column[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row, side="left")
    kept = rank < count
    chosen = np.full((size, count), -1, dtype=np.int32)
    chosen[row[kept], rank[kept]] = column[kept]
    return chosen
