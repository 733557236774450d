"""Context made of the states of Base, for the systems that read what the encoder and the decoder made of each word."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, Side, collate, shifted
from docgraph.model.memory import Memories, Memory
from docgraph.model.packing import Packing, windows
from docgraph.model.systems import ContextEncoder
from docgraph.model.transformer import Base

MADE_AT_ONCE = {"cpu": 1 << 11, "cuda": 1 << 15}
"""Sub-words that go through Base together, of sentences of like lengths: little of it padding, and on a CPU all in its
caches."""


class BaseStatesContext(ContextEncoder):
    """The states of Base, which reads no context, at every word; they are constants, to which no gradient goes back."""

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> Memory:
        """A memory of the states [R, d] of the words of C sentences; with `past`, of earlier sentences alone."""
        raise NotImplementedError

    def memories(self, batch: DocumentBatch, base: Base) -> Memories:
        encoded = _encoded(batch, base)
        return Memories(self._source(batch, encoded), self._target(batch, base, encoded))

    def source_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        return self._source(batch, _encoded(batch, base)) if self.reads_source else None

    def target_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        return self._target(batch, base, None)

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """Where context comes in after the stack, and it was kept, all that is before is done already."""
        if batch.state_cache is None or self.config.integration != "post":
            return super().begin(batch, base)
        return _layered(batch.source, batch, base), len(base.encoder.layers)

    def _source(self, batch: DocumentBatch, encoded: Tensor) -> Memory | None:
        return self.memory(encoded, batch.context_source.sentences, batch, past=False) if self.reads_source else None

    def _target(self, batch: DocumentBatch, base: Base, encoded: Tensor | None) -> Memory | None:
        """`encoded` are all C sentences; where it is not given, they are encoded as far as they have to be."""
        side = batch.context_target
        if side is None or not self.reads_target:
            return None
        return self.memory(decoded(side, batch, base, encoded), side.sentences, batch, past=True)


@torch.no_grad()
def _encoded(batch: DocumentBatch, base: Base) -> Tensor:
    """All C sentences as the encoder of Base sees them: [N, d]."""
    return base.encoder.norm(_layered(batch.context_source, batch, base))


def _layered(side: Side, batch: DocumentBatch, base: Base) -> Tensor:
    """The same of any sentences before the last norm; what is in `batch.state_cache` is not computed again."""

    def made(side: Side) -> Tensor:
        return base.encoder.layered(base.embeddings(side.tokens, side.sentences.positions, "source"), side.sentences)

    if batch.state_cache is None:
        return made(side)
    return _from_kept([(ids,) for ids in side.ids], batch.state_cache, base, lambda part: made(part.source))


@torch.no_grad()
def decoded(side: Side, batch: DocumentBatch, base: Base, encoded: Tensor | None, read: Tensor | None = None) -> Tensor:
    """The state in which the decoder of Base chooses each token of all C translations: [N, d].

    Without `encoded` (see `_target`), states in `batch.state_cache` are not computed again. States of sentences that
    nobody will `read` [C] stay zero.
    """
    if encoded is None and batch.state_cache is not None:

        def anew(part: DocumentBatch) -> Tensor:
            assert part.context_target is not None
            return decoded(
                part.context_target, part, base, _encoded(replace(part, state_cache=batch.state_cache), base)
            )

        pairs = list(zip(batch.context_source.ids, side.ids, strict=True))
        if read is None:
            return _from_kept(pairs, batch.state_cache, base, anew)
        made = _from_kept(list(itertools.compress(pairs, read.tolist())), batch.state_cache, base, anew)
        states = made.new_zeros(len(side.tokens), made.shape[1])
        states[read[side.sentences.sequence_of]] = made
        return states
    encoded = _encoded(batch, base) if encoded is None else encoded
    tokens = shifted(side, base.embeddings.config.bos)
    embedded = base.embeddings(tokens, side.sentences.positions, "target")
    return base.decoder(embedded, encoded, side.sentences, batch.context_source.sentences)


def _from_kept(
    wanted: list[tuple[Any, ...]],
    kept: dict[tuple[Any, ...], Tensor],
    base: Base,
    make: Callable[[DocumentBatch], Tensor],
) -> Tensor:
    """What is kept of sentences, or of sentences and translations, end to end; what is not is made first, those of
    like lengths together. What was wanted last is kept last."""
    device, unique = base.embeddings.positions.device, list(dict.fromkeys(wanted))
    new = sorted((ids for ids in unique if ids not in kept), key=lambda ids: [len(part) for part in ids])
    room = MADE_AT_ONCE.get(device.type, MADE_AT_ONCE["cuda"])
    for part in windows([len(ids[-1]) for ids in new], room) if new else ():
        chosen = new[part.start : part.stop]
        source, *target = ([np.array(ids, np.int64) for ids in sentences] for sentences in zip(*chosen, strict=True))
        document = DocumentExample(source, target[0] if target else ())
        made = make(collate([document], base.embeddings.config.bos).to(device))
        parts = torch.split(made, [len(ids[-1]) for ids in chosen])
        kept.update((ids, states.clone()) for ids, states in zip(chosen, parts, strict=True))
    kept.update([(ids, kept.pop(ids)) for ids in unique])
    return torch.cat([kept[ids] for ids in wanted])
