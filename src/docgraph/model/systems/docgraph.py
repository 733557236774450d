"""The document graph (Xu et al. 2021): sentence nodes, words of the current sentence, or both, as memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch, GraphInput
from docgraph.model.config import ModelConfig
from docgraph.model.graph_encoder import GraphEncoder
from docgraph.model.memory import Prefix, SlotMemory
from docgraph.model.systems import ContextEncoder, ContextNeeds, context_encoder
from docgraph.model.transformer import Base, Embeddings


@context_encoder("docgraph")
class DocumentGraphContext(ContextEncoder):
    """One graph encoder for the source graph of the document and for the complete graphs of target sentences."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        dimension, graph = config.transformer.dimension, self.config.graph
        self.nodes = graph.nodes
        self.encoder = GraphEncoder(dimension, graph)
        self.places = nn.Embedding(graph.max_sentences, dimension) if graph.sentence_embedding else None
        if self.places is not None:
            nn.init.normal_(self.places.weight, std=0.02)

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        needs = super().needs(config)
        assert config.context is not None
        relations = config.context.graph.relations if needs.source else None
        return replace(needs, relations=relations, target_words=needs.reads_translations)

    def source_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """All sentences of the document, before and after; words of the current sentence."""
        if batch.graph is None or not self.reads_source:
            return None
        states = self.encode(batch.graph, base.embeddings, "source", self.nodes)
        # One document sees one row: expanded, it takes no memory, however long the document is.
        visible = batch.used[batch.document_of] if len(batch.used) > 1 else batch.used.expand(batch.num_sentences, -1)
        return self.memory(states, batch, batch.graph, visible, batch.prefix(), self.nodes)

    def target_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """The translations of the sentences before the current one; words of the current one are not there to see."""
        if batch.target_graph is None or not self.reads_target:
            return None
        states = self.encode(batch.target_graph, base.embeddings, "target", "sentence")
        before = torch.arange(batch.slots.shape[1], device=states.device)[None, :] < batch.index_of[:, None]
        return self.memory(states, batch, batch.target_graph, before, batch.prefix(batch.index_of), "sentence")

    def encode(
        self, graph: GraphInput, embeddings: Embeddings, side: Literal["source", "target"], nodes: str
    ) -> Tensor:
        """States of all nodes [N, d], or of sentences alone [M, d]; a word enters as the mean of its embeddings."""
        return self.encoder(pooled_words(graph, embeddings, side), graph.structure, nodes == "sentence")

    def memory(
        self, states: Tensor, batch: DocumentBatch, graph: GraphInput, visible: Tensor, prefix: Prefix, nodes: str
    ) -> SlotMemory:
        """`visible` [S, M] and `prefix` say the same of the sentences."""
        words = 0 if nodes == "sentence" else graph.structure.num_words
        if self.places is not None:
            order = batch.places % batch.slots.shape[1]
            place = self.places(order.clamp(max=self.places.num_embeddings - 1))
            states = torch.cat([states[:words], states[words:] + place.to(states.dtype)])
        if nodes == "sentence":
            return SlotMemory(states, batch.slots, visible, "document", batch.places, prefix=prefix)
        own, own_mask = (of_all[batch.context_index] for of_all in own_words(graph))
        if nodes == "word":
            return SlotMemory(states[:words], own, own_mask, "sentence")
        slots = torch.cat([words + batch.slots[batch.document_of], own], dim=1)
        return SlotMemory(states, slots, torch.cat([visible, own_mask], dim=1), "sentence")


def pooled_words(graph: GraphInput, embeddings: Embeddings, side: Literal["source", "target"]) -> Tensor:
    """[W, d]: the mean of the sub-word embeddings of each word; a word without sub-words is zero."""
    pieces = embeddings.words(graph.tokens, side)
    if not len(pieces):
        return pieces.new_zeros(graph.structure.num_words, pieces.shape[-1])
    order = torch.arange(len(pieces), device=pieces.device)
    return F.embedding_bag(order, pieces, graph.offsets, mode="mean", include_last_offset=True)


def own_words(graph: GraphInput) -> tuple[Tensor, Tensor]:
    """The words of each sentence as padded slots: word [S, L] and whether there is one [S, L]."""
    offsets = graph.structure.words_of.offsets
    steps = torch.arange(graph.structure.longest, device=offsets.device)
    mask = steps[None, :] < offsets.diff()[:, None]
    return torch.where(mask, offsets[:-1, None] + steps[None, :], 0), mask
