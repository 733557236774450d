"""Multi-head attention over packed sequences (training) and over a cache (decoding).

On a GPU in half precision, packed sequences use kernels without padding: our own for short sequences, PyTorch's
variable-length kernel for long ones. Otherwise sequences are padded, with equal results.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from docgraph.model.packing import Packing
from docgraph.model.sparse import HAS_TRITON

SHORT = 512
"""Maximum length for our kernel, whose 32 x 32 tiles suit batches of mostly short sequences."""
FEW_QUERIES = 8
"""On a CPU, up to this many queries per head, plain matrix products beat the fused kernel."""
MAX_SCORES = 1 << 28
"""Scores that plain products may hold at once (512 MB in bf16)."""
# Without cuDNN's kernel, which failed when several processes shared a GPU; these three cover every case.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def packed_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Packing, keys: Packing, causal: bool
) -> Tensor:
    """Computes attention inside each sequence: query [Nq, h, e], key and value [Nk, h, e] -> [Nq, h, e]."""
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        bounds, longest = (queries.boundaries, keys.boundaries), max(queries.kernel_length, keys.kernel_length)
        if HAS_TRITON and longest <= SHORT:
            from docgraph.model.gpu.short_attention import short_attention

            return short_attention(query, key, value, *bounds, longest, causal)
        from torch.nn.attention.varlen import varlen_attn

        lengths, window = (queries.kernel_length, keys.kernel_length), (-1, 0 if causal else -1)
        return varlen_attn(query, key, value, *bounds, *lengths, window_size=window)  # type: ignore[return-value]
    query, key, value = (p.pad(x).transpose(1, 2) for p, x in ((queries, query), (keys, key), (keys, value)))
    visible = unmask_empty_rows(keys.mask[:, None, None, :])
    if causal:
        steps = torch.arange(keys.max_length, device=query.device)
        visible = visible & (steps[None, :] <= steps[:, None])
    return queries.pack(masked_attention(query, key, value, visible).transpose(1, 2))


def unmask_empty_rows(visible: Tensor) -> Tensor:
    """Makes every key visible to queries that see none: their results are dropped, but must not be NaN."""
    return visible | ~visible.any(-1, keepdim=True)


def masked_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """Computes attention: [B, h, Tq, e] x [B, h, Tk, e] -> [B, h, Tq, e].

    `visible` is a bool mask, or an additive one: 0 where a query sees a key, else minus infinity. Every query must see
    a key (`unmask_empty_rows`).
    """
    if not query.is_cuda:
        # The gradient of PyTorch's fused kernel takes four times as long as that of plain products on a CPU in bf16.
        if _num_scores(query, key) <= MAX_SCORES if torch.is_grad_enabled() else query.shape[-2] <= FEW_QUERIES:
            return _plain_attention(query, key, value, visible)
        return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)


def _plain_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """Computes `masked_attention` as matrix products."""
    scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
    if visible is not None:  # in place: no gradient needs the product itself
        scores = scores.masked_fill_(~visible, -torch.inf) if visible.dtype == torch.bool else scores.add_(visible)
    return scores.softmax(-1).to(value.dtype) @ value


def _num_scores(query: Tensor, key: Tensor) -> int:
    """Returns the size of the scores [B, h, Tq, Tk]."""
    return query.shape[:-1].numel() * key.shape[-2]


def attention_weights(query: Tensor, key: Tensor, visible: Tensor) -> Tensor:
    """Returns the weights of `masked_attention`, mean over heads: [B, h, Tq, e] x [B, h, Tk, e] -> [B, Tq, Tk]."""
    scores = ((query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)).float()
    return scores.masked_fill_(~visible, -torch.inf).softmax(-1).mean(1)


def memory_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> Tensor:
    """Computes `masked_attention` for few keys and many queries, as plain matrix products if a gradient is needed.

    The gradient of the fused kernel runs one block of threads per 64 keys and loops over all queries: on an H200, with
    documents of 150 sentences, it took 0.57 ms per layer. The fused kernel is used without a gradient, and if the
    scores would need too much memory.
    """
    if not torch.is_grad_enabled() or _num_scores(query, key) > MAX_SCORES:
        return masked_attention(query, key, value, visible)
    return _plain_attention(query, key, value, visible)


class MultiHeadAttention(nn.Module):
    """The projections of multi-head attention (Vaswani et al. 2017, section 3.2.2)."""

    def __init__(self, dimension: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dimension, dimension)
        self.key = nn.Linear(dimension, dimension)
        self.value = nn.Linear(dimension, dimension)
        self.output = nn.Linear(dimension, dimension)
        self.joint: nn.Module | None = None
        """Query, key and value as one product, in a model packed for a CPU (`pack_for_cpu`)."""
        for layer in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def split(self, x: Tensor) -> Tensor:
        """Splits the heads: [..., d] -> [..., h, e]."""
        return x.view(*x.shape[:-1], self.heads, x.shape[-1] // self.heads)

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the keys and values of memory [..., d], [..., h, e] each."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def project_all(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns queries, keys and values of x [..., d] for self-attention, [..., h, e] each."""
        if self.joint is not None:
            query, key, value = self.joint(x).chunk(3, dim=-1)
            return self.split(query), self.split(key), self.split(value)
        return self.split(self.query(x)), *self.project(x)

    def join(self, attended: Tensor) -> Tensor:
        """Joins the heads and applies the output projection: [..., h, e] -> [..., d]."""
        return self.output(attended.flatten(-2))

    def forward(self, x: Tensor, memory: Tensor, queries: Packing, keys: Packing, causal: bool = False) -> Tensor:
        """Computes attention of x [Nq, d] over memory [Nk, d] inside each sequence -> [Nq, d]."""
        query, key, value = self.project_all(x) if x is memory else (self.split(self.query(x)), *self.project(memory))
        return self.join(packed_attention(query, key, value, queries, keys, causal))
