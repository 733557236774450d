"""Unified (Ma et al. 2020): the first encoder layers read the current sentence together with the sentences before it.

The layers above see the current sentence only. Positions start again in each sentence. A segment embedding encodes the
distance of a context sentence. The current sentence has none, so that the first sentence of a document is translated as
by Base.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.memory import Spans
from docgraph.model.systems import ContextEncoder, context_encoder
from docgraph.model.transformer import Base


@context_encoder("unified")
class UnifiedContext(ContextEncoder):
    """Applies the first `context.layers` layers of Base to spans of sentences; there are no memories."""

    sides = ("source",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.segments = nn.Embedding(self.config.previous, config.transformer.dimension)
        nn.init.normal_(self.segments.weight, std=0.02)

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """Returns the current sentences after the layers that see context, [Ns, d], and the number of these layers."""
        side, source = batch.context_source, batch.source
        span = Spans.before(side.sentences, batch.context_index, batch.index_of, far=self.config.previous, near=0)
        # The current sentence is the end of its span. Training may drop words of it, but not of the context.
        starts = span.packing.boundaries[:-1][: batch.num_sentences] + span.lengths - source.sentences.boundaries.diff()
        current = starts[source.sentences.sequence_of] + source.sentences.positions
        tokens = side.tokens[span.index].scatter(0, current, source.tokens)
        is_context = torch.ones_like(tokens, dtype=torch.bool).scatter(0, current, False)
        x = base.embeddings(tokens, side.sentences.positions[span.index], "source")
        x = x + torch.where(is_context[:, None], self.segments(self.distances(batch, span)), 0.0)
        layers = min(self.config.layers, len(base.encoder.layers))
        for index in range(layers):
            x = base.encoder.layers[index](x, span.packing, None)
        return x.index_select(0, current), layers

    def distances(self, batch: DocumentBatch, span: Spans) -> Tensor:
        """Returns [P]: the segment of each position, 0 for the previous sentence; arbitrary outside the context."""
        reader = span.packing.sequence_of.clamp(max=batch.num_sentences - 1)
        back = batch.context_index[reader] - batch.context_source.sentences.sequence_of[span.index]
        return (back - 1).clamp(0, self.config.previous - 1)
