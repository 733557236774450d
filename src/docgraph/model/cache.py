"""The decoder's cache: keys and values kept between steps, allocated once, never moved while hypotheses branch.

R = S * K rows: K beams of each of S sentences, side by side. The beams of a sentence read one copy of its source, and
one store of its past: all K tokens of every step lie there, and `lineage` says which of them a beam descends from. So
reordering beams moves that mask alone, not the keys and values of every layer.
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
    """[S, h, T * K, e]: step after step, K beams each; filled up to owner.length steps."""
    value: Tensor
    source_key: Tensor
    """[S, h, Ts, e]."""
    source_value: Tensor

    def attend_self(self, x: Tensor, attention: MultiHeadAttention) -> Tensor:
        """Append x [R, d] and attend to everything each row descends from, itself included."""
        beams = self.owner.beams
        begin, end = self.owner.length * beams, (self.owner.length + 1) * beams
        query, key, value = (self._by_sentence(part) for part in attention.project_all(x))
        self.key[:, :, begin:end], self.value[:, :, begin:end] = key, value
        past = self.key[:, :, :end], self.value[:, :, :end]
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
