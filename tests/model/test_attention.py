"""Attention over packed sequences equals the formula for each sequence."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from docgraph.model import attention
from docgraph.model.attention import (
    MultiHeadAttention,
    masked_attention,
    memory_attention,
    packed_attention,
    unmask_empty_rows,
)
from docgraph.model.packing import Packing

from .examples import sentence_rows


def explicit_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None = None) -> Tensor:
    """softmax(Q K^T / sqrt(e)) V of one sequence: [Tq, h, e] x [Tk, h, e] -> [Tq, h, e]."""
    scores = torch.einsum("qhe,khe->hqk", query, key) / math.sqrt(query.shape[-1])
    if visible is not None:
        scores = scores.masked_fill(~visible, -math.inf)
    return torch.einsum("hqk,khe->qhe", scores.softmax(-1), value)


@settings(max_examples=30)
@given(lengths=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5))
def test_packed_attention_is_attention_of_each_sequence(lengths: list[tuple[int, int]]) -> None:
    asked, read = ([pair[side] for pair in lengths] for side in range(2))
    query = torch.randn(sum(asked), 2, 8, dtype=torch.float64)
    key, value = (torch.randn(sum(read), 2, 8, dtype=torch.float64) for _ in range(2))
    found = packed_attention(query, key, value, Packing.of(asked), Packing.of(read), causal=False)
    for q, k in zip(sentence_rows(asked), sentence_rows(read), strict=True):
        torch.testing.assert_close(found[q], explicit_attention(query[q], key[k], value[k]))


def test_causal_attention_sees_no_later_token() -> None:
    lengths = [4, 1, 6]
    query, key, value = (torch.randn(11, 2, 8, dtype=torch.float64) for _ in range(3))
    found = packed_attention(query, key, value, Packing.of(lengths), Packing.of(lengths), causal=True)
    for rows, length in zip(sentence_rows(lengths), lengths, strict=True):
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        torch.testing.assert_close(found[rows], explicit_attention(query[rows], key[rows], value[rows], causal))


@pytest.mark.parametrize("attend", [masked_attention, memory_attention])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_query_that_sees_nothing_is_finite_and_so_is_its_gradient(
    dtype: torch.dtype, attend: Callable[..., Tensor]
) -> None:
    query, key, value = (torch.randn(1, 2, 3, 8, dtype=dtype, requires_grad=True) for _ in range(3))
    visible = torch.tensor([[True, False, True], [False, False, False], [True, True, True]])[None, None]
    attend(query, key, value, unmask_empty_rows(visible)).sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (query, key, value))


def test_memory_attention_is_the_fused_kernel_written_out(monkeypatch: pytest.MonkeyPatch) -> None:
    query, key, value = (torch.randn(2, 4, rows, 8, dtype=torch.float64, requires_grad=True) for rows in (5, 7, 7))
    visible = unmask_empty_rows(torch.rand(2, 1, 5, 7) < 0.5)
    results = []
    for limit in (0, 1 << 20):  # the fused kernel, then the formula
        monkeypatch.setattr(attention, "MAX_SCORES", limit)
        found = memory_attention(query, key, value, visible)
        results.append([found, *torch.autograd.grad(found.square().sum(), [query, key, value])])
    for fused, written in zip(*results, strict=True):
        torch.testing.assert_close(written, fused)


def test_multi_head_attention_equals_torch() -> None:
    ours, theirs = MultiHeadAttention(32, 4), torch.nn.MultiheadAttention(32, 4, batch_first=True)
    theirs.in_proj_weight.data = torch.cat([ours.query.weight, ours.key.weight, ours.value.weight])
    theirs.out_proj.weight.data = ours.output.weight.data
    x, memory = torch.randn(5, 32), torch.randn(7, 32)
    expected, _ = theirs(x[None], memory[None], memory[None])
    torch.testing.assert_close(ours(x, memory, Packing.of([5]), Packing.of([7])), expected[0])
