"""Lexical links, linear in the document.

They are a union of two equivalences, same form and same lemma, whose cliques overlap. The union is written as
form + lemma - both, each a set of cliques: that keeps it linear, and every edge still counts once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docgraph.annotation import BoolArray, IntArray
from docgraph.graph.links import Cliques, Edges, LongArray


@dataclass(frozen=True, eq=False)
class Lexical:
    """Same form or same lemma: |form| + |lemma| - |both|."""

    form: Cliques
    lemma: Cliques
    both: Cliques
    keys: tuple[IntArray, IntArray]
    """(form id, lemma id) of every word, [W] each; -1 where a word is left out."""
    position: IntArray
    """[W]: the sentence of each word."""
    reach: int | None = None

    @classmethod
    def of_keys(cls, forms: IntArray, lemmas: IntArray, position: IntArray, reach: int | None = None) -> Lexical:
        """Lexical links of W words from their form ids and lemma ids [W]; pass the same array twice for forms alone."""

        def group(*keys: IntArray) -> Cliques:
            if min(int(key.min(initial=0)) for key in keys) >= 0:
                return Cliques.of_keys(np.arange(len(position)), keys, position, reach)
            words = np.flatnonzero(np.logical_and.reduce([key >= 0 for key in keys]))
            return Cliques.of_keys(words, [key[words] for key in keys], position[words], reach)

        if lemmas is forms:
            return cls(group(forms), Cliques.empty(), Cliques.empty(), (forms, forms), position, reach)
        return cls(group(forms), group(lemmas), group(forms, lemmas), (forms, lemmas), position, reach)

    @classmethod
    def join(cls, parts: Sequence[Lexical]) -> Lexical:
        """The lexical links of many documents side by side, none across documents."""
        if len({part.reach for part in parts}) > 1:
            raise ValueError("lexical links of different maximal distance do not join")
        words = np.cumsum([0, *(len(part.position) for part in parts)])
        sentences = [int(part.position.max(initial=-1)) + 1 for part in parts]
        form, lemma, both = (
            Cliques.join([(getattr(part, name), int(base)) for part, base in zip(parts, words, strict=False)])
            for name in ("form", "lemma", "both")
        )
        keys = tuple(_side_by_side([part.keys[side] for part in parts]) for side in range(2))
        position = _side_by_side([part.position for part in parts], sentences)
        return cls(form, lemma, both, (keys[0], keys[1]), position, parts[0].reach if parts else None)

    @property
    def signed(self) -> tuple[tuple[int, Cliques], ...]:
        """The three sets of cliques with the sign they enter the union with."""
        return (1, self.form), (1, self.lemma), (-1, self.both)

    def __len__(self) -> int:
        return sum(sign * len(cliques) for sign, cliques in self.signed)

    def covers(self, edges: Edges) -> BoolArray:
        """[E]: which of the edges are lexical links."""
        covered = np.zeros(len(edges), dtype=np.bool_)
        inside = np.flatnonzero((edges.source < edges.target) & (edges.target < len(self.position)))
        source, target = edges.source[inside], edges.target[inside]
        forms, lemmas = self.keys
        left = forms[source]
        same = (left == forms[target]) & (left >= 0)
        if lemmas is not forms:
            left = lemmas[source]
            same |= (left == lemmas[target]) & (left >= 0)
        if self.reach is not None:
            same &= self.position[target] - self.position[source] <= self.reach
        covered[inside] = same
        return covered

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        """In- and out-degree of every node, [N] each, without expanding."""
        indegree, outdegree = self.form.degrees(num_nodes)
        for sign, cliques in self.signed[1:]:
            extra_in, extra_out = cliques.degrees(num_nodes)
            indegree += sign * extra_in
            outdegree += sign * extra_out
        return indegree, outdegree

    def expand(self) -> Edges:
        """The edges one by one (quadratic in how often a word occurs)."""
        return Edges.join([self.form.expand(), self.lemma.expand()]).unique()

    def consecutive(self) -> Edges:
        """Each word -> its next occurrence by form and by lemma: what a drawing shows in place of the cliques."""
        return Edges.join([self.form.consecutive(), self.lemma.consecutive()]).unique()


def _side_by_side(columns: Sequence[IntArray], sizes: Sequence[int] | None = None) -> IntArray:
    """Columns of numbers below `sizes` (by default their own bound) one after another, made disjoint; -1 stays."""
    sizes = sizes or [int(column.max(initial=-1)) + 1 for column in columns]
    bases = np.cumsum([0, *sizes])
    raised = [np.where(column >= 0, column + base, -1) for column, base in zip(columns, bases, strict=False)]
    return np.concatenate([np.empty(0, np.int32), *raised]).astype(np.int32)
