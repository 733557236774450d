"""Context-Attn: attention over a memory, joined to the Transformer through a gate (section 2.4 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention, memory_attention
from docgraph.model.memory import Layout, Memory


@dataclass(eq=False)
class Projected:
    """Keys and values of a memory's slots for one attention, [G, h, M, e] each."""

    key: Tensor
    value: Tensor


class ContextAttention(nn.Module):
    """Multi-head attention of X over a memory and a gated residual; where a row sees no memory, X exactly."""

    def __init__(
        self, dimension: int, heads: int, dropout: float, gate: Literal["paper", "identity"], pre_norm: bool
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(dimension, heads)
        self.norm = nn.LayerNorm(dimension) if pre_norm else nn.Identity()
        self.gate_input = nn.Linear(dimension, dimension)
        self.gate_context = nn.Linear(dimension, dimension, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.identity_start = gate == "identity"
        if self.identity_start:
            # H_c is zero and X passes as it is, while d loss / d W_o = (1 - lambda) * attended * grad is alive.
            nn.init.zeros_(self.attention.output.weight)

    def project(self, memory: Memory) -> Projected:
        """Keys and values, once for all who read the memory."""
        key, value = self.attention.project(memory.states)
        return Projected(memory.in_slots(key), memory.in_slots(value))

    def forward(self, x: Tensor, projected: Projected, layout: Layout) -> Tensor:
        """x [N, d] -> [N, d]."""
        normed = self.norm(x)
        context = self.dropout(self.attend(normed, projected, layout))
        weight = self.gate_weight(normed, context)
        return torch.where(layout.some, self.blend(x, context, weight), x)

    def attend(self, x: Tensor, projected: Projected, layout: Layout) -> Tensor:
        """H_c = Context-Attn(X, H_G, H_G) (equation 8): [N, d]."""
        query = layout.rows.pad(self.attention.split(self.attention.query(x))).transpose(1, 2)
        attended = memory_attention(query, projected.key, projected.value, layout.visible)
        return self.attention.join(layout.rows.pack(attended.transpose(1, 2)))

    def gate_weight(self, x: Tensor, context: Tensor) -> Tensor:
        """lambda = sigmoid(W_a X + W_c H_c) (equation 10)."""
        return torch.sigmoid(self.gate_input(x) + self.gate_context(context))

    def blend(self, x: Tensor, context: Tensor, weight: Tensor) -> Tensor:
        """lambda X + (1 - lambda) H_c (equation 9), or X + (1 - lambda) H_c with the identity start."""
        kept = x if self.identity_start else weight * x
        return kept + (1.0 - weight) * context

    @torch.no_grad()
    def weights(self, x: Tensor, projected: Projected, layout: Layout) -> tuple[Tensor, Tensor]:
        """For inspection: attention over the slots, mean over heads [N, M], and the mean gate [N]."""
        normed = self.norm(x)
        query = layout.rows.pad(self.attention.split(self.attention.query(normed))).transpose(1, 2)
        scores = query @ projected.key.transpose(-2, -1) / query.shape[-1] ** 0.5
        scores = scores.masked_fill(~layout.visible, float("-inf"))
        attention = layout.rows.pack(scores.softmax(-1).mean(1))
        gate = self.gate_weight(normed, self.attend(normed, projected, layout)).mean(-1)
        return torch.where(layout.some, attention, 0.0), torch.where(layout.some[:, 0], gate, 1.0)
