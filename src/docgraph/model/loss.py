"""Label-smoothed cross-entropy straight from hidden states, never holding the logits of the whole batch.

The logits of a chunk of tokens are made, turned into loss and gradient, and dropped: memory is one chunk, and the
backward pass has nothing left to multiply.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 26
"""Logits held at once (256 MB in fp32)."""


class _LinearCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, smoothing: float, pad: int
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.get_autocast_dtype(hidden.device.type) if torch.is_autocast_enabled(hidden.device.type) else None
        compute, matrix = (hidden, weight) if dtype is None else (hidden.to(dtype), weight.to(dtype))
        vocabulary = weight.shape[0]
        chunk = max(1, CHUNK_ELEMENTS // vocabulary)
        needs_hidden, needs_weight, needs_bias = ctx.needs_input_grad[:3]
        grad_hidden = torch.empty_like(compute) if needs_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=torch.float32) if needs_weight else None
        grad_bias = torch.zeros(vocabulary, dtype=torch.float32, device=hidden.device) if needs_bias else None
        nll = torch.zeros((), dtype=torch.float32, device=hidden.device)
        smooth = torch.zeros_like(nll)
        for start in range(0, len(gold), chunk):
            rows, labels = compute[start : start + chunk], gold[start : start + chunk]
            real = labels != pad
            labels = torch.where(real, labels, 0)
            logits = F.linear(rows, matrix, None if bias is None else bias.to(rows.dtype)).float()
            log_norm = logits.logsumexp(-1, keepdim=True)
            log_probs = logits - log_norm
            nll -= (log_probs.gather(-1, labels[:, None])[:, 0] * real).sum()
            smooth -= (log_probs.mean(-1) * real).sum()
            if not (needs_hidden or needs_weight or needs_bias):
                continue
            # d loss / d logits = softmax - (1 - eps) onehot - eps / V
            grad = log_probs.exp_().sub_(smoothing / vocabulary)
            grad.scatter_add_(1, labels[:, None], grad.new_full((len(labels), 1), smoothing - 1.0))
            grad.mul_(real[:, None])
            if grad_bias is not None:
                grad_bias += grad.sum(0)
            low = grad.to(rows.dtype)
            if grad_hidden is not None:
                grad_hidden[start : start + chunk] = low @ matrix
            if grad_weight is not None:
                grad_weight += low.t() @ rows
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias)
        ctx.dtypes = (hidden.dtype, weight.dtype, None if bias is None else bias.dtype)
        loss = (1.0 - smoothing) * nll + smoothing * smooth
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *outputs: Tensor) -> tuple[Tensor | None, ...]:
        scale = outputs[0]
        grads = (
            None if grad is None else (grad * scale).to(dtype)
            for grad, dtype in zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        )
        return (*grads, None, None, None)


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, gold: Tensor, smoothing: float = 0.0, pad: int = -100
) -> tuple[Tensor, Tensor]:
    """Summed label-smoothed loss and summed negative log-likelihood of `gold` [N] under softmax(hidden W^T + b).

    hidden [N, d], weight [V, d], bias [V]; tokens equal to `pad` count for nothing. The loss spreads `smoothing` over
    the whole vocabulary (Szegedy et al. 2016); the second value is detached, for reporting.
    """
    loss, nll = _LinearCrossEntropy.apply(hidden, weight, bias, gold, smoothing, pad)  # type: ignore[no-untyped-call]
    return loss, nll
