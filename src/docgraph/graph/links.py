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


def ragged_ranges(starts: npt.NDArray[np.integer], lengths: npt.NDArray[np.integer]) -> LongArray:
    """Concatenation of range(starts[i], starts[i] + lengths[i]) for all i."""
    total = int(lengths.sum())
    shifts = (
        np.repeat(starts - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths)
        if len(lengths)
        else np.empty(0, np.int64)
    )
    return np.arange(total, dtype=np.int64) + shifts.astype(np.int64)


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

    def keys(self, num_nodes: int) -> LongArray:
        """[E]: one number an edge, ordered by source, then target."""
        return self.source.astype(np.int64) * num_nodes + self.target

    def unique(self, num_nodes: int) -> Edges:
        """The same edges once each, ordered by source, then target, without self-loops."""
        keys = np.unique(self.keys(num_nodes))
        source, target = np.divmod(keys, max(num_nodes, 1))
        keep = source != target
        return Edges(source[keep].astype(np.int32), target[keep].astype(np.int32))

    def where(self, mask: BoolArray) -> Edges:
        return Edges(self.source[mask], self.target[mask])

    def expand(self) -> Edges:
        return self


@dataclass(frozen=True, eq=False)
class Cliques:
    """Ordered cliques: every member of a group points to each later member of the same group within reach.

    `nodes` [K] lists the members, group after group, each group in document order. Member k receives edges from
    nodes[first[k]] .. nodes[k-1] and sends edges to nodes[k+1] .. nodes[last[k]-1]: without a distance limit, first
    and last are the ends of its group.
    """

    nodes: IntArray
    first: IntArray
    last: IntArray

    @classmethod
    def of_keys(
        cls, nodes: IntArray, keys: npt.NDArray[np.integer], position: IntArray | None = None, reach: int | None = None
    ) -> Cliques:
        """Group `nodes` [K] (in document order) by `keys` [K]; singletons are dropped.

        With `reach`, only members whose `position` [K] (sentence number) differs by at most `reach` are linked.
        """
        order = np.argsort(keys, kind="stable")
        sorted_keys = keys[order]
        opens = (
            np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))
            if len(keys)
            else np.empty(0, np.int64)
        )
        sizes = np.diff(np.concatenate([opens, [len(keys)]]))
        keep = np.repeat(sizes > 1, sizes)
        order, sizes = order[keep], sizes[sizes > 1]
        ends = np.cumsum(sizes)
        first, last = np.repeat(ends - sizes, sizes), np.repeat(ends, sizes)
        if reach is not None and position is not None and len(order):
            # Groups are made disjoint on one axis, so that a single search finds the window of every member.
            stride = int(position.max()) + reach + 2
            axis = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes) * 2 * stride + position[order]
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
    def num_edges(self) -> int:
        return int((np.arange(len(self.nodes)) - self.first).sum())

    def __len__(self) -> int:
        return self.num_edges

    def degrees(self, num_nodes: int) -> tuple[LongArray, LongArray]:
        """In- and out-degree of every node, [N] each, without expanding."""
        rank = np.arange(len(self.nodes))
        indegree = np.bincount(self.nodes, weights=rank - self.first, minlength=num_nodes)
        outdegree = np.bincount(self.nodes, weights=self.last - rank - 1, minlength=num_nodes)
        return indegree.astype(np.int64), outdegree.astype(np.int64)

    def expand(self) -> Edges:
        """The edges one by one (quadratic in the size of a group)."""
        rank = np.arange(len(self.nodes))
        counts = rank - self.first
        source = self.nodes[ragged_ranges(self.first, counts)]
        return Edges(source, np.repeat(self.nodes, counts))
