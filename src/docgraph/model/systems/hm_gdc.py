"""HM-GDC (Tan et al. 2019): a sentence encoder, and a document encoder over the sentences.

The paper gives each word the document encoder's state of its own sentence, weighted by attention. Here, as in the other
systems, a word attends to the document encoder's states of all sentences, including its own. The representation of a
sentence is the mean of its words.
"""

from __future__ import annotations

from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import ContextAttention
from docgraph.model.memory import SlotMemory
from docgraph.model.packing import Packing
from docgraph.model.systems import ContextEncoder, context_encoder
from docgraph.model.transformer import Base, Encoder


@context_encoder("hm_gdc")
class GlobalDocumentContext(ContextEncoder):
    """All source sentences of the document, encoded by two Transformer encoders."""

    attention = ContextAttention
    sides = ("source",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        transformer = replace(config.transformer, encoder_layers=self.config.layers)
        self.sentence_encoder, self.document_encoder = Encoder(transformer), Encoder(transformer)

    def source_memory(self, batch: DocumentBatch, base: Base) -> SlotMemory:
        """Returns the states of the document encoder, one slot for each sentence of the document."""
        side = batch.context_source
        ends, width = batch.used.sum(1).cumsum(0), batch.slots.shape[1]
        documents = Packing.covering(ends, len(batch.places), width, max(width, 32))
        embedded = base.embeddings(side.tokens, side.sentences.positions, "source")
        sentences = sentence_means(self.sentence_encoder(embedded, side.sentences), side.sentences)
        places = base.embeddings.positions[documents.positions.clamp(max=base.embeddings.config.max_positions - 1)]
        states = self.document_encoder(sentences + places.to(sentences.dtype), documents)
        visible = batch.used[batch.document_of]
        return SlotMemory(states, batch.slots, visible, "document", batch.places, prefix=batch.prefix())


def sentence_means(words: Tensor, sentences: Packing) -> Tensor:
    """[R, d] -> [C, d]: the mean of the words of each sentence; zero for a sentence without words."""
    if not len(words):
        return words.new_zeros(sentences.num_sequences, words.shape[-1])
    order = torch.arange(len(words), device=words.device)
    return F.embedding_bag(order, words, sentences.boundaries.long(), mode="mean", include_last_offset=True)
