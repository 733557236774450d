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
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Edges, Integers

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
    """[M, T]: earlier sentences, or others on either side, by the sum of their links; then the nearest ones where too
    few are linked."""

    @classmethod
    def empty(cls, size: int, words: int, sentences: int) -> Selection:
        """Nothing for each of so many sentences."""
        return cls(*(np.full((size, count), -1, dtype=np.int32) for count in (words, sentences)))

    def beside(self, sentences: Integers) -> Selection:
        """With more sentences [M', K] for each, of M' >= M; those that are more are linked with nothing else."""
        more = ((0, len(sentences) - len(self.sentences)), (0, 0))
        words, linked = (np.pad(table, more, constant_values=-1) for table in (self.words, self.sentences))
        return Selection(words, np.concatenate([linked, sentences.astype(np.int32)], axis=1))


def select(
    graph: DocumentGraph, words: int, sentences: int, among: BoolArray | None = None, ahead: bool = False
) -> Selection:
    """The `words` strongest linked words and the `sentences` strongest linked earlier sentences of each sentence.

    `among` [M] says which sentences may be chosen; without it, all. With `ahead`, later ones may be, too.
    """
    size, sentence_of, everything = graph.num_sentences, graph.sentence_of, np.ones(graph.num_sentences, np.bool_)
    later, earlier, weights = links = _links(graph, everything)
    both_ways = (sentence_of[later], earlier, weights), (sentence_of[earlier], later, weights)
    chosen_words = _strongest(_merged(both_ways, graph.num_words), size, words)
    open_to = everything if among is None else among
    if among is not None or ahead:
        links = _links(graph, open_to, ahead)
    home, away, weights = links
    linked, near = (sentence_of[home], sentence_of[away], weights), _nearest(open_to, sentences, ahead)
    return Selection(chosen_words, _strongest(_merged((linked, near), size), size, sentences))


def _links(graph: DocumentGraph, among: BoolArray, ahead: bool = False) -> Cells:
    """Words, words of earlier sentences (and, `ahead`, of later ones) `among` [M] these that they are linked with, and
    how strongly."""
    parts: list[tuple[Edges, Weights]] = []
    lexical, size, sentence_of = graph.lexical, max(graph.num_sentences, 1), graph.sentence_of
    for cliques in (lexical.form, lexical.lemma) if lexical is not None else ():
        nodes, ranks = cliques.nodes, np.arange(len(cliques.nodes))
        # A word in every sentence weighs nothing; members in reach stand for the sentences it is in.
        rarity = np.log(size / np.minimum(cliques.last - cliques.first, size))
        open_to = np.flatnonzero(among[sentence_of[nodes]])
        before, after = (np.searchsorted(open_to, ranks, side) for side in ("left", "right"))
        places = [before - step for step in range(1, REACH + 1)] + [after + step for step in range(REACH) if ahead]
        for place in places:
            member = np.flatnonzero((place >= 0) & (place < len(open_to)))
            other = open_to[place[member]]
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
    kept = (away != home if ahead else away < home) & (weights > 0) & among[away]
    return joined.target[kept], joined.source[kept], weights[kept]


def _nearest(among: BoolArray, count: int, ahead: bool) -> Cells:
    """The `count` sentences nearest before each (or, `ahead`, on either side), of those that may be chosen, weaker than
    any link, the nearest the least weak, of two as near the later one."""
    open_to = np.flatnonzero(among)
    row, step = np.divmod(np.arange(len(among) * count), max(count, 1))
    place = np.searchsorted(open_to, row) - step - 1
    if ahead:
        place = np.concatenate([place, np.searchsorted(open_to, row, "right") + step])
        row = np.tile(row, 2)
    there = (place >= 0) & (place < len(open_to))
    row, column = row[there], open_to[place[there]]
    order = np.lexsort((-column, np.abs(column - row), row))
    row, column = row[order], column[order]
    rank = _ranks(row)
    kept = rank < count
    return row[kept], column[kept], 1e-9 * (1.0 - rank[kept] / max(count, 1))


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
    rank = _ranks(row)
    kept = rank < count
    chosen = np.full((size, count), -1, dtype=np.int32)
    chosen[row[kept], rank[kept]] = column[kept]
    return chosen


def _ranks(row: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
    """[L]: the place of each cell in its row, of rows in order."""
    return np.arange(len(row)) - np.searchsorted(row, row, side="left")
