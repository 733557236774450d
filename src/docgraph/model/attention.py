"""Multi-head attention: over packed sequences in training, over a cache in decoding.

Scaled dot-product attention itself is PyTorch's. On a GPU in half precision packed sequences go through the
variable-length flash kernel, which sees no padding; elsewhere they are laid out padded, with equal results.
"""

from __future__ import annotations

import inspect
from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from docgraph.model.packing import Packing

# cuDNN's kernel was seen to fail when several processes shared a GPU; the other three cover every case.
BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


@cache
def _causal_argument() -> dict[str, object]:
    """How this PyTorch asks its variable-length kernel for a causal mask."""
    from torch.nn.attention.varlen import varlen_attn

    return {"is_causal": True} if "is_causal" in inspect.signature(varlen_attn).parameters else {"window_size": (-1, 0)}


def packed_attention(
    query: Tensor, key: Tensor, value: Tensor, queries: Packing, keys: Packing, causal: bool
) -> Tensor:
    """Attention inside each sequence: query [Nq, h, e], key and value [Nk, h, e] -> [Nq, h, e]."""
    if query.is_cuda and query.dtype in (torch.float16, torch.bfloat16):
        from torch.nn.attention.varlen import varlen_attn

        options = _causal_argument() if causal else {}
        lengths = (queries.boundaries, keys.boundaries, queries.max_length, keys.max_length)
        return varlen_attn(query, key, value, *lengths, **options)  # type: ignore[arg-type, return-value]
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
    """[B, h, Tq, e] x [B, h, Tk, e] -> [B, h, Tq, e]; every query must see something (`never_blind`)."""
    if not query.is_cuda:
        return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)
    with sdpa_kernel(BACKENDS):
        return F.scaled_dot_product_attention(query, key, value, attn_mask=visible)


class MultiHeadAttention(nn.Module):
    """The projections of Vaswani et al. (2017), section 3.2.2; the callers choose the attention between them."""

    def __init__(self, dimension: int, heads: int, memory_dimension: int | None = None) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dimension, dimension)
        self.key = nn.Linear(memory_dimension or dimension, dimension)
        self.value = nn.Linear(memory_dimension or dimension, dimension)
        self.output = nn.Linear(dimension, dimension)
        for layer in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def split(self, x: Tensor) -> Tensor:
        """[..., d] -> [..., h, e]."""
        return x.view(*x.shape[:-1], self.heads, -1)

    def project(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values of a memory, [..., h, e] each."""
        return self.split(self.key(memory)), self.split(self.value(memory))

    def join(self, attended: Tensor) -> Tensor:
        """[..., h, e] -> [..., d], through the output projection."""
        return self.output(attended.flatten(-2))

    def forward(self, x: Tensor, memory: Tensor, queries: Packing, keys: Packing, causal: bool = False) -> Tensor:
        """Packed attention of x [Nq, d] over memory [Nk, d], sequence by sequence -> [Nq, d]."""
        key, value = self.project(memory)
        return self.join(packed_attention(self.split(self.query(x)), key, value, queries, keys, causal))
