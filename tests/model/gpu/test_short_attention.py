"""The kernels for short packed sequences equal padded attention in full precision."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from docgraph.model import attention
from docgraph.model.attention import packed_attention
from docgraph.model.packing import Packing
from model.kernel_examples import DEVICE, HALF, INTERPRETED, assert_replayed, needs_kernels

pytestmark = needs_kernels
LENGTHS = [0, 1, 31, 32, 33, 0, 64, 65, 200, 0]
OTHERS = [5, 70, 0, 1, 32, 33, 100, 64, 31, 0]
"""Lengths around the tile size; sequences that are empty on one side or on both."""


def inputs(asked: list[int], read: list[int], size: int, dtype: torch.dtype) -> list[Tensor]:
    """Queries, keys and values as one projection gives them: not contiguous, three heads of `size`."""
    torch.manual_seed(0)
    query = torch.randn(sum(asked), 9, size, dtype=dtype, device=DEVICE)[:, 3:6]
    key, value = torch.randn(sum(read), 6, size, dtype=dtype, device=DEVICE).chunk(2, dim=1)
    return [x.detach().requires_grad_() for x in (query, key, value)]


def through_kernels(query: Tensor, key: Tensor, value: Tensor, asked: Packing, read: Packing, causal: bool) -> Tensor:
    from docgraph.model.gpu.short_attention import short_attention

    longest = max(asked.max_length, read.max_length)
    return short_attention(query, key, value, asked.boundaries, read.boundaries, longest, causal)


def with_gradients(found: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1)).to(found)
    return [found, *torch.autograd.grad(found, tensors, weights)]


def expected(tensors: list[Tensor], asked: list[int], read: list[int], causal: bool) -> list[Tensor]:
    """Padded attention on a CPU in double precision; a query without keys gets nothing."""
    exact = [x.detach().cpu().double().requires_grad_() for x in tensors]
    queries, keys = Packing.of(asked), Packing.of(read)
    sees = (keys.boundaries.diff() > 0)[queries.sequence_of, None, None]
    return with_gradients(packed_attention(*exact, queries, keys, causal).where(sees, 0), exact)


def assert_equal(found: list[Tensor], wanted: list[Tensor], dtype: torch.dtype, bound: float = 0.01) -> None:
    for ours, exact in zip(found, wanted, strict=True):
        assert ours.dtype == dtype
        assert ours.is_contiguous()
        atol = bound * float(exact.detach().abs().max())
        torch.testing.assert_close(ours.cpu().double(), exact, rtol=bound, atol=atol)


@pytest.mark.parametrize(
    ("size", "dtype", "bound"),
    [(32, torch.float32, 1e-5), (8, HALF, 0.01), (48, HALF, 0.01), (64, HALF, 0.01), (128, HALF, 0.01)],
    ids=["32-full", "8-half", "48-half", "64-half", "128-half"],
)
@pytest.mark.parametrize(
    ("asked", "read", "causal"),
    [(LENGTHS, LENGTHS, False), (LENGTHS, LENGTHS, True), (LENGTHS, OTHERS, False), (OTHERS, LENGTHS, False)],
    ids=["self", "causal", "cross", "cross-back"],
)
def test_kernels_compute_attention_and_its_gradient(
    asked: list[int], read: list[int], causal: bool, size: int, dtype: torch.dtype, bound: float
) -> None:
    tensors = inputs(asked, read, size, dtype)
    found = through_kernels(*tensors, Packing.of(asked, DEVICE), Packing.of(read, DEVICE), causal)
    assert_equal(with_gradients(found, tensors), expected(tensors, asked, read, causal), dtype, bound)


@pytest.mark.parametrize("count", [0, 3])
def test_empty_inputs_give_zeros(count: int) -> None:
    tensors = inputs([0] * count, [0] * count, 64, HALF)
    packing = Packing.of([0] * count, DEVICE)
    found = with_gradients(through_kernels(*tensors, packing, packing, causal=False), tensors)
    assert all(x.shape == (0, 3, 64) for x in found)


def test_scores_far_below_zero_neither_overflow_nor_vanish() -> None:
    tensors = [(40 * x).detach().requires_grad_() for x in inputs(LENGTHS, OTHERS, 32, torch.float32)]
    found = through_kernels(*tensors, Packing.of(LENGTHS, DEVICE), Packing.of(OTHERS, DEVICE), causal=False)
    assert_equal(with_gradients(found, tensors), expected(tensors, LENGTHS, OTHERS, False), torch.float32, 1e-3)


def test_results_are_repeatable() -> None:
    tensors, packing = inputs(LENGTHS, LENGTHS, 64, HALF), Packing.of(LENGTHS, DEVICE)
    runs = [with_gradients(through_kernels(*tensors, packing, packing, True), tensors) for _ in range(2)]
    assert all(torch.equal(*pair) for pair in zip(*runs, strict=True))


def test_a_compiled_graph_holds_the_kernels_unbroken() -> None:
    tensors = inputs(LENGTHS, OTHERS, 64, HALF)
    packings = Packing.of(LENGTHS, DEVICE), Packing.of(OTHERS, DEVICE)
    compiled = torch.compile(lambda *x: through_kernels(*x, *packings, False), fullgraph=True)
    found = with_gradients(compiled(*tensors), tensors)
    assert_equal(found, expected(tensors, LENGTHS, OTHERS, False), HALF)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
@pytest.mark.parametrize("limit", [0, attention.SHORT], ids=["library", "ours"])
def test_packed_attention_chooses_by_length_and_computes_the_same(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "SHORT", limit)
    lengths = [n for n in LENGTHS if n]
    tensors, packing = inputs(lengths, lengths, 64, HALF), Packing.of(lengths, DEVICE)
    found = packed_attention(*tensors, packing, packing, causal=True)
    assert found.grad_fn is not None
    assert ("short_attention" in found.grad_fn.name()) == (limit > 0)
    # Of the library's kernel the gradients need not be contiguous.
    found = [x.contiguous() for x in with_gradients(found, tensors)]
    assert_equal(found, expected(tensors, lengths, lengths, True), HALF)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_a_captured_graph_replays_the_kernels() -> None:
    tensors, packing = inputs(LENGTHS, LENGTHS, 64, HALF), Packing.of(LENGTHS, DEVICE)
    weights = torch.randn(sum(LENGTHS), 3, 64, dtype=HALF, device=DEVICE)

    def compute() -> list[Tensor]:
        found = through_kernels(*tensors, packing, packing, True)
        return [found, *torch.autograd.grad(found, tensors, weights)]

    assert_replayed(compute, lambda: tensors[0].mul_(0.5))
