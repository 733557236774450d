"""A pointer over linked translations: tokens that the document graph points at are proposed at the output.

As in `docgraph.model.systems.linked`, the target memory is the translations of the earlier sentences that a sentence is
linked with: the tokens y_s, and the states k_s in which Base predicted them. The pointer does not change the states of
the decoder, as the cache of Tu et al. (2018) does. It proposes its tokens in a mixture with the softmax
(docgraph.model.output), like the copy mechanisms of Gu et al. (2016) and See et al. (2017) and the datastore of
Khandelwal et al. (2021):

    a_s = softmax_s((W k + b) . k_s / sqrt(d))                              (Khandelwal et al., 2, learned distance)
    w = sigmoid(u . relu(U [k; sum_s a_s k_s]) + v (max_s c_s - 7/8))       (See et al., 8, plus the nearest state)
    w_s = w a_s

k and k_s are states scaled to length sqrt(d). c_s is the score of a slot divided by 32, initially a cosine. Keys are
not projected: the projection would only be another factor of W. The end of a sentence and the sub-word before it
(usually a full stop) are never proposed; their weight goes to the softmax. The end of another sentence says
nothing about the end of this one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.batch import DocumentBatch, Side
from docgraph.model.config import ContextConfig, LinkedConfig, ModelConfig, TransformerConfig
from docgraph.model.context_attention import ContextLayer
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import SlotLayout, SlotMemory
from docgraph.model.model_folder import ModelFolder, Precision
from docgraph.model.output import CopyDistribution
from docgraph.model.systems import ContextNeeds, context_encoder
from docgraph.model.systems.base_states import decoder_states
from docgraph.model.systems.linked import CacheMemory, LinkedWords
from docgraph.model.transformer import Base

LOOK_UP = 32.0
"""Initial factor of the cosine in the softmax."""
NEAR, SLOPE = 7 / 8, 16.0
"""Initially w is 1/2 if the largest cosine is NEAR, and grows with slope SLOPE. With an untrained pointer on Base,
these values had about the lowest dev loss (Europarl En-Fr)."""
SEED = 1


@dataclass(frozen=True, eq=False)
class PointerKeys:
    """Contents of the slots that each of B blocks of rows reads; before `in_slots`, contents of the R states."""

    states: Tensor
    """[B, M, d], scaled to length sqrt(d)."""
    tokens: Tensor
    """[B, M]."""
    trust: Tensor | None
    """[B, M]: a factor of the weight; None for 1."""

    def in_slots(self, memory: SlotMemory) -> PointerKeys:
        """Returns the contents of the slots that each block reads, gathered from those of the states, [R, ...]."""
        slots = memory.slots_of_blocks
        return PointerKeys(self.states[slots], self.tokens[slots], None if self.trust is None else self.trust[slots])


class Pointer(ContextLayer):
    """Attention over the tokens of a cache, and the weight w of the pointer in the mixture."""

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

    def project(self, memory: CacheMemory) -> PointerKeys:
        """Returns scaled states and tokens; a token before an end-of-sentence counts as an end-of-sentence."""
        tokens = torch.where(memory.values.roll(-1) == self.eos, self.eos, memory.values)
        keys = PointerKeys(_scaled(memory.states), tokens, memory.trust)
        return keys if memory.packed else keys.in_slots(memory)

    def forward(self, x: Tensor, projected: PointerKeys, layout: SlotLayout) -> CopyDistribution:
        """Returns the tokens and weights w_s that the slots propose after decoder states x [N, d]."""
        attention, gate = self.attend(x, projected, layout)
        block = layout.rows.sequence_of
        weights = gate * attention
        if projected.trust is not None:
            weights = weights * projected.trust[block]
        tokens = projected.tokens[block]
        return CopyDistribution(tokens, torch.where(layout.some & (tokens != self.eos), weights, 0.0))

    def attend(self, x: Tensor, keys: PointerKeys, layout: SlotLayout) -> tuple[Tensor, Tensor]:
        """Returns a [N, M] and w [N, 1] in fp32; undefined for rows that see no slot."""
        scaled, rows = _scaled(x), layout.rows
        # Keys first: for the few queries of a decoding step, this halves the time on a CPU.
        scores = (keys.states @ rows.pad(self.query(scaled)).mT).mT.float() * x.shape[-1] ** -0.5
        scores = scores.masked_fill(~layout.visible[:, 0], float("-inf"))
        attention = scores.softmax(-1)
        attended = rows.pack(attention.to(keys.states.dtype) @ keys.states)
        nearest = rows.pack(scores.amax(-1, keepdim=True)) / LOOK_UP
        inner = self.dropout(self.gate_inner(torch.cat([scaled, attended], dim=-1)).relu())
        gate = self.gate_outer(inner).float() + self.slope.float() * (nearest - NEAR)
        return rows.pack(attention), gate.sigmoid()

    @torch.no_grad()
    def weights(self, x: Tensor, projected: PointerKeys, layout: SlotLayout) -> tuple[Tensor, Tensor]:
        """Returns attention weights [N, M], and 1 minus the weight of the pointer in the mixture [N]."""
        attention, _ = self.attend(x, projected, layout)
        return torch.where(layout.some, attention, 0.0), 1.0 - self(x, projected, layout).share


def _scaled(states: Tensor) -> Tensor:
    """Returns states [..., d] scaled to length sqrt(d)."""
    return F.rms_norm(states, states.shape[-1:])


@context_encoder("pointer")
class PointerOverLinked(LinkedWords):
    """Linked words, whose translations a pointer reads at the output; the source memory is that of `linked`."""

    sides = ("target", "both")

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        """Declares user-supplied translations and, unless `own_weight` is 0, the model's own."""
        assert config.context is not None
        translations: Literal["given", "all"] = "all" if config.context.linked.own_weight else "given"
        return replace(super().needs(config), translations=translations)

    def output(self, transformer: TransformerConfig) -> ContextLayer:
        """Returns the pointer."""
        return Pointer(transformer.dimension, self.config.dropout, transformer.eos)

    def output_states(self, batch: DocumentBatch, base: Base) -> Tensor | None:
        """Returns the states of Base (cached ones are not computed again); None if the encoder reads context."""
        side = batch.context_target
        if side is None or self.reads_source:
            return None
        return decoder_states(side, batch, base, None)[side.sentences.tokens_of(batch.context_index)]

    def values(self, side: Side, base: Base) -> Tensor:
        """Returns the tokens themselves, [N]."""
        return side.tokens

    def trust(self, side: Side, batch: DocumentBatch) -> Tensor | None:
        """Returns 1 for user-supplied translations and `own_weight` for those of the model."""
        if batch.given is None:
            return None
        return torch.where(batch.given[side.sentences.sequence_of], 1.0, self.config.linked.own_weight)


