"""Sums over the edges of a graph, linear in its size, with gradients that are the same sums along reversed edges."""

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
"""Rows summed by one triangular matrix product of the prefix sum."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A sparse 0/1 matrix by rows: row i holds columns[offsets[i]:offsets[i+1]]."""

    columns: Tensor
    """[E] int64."""
    offsets: Tensor
    """[rows + 1] int64."""

    @classmethod
    def of(cls, rows: npt.NDArray[np.integer], columns: npt.NDArray[np.integer], num_rows: int) -> Rows:
        if (rows[1:] < rows[:-1]).any():
            columns = columns[stable_order(rows)]
        offsets = np.zeros(num_rows + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=num_rows), out=offsets[1:])
        return cls(torch.from_numpy(columns.astype(np.int64)), torch.from_numpy(offsets))

    def sum(self, x: Tensor) -> Tensor:
        """The matrix times x [columns, d] -> [rows, d], without gradient."""
        if not len(self.columns):
            return x.new_zeros(len(self.offsets) - 1, x.shape[1])
        if x.is_cuda and HAS_TRITON:
            from docgraph.model.kernels import row_sums

            return row_sums(x, self.columns, self.offsets)
        return F.embedding_bag(self.columns, x, self.offsets, mode="sum", include_last_offset=True)


class _SparseProduct(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, columns: Tensor, offsets: Tensor, back_columns: Tensor, back_offsets: Tensor
    ) -> Tensor:
        ctx.save_for_backward(back_columns, back_offsets)
        return Rows(columns, offsets).sum(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        return Rows(*ctx.saved_tensors).sum(grads[0].contiguous()), None, None, None, None


def sparse_product(matrix: Rows, transposed: Rows, x: Tensor) -> Tensor:
    """matrix @ x; `transposed` is the same matrix the other way round, for the gradient."""
    arguments = (matrix.columns, matrix.offsets, transposed.columns, transposed.offsets)
    return _SparseProduct.apply(x.contiguous(), *arguments)  # type: ignore[no-untyped-call]


def segmented_prefix(x: Tensor, starts: Tensor) -> Tensor:
    """Row k of the result is the sum of x[starts[k]:k]: an exclusive prefix sum that begins anew with each segment.

    x [K, d]; starts [K] is the first row of the segment of each row. Blocks of rows are summed by a triangular matrix
    product, what crosses a block by the same sum over blocks: linear work, no subtraction of large totals.
    """
    count, dimension = x.shape
    if count <= SCAN_BLOCK:
        return _triangle(starts[None], starts.new_zeros(1), x[None])[0]
    blocks = -(-count // SCAN_BLOCK)
    padding = blocks * SCAN_BLOCK - count
    # Always padded, and with a constant: either choice made by size would have torch.compile specialise on the size.
    x, starts = F.pad(x, (0, 0, 0, padding)), F.pad(starts, (0, padding))
    block_x, block_starts = x.view(blocks, SCAN_BLOCK, dimension), starts.view(blocks, SCAN_BLOCK)
    firsts = torch.arange(blocks, device=x.device) * SCAN_BLOCK
    inside = _triangle(block_starts, firsts, block_x)
    # What a block hands on: its rows that belong to the segment open where the next block begins (the last has none).
    places = firsts[:, None] + torch.arange(SCAN_BLOCK, device=x.device)
    handed = places >= F.pad(block_starts[1:, 0], (0, 1))[:, None]
    totals = (handed.to(x.dtype)[:, None] @ block_x)[:, 0]
    carried = segmented_prefix(totals, block_starts[:, 0] // SCAN_BLOCK)
    reaches = (block_starts < firsts[:, None]).to(x.dtype)
    return inside.addcmul_(reaches[:, :, None], carried[:, None]).view(-1, dimension)[:count]


def _triangle(starts: Tensor, firsts: Tensor, x: Tensor) -> Tensor:
    """Sums inside blocks: starts [B, T], first row of each block [B], x [B, T, d] -> [B, T, d]."""
    steps = torch.arange(x.shape[1], device=x.device)
    places = firsts[:, None] + steps
    mask = (steps[None, :] < steps[:, None]) & (places[:, None, :] >= starts[:, :, None])
    return mask.to(x.dtype) @ x
