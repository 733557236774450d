"""Label-smoothed cross-entropy straight from hidden states, never holding the logits of the whole batch.

The logits of a chunk of tokens are made, turned into loss and gradient, and dropped: memory is one chunk, and the
backward pass has nothing left to multiply.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 26
"""Logits held at once (128 MB in bf16)."""


Terms = Callable[[Tensor, Tensor, float, int, bool], tuple[Tensor, Tensor, Tensor]]


def chunk_terms(logits: Tensor, gold: Tensor, smoothing: float, pad: int, grad: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Summed negative log-likelihood, summed smoothing term, and d loss / d logits, of logits [C, V] and gold [C].

    Compiled, this reads the logits twice and writes the gradient once; single precision never leaves registers.
    """
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    real = gold != pad
    labels = torch.where(real, gold, 0)
    log_norm = precise.logsumexp(-1, keepdim=True)
    nll = torch.where(real, log_norm[:, 0] - precise.gather(-1, labels[:, None])[:, 0], 0.0).sum()
    smooth = torch.where(real, log_norm[:, 0] - precise.mean(-1), 0.0).sum()
    if not grad:
        return nll, smooth, logits
    # softmax - (1 - eps) onehot - eps / V
    hit = torch.arange(logits.shape[-1], device=logits.device)[None, :] == labels[:, None]
    target = (1.0 - smoothing) * hit.to(precise.dtype) + smoothing / logits.shape[-1]
    slope = torch.where(real[:, None], (precise - log_norm).exp() - target, 0.0)
    return nll, smooth, slope.to(logits.dtype)


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        gold: Tensor,
        smoothing: float,
        pad: int,
        terms: Terms,
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.get_autocast_dtype(hidden.device.type) if torch.is_autocast_enabled(hidden.device.type) else None
        compute, matrix = (hidden, weight) if dtype is None else (hidden.to(dtype), weight.to(dtype))
        precise = torch.promote_types(compute.dtype, torch.float32)
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        grad_hidden = torch.empty_like(compute) if needs_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=precise) if needs_weight else None
        grad_bias = torch.zeros(len(weight), dtype=precise, device=hidden.device) if needs_bias else None
        nll, smooth = torch.zeros((2,), dtype=precise, device=hidden.device)
        chunk = max(1, CHUNK_ELEMENTS // len(weight))
        for start in range(0, len(gold), chunk):
            rows = compute[start : start + chunk]
            logits = F.linear(rows, matrix, None if bias is None else bias.to(rows.dtype))
            some = needs_hidden or needs_weight or needs_bias
            chunk_nll, chunk_smooth, slope = terms(logits, gold[start : start + chunk], smoothing, pad, some)
            nll, smooth = nll + chunk_nll, smooth + chunk_smooth
            if grad_hidden is not None:
                grad_hidden[start : start + chunk] = slope @ matrix
            if grad_weight is not None:
                grad_weight += slope.t() @ rows
            if grad_bias is not None:
                grad_bias += slope.sum(0, dtype=precise)
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.dtypes = (hidden.dtype, weight.dtype, None if bias is None else bias.dtype)
        ctx.mark_non_differentiable(nll)
        return (1.0 - smoothing) * nll + smoothing * smooth, nll

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = outputs[0]
        grads = (
            None if grad is None else (grad * scale).to(dtype)
            for grad, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*grads, None, None, None, None)


def linear_cross_entropy(
    hidden: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    gold: Tensor,
    smoothing: float = 0.0,
    pad: int = -100,
    terms: Terms = chunk_terms,
) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss and summed negative log-likelihood of `gold` [N] under softmax(hidden W^T + b).

    hidden [N, d], weight [V, d], bias [V]; tokens equal to `pad` count for nothing. The loss spreads `smoothing` over
    the whole vocabulary (Szegedy et al. 2016); the second value is detached, for reporting. `terms` may be a compiled
    `chunk_terms`.
    """
    return _LinearCrossEntropy.apply(hidden, weight, bias, gold, smoothing, pad, terms)  # type: ignore[no-untyped-call]
