"""The output distribution over the vocabulary, and its loss.

A system with a pointer mixes the softmax with tokens copied from its memory, as pointer networks do (Gu et al. 2016,
equation 4; See et al. 2017, equation 9), and as nearest-neighbour models do (Khandelwal et al. 2021, equation 3):

    p(y) = (1 - w) softmax(W h + b)(y) + sum_s w_s [token_s = y],    w = sum_s w_s < 1

Without copies this is exactly the softmax.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

CHUNK_ELEMENTS = 1 << 26
"""Logits held at once (128 MB in bf16)."""
MAX_SHARE = 1 - 2**-20
"""Largest w; a larger one would leave nothing to the softmax in single precision."""
LARGEST_EXPONENT = 80.0
"""exp of this number is still finite in single precision."""


@dataclass(frozen=True, eq=False)
class CopyDistribution:
    """The tokens and weights that M memory slots add to the next-token distributions of N rows."""

    tokens: Tensor
    """[N, M] int64."""
    weights: Tensor
    """[N, M] fp32: w_s; 0 in slots that a row does not see."""

    @property
    def share(self) -> Tensor:
        """[N]: w, the probability mass of all copies."""
        return self.weights.sum(1).clamp(max=MAX_SHARE)

    def probability_of(self, gold: Tensor) -> Tensor:
        """Returns [N]: the probability that the slots give to the tokens gold [N]."""
        return torch.where(self.tokens == gold[:, None], self.weights, 0.0).sum(1)

    def log_probability_of(self, gold: Tensor, softmax: Tensor) -> Tensor:
        """Returns [N]: log-probabilities of gold [N] in the mixture, from `softmax` [N], those in the softmax."""
        return torch.logaddexp(softmax + (-self.share).log1p(), self.probability_of(gold).log())

    def mix_(self, softmax: Tensor) -> Tensor:
        """Writes the log-probabilities of the mixture over those of the softmax [N, V] and returns them.

        Only the at most M columns of a row that have copies are read again after the first pass over [N, V].
        """
        tokens = self.tokens
        softmax += (-self.share).log1p()[:, None]
        own = softmax.gather(1, tokens)
        added = softmax.scatter_(1, tokens, 0.0).scatter_add_(1, tokens, self.weights).gather(1, tokens)
        return softmax.scatter_(1, tokens, torch.logaddexp(own, added.log()))


@dataclass(frozen=True, eq=False)
class DecoderOutput:
    """N decoder states and their copies: everything that the distributions of the next tokens depend on."""

    hidden: Tensor
    """[N, d]."""
    copies: CopyDistribution | None = None

    def rows(self, part: slice) -> DecoderOutput:
        """Returns the output of some consecutive rows."""
        copies = self.copies
        some = None if copies is None else CopyDistribution(copies.tokens[part], copies.weights[part])
        return DecoderOutput(self.hidden[part], some)

    def copy_terms(self, gold: Tensor) -> Tensor | None:
        """Returns [2, N]: w, and the probability that the slots give to gold [N]; None without copies."""
        return None if self.copies is None else torch.stack([self.copies.share, self.copies.probability_of(gold)])


ChunkLoss = Callable[[Tensor, Tensor, Tensor | None, float, int, bool], tuple[Tensor, Tensor, Tensor, Tensor | None]]
"""The signature of `chunk_loss`, compiled or not."""


def chunk_loss(
    logits: Tensor, gold: Tensor, copies: Tensor | None, smoothing: float, pad: int, grad: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Returns summed negative log-likelihood and smoothing term, d loss / d logits and d loss / d copies of a chunk.

    logits [C, V], gold [C], copies [2, C] as of `DecoderOutput.copy_terms`. Compiled, this reads the logits twice and
    writes the gradient once; single precision never leaves registers.
    """
    precise = logits.to(torch.promote_types(logits.dtype, torch.float32))
    real = gold != pad
    labels = torch.where(real, gold, 0)
    log_norm = precise.logsumexp(-1, keepdim=True)
    likely = own = precise.gather(-1, labels[:, None])[:, 0] - log_norm[:, 0]
    likelihood = torch.full_like(own, 1.0 - smoothing)  # -d loss / d own
    grad_copies = None
    if copies is not None:
        kept = own + (-copies[0]).log1p()
        likely = torch.logaddexp(kept, copies[1].log())
        likelihood = likelihood * (kept - likely).exp()
        grad_copies = torch.stack([(own - likely).exp(), -(-likely).clamp(max=LARGEST_EXPONENT).exp()])
        grad_copies = torch.where(real, (1.0 - smoothing) * grad_copies, 0.0)
    nll = torch.where(real, -likely, 0.0).sum()
    smooth = torch.where(real, log_norm[:, 0] - precise.mean(-1), 0.0).sum()
    if not grad:
        return nll, smooth, logits, grad_copies
    # (1 - eps) (softmax - onehot) + eps (softmax - 1 / V); copies take their part of p(gold) from the first term.
    likelihood = likelihood[:, None]
    hit = torch.arange(logits.shape[-1], device=logits.device)[None, :] == labels[:, None]
    target = likelihood * hit.to(precise.dtype) + smoothing / logits.shape[-1]
    grad_logits = torch.where(real[:, None], (likelihood + smoothing) * (precise - log_norm).exp() - target, 0.0)
    return nll, smooth, grad_logits.to(logits.dtype), grad_copies


