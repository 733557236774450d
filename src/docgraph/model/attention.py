"""Multi-head attention: over packed sequences in training, over a cache in decoding.

On a GPU in half precision packed sequences go through kernels that see no padding: our own for short ones, PyTorch's
variable-length kernel for long ones. Elsewhere they are laid out padded, with equal results.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from docgraph.model.packing import Packing
from docgraph.model.sparse import HAS_TRITON

SHORT = 512
"""Longest sequences for the kernels of tiles of 32 x 32: where most are much shorter than the longest."""
FEW_QUERIES = 8
"""Queries a head, on a CPU, up to which attention is written out: the fused kernel is made for more."""
WRITTEN_OUT = 1 << 28
"""Most scores of attention over a memory that are held at once (512 MB in bf16)."""
# cuDNN's kernel was seen to fail when several processes shared a GPU; the other three cover every case.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def packed_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Packing, keys: Packing, causal: bool
) -> Tensor:
    """Attention inside each sequence: query [Nq, h, e], key and value [Nk, h, e] -> [Nq, h, e]."""
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        bounds, longest = (queries.boundaries, keys.boundaries), max(queries.kernel_length, keys.kernel_length)
        if HAS_TRITON and longest <= SHORT:
            from docgraph.model.gpu.short_attention import short_attention

            return short_attention(query, key, value, *bounds, longest, causal)
        from torch.nn.attention.varlen import varlen_attn

        lengths, window = (queries.kernel_length, keys.kernel_length), (-1, 0 if causal else -1)
        return varlen_attn(query, key, value, *bounds, *lengths, window_size=window)  # type: ignore[return-value]
    query, key, value = (p.pad(x).transpose(1, 2) for p, x in ((queries, query), (keys, key), (keys, value)))
    visible = never_blind(keys.mask[:, None, None, :])
    if causal:
        steps = torch.arange(keys.max_length, device=query.device)
        visible = visible & (steps[None, :] <= steps[:, None])
    return queries.pack(masked_attention(query, key, value, visible).transpose(1, 2))


def never_blind(visible: Tensor) -> Tensor:
    """A query that sees nothing sees everything instead: its result is dropped, but must not be NaN."""
    return visible | ~visible.any(-1, keepdim=True)


def masked_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor | None) -> Tensor:
    """[B, h, Tq, e] x [B, h, Tk, e] -> [B, h, Tq, e]; every query must see something (`never_blind`).

    `visible` is bool, or what is added to the scores: 0 where a query sees a key, else minus infinity.
    """
    if not query.is_cuda:
        if torch.is_grad_enabled() or query.shape[-2] > FEW_QUERIES:
            return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
        scores = (query * query.shape[-1] ** -0.5) @ key.transpose(-2, -1)
        if visible is not None:
            scores = scores.masked_fill_(~visible, -torch.inf) if visible.dtype == torch.bool else scores.add_(visible)
        return scores.softmax(-1) @ value
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)


def memory_attention(query: Tensor, key: Tensor, value: Tensor, visible: Tensor) -> Tensor:
    """The same for few slots and many rows: written out, so that its gradient is matrix products.

    The fused kernel's gradient runs one block of threads per 64 slots and loops over all rows: on an H200, with
    documents of 150 sentences, it took 0.57 ms a layer. Where no gradient is asked for, or the scores would need much
    memory, it is right again.
    """
    if not torch.is_grad_enabled() or query.shape[-2] * key.shape[-2] * query.shape[0] * query.shape[1] > WRITTEN_OUT:
        return masked_attention(query, key, value, visible)
    scores = (query @ key.transpose(-2, -1)) * query.shape[-1] ** -0.5
    return scores.masked_fill(~visible, float("-inf")).softmax(-1).to(value.dtype) @ value


class MultiHeadAttention(nn.Module):
    """The projections of Vaswani et al. (2017), section 3.2.2; the callers choose the attention between them."""

    def __init__(self, dimension: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dimension, dimension)
        self.key = nn.Linear(dimension, dimension)
        self.value = nn.Linear(dimension, dimension)
        self.output = nn.Linear(dimension, dimension)
        self.joint: nn.Module | None = None
        """In a model made ready for translation on a CPU: query, key and value as one product."""
        for layer in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def split(self, x: Tensor) -> Tensor:
        """[..., d] -> [..., h, e]."""
        return x.view(*x.shape[:-1], self.heads, x.shape[-1] // self.heads)

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a memory, [..., h, e] each."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def project_all(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x for attention to itself, [..., h, e] each."""
        if self.joint is not None:
            query, key, value = self.joint(x).chunk(3, dim=-1)
            return self.split(query), self.split(key), self.split(value)
        return self.split(self.query(x)), *self.project(x)

    def join(self, attended: Tensor) -> Tensor:
        """[..., h, e] -> [..., d], through the output projection."""
        return self.output(attended.flatten(-2))

    def forward(self, x: Tensor, memory: Tensor, queries: Packing, keys: Packing, causal: bool = False) -> Tensor:
        """Packed attention of x [Nq, d] over memory [Nk, d], sequence by sequence -> [Nq, d]."""
        query, key, value = self.project_all(x) if x is memory else (self.split(self.query(x)), *self.project(memory))
        return self.join(packed_attention(query, key, value, queries, keys, causal))
