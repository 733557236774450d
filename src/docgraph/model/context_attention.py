"""Context-Attn: attention over a memory, joined to the Transformer through a gate (section 2.4 of the paper).

The gate is one; what goes through it is attention over slots (the document graph, HM-GDC), over the words of the
sentences before (CTX), or over two levels, which HAN and Selective bring along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention, packed_attention, unmask_empty_rows
from docgraph.model.memory import Layout, SlotMemory, WordLayout, WordMemory
from docgraph.model.packing import Packing

if TYPE_CHECKING:  # it needs Triton
    from docgraph.model.gpu.prefix_attention import PrefixLayout


@dataclass(eq=False)
class Projected:
    """Keys and values for one attention: of the slots that each block of rows reads, [B, h, M, e] each, or [R, h, e].

    The latter are those of the states themselves, for a kernel, or for `in_slots`.
    """

    key: Tensor
    value: Tensor

    def in_slots(self, memory: SlotMemory) -> Projected:
        """Of the slots that each block reads, from those of the states."""
        return Projected(memory.in_slots(self.key).contiguous(), memory.in_slots(self.value).contiguous())


class ContextSite(nn.Module):
    """What reads a memory at a place of the Transformer."""

    def project(self, memory: Any) -> Any:
        """What is made of the memory once for all who read it: keys and values."""
        raise NotImplementedError

    def forward(self, x: Tensor, projected: Any, layout: Any) -> Any:
        """x [N, d] -> [N, d] or, at the output, what is recalled."""
        raise NotImplementedError

    def weights(self, x: Tensor, projected: Any, layout: Any) -> tuple[Tensor, Tensor]:
        """For inspection: attention over what is read, mean over heads [N, M], and the mean gate [N], 1 if closed."""
        raise NotImplementedError


class GatedSite(ContextSite):
    """A gated residual around attention of X over a memory; where a row sees no memory, X exactly.

    A kind of site says how it attends, in `project`, `attend` and `attention_weights`.
    """

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
        self.prepare(dimension, heads)
        if self.identity_start:
            # H_c is zero and X passes as it is, while d loss / d W_o = (1 - lambda) * attended * grad is alive.
            nn.init.zeros_(self.last.weight)

    def prepare(self, dimension: int, heads: int) -> None:
        """Modules beside the attention over words or sentences."""

    @property
    def last(self) -> nn.Linear:
        """The projection that ends in H_c."""
        return self.attention.output

    def attend(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        """H_c: x [N, d] -> [N, d]."""
        raise NotImplementedError

    def attention_weights(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        """What `attend` attends to, mean over heads: [N, M] sentences, or words."""
        raise NotImplementedError

    def forward(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        normed = self.norm(x)
        context = self.dropout(self.attend(normed, projected, layout))
        weight = self.gate_weight(normed, context)
        return torch.where(layout.some, self.blend(x, context, weight), x)

    def gate_weight(self, x: Tensor, context: Tensor) -> Tensor:
        """lambda = sigmoid(W_a X + W_c H_c) (equation 10)."""
        return torch.sigmoid(self.gate_input(x) + self.gate_context(context))

    def blend(self, x: Tensor, context: Tensor, weight: Tensor) -> Tensor:
        """lambda X + (1 - lambda) H_c (equation 9), or X + (1 - lambda) H_c with the identity start."""
        kept = x if self.identity_start else weight * x
        return kept + (1.0 - weight) * context

    @torch.no_grad()
    def weights(self, x: Tensor, projected: Any, layout: Any) -> tuple[Tensor, Tensor]:
        normed = self.norm(x)
        attention = self.attention_weights(normed, projected, layout)
        gate = self.gate_weight(normed, self.attend(normed, projected, layout)).mean(-1)
        return torch.where(layout.some, attention, 0.0), torch.where(layout.some[:, 0], gate, 1.0)


class FeedForwardSite(GatedSite):
    """A site whose attention ends in a feed-forward network, `widening` times as wide inside."""

    widening: ClassVar[int]

    def prepare(self, dimension: int, heads: int) -> None:
        self.inner = nn.Linear(dimension, self.widening * dimension)
        self.outer = nn.Linear(self.widening * dimension, dimension)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    @property
    def last(self) -> nn.Linear:
        return self.outer

    def feed_forward(self, x: Tensor) -> Tensor:
        return self.outer(torch.relu(self.inner(x)))


class ContextAttention(GatedSite):
    """Attention over the slots of a memory."""

    def project(self, memory: SlotMemory) -> Projected:
        key, value = self.attention.project(memory.states)
        return Projected(memory.in_slots(key), memory.in_slots(value))

    def attend(self, x: Tensor, projected: Projected, layout: Layout | PrefixLayout) -> Tensor:
        """H_c = Context-Attn(X, H_G, H_G) (equation 8): [N, d]."""
        query = self.attention.split(self.attention.query(x))
        return self.attention.join(layout.attend(query, projected.key, projected.value))

    def attention_weights(self, x: Tensor, projected: Projected, layout: Layout) -> Tensor:
        query = layout.rows.pad(self.attention.split(self.attention.query(x))).transpose(1, 2)
        scores = query @ projected.key.transpose(-2, -1) / query.shape[-1] ** 0.5
        return layout.rows.pack(scores.masked_fill(~layout.visible, float("-inf")).softmax(-1).mean(1))


@dataclass(eq=False)
class ProjectedRun:
    """Keys and values of a run of words for one attention, [P, h, e] each, and the run of each sentence."""

    key: Tensor
    value: Tensor
    words: Packing


class WordAttention(GatedSite):
    """Attention over the words of a run, each of `layout.rows` over those of its sentence."""

    def project(self, memory: WordMemory) -> list[ProjectedRun]:
        key, value = self.attention.project(memory.states)
        return [ProjectedRun(run.take(key), run.take(value), run.packing) for run in memory.runs]

    def attend(self, x: Tensor, projected: list[ProjectedRun], layout: WordLayout) -> Tensor:
        return self.attend_runs(x, projected, layout)[:, 0]

    def attend_runs(self, x: Tensor, projected: list[ProjectedRun], layout: WordLayout) -> Tensor:
        """x [N, d] over the words of each of J runs -> [N, J, d]; nothing is read where there are none."""
        query = self.attention.split(self.attention.query(x))
        attended = [packed_attention(query, run.key, run.value, layout.rows, run.words, False) for run in projected]
        read = torch.where(layout.visible[:, :, None, None], torch.stack(attended, dim=1), 0)
        return self.attention.join(read)

    def attention_weights(self, x: Tensor, projected: list[ProjectedRun], layout: WordLayout) -> Tensor:
        return self.run_weights(x, projected[0], layout).mean(1)

    def run_weights(self, x: Tensor, run: ProjectedRun, layout: WordLayout) -> Tensor:
        """Attention over the words of a run: [N, h, T]."""
        query = layout.rows.pad(self.attention.split(self.attention.query(x))).transpose(1, 2)
        scores = query @ run.words.pad(run.key).permute(0, 2, 3, 1) / query.shape[-1] ** 0.5
        visible = unmask_empty_rows(run.words.mask[:, None, None, :])
        return layout.rows.pack(scores.masked_fill(~visible, float("-inf")).softmax(-1).transpose(1, 2))
