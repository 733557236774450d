"""Sums over the edges of a graph, in time linear in its size. Their gradients are the sums over the reversed edges."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.graph.links import stable_order

HAS_TRITON = importlib.util.find_spec("triton") is not None
SCAN_BLOCK = 64
"""Rows per block of the prefix sum; each block is one triangular matrix product."""


@dataclass(frozen=True, eq=False)
class CsrMatrix:
    """A sparse 0/1 matrix in compressed row format: row i has ones at columns[offsets[i]:offsets[i+1]]."""

    columns: Tensor
    """[E] int64."""
    offsets: Tensor
    """[rows + 1] int64."""

    @classmethod
    def of(cls, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], num_rows: int) -> CsrMatrix:
        """The matrix with ones at (rows[k], columns[k])."""
        if (rows[1:] < rows[:-1]).any():
            columns = columns[stable_order(rows)]
        offsets = np.zeros(num_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=num_rows), out=offsets[1:])
        return cls(torch.from_numpy(columns.astype(np.int64)), torch.from_numpy(offsets))

    def sum(self, x: Tensor) -> Tensor:
        """Returns the matrix times x: [columns, d] -> [rows, d], without gradient."""
        if not len(self.columns):
            return x.new_zeros(len(self.offsets) - 1, x.shape[1])
        if x.is_cuda and HAS_TRITON:
            from docgraph.model.gpu.edge_sums import row_sums

            return row_sums(x, self.columns, self.offsets)
        return F.embedding_bag(self.columns, x, self.offsets, mode="sum", include_last_offset=True)


class _Grouped(torch.autograd.Function):
    """Sums over groups of rows, or copies from groups to rows; each is the gradient of the other."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group_of: Tensor, columns: Tensor, offsets: Tensor, spread: bool) -> Tensor:
        ctx.save_for_backward(group_of, columns, offsets)
        ctx.spread = spread
        return x.index_select(0, group_of) if spread else CsrMatrix(columns, offsets).sum(x.contiguous())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        group_of, columns, offsets = ctx.saved_tensors
        if ctx.spread:
            return CsrMatrix(columns, offsets).sum(grads[0].contiguous()), None, None, None, None
        return grads[0].index_select(0, group_of), None, None, None, None


def group_sums(x: Tensor, group_of: Tensor, groups: CsrMatrix) -> Tensor:
    """The sum of the rows of each group: x [R, d] -> [G, d]. `groups` lists the rows of each group."""
    return _Grouped.apply(x, group_of, groups.columns, groups.offsets, False)  # type: ignore[no-untyped-call]


def spread(x: Tensor, group_of: Tensor, groups: CsrMatrix) -> Tensor:
    """The vector of its group for each row: x [G, d] -> [R, d]."""
    return _Grouped.apply(x, group_of, groups.columns, groups.offsets, True)  # type: ignore[no-untyped-call]


@dataclass(frozen=True, eq=False)
class OrderedCliques:
    """K memberships of nodes in ordered cliques: a member receives from the members before it."""

    nodes: Tensor
    """[K] int64: the node of each membership, ordered by clique."""
    signs: Tensor
    """[K, 1]: +1 or -1 (the lexical union is form + lemma - both)."""
    bag: CsrMatrix
    """The memberships of each node, [N] rows."""
    starts: Tensor
    """[K] int64: the index of the first membership of the clique."""
    ends: Tensor
    """[K] int64: one past the index of its last membership."""
    windows: tuple[Tensor, Tensor] | None
    """[K] each: the first and one past the last membership in reach; None if links have no maximum distance."""

    @property
    def tensors(self) -> list[Tensor]:
        """All tensors, as custom operators take them."""
        windows = self.windows or ()
        return [self.nodes, self.signs, self.bag.columns, self.bag.offsets, self.starts, self.ends, *windows]

    @classmethod
    def of_tensors(cls, nodes: Tensor, signs: Tensor, members: Tensor, bounds: Tensor, *ends: Tensor) -> OrderedCliques:
        """Returns the inverse of `tensors`."""
        windows = (ends[2], ends[3]) if len(ends) > 2 else None
        return cls(nodes, signs, CsrMatrix(members, bounds), ends[0], ends[1], windows)

    def reversed(self) -> OrderedCliques:
        """Returns the cliques in reverse order: a member receives from the members after it."""
        count = len(self.nodes)
        starts, ends = count - self.ends.flip(0), count - self.starts.flip(0)
        windows = None
        if self.windows is not None:
            windows = count - self.windows[1].flip(0), count - self.windows[0].flip(0)
        bag = CsrMatrix(count - 1 - self.bag.columns, self.bag.offsets)
        return OrderedCliques(self.nodes.flip(0), self.signs.flip(0), bag, starts, ends, windows)

    def sums(self, x: Tensor) -> Tensor:
        """Sums over the incoming clique edges of each node, without gradient: x [N, d] -> [N, d]."""
        sums = segmented_prefix(x.index_select(0, self.nodes), self.starts)
        if self.windows is not None:
            sums = sums - sums[self.windows[0]]
        return self.bag.sum(sums.mul_(self.signs.to(sums.dtype)))


