"""Context made of the states of Base, for the systems that read what the encoder and the decoder made of each word."""

from __future__ import annotations

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, Side, shifted
from docgraph.model.contexts import ContextEncoder
from docgraph.model.memory import Memories, Memory
from docgraph.model.packing import Packing
from docgraph.model.transformer import Base


class BaseStatesContext(ContextEncoder):
    """The states of Base, which reads no context, at every word; they are constants, to which no gradient goes back."""

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> Memory:
        """A memory of the states [R, d] of the words of C sentences; with `past`, of earlier sentences alone."""
        raise NotImplementedError

    def memories(self, batch: DocumentBatch, base: Base) -> Memories:
        encoded = _encoded(batch, base)
        return Memories(self._source(batch, encoded), self._target(batch, base, encoded))

    def source_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        return self._source(batch, _encoded(batch, base))

    def target_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        return self._target(batch, base, _encoded(batch, base))

    def _source(self, batch: DocumentBatch, encoded: Tensor) -> Memory | None:
        return self.memory(encoded, batch.context_source.sentences, batch, past=False) if self.reads_source else None

    def _target(self, batch: DocumentBatch, base: Base, encoded: Tensor) -> Memory | None:
        side = batch.context_target
        if side is None or not self.reads_target:
            return None
        return self.memory(decoded(side, batch, base, encoded), side.sentences, batch, past=True)


@torch.no_grad()
def _encoded(batch: DocumentBatch, base: Base) -> Tensor:
    """All C sentences as the encoder of Base sees them: [N, d]."""
    side = batch.context_source
    return base.encoder(base.embeddings(side.tokens, side.sentences.positions, "source"), side.sentences)


@torch.no_grad()
def decoded(side: Side, batch: DocumentBatch, base: Base, encoded: Tensor) -> Tensor:
    """The state in which the decoder of Base chooses each token of all C translations: [N, d]."""
    tokens = shifted(side, base.embeddings.config.bos)
    embedded = base.embeddings(tokens, side.sentences.positions, "target")
    return base.decoder(embedded, encoded, side.sentences, batch.context_source.sentences)
