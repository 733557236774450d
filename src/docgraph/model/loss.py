"""Label-smoothed cross-entropy straight from hidden states, never holding the logits of the whole batch.

The logits of a chunk of tokens are made, turned into loss and gradient, and dropped: memory is one chunk, and the
backward pass has nothing left to multiply. Where a memory recalls words (docgraph.model.recall), the likelihood is that
of the mixture; what is smoothed is the softmax in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 26
"""Logits held at once (128 MB in bf16)."""
LARGEST_EXPONENT = 80.0
"""Of a number that single precision still has."""

Terms = Callable[[Tensor, Tensor, Tensor | None, float, int, bool], tuple[Tensor, Tensor, Tensor, Tensor | None]]


def chunk_terms(
    logits: Tensor, gold: Tensor, mixture: Tensor | None, smoothing: float, pad: int, grad: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Summed negative log-likelihood, summed smoothing term, d loss / d logits and d loss / d mixture.

    Of logits [C, V], gold [C] and, where words are recalled, mixture [2, C]. Compiled, this reads the logits twice and
    writes the gradient once; single precision never leaves registers.
    """
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    real = gold != pad
    labels = torch.where(real, gold, 0)
    log_norm = precise.logsumexp(-1, keepdim=True)
    likely = own = precise.gather(-1, labels[:, None])[:, 0] - log_norm[:, 0]
    likelihood = torch.full_like(own, 1.0 - smoothing)  # d loss / d own, but for its sign
    slopes = None
    if mixture is not None:
        kept = own + (-mixture[0]).log1p()
        likely = torch.logaddexp(kept, mixture[1].log())
        likelihood = likelihood * (kept - likely).exp()
        slopes = torch.stack([(own - likely).exp(), -(-likely).clamp(max=LARGEST_EXPONENT).exp()])
        slopes = torch.where(real, (1.0 - smoothing) * slopes, 0.0)
    nll = torch.where(real, -likely, 0.0).sum()
    smooth = torch.where(real, log_norm[:, 0] - precise.mean(-1), 0.0).sum()
    if not grad:
        return nll, smooth, logits, slopes
    # (1 - eps) (softmax - onehot) + eps (softmax - 1 / V), the former as far as the likelihood is the softmax's.
    likelihood = likelihood[:, None]
    hit = torch.arange(logits.shape[-1], device=logits.device)[None, :] == labels[:, None]
    target = likelihood * hit.to(precise.dtype) + smoothing / logits.shape[-1]
    slope = torch.where(real[:, None], (likelihood + smoothing) * (precise - log_norm).exp() - target, 0.0)
    return nll, smooth, slope.to(logits.dtype), slopes


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        mixture: Tensor | None,
        gold: Tensor,
        smoothing: float,
        pad: int,
        terms: Terms,
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.get_autocast_dtype(hidden.device.type) if torch.is_autocast_enabled(hidden.device.type) else None
        compute, matrix = (hidden, weight) if dtype is None else (hidden.to(dtype), weight.to(dtype))
        precise = torch.promote_types(compute.dtype, torch.float32)
        needs_hidden, needs_weight, needs_bias, needs_mixture = ctx.needs_input_grad[:4]
        grad_hidden = torch.empty_like(compute) if needs_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=precise) if needs_weight else None
        grad_bias = torch.zeros(len(weight), dtype=precise, device=hidden.device) if needs_bias else None
        grad_mixture = torch.empty_like(mixture) if mixture is not None and needs_mixture else None
        nll, smooth = torch.zeros((2,), dtype=precise, device=hidden.device)
        chunk = max(1, CHUNK_ELEMENTS // len(weight))
        for start in range(0, len(gold), chunk):
            rows = compute[start : start + chunk]
            logits = F.linear(rows, matrix, None if bias is None else bias.to(rows.dtype))
            some = needs_hidden or needs_weight or needs_bias
            mixed = None if mixture is None else mixture[:, start : start + chunk].contiguous()
            chunk_nll, chunk_smooth, slope, slopes = terms(
                logits, gold[start : start + chunk], mixed, smoothing, pad, some
            )
            nll, smooth = nll + chunk_nll, smooth + chunk_smooth
            if grad_hidden is not None:
                grad_hidden[start : start + chunk] = slope @ matrix
            if grad_weight is not None:
                grad_weight += slope.t() @ rows
            if grad_bias is not None:
                grad_bias += slope.sum(0, dtype=precise)
            if grad_mixture is not None and slopes is not None:
                grad_mixture[:, start : start + chunk] = slopes
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias, grad_mixture)
        ctx.dtypes = [None if one is None else one.dtype for one in (hidden, weight, bias, mixture)]
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
    mixture: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss and summed negative log-likelihood of `gold` [N] under softmax(hidden W^T + b).

    hidden [N, d], weight [V, d], bias [V]; tokens equal to `pad` count for nothing. The loss spreads `smoothing` over
    the whole vocabulary (Szegedy et al. 2016); the second value is detached, for reporting. `terms` may be a compiled
    `chunk_terms`. With a `mixture` [2, N], w and p_slots(gold), the likelihood is (1 - w) softmax + p_slots.
    """
    return _LinearCrossEntropy.apply(hidden, weight, bias, mixture, gold, smoothing, pad, terms)  # type: ignore[no-untyped-call]
