"""Linked words: what the document graph points at, read as the Transformer itself understood it.

Beyond the paper, whose memory is one vector a sentence. The graph chooses: for each sentence the words elsewhere in the
document that its own words are linked with, and the earlier sentences they stand in (docgraph.graph.selection). The
source memory is those words as Base's encoder sees them in their own sentences. The target memory is the translations
of those sentences as a cache of decisions, after Tu et al. (2018): the state in which Base's decoder chose each word is
its key, the word it chose its value; so a term can be translated again as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.graph.selection import Selection, select
from docgraph.model.batch import DocumentBatch, DocumentExample, Side
from docgraph.model.config import LinkedConfig, ModelConfig
from docgraph.model.context_attention import ContextAttention, Projected
from docgraph.model.memory import SlotMemory
from docgraph.model.packing import round_up_to_vectors
from docgraph.model.systems import ContextNeeds, context_encoder
from docgraph.model.systems.base_states import BaseStatesContext, decoded
from docgraph.model.transformer import Base


@dataclass(frozen=True, eq=False)
class CacheMemory(SlotMemory):
    """Slots whose values are not made of the states their keys are made of."""

    values: Tensor = field(kw_only=True)
    """[R, d], or [R] tokens."""
    trust: Tensor | None = field(default=None, kw_only=True)
    """[R]: what the weight of a slot with the state is multiplied by, where that is not 1."""


LOOK_UP = (2.0, 2.0, 1.0)
"""Queries, keys and values at the start, as multiples of their inputs: the softmax is of about 32 times a cosine."""


class LinkedAttention(ContextAttention):
    """Attention over slots whose states are constants."""

    def project(self, memory: CacheMemory) -> Projected:  # type: ignore[override]  # a kind of its own, see Memory
        pairs = ((self.attention.key, memory.states), (self.attention.value, memory.values))
        if torch.is_grad_enabled():
            # What is in the slots are constants: projected there, no gradient is summed over the slots of a state.
            laid_out = [self.attention.split(layer(states[memory.slots_of_blocks])) for layer, states in pairs]
            return Projected(*(each.transpose(1, 2) for each in laid_out))
        return Projected(*(memory.in_slots(self.attention.split(layer(states))) for layer, states in pairs))


class CacheAttention(LinkedAttention):
    """The same over decisions; it starts as a look-up, which finds those made in states most like the current one."""

    def prepare(self, dimension: int, heads: int) -> None:
        for layer, scale in zip((self.attention.query, self.attention.key, self.attention.value), LOOK_UP, strict=True):
            nn.init.eye_(layer.weight)
            layer.weight.data *= scale


@context_encoder("linked")
class LinkedWords(BaseStatesContext):
    """Adds no parameters but those of its sites."""

    site, target_site = LinkedAttention, CacheAttention

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        assert config.context is not None
        return replace(super().needs(config), relations=config.context.graph.relations, links=True)

    @classmethod
    def prepare(cls, config: ModelConfig, example: DocumentExample) -> DocumentExample:
        example, needs = super().prepare(config, example), cls.needs(config)
        assert config.context is not None
        example = replace(example, selection=_selection(example, config.context.linked, needs))
        if needs.source:
            return example
        return replace(example, graph=None, source_words=())  # nothing but the selection was needed of it

    @classmethod
    def translations_read(cls, config: ModelConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
        linked = [] if document.selection is None else document.selection.sentences[sentence].tolist()
        return [earlier for earlier in linked if earlier >= 0]

    def _source(self, batch: DocumentBatch, encoded: Tensor) -> CacheMemory | None:
        graph, linked = batch.graph, batch.linked
        if graph is None or graph.places is None or linked is None or not self.reads_source:
            return None
        words = F.embedding_bag(graph.places, encoded, graph.offsets, mode="mean", include_last_offset=True)
        return CacheMemory(words, linked.words.clamp(min=0), linked.words >= 0, "sentence", values=words)

    def target_memory(self, batch: DocumentBatch, base: Base) -> CacheMemory | None:
        """That of `memories`, in no more slots than are used: where translations are decoded, every step reads them."""
        memory = self._target(batch, base, None)
        if memory is None:
            return None
        used = round_up_to_vectors(max(int(memory.visible.sum(1).max()), 1))
        order = memory.visible.sort(dim=1, descending=True, stable=True).indices[:, :used]
        return replace(memory, slots=memory.slots.gather(1, order), visible=memory.visible.gather(1, order))

    def _target(self, batch: DocumentBatch, base: Base, encoded: Tensor | None) -> CacheMemory | None:
        side, linked = batch.context_target, batch.linked
        if side is None or linked is None or not self.reads_target or not len(side.tokens):
            return None
        read = None
        if batch.state_cache is not None:
            places = linked.sentences.flatten() + 1  # the first for those that are none
            read = places.new_zeros(side.sentences.num_sequences + 1, dtype=torch.bool).index_fill_(0, places, True)[1:]
            if not read.any():
                return None
        slots, seen = self.slots(side, linked.sentences)
        states, trust = decoded(side, batch, base, encoded, read), self.trust(side, batch)
        if trust is not None and not self.config.linked.own_weight:
            seen = seen & (trust > 0)[slots]  # what has no weight takes none from others
        return CacheMemory(states, slots, seen, "sentence", values=self.chosen(side, base), trust=trust)

    def chosen(self, side: Side, base: Base) -> Tensor:
        """The words that were chosen, as values of the cache: [N, d]."""
        return base.embeddings.words(side.tokens, "target").detach()

    def trust(self, side: Side, batch: DocumentBatch) -> Tensor | None:
        """[N]: what the weight of each is multiplied by; None for 1."""
        return None

    def slots(self, side: Side, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens of T sentences [S, T] each (-1: none), in T * L slots, and which of them are there."""
        bounds = side.sentences.boundaries.long()
        first, end = (bounds[sentences.clamp(min=0) + k] for k in (0, 1))
        steps = torch.arange(self.config.linked.length, device=sentences.device)
        token = first[:, :, None] + steps
        seen = (token < end[:, :, None]) & (sentences >= 0)[:, :, None]
        return torch.where(seen, token, 0).flatten(1), seen.flatten(1)


def _selection(example: DocumentExample, linked: LinkedConfig, needs: ContextNeeds) -> Selection:
    """What each sentence is linked with; if only user-supplied translations are read, those sentences only."""
    if example.graph is None:
        selection = Selection.empty(len(example.source), linked.words, linked.sentences)
    else:
        among = example.given if needs.only_given_translations else None
        among = None if among is None else among[: example.graph.num_sentences]
        selection = select(example.graph, linked.words, linked.sentences, among, example.ahead)
    return selection if example.memory_sentences is None else selection.with_sentences(example.memory_sentences)
