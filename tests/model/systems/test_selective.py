"""Sparsemax against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.systems.selective import sparsemax
from model.examples import seeds


@settings(max_examples=60)
@given(size=st.integers(1, 9), scale=st.sampled_from([0.01, 1.0, 30.0]), seed=seeds)
def test_sparsemax_is_the_nearest_point_of_the_simplex(size: int, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = torch.from_numpy(rng.normal(0, scale, (3, size)))
    found = sparsemax(scores)
    torch.testing.assert_close(found.sum(-1), torch.ones(3, dtype=torch.float64))
    assert (found >= 0).all()
    # p is nearest to z in a convex set exactly when (z - p) . (q - p) <= 0 for every corner q of it.
    residual = scores - found
    assert (residual - (residual * found).sum(-1, keepdim=True) <= 1e-9).all()


@pytest.mark.parametrize("ratio", [1.1, 1.5, 2.0, 3.0, 10.0])
def test_sparsemax_equals_the_sorting_algorithm(ratio: float) -> None:
    """For random scores, and for gaps that grow geometrically, which slow down Newton's method."""
    torch.manual_seed(0)
    gaps = torch.tensor([ratio ** -(k % 30) for k in range(1000)])
    for scores in (
        torch.randn(50, 1000) * 0.01,
        torch.randn(50, 1000),
        -gaps[None],
        gaps[None] * 3,
        torch.zeros(1, 1000),
    ):
        ordered = scores.double().sort(-1, descending=True).values
        sums = ordered.cumsum(-1) - 1
        size = (torch.arange(1, 1001) * ordered > sums).sum(-1, keepdim=True)
        expected = (scores.double() - sums.gather(-1, size - 1) / size).clamp(min=0)
        torch.testing.assert_close(sparsemax(scores).double(), expected, atol=2e-7, rtol=1e-5)
        torch.testing.assert_close(sparsemax(scores).sum(-1), torch.ones(len(scores)), atol=1e-5, rtol=0)


def test_low_scores_get_exactly_zero() -> None:
    found = sparsemax(torch.tensor([[3.0, 2.5, 0.0, -4.0], [1.0, float("-inf"), 1.0, float("-inf")]]))
    assert found.tolist() == [[0.75, 0.25, 0.0, 0.0], [0.5, 0.0, 0.5, 0.0]]


def test_the_gradient_is_that_of_the_definition() -> None:
    torch.manual_seed(0)
    scores = torch.randn(4, 3, 7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sparsemax, scores)
    (sparsemax(scores) * torch.randn(4, 3, 7)).sum().backward()
    assert scores.grad is not None
    assert not scores.grad[sparsemax(scores) == 0].any()


def test_half_precision_is_computed_in_single() -> None:
    scores = torch.linspace(-3, 3, 40).bfloat16()
    torch.testing.assert_close(sparsemax(scores), sparsemax(scores.float()).bfloat16())
