"""Sparsemax (Martins and Astudillo 2016): the point of the simplex nearest to the scores, with exact zeros.

The threshold is found by Newton's method, not by sorting: attention over the words of a document has billions of
scores, for which a sort would want four times their memory, while a compiled loop keeps nothing but the threshold.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

STEPS = 16
"""Enough for single precision with a thousand scores, whatever they are; six are usual."""


def sparsemax(scores: Tensor) -> Tensor:
    """[..., M] -> [..., M], non-negative and summing to one; a score of -inf gets nothing, if another is finite."""
    return _Sparsemax.apply(scores)  # type: ignore[no-untyped-call]


def threshold(scores: Tensor) -> Tensor:
    """tau [..., 1] such that max(scores - tau, 0) sums to one.

    That sum is convex in tau. From below, a step divides (its excess over one) x (the number of scores above tau) by at
    least four, and ends at tau itself as soon as no score changes sides.
    """
    tau = scores.amax(-1, keepdim=True) - 1
    for _ in range(STEPS):
        above = scores > tau
        total = torch.where(above, scores, 0).sum(-1, keepdim=True)
        last, tau = tau, torch.maximum(tau, (total - 1) / above.sum(-1, keepdim=True))
        if scores.device.type == "cpu" and not torch.compiler.is_compiling() and torch.equal(tau, last):
            break  # elsewhere, to look would cost more than to go on
    return tau


class _Sparsemax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        precise = scores.to(torch.promote_types(scores.dtype, torch.float32))
        result = (precise - threshold(precise)).clamp(min=0).to(scores.dtype)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient less its mean over the support, on the support (proposition 1 there)."""
        support = ctx.saved_tensors[0] > 0
        inside = torch.where(support, grads[0], 0)
        mean = inside.sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (torch.where(support, inside - mean, 0),)
