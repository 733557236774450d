"""Unified (Ma et al. 2020): the first layers of the encoder read the sentences before and the current one together.

The layers above see the current sentence alone. Positions begin anew in each sentence, and a segment embedding tells
how far back a sentence is; that of the current one is zero, so that a first sentence is translated as by Base.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.runs import Runs
from docgraph.model.systems import ContextEncoder, context_encoder
from docgraph.model.transformer import Base


@context_encoder("unified")
class UnifiedContext(ContextEncoder):
    site = None
    sides = ("source",)

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.segments = nn.Embedding(self.config.previous, config.transformer.dimension)
        nn.init.normal_(self.segments.weight, std=0.02)

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """The current sentences after the layers that see context, [Ns, d]."""
        side, source = batch.context_source, batch.source
        run = Runs.before(side.sentences, batch.context_index, batch.index_of, far=self.config.previous, near=0)
        # The current sentence stands last in its run; training may have dropped words of it, but not of the context.
        starts = run.packing.boundaries[:-1][: batch.num_sentences] + run.lengths - source.sentences.boundaries.diff()
        current = starts[source.sentences.sequence_of] + source.sentences.positions
        tokens = side.tokens[run.index].scatter(0, current, source.tokens)
        is_context = torch.ones_like(tokens, dtype=torch.bool).scatter(0, current, False)
        x = base.embeddings(tokens, side.sentences.positions[run.index], "source")
        x = x + torch.where(is_context[:, None], self.segments(self.distances(batch, run)), 0.0)
        layers = min(self.config.layers, len(base.encoder.layers))
        for index in range(layers):
            x = base.encoder.layers[index](x, run.packing, None)
        return x.index_select(0, current), layers

    def distances(self, batch: DocumentBatch, run: Runs) -> Tensor:
        """[P]: the segment of each place, 0 for the sentence before; arbitrary, but in range, outside the context."""
        reader = run.packing.sequence_of.clamp(max=batch.num_sentences - 1)
        back = batch.context_index[reader] - batch.context_source.sentences.sequence_of[run.index]
        return (back - 1).clamp(0, self.config.previous - 1)
