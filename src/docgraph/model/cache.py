"""The decoder's cache: keys and values kept between steps, allocated once, reordered in place.

R = S * K rows: K beams of each of S sentences, side by side. The beams of a sentence read one copy of its source.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from docgraph.model.attention import MultiHeadAttention, masked_attention, never_blind
from docgraph.model.packing import Packing


@dataclass(eq=False)
class LayerCache:
    """What one decoder layer keeps: its own past, and the source as it sees it."""

    owner: DecoderCache
    key: Tensor
    """[R, h, T, e], filled up to owner.length."""
    value: Tensor
    source_key: Tensor
    """[S, h, Ts, e]."""
    source_value: Tensor

    def attend_self(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Append x [R, d] and attend to everything so far."""
        time = self.owner.length
        key, value = attention.project(x)
        self.key[:, :, time], self.value[:, :, time] = key.to(self.key.dtype), value.to(self.value.dtype)
        query = attention.split(attention.query(x))[:, :, None]
        past = self.key[:, :, : time + 1], self.value[:, :, : time + 1]
        return attention.join(masked_attention(query.to(self.key.dtype), *past, None)[:, :, 0].to(x.dtype))

    def attend_source(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """x [R, d] over the source; the beams of a sentence are queries of one attention."""
        sentences = len(self.source_key)
        query = attention.split(attention.query(x))
        query = query.view(sentences, -1, *query.shape[1:]).transpose(1, 2)
        attended = masked_attention(
            query.to(self.key.dtype), self.source_key, self.source_value, self.owner.source_mask
        )
        return attention.join(attended.transpose(1, 2).flatten(0, 1).to(x.dtype))


class DecoderCache:
    """The caches of all layers, and how many tokens they hold."""

    def __init__(
        self, attentions: Iterable[MultiHeadAttention], encoded: Tensor, source: Packing, beams: int, max_length: int
    ) -> None:
        """Room for `beams` hypotheses of each sentence of `encoded` [Ns, d], `max_length` tokens each.

        `attentions` are the cross-attentions of the decoder's layers, which project the source once, here.
        """
        self.length = 0
        self.source_mask = never_blind(source.mask[:, None, None, :])
        self.layers: list[LayerCache] = []
        rows = source.num_sequences * beams
        for attention in attentions:
            key, value = (
                source.pad(projected).transpose(1, 2).contiguous() for projected in attention.project(encoded)
            )
            own = [key.new_empty(rows, key.shape[1], max_length, key.shape[3]) for _ in range(2)]
            self.layers.append(LayerCache(self, own[0], own[1], key, value))

    def reorder(self, rows: Tensor) -> None:
        """Row r becomes what row rows[r] [R] was; only the filled part moves."""
        for layer in self.layers:
            for store in (layer.key, layer.value):
                store[:, :, : self.length] = store[rows, :, : self.length]

    def select(self, sentences: Tensor, beams: int) -> None:
        """Keep only these sentences [S'] (finished ones leave the batch)."""
        rows = (sentences[:, None] * beams + torch.arange(beams, device=sentences.device)).flatten()
        self.source_mask = self.source_mask[sentences]
        for layer in self.layers:
            layer.key, layer.value = layer.key[rows], layer.value[rows]
            layer.source_key, layer.source_value = layer.source_key[sentences], layer.source_value[sentences]
