"""Context-Attn: gated attention over a memory, and its places in the Transformer (section 2.4 of the paper).

All context layers share the gate (`GatedContextLayer`). They differ in their attention: over slots (the document
graph, HM-GDC), over the words of the previous sentences (CTX), or over two levels (HAN and Selective define their own
layers).

The integration sets the places of the layers (`Integration`). Hyb: after the self-attention of every encoder and
decoder layer. Post: after each stack. Pre: on the embeddings, before each stack. The encoder reads the source memory.
The decoder reads the target memory or, if the system has no target side, the source memory. Exception: source-only
Pre has no context attention in the decoder, like the architecture that the paper adds it to (Unified). A system may
instead read the target memory at the output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention, packed_attention, unmask_empty_rows
from docgraph.model.config import ContextConfig, ModelConfig
from docgraph.model.memory import Memories, Memory, Queries, SlotLayout, SlotMemory, WordLayout, WordMemory
from docgraph.model.packing import Packing
from docgraph.model.transformer import ContextFunction, Place, Reader, no_context

if TYPE_CHECKING:  # needs Triton
    from docgraph.model.gpu.prefix_attention import PrefixLayout


def linear_flops(modules: Iterable[nn.Module], factor: int) -> float:
    """Returns FLOPs per row of the linear layers of modules: `factor` per weight, and 2 more if the weight trains."""
    weights = [part.weight for module in modules for part in module.modules() if isinstance(part, nn.Linear)]
    return float(sum(weight.numel() * (factor + 2 * weight.requires_grad) for weight in weights))


class ContextLayer(nn.Module):
    """A layer that reads a memory at one place of the Transformer."""

    def project(self, memory: Any) -> Any:
        """Returns the keys and values of the memory, computed once for all rows that read it."""
        raise NotImplementedError

    def forward(self, x: Tensor, projected: Any, layout: Any) -> Any:
        """x [N, d] -> [N, d]; at the output, x [N, d] -> the copies that the layer proposes."""
        raise NotImplementedError

    def weights(self, x: Tensor, projected: Any, layout: Any) -> tuple[Tensor, Tensor]:
        """Returns, for inspection, attention weights [N, M] (mean over heads) and the mean gate [N] (1 is closed)."""
        raise NotImplementedError

    def flops_per_row(self) -> float:
        """Returns FLOPs of a training step per row of x, forward and backward."""
        return linear_flops([self], 4)


class GatedContextLayer(ContextLayer):
    """A gated residual connection around attention of X over a memory; a row that sees no memory stays X exactly.

    Subclasses define the attention: `project`, `attend` and `attention_weights`.
    """

    def __init__(
        self, dimension: int, heads: int, dropout: float, gate: Literal["paper", "identity"], pre_norm: bool
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(dimension, heads)
        self.norm = nn.LayerNorm(dimension) if pre_norm else nn.Identity()
        self.gate_input = nn.Linear(dimension, dimension)
        self.gate_context = nn.Linear(dimension, dimension, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.identity_start = gate == "identity"
        self.create_modules(dimension, heads)
        if self.identity_start:
            # H_c is zero and X passes unchanged, while d loss / d W_o = (1 - lambda) * attended * grad is not zero.
            nn.init.zeros_(self.last.weight)

    def create_modules(self, dimension: int, heads: int) -> None:
        """Creates the modules of a subclass."""

    @property
    def last(self) -> nn.Linear:
        """The projection that computes H_c."""
        return self.attention.output

    def attend(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        """Returns H_c: x [N, d] -> [N, d]."""
        raise NotImplementedError

    def attention_weights(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        """Returns attention weights of `attend`, mean over heads: [N, M] for sentences or words."""
        raise NotImplementedError

    def forward(self, x: Tensor, projected: Any, layout: Any) -> Tensor:
        """Blends x [N, d] with its attention over the memory -> [N, d]."""
        normed = self.norm(x)
        context = self.dropout(self.attend(normed, projected, layout))
        weight = self.gate_weight(normed, context)
        return torch.where(layout.some, self.blend(x, context, weight), x)

    def gate_weight(self, x: Tensor, context: Tensor) -> Tensor:
        """Returns lambda = sigmoid(W_a X + W_c H_c) (equation 12)."""
        return torch.sigmoid(self.gate_input(x) + self.gate_context(context))

    def blend(self, x: Tensor, context: Tensor, weight: Tensor) -> Tensor:
        """Returns lambda X + (1 - lambda) H_c (equation 11), or X + (1 - lambda) H_c with the identity start."""
        kept = x if self.identity_start else weight * x
        return kept + (1.0 - weight) * context

    @torch.no_grad()
    def weights(self, x: Tensor, projected: Any, layout: Any) -> tuple[Tensor, Tensor]:
        """Returns attention weights [N, M], zero for rows without memory, and the mean gate [N], 1 for such rows."""
        normed = self.norm(x)
        attention = self.attention_weights(normed, projected, layout)
        gate = self.gate_weight(normed, self.attend(normed, projected, layout)).mean(-1)
        return torch.where(layout.some, attention, 0.0), torch.where(layout.some[:, 0], gate, 1.0)

    def flops_per_row(self) -> float:
        """Returns the FLOPs per row; keys and values are projected once per state of the memory and do not count."""
        return super().flops_per_row() - linear_flops([self.attention.key, self.attention.value], 4)


class FeedForwardContextLayer(GatedContextLayer):
    """A gated layer whose attention is followed by a feed-forward network with `widening` * d inner units."""

    widening: ClassVar[int]

    def create_modules(self, dimension: int, heads: int) -> None:
        """Creates the feed-forward network."""
        self.inner = nn.Linear(dimension, self.widening * dimension)
        self.outer = nn.Linear(self.widening * dimension, dimension)
        for layer in (self.inner, self.outer):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    @property
    def last(self) -> nn.Linear:
        """The output projection of the feed-forward network."""
        return self.outer

    def feed_forward(self, x: Tensor) -> Tensor:
        """x [N, d] -> [N, d]."""
        return self.outer(torch.relu(self.inner(x)))


@dataclass(eq=False)
class SlotKeys:
    """Keys and values of slots, [B, h, M, e] each; or of the states, [R, h, e], for a kernel or before `in_slots`."""

    key: Tensor
    value: Tensor

    def in_slots(self, memory: SlotMemory) -> SlotKeys:
        """Returns the keys and values of the slots that each block reads, gathered from those of the states."""
        return SlotKeys(memory.in_slots(self.key).contiguous(), memory.in_slots(self.value).contiguous())


class ContextAttention(GatedContextLayer):
    """Attention over the slots of a `SlotMemory`."""

    def project(self, memory: SlotMemory) -> SlotKeys:
        """Returns keys and values of the slots."""
        key, value = self.attention.project(memory.states)
        return SlotKeys(memory.in_slots(key), memory.in_slots(value))

    def attend(self, x: Tensor, projected: SlotKeys, layout: SlotLayout | PrefixLayout) -> Tensor:
        """Returns H_c = Context-Attn(X, H_G, H_G) (equation 10): [N, d]."""
        query = self.attention.split(self.attention.query(x))
        return self.attention.join(layout.attend(query, projected.key, projected.value))

    def attention_weights(self, x: Tensor, projected: SlotKeys, layout: SlotLayout) -> Tensor:
        """Returns weights of the slots, [N, M]."""
        query = layout.rows.pad(self.attention.split(self.attention.query(x))).transpose(1, 2)
        scores = query @ projected.key.transpose(-2, -1) / query.shape[-1] ** 0.5
        return layout.rows.pack(scores.masked_fill(~layout.visible, float("-inf")).softmax(-1).mean(1))


@dataclass(eq=False)
class SpanKeys:
    """Keys and values of the words of spans, [P, h, e] each, and the packing of the spans."""

    key: Tensor
    value: Tensor
    words: Packing


class WordAttention(GatedContextLayer):
    """Attention over the words of a `WordMemory`: the rows of a sentence attend to the span of that sentence."""

    def project(self, memory: WordMemory) -> list[SpanKeys]:
        """Returns keys and values of the words of each span."""
        key, value = self.attention.project(memory.states)
        return [SpanKeys(span.take(key), span.take(value), span.packing) for span in memory.spans]

    def attend(self, x: Tensor, projected: list[SpanKeys], layout: WordLayout) -> Tensor:
        """Returns H_c from the words of the first span: x [N, d] -> [N, d]."""
        return self.attend_spans(x, projected, layout)[:, 0]

    def attend_spans(self, x: Tensor, projected: list[SpanKeys], layout: WordLayout) -> Tensor:
        """Attends from x [N, d] to the words of each of J spans -> [N, J, d]; zero for empty spans."""
        query = self.attention.split(self.attention.query(x))
        attended = [packed_attention(query, span.key, span.value, layout.rows, span.words, False) for span in projected]
        read = torch.where(layout.visible[:, :, None, None], torch.stack(attended, dim=1), 0)
        return self.attention.join(read)

    def attention_weights(self, x: Tensor, projected: list[SpanKeys], layout: WordLayout) -> Tensor:
        """Returns weights of the words of the first span, [N, T]."""
        return self.span_weights(x, projected[0], layout).mean(1)

    def span_weights(self, x: Tensor, span: SpanKeys, layout: WordLayout) -> Tensor:
        """Returns attention over the words of a span: [N, h, T]."""
        query = layout.rows.pad(self.attention.split(self.attention.query(x))).transpose(1, 2)
        scores = query @ span.words.pad(span.key).permute(0, 2, 3, 1) / query.shape[-1] ** 0.5
        visible = unmask_empty_rows(span.words.mask[:, None, None, :])
        return layout.rows.pack(scores.masked_fill(~visible, float("-inf")).softmax(-1).transpose(1, 2))


@dataclass(frozen=True, eq=False)
class ContextReader:
    """The context layers of one stack over one memory, whose keys and values are projected once."""

    place: Place
    memory: Memory
    projected: list[tuple[ContextLayer, Any]]
    layers: list[partial[Any]]
    """`forward` of each layer with its keys and values, and the layout of the query rows."""

    @classmethod
    def of(cls, place: Place, layers: nn.ModuleList, memory: Memory, queries: Queries) -> ContextReader:
        """Projects the memory for each layer."""
        arranged = memory.for_queries(queries)
        projected = [(layer, layer.project(arranged)) for layer in layers if isinstance(layer, ContextLayer)]
        return cls(place, memory, projected, []).for_queries(queries)

    def for_queries(self, queries: Queries) -> ContextReader:
        """Returns a reader of the same projected memory for other rows."""
        layout, arrange = self.memory.layout(queries), self.memory.arrange
        layers = [partial(layer, projected=arrange(keys, queries), layout=layout) for layer, keys in self.projected]
        return replace(self, layers=layers)

    def __call__(self, place: Place, layer: int) -> ContextFunction | None:
        return self.layers[layer] if place == self.place else None


class AttentionRecorder:
    """A reader that also records, for each layer, the attention weights [N, M] and the mean gate [N]."""

    def __init__(self, reader: ContextReader) -> None:
        self.reader = reader
        self.attention: list[Tensor] = []
        self.gates: list[Tensor] = []

    def __call__(self, place: Place, layer: int) -> ContextFunction | None:
        return partial(self.record, self.reader.layers[layer]) if place == self.reader.place else None

    def record(self, layer: partial[Any], x: Tensor) -> Any:
        """Applies a layer and records its attention weights and gate."""
        assert isinstance(layer.func, ContextLayer)
        attention, gate = layer.func.weights(x, **layer.keywords)
        self.attention.append(attention)
        self.gates.append(gate)
        return layer(x)


class Integration(nn.Module):
    """The context layers of the encoder and of the decoder, or of the output instead of the decoder.

    `attention` is the type of the layers, None for none; `target_attention` the type that reads a target memory, if it
    differs; `output` the layer that reads the target memory at the output.
    """

    def __init__(
        self,
        config: ModelConfig,
        attention: type[GatedContextLayer] | None,
        target_attention: type[GatedContextLayer] | None = None,
        output: ContextLayer | None = None,
    ) -> None:
        super().__init__()
        transformer, context = config.transformer, config.context or ContextConfig()
        self.place: Place = context.integration
        self.sides = context.sides

        def layers(count: int, kind: type[GatedContextLayer] | None) -> nn.ModuleList:
            if kind is None:
                return nn.ModuleList()
            # With pre-norm layers the states inside a stack are not normalised; after the stack they are.
            inside = transformer.norm == "pre" and context.integration == "hyb"
            return nn.ModuleList(
                kind(transformer.dimension, context.heads, context.dropout, context.gate, inside)
                for _ in range(count if context.integration == "hyb" else 1)
            )

        in_decoder = attention if self.sides == "source" else target_attention or attention
        if output is not None or (self.sides, self.place) == ("source", "pre"):
            in_decoder = None
        self.encoder = layers(transformer.encoder_layers, None if self.sides == "target" else attention)
        self.decoder = layers(transformer.decoder_layers, in_decoder)
        self.output = nn.ModuleList([] if output is None else [output])

    def reader(self, stack: Literal["encoder", "decoder"], memories: Memories, queries: Queries) -> Reader:
        """Returns the context layers of a stack over its memory; those of the decoder include the output."""
        place, layers, memory = self.place, self.encoder, memories.source
        if stack == "decoder" and len(self.output):
            place, layers, memory = "output", self.output, memories.target
        elif stack == "decoder":
            layers, memory = self.decoder, memories.source if self.sides == "source" else memories.target
        if memory is None or not len(layers) or not len(memory.states):
            return no_context
        return ContextReader.of(place, layers, memory, queries)
