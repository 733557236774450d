"""The decoder's cache: keys and values kept between steps, allocated once, never moved while hypotheses branch.

R = S * K rows: K beams of each of S sentences, side by side. The beams of a sentence read one copy of its source, and
one store of its past: all K tokens of every step lie there, and `lineage` says which of them a beam descends from. So
reordering beams moves that mask alone, not the keys and values of every layer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.attention import MultiHeadAttention, masked_attention, never_blind
from docgraph.model.packing import Packing


@dataclass(eq=False)
class LayerCache:
    """What one decoder layer keeps: its own past, and the source as it sees it."""

    owner: DecoderCache
    key: Tensor
    """[S, h, T * K, e]: step after step, K beams each; filled up to owner.length steps."""
    value: Tensor
    source_key: Tensor
    """[S, h, Ts, e]."""
    source_value: Tensor

    def attend_self(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Append x [R, d] and attend to everything each row descends from, itself included."""
        query, key, value = (self._by_sentence(part) for part in attention.project_all(x))
        past = self.owner.append(self, key, value)
        return self._joined(masked_attention(query, *past, self.owner.past_mask()), attention, x.dtype)

    def attend_source(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """x [R, d] over the source; the beams of a sentence are queries of one attention."""
        query = self._by_sentence(attention.split(attention.query(x)))
        attended = masked_attention(query, self.source_key, self.source_value, self.owner.source_mask)
        return self._joined(attended, attention, x.dtype)

    def _by_sentence(self, rows: Tensor) -> Tensor:
        """[R, h, e] -> [S, h, K, e], in the precision of the cache."""
        return rows.view(-1, self.owner.beams, *rows.shape[1:]).transpose(1, 2).to(self.key.dtype)

    def _joined(self, attended: Tensor, attention: MultiHeadAttention, dtype: torch.dtype) -> Tensor:
        return attention.join(attended.transpose(1, 2).flatten(0, 1).to(dtype))


class DecoderCache:
    """The caches of all layers, and how many steps they hold."""

    def __init__(
        self, attentions: Iterable[MultiHeadAttention], encoded: Tensor, source: Packing, beams: int, max_length: int
    ) -> None:
        """Room for `beams` hypotheses of each sentence of `encoded` [Ns, d], `max_length` tokens each.

        `attentions` are the cross-attentions of the decoder's layers, which project the source once, here.
        """
        self.length, self.beams = 0, beams
        self.source_mask = never_blind(source.mask[:, None, None, :])
        self.layers: list[LayerCache] = []
        sentences, room = source.num_sequences, max_length * beams
        self.lineage = torch.zeros(sentences, beams, room, dtype=torch.bool, device=encoded.device)
        """[S, K, T * K]: whether a beam descends from a stored token."""
        self._past_mask: Tensor | None = None
        for attention in attentions:
            key, value = (
                source.pad(projected).transpose(1, 2).contiguous() for projected in attention.project(encoded)
            )
            own = [key.new_empty(sentences, key.shape[1], room, key.shape[3]) for _ in range(2)]
            self.layers.append(LayerCache(self, own[0], own[1], key, value))

    def positions(self, tokens: Tensor) -> Tensor:
        """The position of the newest token of each row, in the shape of these."""
        return torch.full_like(tokens, self.length)

    def append(self, layer: LayerCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Keep what a layer makes of the step under way, [S, h, K, e] each; all it has made so far."""
        begin, end = self.length * self.beams, (self.length + 1) * self.beams
        layer.key[:, :, begin:end], layer.value[:, :, begin:end] = key, value
        return layer.key[:, :, :end], layer.value[:, :, :end]

    def past_mask(self) -> Tensor | None:
        """[S, 1, K, (length + 1) * K]: what each row of the step under way sees; the same for every layer."""
        if self.beams == 1:
            return None
        if self._past_mask is None:
            begin, end = self.length * self.beams, (self.length + 1) * self.beams
            self.lineage[:, :, begin:end] = torch.eye(self.beams, dtype=torch.bool, device=self.lineage.device)
            self._past_mask = self.lineage[:, None, :, :end]
        return self._past_mask

    def advance(self) -> None:
        """The step under way is done."""
        self.length += 1
        self._past_mask = None

    def reorder(self, rows: Tensor) -> None:
        """Row r becomes what row rows[r] [R], of the same sentence, was."""
        end = self.length * self.beams
        filled = self.lineage.flatten(0, 1)
        filled[:, :end] = filled[rows, :end]

    def select(self, sentences: Tensor) -> None:
        """Keep only these sentences [S'] (finished ones leave the batch); only the filled part is copied."""
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


Place = Callable[[str, Tensor, Sequence[int]], Tensor]
"""A tensor of these sizes that begins with the content given, the rest zeros, in a memory of that name: the same memory
every time."""


class StaticCache(DecoderCache):
    """A cache of one size at one place, whose length is a number on the device: a captured step finds it as it was.

    The stores are read whole, T steps, and what is not filled is masked. Masks are what is added to scores, made once a
    step and not by the attention of every layer, over a multiple of 8 keys, as kernels want them.
    """

    def __init__(self, place: Place, time: Tensor, started: DecoderCache, sentences: int, room: int) -> None:
        """Room for `room` steps of so many sentences, the first of which are those of a cache just started.

        `time` [1] counts the steps; who reads the cache sets it to 0.
        """
        self.place, self.time, self.beams = place, time, started.beams
        names = ("source_key", "source_value")
        source = torch.stack([torch.stack([getattr(layer, name) for layer in started.layers]) for name in names])
        more = rounded(max(source.shape[4], 32)) - source.shape[4]
        mask = _added(F.pad(started.source_mask, (0, more)), source.dtype)
        past, lineage = source[..., :0, :], started.lineage[..., :0]
        self._lay_out(F.pad(source, (0, 0, 0, more)), mask, past, lineage, sentences, room)

    def _lay_out(
        self, source: Tensor, source_mask: Tensor, past: Tensor, lineage: Tensor, sentences: int, room: int
    ) -> None:
        layers, heads, width, size = (source.shape[axis] for axis in (1, 3, 4, 5))
        slots = room * self.beams
        self.source = self.place("source", source, (2, layers, sentences, heads, width, size))
        """[2, layers, S, h, Ts, e]: keys and values."""
        self.source_mask = self.place("source_mask", source_mask, (sentences, 1, 1, width))
        self.past = self.place("past", past, (2, layers, sentences, heads, slots, size))
        """[2, layers, S, h, T * K, e]"""
        self.lineage = self.place("lineage", lineage, (sentences, self.beams, slots))
        self.layers = [LayerCache(self, *parts) for parts in zip(*self.past, *self.source, strict=True)]
        self._step: tuple[Tensor, Tensor] | None = None

    def move(self, keep: Tensor, sentences: int, room: int) -> None:
        """Keep these sentences [S'], among so many, with room for so many steps."""
        source, past = (part.index_select(2, keep) for part in (self.source, self.past))
        self._lay_out(source, self.source_mask[keep], past, self.lineage[keep], sentences, room)

    def select(self, sentences: Tensor) -> None:
        """Nothing: to `move` is more than this."""

    def positions(self, tokens: Tensor) -> Tensor:
        return self.time.expand_as(tokens)

    def append(self, layer: LayerCache, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        slots, _ = self._slots_and_mask()
        return layer.key.index_copy_(2, slots, key), layer.value.index_copy_(2, slots, value)

    def past_mask(self) -> Tensor:
        """[S, 1, K, T * K], to be added."""
        return self._slots_and_mask()[1]

    def _slots_and_mask(self) -> tuple[Tensor, Tensor]:
        """Where the step under way is kept [K], and what its rows see: the same for every layer."""
        if self._step is None:
            slots = self.time * self.beams + torch.arange(self.beams, device=self.time.device)
            own = torch.eye(self.beams, dtype=torch.bool, device=self.time.device)
            self.lineage.index_copy_(2, slots, own.expand(len(self.lineage), -1, -1))
            self._step = slots, _added(self.lineage, self.past.dtype)[:, None]
        return self._step

    def advance(self) -> None:
        self.time += 1
        self._step = None

    def reorder(self, rows: Tensor) -> None:
        self.lineage.copy_(self.lineage.flatten(0, 1)[rows].view_as(self.lineage))


def rounded(count: int) -> int:
    """`count`, or a little more: 1, 2, 3, 4, 6, 8, 12, 16, 24, ..."""
    power = 1 << max(count - 1, 0).bit_length()
    return power * 3 // 4 if count <= power * 3 // 4 else power


def _added(visible: Tensor, dtype: torch.dtype) -> Tensor:
    """What is added to scores: nothing where a key is visible, else minus infinity."""
    return torch.where(visible, 0.0, -torch.inf).to(dtype)
