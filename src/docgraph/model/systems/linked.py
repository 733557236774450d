"""Linked words: the words that the document graph links with a sentence, read as states of Base.

This goes beyond the paper, whose memory is one vector per sentence. For each sentence the graph selects words elsewhere
in the document that are linked with its own words, and the earlier sentences that contain them
(docgraph.graph.selection). The source memory is the encoder states of Base at those words. The target memory is a cache
of the translations of those sentences, after Tu et al. (2018). The key of each word is the decoder state of Base that
predicted it; the value is the word. So a term can be translated again as before.
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
from docgraph.model.context_attention import ContextAttention, SlotKeys
from docgraph.model.memory import Memory, SlotMemory
from docgraph.model.packing import round_up_to_vectors
from docgraph.model.systems import ContextNeeds, SideName, context_encoder
from docgraph.model.systems.base_states import BaseStatesContext, decoder_states
from docgraph.model.transformer import Base


@dataclass(frozen=True, eq=False)
class CacheMemory(SlotMemory):
    """Slots whose values are separate from the states that give the keys."""

    values: Tensor = field(kw_only=True)
    """[R, d], or [R] tokens."""
    trust: Tensor | None = field(default=None, kw_only=True)
    """[R]: a factor of the weight of each state; None for 1."""


LOOK_UP = (2.0, 2.0, 1.0)
"""Initial query, key and value projections, as multiples of the identity: the softmax is of about 32 times a cosine."""


class LinkedAttention(ContextAttention):
    """Attention over slots whose states get no gradient."""

    def project(self, memory: CacheMemory) -> SlotKeys:  # type: ignore[override]  # see Memory
        """Returns keys and values of the slots."""
        pairs = ((self.attention.key, memory.states), (self.attention.value, memory.values))
        if torch.is_grad_enabled():
            # Gathered before the projection: the gradient of a later gather would be a sum over the slots of a state.
            in_slots = [self.attention.split(layer(states[memory.slots_of_blocks])) for layer, states in pairs]
            return SlotKeys(*(each.transpose(1, 2) for each in in_slots))
        return SlotKeys(*(memory.in_slots(self.attention.split(layer(states))) for layer, states in pairs))


class CacheAttention(LinkedAttention):
    """Attention over the cache; it starts as a look-up of the words predicted in the most similar states."""

    def create_modules(self, dimension: int, heads: int) -> None:
        """Initialises the projections as multiples of the identity (`LOOK_UP`)."""
        for layer, scale in zip((self.attention.query, self.attention.key, self.attention.value), LOOK_UP, strict=True):
            nn.init.eye_(layer.weight)
            layer.weight.data *= scale


@context_encoder("linked")
class LinkedWords(BaseStatesContext):
    """Linked source words, and the translations of linked sentences; only the context layers have parameters."""

    attention, target_attention = LinkedAttention, CacheAttention

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        """The relations that select links, on either side."""
        assert config.context is not None
        return replace(super().needs(config), relations=config.context.graph.relations, links=True)

    @classmethod
    def prepare(cls, config: ModelConfig, example: DocumentExample) -> DocumentExample:
        """Returns the document with the linked words and sentences of each sentence."""
        example, needs = super().prepare(config, example), cls.needs(config)
        assert config.context is not None
        example = replace(example, selection=_selection(example, config.context.linked, needs))
        # Without a source memory, the graph is only needed for the selection.
        return example if needs.source else replace(example, graph=None, source_words=())

    @classmethod
    def translations_read(cls, config: ModelConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
        """Returns the selected earlier sentences."""
        linked = [] if document.selection is None else document.selection.sentences[sentence].tolist()
        return [earlier for earlier in linked if earlier >= 0]

    def _source(self, batch: DocumentBatch, encoded: Tensor) -> CacheMemory | None:
        graph, linked = batch.graph, batch.linked
        if graph is None or graph.places is None or linked is None or not self.reads_source:
            return None
        words = F.embedding_bag(graph.places, encoded, graph.offsets, mode="mean", include_last_offset=True)
        return CacheMemory(words, linked.words.clamp(min=0), linked.words >= 0, "sentence", values=words)

    def target_memory(self, batch: DocumentBatch, base: Base) -> CacheMemory | None:
        """Returns the memory with unused slots removed: in decoding, every step reads all slots."""
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
            places = linked.sentences.flatten() + 1  # place 0 collects the -1 of "no sentence"
            read = places.new_zeros(side.sentences.num_sequences + 1, dtype=torch.bool).index_fill_(0, places, True)[1:]
            if not read.any():
                return None
        slots, seen = self.slots(side, linked.sentences)
        states, trust = decoder_states(side, batch, base, encoded, read), self.trust(side, batch)
        if trust is not None and not self.config.linked.own_weight:
            seen = seen & (trust > 0)[slots]  # a slot of weight 0 must not take attention from others
        return CacheMemory(states, slots, seen, "sentence", values=self.values(side, base), trust=trust)

    def values(self, side: Side, base: Base) -> Tensor:
        """Returns the values of the cache: the embedding of each word, [N, d]."""
        return base.embeddings.words(side.tokens, "target").detach()

    def trust(self, side: Side, batch: DocumentBatch) -> Tensor | None:
        """Returns [N]: the factor of the weight of each word; None for 1."""
        return None

    def slots(self, side: Side, sentences: Tensor) -> tuple[Tensor, Tensor]:
        """Returns the tokens of T sentences [S, T] (-1: none) in T * L slots [S, T * L], and a mask of used slots."""
        bounds = side.sentences.boundaries.long()
        first, end = (bounds[sentences.clamp(min=0) + k] for k in (0, 1))
        steps = torch.arange(self.config.linked.length, device=sentences.device)
        token = first[:, :, None] + steps
        seen = (token < end[:, :, None]) & (sentences >= 0)[:, :, None]
        return torch.where(seen, token, 0).flatten(1), seen.flatten(1)

    def sentences_read(self, memory: Memory, batch: DocumentBatch, side: SideName, columns: int) -> Tensor:
        """Column m is the word in slot m."""
        assert isinstance(memory, CacheMemory)
        assert batch.context_target is not None
        sentence_of = batch.context_target.sentences.sequence_of
        if side == "source":
            assert batch.graph is not None
            sentence_of = batch.graph.structure.sentence_of
        return torch.where(memory.visible, sentence_of[memory.slots], -1)


def _selection(example: DocumentExample, linked: LinkedConfig, needs: ContextNeeds) -> Selection:
    """Returns the links of each sentence, only to user-supplied translations if the model reads no others.

    An excerpt of a document comes without a graph, with its links.
    """
    if example.graph is None and example.selection is not None:
        return example.selection
    if example.graph is None:
        selection = Selection.empty(len(example.source), linked.words, linked.sentences)
    else:
        among = example.given if needs.only_given_translations else None
        among = None if among is None else among[: example.graph.num_sentences]
        selection = select(example.graph, linked.words, linked.sentences, among, example.ahead)
    return selection if example.memory_sentences is None else selection.with_sentences(example.memory_sentences)