# One operator, because the depth of the prefix sum depends on the size of the document, which must not trigger
# recompilation. Declared without `custom_op`, which would import the compiler on the first call on a CPU.
NEIGHBOUR_SUMS = "docgraph::neighbour_sums"
torch.library.define(NEIGHBOUR_SUMS, "(Tensor x, Tensor scale, Tensor[] edges, Tensor[] cliques, bool after) -> Tensor")


@torch.library.impl(NEIGHBOUR_SUMS, "default")
def _neighbour_sums(x: Tensor, scale: Tensor, edges: list[Tensor], cliques: list[Tensor], after: bool) -> Tensor:
    if x.is_cuda and HAS_TRITON:
        from docgraph.model.gpu import edge_sums as kernels

        return kernels.neighbour_sums(x, scale, edges, cliques, after)
    scale = scale.to(x.dtype)
    x = x * scale
    total = CsrMatrix(*edges[:2]).sum(x)
    if cliques:
        ordered = OrderedCliques.of_tensors(*cliques)
        total += (ordered.reversed() if after else ordered).sums(x)
    return total.mul_(scale)


@torch.library.register_fake(NEIGHBOUR_SUMS)
def _like(x: Tensor, *_: object) -> Tensor:
    return x.new_empty(x.shape)


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    _, scale, edges, cliques, ctx.after = inputs
    ctx.save_for_backward(scale, *edges, *cliques)


def _differentiate(ctx, grad):  # type: ignore[no-untyped-def]
    scale, *tensors = ctx.saved_tensors
    edges, cliques = [*tensors[2:4], *tensors[:2]], tensors[4:]
    summed = torch.ops.docgraph.neighbour_sums(grad.contiguous(), scale, edges, cliques, not ctx.after)
    return summed, None, [None] * len(edges), [None] * len(cliques), None


torch.library.register_autograd(NEIGHBOUR_SUMS, _differentiate, setup_context=_keep)


def neighbour_sums(
    x: Tensor, scale: Tensor, edges: tuple[CsrMatrix, CsrMatrix], cliques: OrderedCliques | None, after: bool
) -> Tensor:
    """Returns symmetrically scaled sums over the incoming edges of each node: x [N, d], scale [N, 1] -> [N, d].

    `edges` are the listed edges and their reverse. With `after`, members of cliques receive from those after them.
    """
    listed = [tensor for rows in edges for tensor in (rows.columns, rows.offsets)]
    members = [] if cliques is None else cliques.tensors
    summed: Tensor = torch.ops.docgraph.neighbour_sums(x.contiguous(), scale, listed, members, after)
    return summed


def segmented_prefix(x: Tensor, starts: Tensor) -> Tensor:
    """Returns the exclusive prefix sum of each segment: row k of the result is the sum of x[starts[k]:k].

    x [K, d]; starts [K] is the first row of the segment of each row. A triangular matrix product sums the rows of a
    block, and the same prefix sum over blocks carries totals across them: linear work, no subtraction of large totals.
    """
    count, dimension = x.shape
    if count <= SCAN_BLOCK:
        return _triangle(starts[None], starts.new_zeros(1), x[None])[0]
    blocks = -(-count // SCAN_BLOCK)
    padding = blocks * SCAN_BLOCK - count
    # Always padded, even if not needed: a branch on the size would make torch.compile specialise on it.
    x, starts = F.pad(x, (0, 0, 0, padding)), F.pad(starts, (0, padding))
    block_x, block_starts = x.view(blocks, SCAN_BLOCK, dimension), starts.view(blocks, SCAN_BLOCK)
    firsts = torch.arange(blocks, device=x.device) * SCAN_BLOCK
    inside = _triangle(block_starts, firsts, block_x)
    # A block carries over its rows of the segment that continues in the next block (the last block has none).
    places = firsts[:, None] + torch.arange(SCAN_BLOCK, device=x.device)
    continues = places >= F.pad(block_starts[1:, 0], (0, 1))[:, None]
    totals = (continues.to(x.dtype)[:, None] @ block_x)[:, 0]
    carried = segmented_prefix(totals, block_starts[:, 0] // SCAN_BLOCK)
    reaches = (block_starts < firsts[:, None]).to(x.dtype)
    return inside.addcmul_(reaches[:, :, None], carried[:, None]).view(-1, dimension)[:count]


def _triangle(starts: Tensor, firsts: Tensor, x: Tensor) -> Tensor:
    """Computes prefix sums inside blocks: starts [B, T], first row of each block [B], x [B, T, d] -> [B, T, d]."""
    steps = torch.arange(x.shape[1], device=x.device)
    places = firsts[:, None] + steps
    mask = (steps[None, :] < steps[:, None]) & (places[:, None, :] >= starts[:, :, None])
    return mask.to(x.dtype) @ x
