"""The document graph (Xu et al. 2021): the memory holds sentence nodes, words of the current sentence, or both."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch, GraphInput
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import ContextAttention, linear_flops
from docgraph.model.graph_encoder import GraphEncoder
from docgraph.model.memory import Memory, Prefix, SlotMemory
from docgraph.model.systems import ContextEncoder, ContextNeeds, SideName, context_encoder
from docgraph.model.transformer import Base, Embeddings


@context_encoder("docgraph")
class DocumentGraphContext(ContextEncoder):
    """One graph encoder for the source graph of the document and the complete graphs of target sentences."""

    attention = ContextAttention

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
        """Declares the source graph and the words of translations, by the sides that the config names."""
        needs = super().needs(config)
        assert config.context is not None
        relations = config.context.graph.relations if needs.source else None
        return replace(needs, relations=relations, target_words=needs.reads_translations)

    def source_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """Returns all sentence nodes of the document, the words of the current sentence, or both (`graph.nodes`)."""
        if batch.graph is None or not self.reads_source:
            return None
        states = self.encode(batch.graph, base.embeddings, "source", self.nodes)
        # All sentences of one document see one row, which `expand` does not copy.
        visible = batch.used[batch.document_of] if len(batch.used) > 1 else batch.used.expand(batch.num_sentences, -1)
        return self.memory(states, batch, batch.graph, visible, batch.prefix(), self.nodes)

    def target_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory | None:
        """Returns the translations of the sentences before the current one, as sentence nodes."""
        if batch.target_graph is None or not self.reads_target:
            return None
        states = self.encode(batch.target_graph, base.embeddings, "target", "sentence")
        before = torch.arange(batch.slots.shape[1], device=states.device)[None, :] < batch.index_of[:, None]
        return self.memory(states, batch, batch.target_graph, before, batch.prefix(batch.index_of), "sentence")

    def encode(
        self, graph: GraphInput, embeddings: Embeddings, side: Literal["source", "target"], nodes: str
    ) -> Tensor:
        """Returns states of all nodes [N, d], or of sentence nodes only [M, d]."""
        return self.encoder(pooled_words(graph, embeddings, side), graph.structure, nodes == "sentence")

    def memory(
        self, states: Tensor, batch: DocumentBatch, graph: GraphInput, visible: Tensor, prefix: Prefix, nodes: str
    ) -> SlotMemory:
        """Returns the memory of node states; `visible` [S, M] and `prefix` both say which sentences are seen."""
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

    def sentences_read(self, memory: Memory, batch: DocumentBatch, side: SideName, columns: int) -> Tensor:
        """Column m is sentence m; words of the current sentence belong to no other."""
        assert isinstance(memory, SlotMemory)
        sentences = super().sentences_read(memory, batch, side, columns)
        only_own_words = self.nodes == "word" and memory.per == "sentence"
        return torch.full_like(sentences, -1) if only_own_words else sentences

    def flops(self, batch: DocumentBatch, base_trains: bool) -> float:
        """Returns the FLOPs of the graph encoder; its last layer is computed only for nodes that are read."""
        steps = [self.encoder.layers[index % len(self.encoder.layers)] for index in range(self.encoder.depth)]
        # Nothing below the first layer trains if Base does not.
        costs = [linear_flops([step], 4 if base_trains or index else 2) for index, step in enumerate(steps)]
        total = 0.0
        for graph, reads_words in ((batch.graph, self.nodes != "sentence"), (batch.target_graph, False)):
            if graph is not None:
                nodes = graph.structure.num_nodes
                read = nodes if reads_words else graph.structure.num_sentences
                total += sum(costs[:-1]) * nodes + costs[-1] * read
        return total


def pooled_words(graph: GraphInput, embeddings: Embeddings, side: Literal["source", "target"]) -> Tensor:
    """Returns [W, d]: the mean of the sub-word embeddings of each word; zero for a word without sub-words."""
    pieces = embeddings.words(graph.tokens, side)
    if not len(pieces):
        return pieces.new_zeros(graph.structure.num_words, pieces.shape[-1])
    order = torch.arange(len(pieces), device=pieces.device)
    return F.embedding_bag(order, pieces, graph.offsets, mode="mean", include_last_offset=True)


def own_words(graph: GraphInput) -> tuple[Tensor, Tensor]:
    """Returns the words of each sentence in padded slots: their indices [S, L], and a mask [S, L]."""
    offsets = graph.structure.words_of.offsets
    steps = torch.arange(graph.structure.longest, device=offsets.device)
    mask = steps[None, :] < offsets.diff()[:, None]
    return torch.where(mask, offsets[:-1, None] + steps[None, :], 0), mask
