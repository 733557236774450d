"""Edge storage: an explicit edge list, or cliques kept as groups so that memory stays linear in the document.

An edge goes from `source` to `target`. Both are node numbers of one document: words 0..W-1, then sentences W..W+M-1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from docgraph.annotation import BoolArray, IntArray

LongArray = npt.NDArray[np.int64]
Integers = npt.NDArray[np.integer]


def ragged_ranges(starts: Integers, lengths: Integers) -> LongArray:
    """Returns the concatenation of range(starts[i], starts[i] + lengths[i]) for all i."""
    begins = np.cumsum(lengths, dtype=np.int64) - lengths
    shifts: LongArray = np.repeat(starts - begins, lengths)
    return np.arange(len(shifts), dtype=np.int64) + shifts


def stable_order(keys: Integers) -> LongArray:
    """Returns [K]: the permutation that stably sorts non-negative `keys` [K], in linear time.

    NumPy radix-sorts 16-bit integers, which is much faster than comparing wider ones: one pass for every 16 bits.
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    high = keys >> 16
    return order[stable_order(high[order])] if high.any() else order


@dataclass(frozen=True, eq=False)
class Edges:
    """An explicit edge list: source [E], target [E]."""

    source: IntArray
    target: IntArray

    @classmethod
    def empty(cls) -> Edges:
        """Returns an edge list without edges."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32))

    @classmethod
    def join(cls, parts: Iterable[Edges]) -> Edges:
        """Returns the edges of all parts, in order, with duplicates."""
        parts = list(parts)
        if not parts:
            return cls.empty()
        return cls(np.concatenate([part.source for part in parts]), np.concatenate([part.target for part in parts]))

    def __len__(self) -> int:
        return len(self.source)

    def within(self, num_nodes: int) -> bool:
        """Returns True if every edge joins nodes 0..num_nodes-1."""
        # Viewed as unsigned, a negative number is very large, so one comparison checks both bounds.
        return all(int(ends.view(np.uint32).max(initial=0)) < max(num_nodes, 1) for ends in (self.source, self.target))

    def unique(self) -> Edges:
        """Returns the distinct edges without self-loops, ordered by target, then source."""
        keys = self.target.astype(np.int64)
        keys <<= 32
        keys |= self.source
        # Relations list their edges by target, so a join is a few sorted runs, which timsort merges in linear time.
        keys.sort(kind="stable")
        fresh = np.ones(len(keys), dtype=np.bool_)
        np.not_equal(keys[1:], keys[:-1], out=fresh[1:])
        keys = keys[fresh]
        source = keys.astype(np.int32)  # the lower half
        keys >>= 32
        edges = Edges(source, keys.astype(np.int32))
        loops = edges.source == edges.target
        return edges.where(~loops) if loops.any() else edges

    def where(self, mask: BoolArray) -> Edges:
        """Returns the edges at which `mask` [E] is True."""
        return Edges(self.source[mask], self.target[mask])

    def expand(self) -> Edges:
        """Returns the edge list itself; LexicalLinks has the same method."""
        return self


@dataclass(frozen=True, eq=False)
class Cliques:
    """Ordered cliques: every member of a group points to each later member of the group within reach.

    `nodes` [K] lists the members group after group, each group in document order; a node is in at most one group.
    Member k receives edges from nodes[first[k]] .. nodes[k-1] and sends edges to nodes[k+1] .. nodes[last[k]-1].
    Without a distance limit, `first` and `last` are the bounds of the group.
    """

    nodes: IntArray
    first: IntArray
    last: IntArray

    @classmethod
    def empty(cls) -> Cliques:
        """Returns cliques without members."""
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))

    @classmethod
    def of_keys(
        cls, nodes: Integers, keys: Sequence[Integers], position: IntArray | None = None, reach: int | None = None
    ) -> Cliques:
        """Groups `nodes` [K] (in document order) by one or more non-negative `keys` [K]; drops singletons.

        With `reach`, only members whose `position` [K] (sentence number) differs by at most `reach` are linked.
        """
        order, opens = stable_order(keys[0]), np.zeros(len(nodes), dtype=np.bool_)
        for key in keys[1:]:
            order = order[stable_order(key[order])]
        for key in keys:
            ordered = key[order]
            opens[1:] |= ordered[1:] != ordered[:-1]
        opens[:1] = True
        starts = np.append(np.flatnonzero(opens), len(nodes))
        sizes = np.diff(starts)
        many = sizes > 1
        order, sizes = order[np.repeat(many, sizes)], sizes[many]
        ends = np.cumsum(sizes)
        first, last = np.repeat(ends - sizes, sizes), np.repeat(ends, sizes)
        if reach is not None and position is not None and len(order):
            # The groups are laid end to end on one axis, so that a single search finds the window of every member.
            reach = min(reach, int(position.max()))
            stride = int(position.max()) + reach + 1
            axis = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes) * stride + position[order]
            first = np.searchsorted(axis, axis - reach, side="left")
            last = np.searchsorted(axis, axis + reach, side="right")
        return cls(nodes[order].astype(np.int32), first.astype(np.int32), last.astype(np.int32))

    @classmethod
    def join(cls, parts: Sequence[tuple[Cliques, int]]) -> Cliques:
        """Concatenates cliques; each part comes with the offset to add to its node numbers."""
        members = np.cumsum([0, *(len(part.nodes) for part, _ in parts)])
        nodes = [part.nodes + base for part, base in parts]
        first = [part.first + base for (part, _), base in zip(parts, members, strict=False)]
        last = [part.last + base for (part, _), base in zip(parts, members, strict=False)]
        columns = (np.concatenate([np.empty(0, np.int32), *column]).astype(np.int32) for column in (nodes, first, last))
        return cls(*columns)

    @cached_property
    def received(self) -> LongArray:
        """[K]: the number of edges each member receives."""
        return np.arange(len(self.nodes)) - self.first

    def __len__(self) -> int:
        """Returns the number of edges."""
        return int(self.received.sum())

    def groups(self) -> list[list[int]]:
        """Returns the members of each group; a distance limit splits a group at gaps that no edge bridges."""
        return [part.tolist() for part in np.split(self.nodes, np.flatnonzero(self.received == 0)[1:]) if len(part)]

    def consecutive(self) -> Edges:
        """Returns each member -> the next member of its group: the clique as a chain."""
        linked = np.flatnonzero(self.received)
        return Edges(self.nodes[linked - 1], self.nodes[linked])

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        """Returns in- and out-degree of every node, [N] each, without expanding."""
        indegree, outdegree = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
        indegree[self.nodes] = self.received
        outdegree[self.nodes] = self.last - np.arange(1, len(self.nodes) + 1)
        return indegree, outdegree

    def expand(self) -> Edges:
        """Returns the explicit edge list, quadratic in the size of a group."""
        source = self.nodes[ragged_ranges(self.first, self.received)]
        return Edges(source, np.repeat(self.nodes, self.received))


@dataclass(frozen=True, eq=False)
class LexicalLinks:
    """Word -> every later word of the same form or the same lemma, in linear memory.

    The links are the union of two equivalences whose cliques overlap. By inclusion-exclusion the union is stored as
    form + lemma - both, three sets of cliques, so that every edge still counts once.
    """

    form: Cliques
    lemma: Cliques
    both: Cliques
    keys: tuple[IntArray, IntArray]
    """(form id, lemma id) of every word, [W] each; -1 for a word that is left out."""
    position: IntArray
    """[W]: the sentence of each word."""
    reach: int | None = None
    """Largest distance of two linked words, in sentences; None is no limit."""

    @classmethod
    def of_keys(cls, forms: IntArray, lemmas: IntArray, position: IntArray, reach: int | None = None) -> LexicalLinks:
        """Links W words by form id and lemma id [W]; pass the same array twice to link by form only."""

        def group(*keys: IntArray) -> Cliques:
            if min(int(key.min(initial=0)) for key in keys) >= 0:
                return Cliques.of_keys(np.arange(len(position)), keys, position, reach)
            words = np.flatnonzero(np.logical_and.reduce([key >= 0 for key in keys]))
            return Cliques.of_keys(words, [key[words] for key in keys], position[words], reach)

        if lemmas is forms:
            return cls(group(forms), Cliques.empty(), Cliques.empty(), (forms, forms), position, reach)
        return cls(group(forms), group(lemmas), group(forms, lemmas), (forms, lemmas), position, reach)

    @classmethod
    def join(cls, parts: Sequence[LexicalLinks]) -> LexicalLinks:
        """Returns the links of several documents in one batch; none cross documents."""
        if len({part.reach for part in parts}) > 1:
            raise ValueError("lexical links with different maximum distances cannot be batched")
        words = np.cumsum([0, *(len(part.position) for part in parts)])
        sentences = [int(part.position.max(initial=-1)) + 1 for part in parts]
        form, lemma, both = (
            Cliques.join([(getattr(part, name), int(base)) for part, base in zip(parts, words, strict=False)])
            for name in ("form", "lemma", "both")
        )
        keys = tuple(_concatenate_disjoint([part.keys[side] for part in parts]) for side in range(2))
        position = _concatenate_disjoint([part.position for part in parts], sentences)
        return cls(form, lemma, both, (keys[0], keys[1]), position, parts[0].reach if parts else None)

    @property
    def signed(self) -> tuple[tuple[int, Cliques], ...]:
        """The three sets of cliques, each with its sign in the union."""
        return (1, self.form), (1, self.lemma), (-1, self.both)

    def __len__(self) -> int:
        """Returns the number of edges."""
        return sum(sign * len(cliques) for sign, cliques in self.signed)

    def covers(self, edges: Edges) -> BoolArray:
        """Returns [E]: True at the edges that are lexical links."""
        covered = np.zeros(len(edges), dtype=np.bool_)
        forward = np.flatnonzero((edges.source < edges.target) & (edges.target < len(self.position)))
        source, target = edges.source[forward], edges.target[forward]
        forms, lemmas = self.keys
        left = forms[source]
        same = (left == forms[target]) & (left >= 0)
        if lemmas is not forms:
            left = lemmas[source]
            same |= (left == lemmas[target]) & (left >= 0)
        if self.reach is not None:
            same &= self.position[target] - self.position[source] <= self.reach
        covered[forward] = same
        return covered

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        """Returns in- and out-degree of every node, [N] each, without expanding."""
        indegree, outdegree = self.form.degrees(num_nodes)
        for sign, cliques in self.signed[1:]:
            extra_in, extra_out = cliques.degrees(num_nodes)
            indegree += sign * extra_in
            outdegree += sign * extra_out
        return indegree, outdegree

    def expand(self) -> Edges:
        """Returns the explicit edge list, quadratic in the number of occurrences of a word."""
        return Edges.join([self.form.expand(), self.lemma.expand()]).unique()

    def consecutive(self) -> Edges:
        """Returns each word -> its next occurrence by form and by lemma."""
        return Edges.join([self.form.consecutive(), self.lemma.consecutive()]).unique()


Links = Edges | LexicalLinks


def _concatenate_disjoint(columns: Sequence[IntArray], sizes: Sequence[int] | None = None) -> IntArray:
    """Concatenates columns of ids, raised so that no two columns share an id; -1 stays.

    The ids of column i are below sizes[i], by default its maximum plus one.
    """
    sizes = sizes or [int(column.max(initial=-1)) + 1 for column in columns]
    bases = np.cumsum([0, *sizes])
    raised = [np.where(column >= 0, column + base, -1) for column, base in zip(columns, bases, strict=False)]
    return np.concatenate([np.empty(0, np.int32), *raised]).astype(np.int32)