def add_recall(
    folder: str | Path, out: str | Path, linked: LinkedConfig, precision: Precision | None = None
) -> DocumentTransformer:
    """Writes a sentence-level model plus an untrained pointer to a new folder, and returns the new model.

    The pointer works as a look-up without training. `precision` is that of the stored model by default.
    """
    source, target = ModelFolder(folder), Path(out)
    config = source.config
    if config.context is not None or config.concatenation is not None:
        name = checkpoint.system_name(config)
        raise DocgraphError(f"this model ({name}) already reads context; choose a sentence-level model", path=folder)
    if target.exists() or target.is_symlink():
        raise DocgraphError("output folder exists; choose another one", path=target)
    context = ContextConfig("pointer", "post", "target", heads=config.transformer.heads, linked=linked)
    with torch.random.fork_rng(devices=[]):
        base = checkpoint.load(source)
        torch.manual_seed(SEED)  # reproducible initial weights of the gate, which only matter for training
        model = DocumentTransformer(replace(config, context=context))
    model.load_state_dict({**model.state_dict(), **base.state_dict()})
    card = Path(folder) / checkpoint.CARD
    has_card = card.is_file() and not card.is_symlink()  # a link could name any file of the user
    checkpoint.save_derived(model, target, source, precision or source.precision, card if has_card else None)
    return model.eval()
