"""CTX (Zhang et al. 2018): an encoder of its own over the source sentences before the current one.

The encoder shares the word embeddings of Base. The paper encodes the k sentences as one sequence; here each is encoded
by itself, so that it is encoded once for all who read it, and attention runs over the words of all k.
"""

from __future__ import annotations

from dataclasses import replace

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import WordAttention
from docgraph.model.memory import WordMemory
from docgraph.model.runs import Runs
from docgraph.model.systems import ContextEncoder, context_encoder
from docgraph.model.transformer import Base, Encoder


@context_encoder("ctx")
class PreviousSentencesContext(ContextEncoder):
    site = WordAttention
    sides = ("source",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.encoder = Encoder(replace(config.transformer, encoder_layers=self.config.layers))

    def source_memory(self, batch: DocumentBatch, base: Base) -> WordMemory:
        side = batch.context_source
        embedded = base.embeddings(side.tokens, side.sentences.positions, "source")
        run = Runs.before(side.sentences, batch.context_index, batch.index_of, self.config.previous)
        return WordMemory(self.encoder(embedded, side.sentences), (run,))
