"""Integrations: where context attention sits in the Transformer (section 2.4 of the paper).

Hyb: after the self-attention of every encoder and decoder layer. Post: after each stack. Pre: on the embeddings, before
each stack. The encoder reads the source memory; the decoder reads the target memory, or the source memory where the
system has no target side. What kind of attention sits there, if any, is the context encoder's to say; and whether the
target memory is read at the output instead.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import ContextSite, GatedSite
from docgraph.model.memory import Memory, Queries
from docgraph.model.transformer import Place, Reader, Site, no_context


@dataclass(frozen=True, eq=False)
class MemorySite:
    """One context attention over one memory, whose keys and values are projected."""

    attention: ContextSite
    projected: Any
    layout: Any

    def __call__(self, x: Tensor) -> Any:
        return self.attention(x, self.projected, self.layout)


@dataclass(frozen=True, eq=False)
class SiteReader:
    """The context attentions of one stack over one memory; keys and values are projected once, when it is made."""

    place: Place
    memory: Memory
    projected: list[tuple[ContextSite, Any]]
    sites: list[MemorySite]

    @classmethod
    def of(cls, place: Place, attentions: nn.ModuleList, memory: Memory, queries: Queries) -> SiteReader:
        in_blocks = memory.for_blocks(queries)
        projected = [(a, a.project(in_blocks)) for a in attentions if isinstance(a, ContextSite)]
        return cls(place, memory, projected, []).for_queries(queries)

    def for_queries(self, queries: Queries) -> SiteReader:
        """The same memory, read by other rows, of whole groups as the first; nothing is projected again."""
        layout, laid_out = self.memory.layout(queries), self.memory.laid_out
        return replace(self, sites=[MemorySite(a, laid_out(made, queries), layout) for a, made in self.projected])

    def __call__(self, place: Place, layer: int) -> Site | None:
        return self.sites[layer] if place == self.place else None


class Recorder:
    """A reader that also keeps, for each site, the attention over what it reads [N, M] and the mean gate [N]."""

    def __init__(self, reader: SiteReader) -> None:
        self.reader = reader
        self.attention: list[Tensor] = []
        self.gates: list[Tensor] = []

    def __call__(self, place: Place, layer: int) -> Site | None:
        site = self.reader(place, layer)
        return partial(self.record, site) if isinstance(site, MemorySite) else None

    def record(self, site: MemorySite, x: Tensor) -> Any:
        attention, gate = site.attention.weights(x, site.projected, site.layout)
        self.attention.append(attention)
        self.gates.append(gate)
        return site(x)


class Integration(nn.Module):
    """The context attentions of the encoder and of the decoder, or of the output in place of the decoder's."""

    def __init__(
        self,
        config: ModelConfig,
        kind: type[GatedSite] | None,
        target_kind: type[GatedSite] | None = None,
        output: ContextSite | None = None,
    ) -> None:
        super().__init__()
        assert config.context is not None
        transformer, context = config.transformer, config.context
        self.place: Place = context.integration
        self.sides = context.sides

        def sites(layers: int, kind: type[GatedSite] | None) -> nn.ModuleList:
            if kind is None:
                return nn.ModuleList()
            count = layers if context.integration == "hyb" else 1
            # With pre-norm layers the stream inside a stack is not normalised; after a stack it is.
            inside = transformer.norm == "pre" and context.integration == "hyb"
            return nn.ModuleList(
                kind(transformer.dimension, context.heads, context.dropout, context.gate, inside) for _ in range(count)
            )

        self.encoder = sites(transformer.encoder_layers, kind) if context.sides != "target" else nn.ModuleList()
        reads_translations = context.sides != "source"
        of_decoder = (reads_translations and target_kind) or kind
        self.decoder = sites(transformer.decoder_layers, of_decoder if output is None else None)
        self.output = nn.ModuleList([] if output is None else [output])

    def encoder_reader(self, source: Memory | None, queries: Queries) -> Reader:
        return self._reader(self.place, self.encoder, source, queries)

    def decoder_reader(self, source: Memory | None, target: Memory | None, queries: Queries) -> Reader:
        if len(self.output):
            return self._reader("output", self.output, target, queries)
        return self._reader(self.place, self.decoder, source if self.sides == "source" else target, queries)

    def _reader(self, place: Place, sites: nn.ModuleList, memory: Memory | None, queries: Queries) -> Reader:
        if memory is None or not len(sites) or not len(memory.states):
            return no_context
        return SiteReader.of(place, sites, memory, queries)
