"""The chunked loss equals PyTorch's cross-entropy in value and in every gradient."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model import output
from docgraph.model.output import linear_cross_entropy

TOKENS, DIMENSION, VOCABULARY, PAD = 23, 8, 11, 0


def example(dtype: torch.dtype = torch.float64, bias: bool = True) -> tuple[Tensor, Tensor, Tensor | None, Tensor]:
    """Hidden states, weight, bias and gold tokens, some of them padding."""
    torch.manual_seed(0)
    hidden, weight = (torch.randn(n, DIMENSION, dtype=dtype, requires_grad=True) for n in (TOKENS, VOCABULARY))
    gold = torch.randint(1, VOCABULARY, (TOKENS,))
    gold[[2, 3, TOKENS - 1]] = PAD
    return hidden, weight, torch.randn(VOCABULARY, dtype=dtype, requires_grad=True) if bias else None, gold


@pytest.fixture(params=[1, 5, 100], ids=lambda rows: f"chunks of {rows}")
def chunk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Rows of logits held at once: one, some with a remainder, all."""
    monkeypatch.setattr(output, "CHUNK_ELEMENTS", request.param * VOCABULARY)
    return int(request.param)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_value_and_gradients_equal_cross_entropy(smoothing: float, bias: bool, chunk: int) -> None:
    hidden, weight, shift, gold = example(bias=bias)
    inputs = [x for x in (hidden, weight, shift) if x is not None]
    loss, nll = linear_cross_entropy(hidden, weight, shift, gold, smoothing, PAD)
    logits = F.linear(hidden, weight, shift)
    expected = F.cross_entropy(logits, gold, label_smoothing=smoothing, ignore_index=PAD, reduction="sum")
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(nll, F.cross_entropy(logits, gold, ignore_index=PAD, reduction="sum"))
    found, wanted = (torch.autograd.grad(3.0 * value, inputs) for value in (loss, expected))
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_gradcheck(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "CHUNK_ELEMENTS", 12 * VOCABULARY)
    hidden, weight, bias, gold = example()
    assert torch.autograd.gradcheck(
        lambda *inputs: linear_cross_entropy(*inputs, gold, 0.1, PAD)[0], (hidden, weight, bias)
    )


def test_only_the_gradients_asked_for_are_made(chunk: int) -> None:
    hidden, weight, bias, gold = example()
    assert bias is not None
    frozen, frozen_bias = weight.detach(), bias.detach()
    (alone,) = torch.autograd.grad(linear_cross_entropy(hidden, frozen, frozen_bias, gold, 0.1, PAD)[0], [hidden])
    (together, *_) = torch.autograd.grad(
        linear_cross_entropy(hidden, weight, bias, gold, 0.1, PAD)[0], [hidden, weight]
    )
    torch.testing.assert_close(alone, together)
    assert frozen.grad is None
    with torch.no_grad():
        loss, _ = linear_cross_entropy(hidden, weight, bias, gold, 0.1, PAD)
    assert not loss.requires_grad


def test_nll_carries_no_gradient_and_padding_none() -> None:
    hidden, weight, bias, gold = example()
    loss, nll = linear_cross_entropy(hidden, weight, bias, gold, 0.1, PAD)
    assert not nll.requires_grad
    (grad,) = torch.autograd.grad(loss, [hidden])
    assert not grad[gold == PAD].any()
    assert grad[gold != PAD].any(1).all()


def test_no_tokens_at_all_is_zero() -> None:
    hidden, weight, bias, gold = example()
    loss, nll = linear_cross_entropy(hidden[:0], weight, bias, gold[:0], 0.1, PAD)
    loss.backward()
    assert loss == nll == 0
    assert weight.grad is not None
    assert not weight.grad.any()


def test_bfloat16_under_autocast_is_near_float32(chunk: int) -> None:
    hidden, weight, bias, gold = example(torch.float32)
    exact, _ = linear_cross_entropy(hidden, weight, bias, gold, 0.1, PAD)
    wanted = torch.autograd.grad(exact, [hidden, weight])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, _ = linear_cross_entropy(hidden, weight, bias, gold, 0.1, PAD)
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, exact, rtol=0.01, atol=0.0)
    for found, expected in zip(torch.autograd.grad(rough, [hidden, weight]), wanted, strict=True):
        assert found.dtype == torch.float32
        assert (found - expected).norm() < 0.02 * expected.norm()
