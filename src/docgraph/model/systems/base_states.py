"""Context from the states of Base: the base class of systems that read the state of Base at each word."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample, Side, collate, shifted
from docgraph.model.cpu_threads import map_in_threads
from docgraph.model.memory import Memories, Memory
from docgraph.model.packing import Packing, windows
from docgraph.model.systems import ContextEncoder
from docgraph.model.transformer import Base

BATCH_TOKENS = {"cpu": 1 << 11, "cuda": 1 << 15}
"""Sub-words of a batch of sentences that Base encodes for the cache. Batches are sorted by length, so there is little
padding; on a CPU a batch fits into its caches."""


class BaseStatesContext(ContextEncoder):
    """Reads the states of Base at every word. Base reads no context here, and gets no gradient through its states."""

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> Memory:
        """Returns the memory of the states [R, d] of the words of C sentences; with `past`, of earlier ones only."""
        raise NotImplementedError

    def memories(self, batch: DocumentBatch, base: Base) -> Memories:
        """Returns both memories; encodes the source once for the two."""
        encoded = _encoded(batch, base)
        return Memories(self._source(batch, encoded), self._target(batch, base, encoded))

    def source_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """Returns the memory of the encoder states of Base."""
        return self._source(batch, _encoded(batch, base)) if self.reads_source else None

    def target_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """Returns the memory of the decoder states of Base."""
        return self._target(batch, base, None)

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """With Post, the encoder is the one of Base up to the context layer, so that cached states are its output."""
        if batch.state_cache is None or self.config.integration != "post":
            return super().begin(batch, base)
        return _layered(batch.source, batch, base), len(base.encoder.layers)

    def _source(self, batch: DocumentBatch, encoded: Tensor) -> Memory | None:
        return self.memory(encoded, batch.context_source.sentences, batch, past=False) if self.reads_source else None

    def _target(self, batch: DocumentBatch, base: Base, encoded: Tensor | None) -> Memory | None:
        """Returns the target memory from the encoder states of all C sentences; None computes only those not cached."""
        side = batch.context_target
        if side is None or not self.reads_target:
            return None
        return self.memory(decoder_states(side, batch, base, encoded), side.sentences, batch, past=True)


@torch.no_grad()
def _encoded(batch: DocumentBatch, base: Base) -> Tensor:
    """Returns the encoder states of Base for all C sentences: [N, d]."""
    return base.encoder.norm(_layered(batch.context_source, batch, base))


def _layered(side: Side, batch: DocumentBatch, base: Base) -> Tensor:
    """Returns the encoder states before the final norm; sentences in `batch.state_cache` are not computed again."""

    def encode(side: Side) -> Tensor:
        return base.encoder.layered(base.embeddings(side.tokens, side.sentences.positions, "source"), side.sentences)

    if batch.state_cache is None:
        return encode(side)
    return _from_cache([(ids,) for ids in side.ids], batch.state_cache, base, lambda part: encode(part.source))


@torch.no_grad()
def decoder_states(
    side: Side, batch: DocumentBatch, base: Base, encoded: Tensor | None, read: Tensor | None = None
) -> Tensor:
    """Returns the state of Base's decoder that predicts each token of all C translations: [N, d].

    `encoded` are the encoder states of all C sentences. If it is None, translations in `batch.state_cache` are not
    computed again; and with `read` [C], translations that no sentence reads are left zero.
    """
    if encoded is None and batch.state_cache is not None:

        def decode(part: DocumentBatch) -> Tensor:
            assert part.context_target is not None
            encoded = _encoded(replace(part, state_cache=batch.state_cache), base)
            return decoder_states(part.context_target, part, base, encoded)

        pairs = list(zip(batch.context_source.ids, side.ids, strict=True))
        if read is None:
            return _from_cache(pairs, batch.state_cache, base, decode)
        read_states = _from_cache(list(itertools.compress(pairs, read.tolist())), batch.state_cache, base, decode)
        states = read_states.new_zeros(len(side.tokens), read_states.shape[1])
        states[read[side.sentences.sequence_of]] = read_states
        return states
    encoded = _encoded(batch, base) if encoded is None else encoded
    tokens = shifted(side, base.embeddings.config.bos)
    embedded = base.embeddings(tokens, side.sentences.positions, "target")
    return base.decoder(embedded, encoded, side.sentences, batch.context_source.sentences)


def _from_cache(
    wanted: list[tuple[Any, ...]],
    cache: dict[tuple[Any, ...], Tensor],
    base: Base,
    compute: Callable[[DocumentBatch], Tensor],
) -> Tensor:
    """Returns the states of the wanted sentences, or (sentence, translation) pairs, end to end.

    Missing entries are computed first, in batches of similar length; those of sentences by all threads of a CPU. The
    order of the cache is least recently used first.
    """
    device, unique = base.embeddings.positions.device, list(dict.fromkeys(wanted))
    missing = sorted((ids for ids in unique if ids not in cache), key=lambda ids: [len(part) for part in ids])
    room = BATCH_TOKENS.get(device.type, BATCH_TOKENS["cuda"])

    def states_of(part: range) -> list[tuple[tuple[Any, ...], Tensor]]:
        chosen = missing[part.start : part.stop]
        source, *target = ([np.array(ids, np.int64) for ids in sentences] for sentences in zip(*chosen, strict=True))
        document = DocumentExample(source, target[0] if target else ())
        computed = compute(collate([document], base.embeddings.config.bos).to(device))
        parts = torch.split(computed, [len(ids[-1]) for ids in chosen])
        return [(ids, states.clone()) for ids, states in zip(chosen, parts, strict=True)]

    # Pairs look up the states of their sentences in the same cache, which threads must not do at once.
    is_parallel = device.type == "cpu" and not torch.is_grad_enabled() and all(len(ids) == 1 for ids in missing)
    parts = [*windows([len(ids[-1]) for ids in missing], room)] if missing else []
    for computed in (map_in_threads if is_parallel else map)(states_of, parts):
        cache.update(computed)
    cache.update([(ids, cache.pop(ids)) for ids in unique])
    return torch.cat([cache[ids] for ids in wanted])