class _LinearCrossEntropy(torch.autograd.Function):
    """Computes loss and gradients chunk by chunk in the forward pass; the backward pass only scales the gradients."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        copies: Tensor | None,
        gold: Tensor,
        smoothing: float,
        pad: int,
        chunk_loss: ChunkLoss,
    ) -> tuple[Tensor, Tensor]:
        dtype = torch.get_autocast_dtype(hidden.device.type) if torch.is_autocast_enabled(hidden.device.type) else None
        compute, matrix = (hidden, weight) if dtype is None else (hidden.to(dtype), weight.to(dtype))
        precise = torch.promote_types(compute.dtype, torch.float32)
        needs_hidden, needs_weight, needs_bias, needs_copies = ctx.needs_input_grad[:4]
        grad_hidden = torch.empty_like(compute) if needs_hidden else None
        grad_weight = torch.zeros_like(weight, dtype=precise) if needs_weight else None
        grad_bias = torch.zeros(len(weight), dtype=precise, device=hidden.device) if needs_bias else None
        grad_copies = torch.empty_like(copies) if copies is not None and needs_copies else None
        needs_logits = needs_hidden or needs_weight or needs_bias
        nll, smooth = torch.zeros((2,), dtype=precise, device=hidden.device)
        size = max(1, CHUNK_ELEMENTS // len(weight))
        for start in range(0, len(gold), size):
            chunk = slice(start, start + size)
            logits = F.linear(compute[chunk], matrix, None if bias is None else bias.to(compute.dtype))
            some = None if copies is None else copies[:, chunk].contiguous()
            chunk_nll, chunk_smooth, slope, copy_slope = chunk_loss(
                logits, gold[chunk], some, smoothing, pad, needs_logits
            )
            nll, smooth = nll + chunk_nll, smooth + chunk_smooth
            if grad_hidden is not None:
                grad_hidden[chunk] = slope @ matrix
            if grad_weight is not None:
                grad_weight += slope.t() @ compute[chunk]
            if grad_bias is not None:
                grad_bias += slope.sum(0, dtype=precise)
            if grad_copies is not None and copy_slope is not None:
                grad_copies[:, chunk] = copy_slope
        ctx.save_for_backward(grad_hidden, grad_weight, grad_bias, grad_copies)
        ctx.dtypes = [None if one is None else one.dtype for one in (hidden, weight, bias, copies)]
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
    chunk_loss: ChunkLoss = chunk_loss,
    copies: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Returns summed label-smoothed loss and negative log-likelihood of `gold` [N] under softmax(hidden W^T + b).

    hidden [N, d], weight [V, d], bias [V]; tokens equal to `pad` do not count. The loss spreads `smoothing` over the
    whole vocabulary (Szegedy et al. 2016); the second value is detached, for reporting. With `copies` [2, N]
    (`DecoderOutput.copy_terms`) the likelihood is that of the mixture, and smoothing applies to the softmax in it.
    The logits of the whole batch never exist at once: memory is one chunk of `CHUNK_ELEMENTS`. `chunk_loss` may be
    compiled.
    """
    return _LinearCrossEntropy.apply(hidden, weight, bias, copies, gold, smoothing, pad, chunk_loss)  # type: ignore[no-untyped-call]
