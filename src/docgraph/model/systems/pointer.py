"""A pointer over linked translations: words that the document graph points at are recalled where words are chosen.

As in linked words (docgraph.model.systems.linked), the target memory is the translations of earlier sentences that a
sentence is linked with: the tokens y_s, and the states k_s in which Base chose them. It does not change the states of
the decoder, as the cache of Tu et al. (2018) does, but proposes its tokens beside the softmax (docgraph.model.output),
as the copy mechanisms of Gu et al. (2016) and See et al. (2017) and the datastore of Khandelwal et al. (2021) do:

    a_s = softmax_s((W k + b) . k_s / sqrt(d))                              (Khandelwal et al., 2, the distance learnt)
    w = sigmoid(u . relu(U [k; sum_s a_s k_s]) + v (max_s c_s - 7/8))       (See et al., 8, the nearest state beside)
    w_s = w a_s

k and k_s are states scaled to length sqrt(d); c_s is the score of a slot over 32, at the start a cosine. Keys are
constants: a projection of theirs would be one more factor of W. How a sentence ends is never proposed, neither its end
nor the sub-word before (mostly a full stop), and what they were attended with is left to the softmax: that another
sentence ends is no reason for this one to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch, Side
from docgraph.model.config import ModelConfig, TransformerConfig
from docgraph.model.context_attention import ContextSite
from docgraph.model.memory import Layout, SlotMemory
from docgraph.model.output import CopyDistribution
from docgraph.model.systems import ContextNeeds, context_encoder
from docgraph.model.systems.linked import CacheMemory, LinkedWords
from docgraph.model.transformer import Base

LOOK_UP = 32.0
"""At the start, the softmax is of so many times a cosine."""
NEAR, SLOPE = 7 / 8, 16.0
"""At the start, w is 1/2 where the largest cosine is the former, and grows by the latter: as a cache on Base, without
training, had about the least dev loss (Europarl En-Fr)."""


@dataclass(frozen=True, eq=False)
class Keys:
    """What the slots hold that each of B blocks of rows reads."""

    states: Tensor
    """[B, M, d], scaled to length sqrt(d)."""
    tokens: Tensor
    """[B, M]."""
    trust: Tensor | None
    """[B, M]."""

    def in_slots(self, memory: SlotMemory) -> Keys:
        """Of the slots that each block reads, from those of the states, [R, ...]."""
        slots = memory.slots_of_blocks
        return Keys(self.states[slots], self.tokens[slots], None if self.trust is None else self.trust[slots])


class Pointer(ContextSite):
    """Attention over the tokens of a cache, and the weight that it has beside the softmax."""

    def __init__(self, dimension: int, dropout: float, eos: int) -> None:
        super().__init__()
        self.eos = eos
        self.query = nn.Linear(dimension, dimension)
        self.gate_inner = nn.Linear(2 * dimension, dimension)
        self.gate_outer = nn.Linear(dimension, 1)
        self.slope = nn.Parameter(torch.tensor([SLOPE]))
        self.dropout = nn.Dropout(dropout)
        nn.init.eye_(self.query.weight)
        self.query.weight.data *= LOOK_UP / dimension**0.5
        nn.init.xavier_uniform_(self.gate_inner.weight)
        for part in (self.query.bias, self.gate_inner.bias, self.gate_outer.weight, self.gate_outer.bias):
            nn.init.zeros_(part)

    def project(self, memory: CacheMemory) -> Keys:
        tokens = torch.where(memory.values.roll(-1) == self.eos, self.eos, memory.values)
        keys = Keys(_scaled(memory.states), tokens, memory.trust)
        return keys if memory.packed else keys.in_slots(memory)

    def forward(self, x: Tensor, projected: Keys, layout: Layout) -> CopyDistribution:
        """What follows decoder states x [N, d], as far as the slots know."""
        attention, gate = self.attend(x, projected, layout)
        block = layout.rows.sequence_of
        weights = gate * attention
        if projected.trust is not None:
            weights = weights * projected.trust[block]
        tokens = projected.tokens[block]
        return CopyDistribution(tokens, torch.where(layout.some & (tokens != self.eos), weights, 0.0))

    def attend(self, x: Tensor, keys: Keys, layout: Layout) -> tuple[Tensor, Tensor]:
        """a [N, M] and w [N, 1] in fp32; of rows that see nothing, anything."""
        scaled, rows = _scaled(x), layout.rows
        # Keys first: with the few queries of a step, on a CPU, in half the time.
        scores = (keys.states @ rows.pad(self.query(scaled)).mT).mT.float() * x.shape[-1] ** -0.5
        scores = scores.masked_fill(~layout.visible[:, 0], float("-inf"))
        attention = scores.softmax(-1)
        attended = rows.pack(attention.to(keys.states.dtype) @ keys.states)
        nearest = rows.pack(scores.amax(-1, keepdim=True)) / LOOK_UP
        inner = self.dropout(self.gate_inner(torch.cat([scaled, attended], dim=-1)).relu())
        gate = self.gate_outer(inner).float() + self.slope.float() * (nearest - NEAR)
        return rows.pack(attention), gate.sigmoid()

    @torch.no_grad()
    def weights(self, x: Tensor, projected: Keys, layout: Layout) -> tuple[Tensor, Tensor]:
        attention, _ = self.attend(x, projected, layout)
        return torch.where(layout.some, attention, 0.0), 1.0 - self(x, projected, layout).share


def _scaled(states: Tensor) -> Tensor:
    """States [..., d] at length sqrt(d)."""
    return F.rms_norm(states, states.shape[-1:])


@context_encoder("pointer")
class PointerOverLinked(LinkedWords):
    """Linked words whose translations are read at the output; the source memory is read as theirs is."""

    sides = ("target", "both")

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        assert config.context is not None
        translations: Literal["given", "all"] = "all" if config.context.linked.own_weight else "given"
        return replace(super().needs(config), translations=translations)

    def output(self, transformer: TransformerConfig) -> ContextSite:
        return Pointer(transformer.dimension, self.config.dropout, transformer.eos)

    def chosen(self, side: Side, base: Base) -> Tensor:
        return side.tokens

    def trust(self, side: Side, batch: DocumentBatch) -> Tensor | None:
        if batch.given is None:
            return None
        return torch.where(batch.given[side.sentences.sequence_of], 1.0, self.config.linked.own_weight)
