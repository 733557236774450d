"""The decoder's key-value cache, allocated once and never moved when beams are reordered.

The R = S * K rows are the K beams of each of S sentences. The beams of a sentence share one copy of its source and one
store of past tokens: all K tokens of every step are kept there, and `lineage` marks those that a beam descends from.
Reordering beams therefore changes only that mask, not the keys and values of every layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from weakref import ref

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.attention import MultiHeadAttention, attention_weights, masked_attention, unmask_empty_rows
from docgraph.model.packing import Packing


@dataclass(eq=False)
class LayerCache:
    """Keys and values of one decoder layer: those of past tokens and those of the source."""

    weak_owner: ref[DecoderCache]
    """Weak, so that the memory of a cache is freed with its last use, not when the garbage collector finds a cycle."""
    key: Tensor
    """[S, h, T * K, e]: K beams per step; filled up to owner.length steps."""
    value: Tensor
    source_key: Tensor
    """[S, h, Ts, e]."""
    source_value: Tensor

    @property
    def owner(self) -> DecoderCache:
        """The cache of all layers."""
        owner = self.weak_owner()
        assert owner is not None, "the cache of this layer is no longer used"
        return owner

    def attend_self(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Appends x [R, d] and computes each row's attention to the tokens it descends from and to itself."""
        return attention.join(self.attended_past(*attention.project_all(x)))

    def attend_source(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Computes attention of x [R, d] over the source; the beams of a sentence are queries of one attention."""
        return attention.join(self.attended_source(attention.split(attention.query(x))))

    def attended_past(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Appends keys and values [R, h, e] and attends to those of past tokens -> [R, h, e]."""
        past = self.owner.append(self, self._by_sentence(key), self._by_sentence(value))
        attended = masked_attention(self._by_sentence(query), *past, self.owner.past_mask())
        return _by_row(attended, query.dtype)

    def attended_source(self, query: Tensor) -> Tensor:
        """Attends to the source: [R, h, e] -> [R, h, e]."""
        queries = self._by_sentence(query)
        if self.owner.watched is self:
            self.owner.source_attention = attention_weights(queries, self.source_key, self.owner.source_mask)
        attended = masked_attention(queries, self.source_key, self.source_value, self.owner.source_mask)
        return _by_row(attended, query.dtype)

    def _by_sentence(self, rows: Tensor) -> Tensor:
        """Reshapes [R, h, e] -> [S, h, K, e], in the precision of the cache."""
        return rows.view(-1, self.owner.beams, *rows.shape[1:]).transpose(1, 2).to(self.key.dtype)


def _by_row(attended: Tensor, dtype: torch.dtype) -> Tensor:
    """Reshapes [S, h, K, e] -> [R, h, e]."""
    return attended.transpose(1, 2).flatten(0, 1).to(dtype)


class DecoderCache:
    """The caches of all layers."""

    watched: LayerCache | None = None
    """The layer whose attention over the source is kept in every step; None for none."""

    def __init__(
        self, attentions: Iterable[MultiHeadAttention], encoded: Tensor, source: Packing, beams: int, max_length: int
    ) -> None:
        """Makes a cache for `beams` hypotheses of up to `max_length` tokens for each sentence of `encoded` [Ns, d].

        `attentions` are the cross-attentions of the decoder layers; they project the source here, once. Space is
        allocated for translations that are little longer than their source, which nearly all are, and more if needed.
        """
        self.length, self.beams, self.max_length = 0, beams, max_length
        self.source_attention = encoded.new_empty(0)
        """[S, K, Ts]: attention of the watched layer over the source in the last step."""
        self.source_mask = unmask_empty_rows(source.mask[:, None, None, :])
        self.layers: list[LayerCache] = []
        sentences, room = source.num_sequences, min(max_length, source.max_length * 5 // 4 + 8) * beams
        self.lineage = torch.zeros(sentences, beams, room, dtype=torch.bool, device=encoded.device)
        """[S, K, T * K]: True if a beam descends from a stored token."""
        self._past_mask: Tensor | None = None
        for attention in attentions:
            key, value = (
                source.pad(projected).transpose(1, 2).contiguous() for projected in attention.project(encoded)
            )
            own = [key.new_empty(sentences, key.shape[1], room, key.shape[3]) for _ in range(2)]
            self.layers.append(LayerCache(ref(self), own[0], own[1], key, value))

    def positions(self, tokens: Tensor) -> Tensor:
        """Returns the position of the newest token of each row, in the shape of `tokens`."""
        return torch.full_like(tokens, self.length)

    def append(self, layer: LayerCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Stores a layer's key and value [S, h, K, e] of the current step; returns all keys and values so far."""
        begin, end = self.length * self.beams, (self.length + 1) * self.beams
        layer.key[:, :, begin:end], layer.value[:, :, begin:end] = key, value
        return layer.key[:, :, :end], layer.value[:, :, :end]

    def past_mask(self) -> Tensor | None:
        """Returns [S, 1, K, (length + 1) * K]: the tokens that each row of the current step sees, in every layer."""
        if self.beams == 1:
            return None
        if self._past_mask is None:
            begin, end = self.length * self.beams, (self.length + 1) * self.beams
            self.lineage[:, :, begin:end] = torch.eye(self.beams, dtype=torch.bool, device=self.lineage.device)
            self._past_mask = self.lineage[:, None, :, :end]
        return self._past_mask

    def advance(self) -> None:
        """Ends the current step, and makes room for the next one."""
        self.length += 1
        self._past_mask = None
        end, room = self.length * self.beams, self.lineage.shape[2]
        if end == room and self.length < self.max_length:
            more = min(self.max_length, 2 * self.length) * self.beams - room
            self.lineage = F.pad(self.lineage, (0, more))
            for layer in self.layers:
                layer.key, layer.value = (F.pad(store, (0, 0, 0, more)) for store in (layer.key, layer.value))

    def reorder(self, rows: Tensor) -> None:
        """Reorders hypotheses: row r continues row rows[r] (rows [R]) of the same sentence."""
        end = self.length * self.beams
        filled = self.lineage.flatten(0, 1)
        filled[:, :end] = filled[rows, :end]

    def select(self, sentences: Tensor) -> None:
        """Keeps only these sentences [S']; finished ones leave the batch. Only the filled part is copied."""
        end = self.length * self.beams
        self.source_mask, self.lineage = self.source_mask[sentences], self.lineage[sentences]
        for layer in self.layers:
            layer.key, layer.value = (self._kept(store, sentences, end) for store in (layer.key, layer.value))
            layer.source_key, layer.source_value = layer.source_key[sentences], layer.source_value[sentences]

    @staticmethod
    def _kept(store: Tensor, sentences: Tensor, end: int) -> Tensor:
        kept = store.new_empty(len(sentences), *store.shape[1:])
        kept[:, :, :end] = store[:, :, :end][sentences]
        return kept


class JoinedLayer:
    """The caches of one layer in a `JoinedCache`."""

    def __init__(self, layers: Sequence[LayerCache], rows: list[int]) -> None:
        self._layers, self._rows = layers, rows

    def attend_self(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Applies `LayerCache.attend_self` of each group to its own rows of x [R, d]."""
        parts = zip(*(part.split_with_sizes(self._rows) for part in attention.project_all(x)), strict=True)
        attended = [layer.attended_past(*own) for layer, own in zip(self._layers, parts, strict=True)]
        return attention.join(torch.cat(attended))

    def attend_source(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Applies `LayerCache.attend_source` of each group to its own rows of x [R, d]."""
        queries = attention.split(attention.query(x)).split_with_sizes(self._rows)
        attended = [layer.attended_source(own) for layer, own in zip(self._layers, queries, strict=True)]
        return attention.join(torch.cat(attended))


class JoinedCache:
    """The caches of several groups of sentences, which may have different lengths and beams, extended in one step.

    The rows of the groups follow each other. They share every matrix product; only attention is computed group by
    group.
    """

    def __init__(self, caches: Sequence[DecoderCache]) -> None:
        self._caches = caches
        rows = [cache.beams * len(cache.lineage) for cache in caches]
        self.layers = [JoinedLayer(layers, rows) for layers in zip(*(cache.layers for cache in caches), strict=True)]

    def advance(self) -> None:
        """Ends the current step."""
        for cache in self._caches:
            cache.advance()


Allocate = Callable[[str, Tensor, Sequence[int]], Tensor]
"""(name, content, shape) -> a tensor of that shape, the content first, then zeros; equal names share memory."""


class FixedCache(DecoderCache):
    """A cache of fixed size and address, for CUDA graphs: its length is a number on the device.

    Attention reads all T steps and masks the unfilled ones. Masks are additive, are made once per step rather than in
    every layer, and cover a multiple of 8 keys, as the kernels require.
    """

    def __init__(self, allocate: Allocate, time: Tensor, started: DecoderCache, sentences: int, room: int) -> None:
        """Allocates `room` steps for `sentences` sentences; the first ones are those of the new cache `started`.

        `time` [1] counts the steps; the caller sets it to 0.
        """
        self.allocate, self.time, self.beams = allocate, time, started.beams
        names = ("source_key", "source_value")
        source = torch.stack([torch.stack([getattr(layer, name) for layer in started.layers]) for name in names])
        more = round_up(max(source.shape[4], 32)) - source.shape[4]
        mask = _additive(F.pad(started.source_mask, (0, more)), source.dtype)
        past, lineage = source[..., :0, :], started.lineage[..., :0]
        self._allocate_all(F.pad(source, (0, 0, 0, more)), mask, past, lineage, sentences, room)

    def _allocate_all(
        self, source: Tensor, source_mask: Tensor, past: Tensor, lineage: Tensor, sentences: int, room: int
    ) -> None:
        layers, heads, width, size = (source.shape[axis] for axis in (1, 3, 4, 5))
        slots = room * self.beams
        self.source = self.allocate("source", source, (2, layers, sentences, heads, width, size))
        """[2, layers, S, h, Ts, e]: keys and values."""
        self.source_mask = self.allocate("source_mask", source_mask, (sentences, 1, 1, width))
        self.past = self.allocate("past", past, (2, layers, sentences, heads, slots, size))
        """[2, layers, S, h, T * K, e]: keys and values."""
        self.lineage = self.allocate("lineage", lineage, (sentences, self.beams, slots))
        self.layers = [LayerCache(ref(self), *parts) for parts in zip(*self.past, *self.source, strict=True)]
        self._step: tuple[Tensor, Tensor] | None = None

    def move(self, keep: Tensor, sentences: int, room: int) -> None:
        """Keeps the sentences keep [S'] in a cache of `sentences` sentences and `room` steps."""
        source, past = (part.index_select(2, keep) for part in (self.source, self.past))
        self._allocate_all(source, self.source_mask[keep], past, self.lineage[keep], sentences, room)

    def select(self, sentences: Tensor) -> None:
        """No-op; use `move`."""

    def positions(self, tokens: Tensor) -> Tensor:
        """Returns the position of the newest token, which is the same in all rows, in the shape of `tokens`."""
        return self.time.expand_as(tokens)

    def append(self, layer: LayerCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Stores a layer's key and value of the current step in place; returns those of all T steps."""
        slots, _ = self._slots_and_mask()
        return layer.key.index_copy_(2, slots, key), layer.value.index_copy_(2, slots, value)

    def past_mask(self) -> Tensor:
        """Returns [S, 1, K, T * K]: the additive mask of the current step."""
        return self._slots_and_mask()[1]

    def _slots_and_mask(self) -> tuple[Tensor, Tensor]:
        """Returns the slots [K] of the current step and its mask, the same for every layer."""
        if self._step is None:
            slots = self.time * self.beams + torch.arange(self.beams, device=self.time.device)
            own = torch.eye(self.beams, dtype=torch.bool, device=self.time.device)
            self.lineage.index_copy_(2, slots, own.expand(len(self.lineage), -1, -1))
            self._step = slots, _additive(self.lineage, self.past.dtype)[:, None]
        return self._step

    def advance(self) -> None:
        """Moves on to the next step."""
        self.time += 1
        self._step = None

    def reorder(self, rows: Tensor) -> None:
        """Reorders hypotheses: row r continues row rows[r] (rows [R]) of the same sentence."""
        self.lineage.copy_(self.lineage.flatten(0, 1)[rows].view_as(self.lineage))


def round_up(count: int) -> int:
    """Returns the smallest of 1, 2, 3, 4, 6, 8, 12, 16, 24, ... that is at least `count`."""
    power = 1 << max(count - 1, 0).bit_length()
    return power * 3 // 4 if count <= power * 3 // 4 else power


def _additive(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """Returns an additive mask: 0 where a key is visible, else minus infinity."""
    return torch.where(visible, 0.0, -torch.inf).to(dtype)
