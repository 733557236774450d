"""How edges are held: a plain list, or cliques kept as groups so that memory stays linear in the document.

An edge goes from `source` to `target`; both are node numbers of one document (words 0..W-1, then sentences W..W+M-1).
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
    """Concatenation of range(starts[i], starts[i] + lengths[i]) for all i."""
    begins = np.cumsum(lengths, dtype=np.int64) - lengths
    shifts: LongArray = np.repeat(starts - begins, lengths)
    return np.arange(len(shifts), dtype=np.int64) + shifts


def stable_order(keys: Integers) -> LongArray:
    """[K]: the permutation that sorts non-negative `keys` [K], equal keys in their order, in linear time.

    NumPy sorts 16-bit integers by radix, much quicker than wider ones by comparison: one pass for every 16 bits.
    """
    order = np.argsort(keys.astype(np.uint16), kind="stable")
    high = keys >> 16
    return order[stable_order(high[order])] if high.any() else order


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges one by one: source [E], target [E]."""

    source: IntArray
    target: IntArray

    @classmethod
    def empty(cls) -> Edges:
        return cls(np.empty(0, np.int32), np.empty(0, np.int32))

    @classmethod
    def join(cls, parts: Iterable[Edges]) -> Edges:
        """All edges of the parts, in order, doubles kept."""
        parts = list(parts)
        if not parts:
            return cls.empty()
        return cls(np.concatenate([part.source for part in parts]), np.concatenate([part.target for part in parts]))

    def __len__(self) -> int:
        return len(self.source)

    def within(self, num_nodes: int) -> bool:
        """Whether every edge joins nodes 0..num_nodes-1."""
        # Read as unsigned, a negative number is a very large one: one comparison does for both ends.
        return all(int(ends.view(np.uint32).max(initial=0)) < max(num_nodes, 1) for ends in (self.source, self.target))

    def unique(self) -> Edges:
        """The same edges once each, ordered by target, then source, without self-loops."""
        keys = self.target.astype(np.int64)
        keys <<= 32
        keys |= self.source
        # Relations list their edges by target: the join is a few sorted runs, which timsort merges in linear time.
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
        return Edges(self.source[mask], self.target[mask])

    def expand(self) -> Edges:
        return self


@dataclass(frozen=True, eq=False)
class Cliques:
    """Ordered cliques: every member of a group points to each later member of the same group within reach.

    `nodes` [K] lists the members, group after group, each group in document order; a node is in one group at most.
    Member k receives edges from nodes[first[k]] .. nodes[k-1] and sends edges to nodes[k+1] .. nodes[last[k]-1]:
    without a distance limit, first and last are the ends of its group.
    """

    nodes: IntArray
    first: IntArray
    last: IntArray

    @classmethod
    def empty(cls) -> Cliques:
        return cls(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))

    @classmethod
    def of_keys(
        cls, nodes: Integers, keys: Sequence[Integers], position: IntArray | None = None, reach: int | None = None
    ) -> Cliques:
        """Group `nodes` [K] (in document order) by one or more `keys` [K] (not negative); singletons are dropped.

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
            # Groups are made disjoint on one axis, so that a single search finds the window of every member.
            reach = min(reach, int(position.max()))
            stride = int(position.max()) + reach + 1
            axis = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes) * stride + position[order]
            first = np.searchsorted(axis, axis - reach, side="left")
            last = np.searchsorted(axis, axis + reach, side="right")
        return cls(nodes[order].astype(np.int32), first.astype(np.int32), last.astype(np.int32))

    @classmethod
    def join(cls, parts: Sequence[tuple[Cliques, int]]) -> Cliques:
        """Cliques side by side; the nodes of each part are raised by the number that comes with it."""
        members = np.cumsum([0, *(len(part.nodes) for part, _ in parts)])
        nodes = [part.nodes + base for part, base in parts]
        first = [part.first + base for (part, _), base in zip(parts, members, strict=False)]
        last = [part.last + base for (part, _), base in zip(parts, members, strict=False)]
        columns = (np.concatenate([np.empty(0, np.int32), *column]).astype(np.int32) for column in (nodes, first, last))
        return cls(*columns)

    @cached_property
    def received(self) -> LongArray:
        """[K]: how many edges each member receives."""
        return np.arange(len(self.nodes)) - self.first

    @cached_property
    def num_edges(self) -> int:
        return int(self.received.sum())

    def __len__(self) -> int:
        return self.num_edges

    def groups(self) -> list[list[int]]:
        """The members of each group; with a distance limit, a group falls apart where no link bridges the gap."""
        return [part.tolist() for part in np.split(self.nodes, np.flatnonzero(self.received == 0)[1:]) if len(part)]

    def consecutive(self) -> Edges:
        """Each member -> the next one of its group: the clique drawn as a chain, one edge a member."""
        linked = np.flatnonzero(self.received)
        return Edges(self.nodes[linked - 1], self.nodes[linked])

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        """In- and out-degree of every node, [N] each, without expanding."""
        indegree, outdegree = np.zeros(num_nodes, np.int64), np.zeros(num_nodes, np.int64)
        indegree[self.nodes] = self.received
        outdegree[self.nodes] = self.last - np.arange(1, len(self.nodes) + 1)
        return indegree, outdegree

    def expand(self) -> Edges:
        """The edges one by one (quadratic in the size of a group)."""
        source = self.nodes[ragged_ranges(self.first, self.received)]
        return Edges(source, np.repeat(self.nodes, self.received))
