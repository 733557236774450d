"""Sums over edges against loops and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model import sparse
from docgraph.model.sparse import Rows, segmented_prefix, sparse_product


def naive_prefix(x: torch.Tensor, starts: list[int]) -> torch.Tensor:
    return torch.stack([x[start:row].sum(0) for row, start in enumerate(starts)]) if starts else x


def segment_starts(lengths: list[int]) -> list[int]:
    return [start for length, start in zip(lengths, np.cumsum([0, *lengths]), strict=False) for _ in range(length)]


@settings(max_examples=80, deadline=None)
@given(lengths=st.lists(st.integers(1, 40), max_size=12), block=st.sampled_from([2, 3, 4, 64]))
def test_segmented_prefix_is_a_sum_of_slices(lengths: list[int], block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse, "SCAN_BLOCK", block)  # small blocks reach several levels
        starts = segment_starts([int(n) for n in lengths])
        x = torch.randn(len(starts), 3, dtype=torch.float64)
        found = segmented_prefix(x, torch.tensor(starts, dtype=torch.int64))
        torch.testing.assert_close(found, naive_prefix(x, starts))


def test_segmented_prefix_of_many_blocks_and_one_long_segment() -> None:
    starts = segment_starts([5, 9000, 1, 64, 63, 65, 128])
    x = torch.randn(len(starts), 2, dtype=torch.float64)
    torch.testing.assert_close(segmented_prefix(x, torch.tensor(starts)), naive_prefix(x, starts))


def test_segmented_prefix_gradient() -> None:
    starts = torch.tensor(segment_starts([3, 80, 1, 7]))
    x = torch.randn(len(starts), 1, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda values: segmented_prefix(values, starts), (x,))


def test_segmented_prefix_subtracts_no_large_totals() -> None:
    """A small segment after a huge one keeps its precision in single precision."""
    x = torch.cat([torch.full((1000, 1), 1e6), torch.full((3, 1), 1e-3)])
    found = segmented_prefix(x, torch.tensor(segment_starts([1000, 3])))
    torch.testing.assert_close(found[-3:, 0], torch.tensor([0.0, 1e-3, 2e-3]))


@settings(max_examples=50, deadline=None)
@given(data=st.data(), rows=st.integers(1, 6), columns=st.integers(1, 6))
def test_sparse_product_is_the_dense_one(data: st.DataObject, rows: int, columns: int) -> None:
    cells = st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1))
    edges = np.array(data.draw(st.lists(cells, unique=True)), dtype=np.int64).reshape(-1, 2)
    dense = torch.zeros(rows, columns, dtype=torch.float64)
    dense[edges[:, 0], edges[:, 1]] = 1.0
    matrix, transposed = Rows.of(edges[:, 0], edges[:, 1], rows), Rows.of(edges[:, 1], edges[:, 0], columns)
    x = torch.randn(columns, 2, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(sparse_product(matrix, transposed, x), dense @ x)
    assert torch.autograd.gradcheck(lambda values: sparse_product(matrix, transposed, values), (x,))


def test_segmented_prefix_compiles_once_for_all_lengths_of_a_depth() -> None:
    torch.compiler.reset()
    compiled = torch.compile(segmented_prefix, backend="eager", fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for count in (190, 206, 256, 3000):
            x, starts = torch.randn(count, 2, dtype=torch.float64), torch.arange(count) // 50 * 50
            torch.testing.assert_close(compiled(x, starts), naive_prefix(x, starts.tolist()))
