"""Linked context: for each sentence, the words and sentences elsewhere in the document that its words are linked with.

A link weighs more the rarer its word is in the document (a name says more than "the") and the nearer its other end is.
The cost is linear in the document: for each occurrence of a word, only the `REACH` nearest eligible occurrences on
either side are weighed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotation import BoolArray, IntArray
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Edges, Integers

REACH = 4
"""Occurrences of a word weighed before, and after, each of its occurrences."""
Weights = npt.NDArray[np.float64]
Cells = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], Weights]
"""A sparse matrix: rows, columns and weights, [L] each."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The linked context of each of M sentences, strongest first; rows are padded with -1."""

    words: IntArray
    """[M, K]: words of other sentences, earlier and later."""
    sentences: IntArray
    """[M, T]: earlier sentences (with `ahead`, also later ones) by the sum of their links; if fewer than T are linked,
    the nearest ones follow."""

    @classmethod
    def empty(cls, size: int, words: int, sentences: int) -> Selection:
        """Returns a selection of nothing for each of `size` sentences."""
        return cls(*(np.full((size, count), -1, dtype=np.int32) for count in (words, sentences)))

    def with_sentences(self, sentences: Integers) -> Selection:
        """Appends columns of sentences [M', K], M' >= M; the rows beyond M have no other context."""
        more = ((0, len(sentences) - len(self.sentences)), (0, 0))
        words, linked = (np.pad(table, more, constant_values=-1) for table in (self.words, self.sentences))
        return Selection(words, np.concatenate([linked, sentences.astype(np.int32)], axis=1))


def select(
    graph: DocumentGraph, words: int, sentences: int, among: BoolArray | None = None, ahead: bool = False
) -> Selection:
    """Returns the `words` strongest linked words and the `sentences` strongest linked sentences of each sentence.

    `among` [M] marks the sentences that may be selected, by default all. With `ahead`, later sentences may
    be selected, too. Words come from any sentence.
    """
    size, sentence_of, everything = graph.num_sentences, graph.sentence_of, np.ones(graph.num_sentences, np.bool_)
    later, earlier, weights = links = _weigh_links(graph, everything)
    both_ways = (sentence_of[later], earlier, weights), (sentence_of[earlier], later, weights)
    selected_words = _strongest(_sum_cells(both_ways, graph.num_words), size, words)
    eligible = everything if among is None else among
    if among is not None or ahead:
        links = _weigh_links(graph, eligible, ahead)
    home, away, weights = links
    linked, near = (sentence_of[home], sentence_of[away], weights), _nearest(eligible, sentences, ahead)
    return Selection(selected_words, _strongest(_sum_cells((linked, near), size), size, sentences))


def _weigh_links(graph: DocumentGraph, eligible: BoolArray, ahead: bool = False) -> Cells:
    """Returns (word, linked word, weight) of links to `eligible` [M] earlier (with `ahead`, also later) sentences."""
    parts: list[tuple[Edges, Weights]] = []
    lexical, size, sentence_of = graph.lexical, max(graph.num_sentences, 1), graph.sentence_of
    for cliques in (lexical.form, lexical.lemma) if lexical is not None else ():
        nodes, ranks = cliques.nodes, np.arange(len(cliques.nodes))
        # A word in every sentence weighs nothing; the members within reach stand for the sentences it is in.
        rarity = np.log(size / np.minimum(cliques.last - cliques.first, size))
        candidates = np.flatnonzero(eligible[sentence_of[nodes]])
        before, after = (np.searchsorted(candidates, ranks, side) for side in ("left", "right"))
        places = [before - step for step in range(1, REACH + 1)] + [after + step for step in range(REACH) if ahead]
        for place in places:
            member = np.flatnonzero((place >= 0) & (place < len(candidates)))
            other = candidates[place[member]]
            within = (other >= cliques.first[member]) & (other < cliques.last[member])
            member, other = member[within], other[within]
            parts.append((Edges(nodes[other], nodes[member]), rarity[member]))
    if "coreference" in graph.relations:
        edges = graph.edges("coreference")
        ends = np.minimum(edges.source, edges.target), np.maximum(edges.source, edges.target)
        ordered = Edges.join([Edges(*ends), Edges(*ends[::-1])][: 2 if ahead else 1])
        parts.append((ordered, np.full(len(ordered), np.log(size))))
    joined = Edges.join([edges for edges, _ in parts])
    away, home = sentence_of[joined.source], sentence_of[joined.target]
    weights = np.concatenate([np.empty(0), *(weight for _, weight in parts)])
    weights = weights / (1.0 + np.log(np.maximum(np.abs(home - away), 1)))
    valid = (away != home if ahead else away < home) & (weights > 0) & eligible[away]
    return joined.target[valid], joined.source[valid], weights[valid]


def _nearest(eligible: BoolArray, count: int, ahead: bool) -> Cells:
    """Returns (sentence, near one, weight) of the `count` nearest `eligible` [M] earlier (`ahead`: or later) sentences.

    They rank below any link, by proximity; ties go to the later sentence.
    """
    candidates = np.flatnonzero(eligible)
    row, step = np.divmod(np.arange(len(eligible) * count), max(count, 1))
    place = np.searchsorted(candidates, row) - step - 1
    if ahead:
        place = np.concatenate([place, np.searchsorted(candidates, row, "right") + step])
        row = np.tile(row, 2)
    valid = (place >= 0) & (place < len(candidates))
    row, column = row[valid], candidates[place[valid]]
    order = np.lexsort((-column, np.abs(column - row), row))
    row, column = row[order], column[order]
    rank = _rank_in_row(row)
    valid = rank < count
    return row[valid], column[valid], 1e-9 * (1.0 - rank[valid] / max(count, 1))


def _sum_cells(parts: Sequence[Cells], width: int) -> Cells:
    """Returns each (row, column) once, with the sum of its weights; columns are below `width`."""
    row, column, weight = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    cells, where = np.unique(row.astype(np.int64) * max(width, 1) + column, return_inverse=True)
    sums: Weights = np.bincount(where, weights=weight, minlength=len(cells)).astype(np.float64)
    return cells // max(width, 1), cells % max(width, 1), sums


def _strongest(cells: Cells, size: int, count: int) -> IntArray:
    """Returns [size, count]: the columns of each row by decreasing weight, ties to the later column, padded with -1."""
    row, column, weight = cells
    order = np.lexsort((-column, -np.round(weight, 12), row))
    row, column = row[order], column[order]
    rank = _rank_in_row(row)
    valid = rank < count
    strongest = np.full((size, count), -1, dtype=np.int32)
    strongest[row[valid], rank[valid]] = column[valid]
    return strongest


def _rank_in_row(row: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """Returns [L]: the index of each cell in its row; `row` [L] is sorted."""
    return np.arange(len(row)) - np.searchsorted(row, row, side="left")
