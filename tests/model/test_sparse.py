"""Sums over edges against loops and dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model import sparse
from docgraph.model.sparse import CsrMatrix, group_sums, neighbour_sums, segmented_prefix, spread


def naive_prefix(x: torch.Tensor, starts: list[int]) -> torch.Tensor:
    return torch.stack([x[start:row].sum(0) for row, start in enumerate(starts)]) if starts else x


def segment_starts(lengths: list[int]) -> list[int]:
    return [start for length, start in zip(lengths, np.cumsum([0, *lengths]), strict=False) for _ in range(length)]


@settings(max_examples=80)
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


@settings(max_examples=50)
@given(data=st.data(), nodes=st.integers(1, 6), after=st.booleans())
def test_neighbour_sums_are_the_dense_product(data: st.DataObject, nodes: int, after: bool) -> None:
    """Listed edges only; cliques are tested with the graph encoder."""
    cells = st.tuples(st.integers(0, nodes - 1), st.integers(0, nodes - 1))
    edges = np.array(data.draw(st.lists(cells, unique=True)), dtype=np.int64).reshape(-1, 2)
    dense = torch.zeros(nodes, nodes, dtype=torch.float64)
    dense[edges[:, 0], edges[:, 1]] = 1.0
    both = CsrMatrix.of(edges[:, 0], edges[:, 1], nodes), CsrMatrix.of(edges[:, 1], edges[:, 0], nodes)
    scale = torch.rand(nodes, 1, dtype=torch.float64)
    x = torch.randn(nodes, 2, dtype=torch.float64, requires_grad=True)
    torch.testing.assert_close(neighbour_sums(x, scale, both, None, after), scale * (dense @ (scale * x)))
    assert torch.autograd.gradcheck(lambda values: neighbour_sums(values, scale, both, None, after), (x,))


@settings(max_examples=30)
@given(group_of=st.lists(st.integers(0, 4), max_size=8))
def test_sums_over_groups_and_copies_from_groups(group_of: list[int]) -> None:
    owner = np.array(group_of, dtype=np.int64)
    groups, index = CsrMatrix.of(owner, np.arange(len(owner)), 5), torch.from_numpy(owner)
    dense = torch.nn.functional.one_hot(index, 5).double()
    rows, sums = (torch.randn(size, 2, dtype=torch.float64, requires_grad=True) for size in (len(owner), 5))
    torch.testing.assert_close(group_sums(rows, index, groups), dense.T @ rows)
    torch.testing.assert_close(spread(sums, index, groups), dense @ sums)
    assert torch.autograd.gradcheck(lambda values: group_sums(values, index, groups), (rows,))
    assert torch.autograd.gradcheck(lambda values: spread(values, index, groups), (sums,))


def test_segmented_prefix_compiles_once_for_all_lengths_of_a_depth() -> None:
    torch.compiler.reset()
    compiled = torch.compile(segmented_prefix, backend="eager", fullgraph=True, dynamic=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for count in (190, 206, 256, 3000):
            x, starts = torch.randn(count, 2, dtype=torch.float64), torch.arange(count) // 50 * 50
            torch.testing.assert_close(compiled(x, starts), naive_prefix(x, starts.tolist()))
