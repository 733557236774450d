"""Context encoders: what a system makes of the rest of the document. One file each; registered by name.

A context encoder turns a batch of documents into a source memory (read by the encoder) and a target memory (read by
the decoder), and says what kind of attention reads them. The integration (hyb, post, pre) is chosen apart from it.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import ClassVar, TypeVar

import torch
from torch import Tensor, nn

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.context_attention import ContextAttention, ContextSite, GatedSite
from docgraph.model.memory import Memories, Memory
from docgraph.model.transformer import Base


def embedded_source(batch: DocumentBatch, base: Base) -> Tensor:
    """What the encoder of Base begins with: [Ns, d]."""
    return base.embeddings(batch.source.tokens, batch.source.sentences.positions, "source")


class ContextEncoder(nn.Module):
    """What a system adds to Base before its sites: override what differs."""

    site: ClassVar[type[GatedSite] | None] = ContextAttention
    """The attention that reads the memories; None for a system without any."""
    target_site: ClassVar[type[GatedSite] | None] = None
    """The one that reads the memory of translations, where it is another."""
    sides: ClassVar[tuple[str, ...]] = ("source", "target", "both")
    """Whose memories it can make."""
    reads_target_words: ClassVar[bool] = False
    """Whether it makes graphs of the words of translations."""
    reads_selection: ClassVar[bool] = False
    """Whether it reads what a sentence is linked with (docgraph.graph.selection)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        assert config.context is not None
        self.config: ContextConfig = config.context

    @classmethod
    def reads_graph(cls, context: ContextConfig) -> bool:
        """Whether it needs the source graphs of the documents, and so their annotation."""
        return False

    @classmethod
    def reads_own_translations(cls, context: ContextConfig) -> bool:
        """Whether it reads, where it reads any, translations that the model made itself beside given ones."""
        return True

    @classmethod
    def translations_read(cls, context: ContextConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
        """The earlier sentences whose translations, where it reads any, a sentence of the document reads."""
        return range(sentence)

    def memories(self, batch: DocumentBatch, base: Base) -> Memories:
        """Those of the sides that the config asks for."""
        return Memories(self.source_memory(batch, base), self.target_memory(batch, base))

    def source_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """What the source sentences of the documents offer; None where the config does not ask for it."""
        return None

    def target_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """What the translations before each sentence offer; None when there are none."""
        return None

    def output(self, transformer: TransformerConfig) -> ContextSite | None:
        """What reads the target memory at the output, in place of sites in the decoder."""
        return None

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """What the encoder begins with, [Ns, d], and how many of its layers have been applied already."""
        return embedded_source(batch, base), 0

    def compile_parts(self, dynamic: bool) -> None:
        """Compile, in place, what makes the memories."""
        self.memories = torch.compile(self.memories, dynamic=dynamic)  # type: ignore[method-assign]

    @property
    def reads_source(self) -> bool:
        return self.config.sides != "target"

    @property
    def reads_target(self) -> bool:
        return self.config.sides != "source"


CONTEXTS: dict[str, type[ContextEncoder]] = {}
E = TypeVar("E", bound=type[ContextEncoder])


def context_encoder(name: str) -> Callable[[E], E]:
    """Register a context encoder under a name that configs use."""

    def register(kind: E) -> E:
        CONTEXTS[name] = kind
        return kind

    return register


@cache
def _register_all() -> None:
    """Import the modules of this package, which register themselves."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def context_class(context: ContextConfig) -> type[ContextEncoder]:
    """The context encoder a config names."""
    _register_all()
    name, sides = context.encoder, context.sides
    if name not in CONTEXTS:
        raise DocgraphError(f"there is no context encoder '{name}'; choose among {', '.join(sorted(CONTEXTS))}")
    kind = CONTEXTS[name]
    if sides not in kind.sides:
        raise DocgraphError(f"'{name}' reads {' or '.join(kind.sides)}, not '{sides}'; set 'context.sides'")
    return kind


def build_context(config: ModelConfig) -> ContextEncoder:
    """The context encoder of a model."""
    assert config.context is not None
    return context_class(config.context)(config)
