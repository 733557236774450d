"""Integrations: where context attention sits in the Transformer (section 2.4 of the paper).

Hyb: after the self-attention of every encoder and decoder layer. Post: after each stack. Pre: on the embeddings, before
each stack. The encoder reads the source memory; the decoder reads the target memory, or the source memory where the
system has no target side.
"""

from __future__ import annotations

from torch import Tensor, nn

from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import ContextAttention
from docgraph.model.memory import Layout, Memory, Queries
from docgraph.model.transformer import Place, Reader, no_context


class SiteReader:
    """Context attention at the sites of one stack over one memory, whose keys and values are projected once."""

    def __init__(self, place: Place, sites: nn.ModuleList, memory: Memory, queries: Queries) -> None:
        self.place, self.sites = place, sites
        self.layout = Layout.of(memory, queries)
        self.projected = [site.project(memory) for site in self.attentions]

    @property
    def attentions(self) -> list[ContextAttention]:
        return [site for site in self.sites if isinstance(site, ContextAttention)]

    def __call__(self, place: Place, layer: int, x: Tensor) -> Tensor:
        if place != self.place:
            return x
        return self.sites[layer](x, self.projected[layer], self.layout)


class Recorder:
    """A reader that also keeps, for each site, the attention over slots [N, M] and the mean gate [N]."""

    def __init__(self, reader: SiteReader) -> None:
        self.reader = reader
        self.attention: list[Tensor] = []
        self.gates: list[Tensor] = []

    def __call__(self, place: Place, layer: int, x: Tensor) -> Tensor:
        reader = self.reader
        if place == reader.place:
            attention, gate = reader.attentions[layer].weights(x, reader.projected[layer], reader.layout)
            self.attention.append(attention)
            self.gates.append(gate)
        return reader(place, layer, x)


class Integration(nn.Module):
    """The context attentions of the encoder and of the decoder."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        assert config.context is not None
        transformer, context = config.transformer, config.context
        self.place: Place = context.integration
        self.sides = context.sides

        def sites(layers: int) -> nn.ModuleList:
            count = layers if context.integration == "hyb" else 1
            # With pre-norm layers the stream inside a stack is not normalised; after a stack it is.
            inside = transformer.norm == "pre" and context.integration == "hyb"
            return nn.ModuleList(
                ContextAttention(transformer.dimension, context.heads, context.dropout, context.gate, inside)
                for _ in range(count)
            )

        self.encoder = sites(transformer.encoder_layers) if context.sides != "target" else nn.ModuleList()
        self.decoder = sites(transformer.decoder_layers)

    def encoder_reader(self, source: Memory | None, queries: Queries) -> Reader:
        return self._reader(self.encoder, source, queries)

    def decoder_reader(self, source: Memory | None, target: Memory | None, queries: Queries) -> Reader:
        return self._reader(self.decoder, source if self.sides == "source" else target, queries)

    def _reader(self, sites: nn.ModuleList, memory: Memory | None, queries: Queries) -> Reader:
        if memory is None or not len(sites) or not len(memory.states):
            return no_context
        return SiteReader(self.place, sites, memory, queries)
