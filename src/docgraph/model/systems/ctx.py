"""CTX (Zhang et al. 2018): a separate encoder of the source sentences before the current one.

The encoder shares the word embeddings of Base. The paper encodes the k sentences as one sequence. Here each sentence is
encoded on its own, once for all sentences that read it, and attention covers the words of all k.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import WordAttention
from docgraph.model.memory import Memory, Spans, WordMemory
from docgraph.model.systems import ContextEncoder, SideName, context_encoder
from docgraph.model.transformer import Base, Encoder


@context_encoder("ctx")
class PreviousSentencesContext(ContextEncoder):
    """The words of the k previous source sentences, encoded by `context.layers` layers."""

    attention = WordAttention
    sides = ("source",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder = Encoder(replace(config.transformer, encoder_layers=self.config.layers))

    def source_memory(self, batch: DocumentBatch, base: Base) -> WordMemory:
        """Returns the encoded words of the k previous sentences, one span for each sentence."""
        side = batch.context_source
        embedded = base.embeddings(side.tokens, side.sentences.positions, "source")
        span = Spans.before(side.sentences, batch.context_index, batch.index_of, self.config.previous)
        return WordMemory(self.encoder(embedded, side.sentences), (span,))

    def sentences_read(self, memory: Memory, batch: DocumentBatch, side: SideName, columns: int) -> Tensor:
        """Column t is word t of the span."""
        assert isinstance(memory, WordMemory)
        [span] = memory.spans
        order = torch.arange(columns, device=span.begins.device)
        sentence_of = batch.context_source.sentences.sequence_of
        token = (span.begins[:, None] + order).clamp(max=len(sentence_of) - 1)
        return torch.where(order < span.lengths[:, None], sentence_of[token], -1)
