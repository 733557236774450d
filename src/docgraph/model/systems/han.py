"""HAN (Miculicich et al. 2018): attention over the words of each of k previous sentences, then over the sentences.

The paper reads the encoder and decoder states from when the earlier sentences were translated. Here they are the states
of Base, which read no context: they are the same for all later sentences, so that a document is decoded in parallel.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from docgraph.model.attention import MultiHeadAttention, unmask_empty_rows
from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import FeedForwardContextLayer, SpanKeys, WordAttention
from docgraph.model.memory import Memory, Spans, WordLayout, WordMemory
from docgraph.model.packing import Packing
from docgraph.model.systems import SideName, context_encoder
from docgraph.model.systems.base_states import BaseStatesContext


class HierarchicalAttention(FeedForwardContextLayer, WordAttention):
    """Attention over words, then over sentences, then a feed-forward network, whose width the paper does not give.

    The linear maps f_w and f_s before the queries are merged with the projections of the queries.
    """

    widening = 2

    def create_modules(self, dimension: int, heads: int) -> None:
        """Creates the feed-forward network and the attention over sentences."""
        super().create_modules(dimension, heads)
        self.sentences = MultiHeadAttention(dimension, heads)

    def attend(self, x: Tensor, projected: list[SpanKeys], layout: WordLayout) -> Tensor:
        """Returns H_c: attention over words, over sentences, and the feed-forward network: x [N, d] -> [N, d]."""
        weights, value = self.sentence_level(x, self.attend_spans(x, projected, layout), layout)
        return self.feed_forward(self.sentences.join((weights[..., None] * value).sum(1)))

    def sentence_level(self, x: Tensor, read: Tensor, layout: WordLayout) -> tuple[Tensor, Tensor]:
        """Returns weights [N, J, h] and values [N, J, h, e] of J sentences, given the word attention [N, J, d]."""
        key, value = self.sentences.project(read)
        query = self.sentences.split(self.sentences.query(x))[:, None]
        scores = (query * key).sum(-1) * key.shape[-1] ** -0.5
        visible = unmask_empty_rows(layout.visible)[:, :, None]
        return scores.masked_fill(~visible, float("-inf")).softmax(1).to(value.dtype), value

    def attention_weights(self, x: Tensor, projected: list[SpanKeys], layout: WordLayout) -> Tensor:
        """Returns weights of the sentences, the nearest first."""
        return self.sentence_level(x, self.attend_spans(x, projected, layout), layout)[0].mean(-1)


@context_encoder("han")
class HierarchicalContext(BaseStatesContext):
    """One span of words for each of the k previous sentences."""

    attention = HierarchicalAttention

    @classmethod
    def translations_read(cls, config: ModelConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
        """Returns the k previous sentences."""
        assert config.context is not None
        return range(max(0, sentence - config.context.previous), sentence)

    def memory(self, states: Tensor, words: Packing, batch: DocumentBatch, past: bool) -> WordMemory:
        """Returns one span of words for each of the k previous sentences."""
        distances = range(1, self.config.previous + 1)
        spans = tuple(Spans.before(words, batch.context_index, batch.index_of, far=j, near=j) for j in distances)
        return WordMemory(states, spans)

    def sentences_read(self, memory: Memory, batch: DocumentBatch, side: SideName, columns: int) -> Tensor:
        """Column j is the sentence j + 1 before the current one."""
        return batch.index_of[:, None] - 1 - torch.arange(columns, device=batch.index_of.device)
