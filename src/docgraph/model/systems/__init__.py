"""Context encoders, one per file, registered by name: how a system represents the rest of the document.

A context encoder turns a batch of documents into a source memory (read by the encoder) and a target memory (read by
the decoder), and names the attention that reads them. The integration (hyb, post, pre) is configured separately.
Everything special to a system is a method or class attribute of its context encoder. No other module asks for the name
of a system or the type of its memory.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar, Literal, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentBatch, DocumentExample, Ids
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.context_attention import ContextLayer, GatedContextLayer
from docgraph.model.hints import insert_all
from docgraph.model.memory import Memories, Memory
from docgraph.model.transformer import Base

SideName = Literal["source", "target"]


@dataclass(frozen=True)
class ContextNeeds:
    """The context that a model reads besides the current source sentence. The defaults describe Base: none."""

    source: bool = False
    """True if other source sentences are context."""
    translations: Literal["none", "given", "all"] = "none"
    """Which translations of other sentences are context: none, user-supplied ones only, or also the model's own."""
    relations: tuple[str, ...] | None = None
    """Relations of the source graph; None if the model reads no graph, so that documents need no annotation."""
    links: bool = False
    """True if the model reads the words and sentences that the graph links with each sentence."""
    target_words: bool = False
    """True if the model builds graphs of the words of translations."""
    sentences_per_sequence: int = 1
    """Sentences that share the positions of one source sequence."""
    hints: tuple[str, ...] = ()
    """Relations that give hints."""
    memories: bool = False
    """True if the context is in memories, so that a sentence can be read with the memories of another document."""

    @property
    def reads_translations(self) -> bool:
        """True if translations of other sentences are context."""
        return self.translations != "none"

    @property
    def reads_own_translations(self) -> bool:
        """True if translations made by the model itself are context."""
        return self.translations == "all"

    @property
    def only_given_translations(self) -> bool:
        """True if only user-supplied translations are used as context."""
        return self.translations == "given"

    @property
    def reads_document(self) -> bool:
        """True if any other sentence may be context, so that a sentence is only translated with its whole document.

        Otherwise a sentence reads user-supplied translations, and the translations that its own hints contain
        (`docgraph.model.hints.referents`).
        """
        return self.source or self.reads_own_translations

    def graph_relations(self, any_given: bool = True) -> tuple[str, ...] | None:
        """Returns the relations of the source graph, or None if no graph is needed.

        If the graph only selects user-supplied translations and there are none (`any_given` is False), it is not
        needed.
        """
        return self.relations if any_given or self.reads_document else None


class ContextEncoder(nn.Module):
    """What a system adds to Base. This base class adds nothing, and is the system of Base itself.

    A subclass sets `attention`, overrides `source_memory` and `target_memory`, and everything else that differs.
    """

    attention: ClassVar[type[GatedContextLayer] | None] = None
    """The type of the layers that read the memories; None for a system without memories."""
    target_attention: ClassVar[type[GatedContextLayer] | None] = None
    """The type of the layers that read the target memory, if it differs from `attention`."""
    sides: ClassVar[tuple[str, ...]] = ("source", "target", "both")
    """Values of `context.sides` that the system supports."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config: ContextConfig = config.context or ContextConfig()

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        """Returns the parts of a document that the model reads."""
        if config.context is None:
            return ContextNeeds()
        sides = config.context.sides
        translations: Literal["none", "all"] = "none" if sides == "source" else "all"
        return ContextNeeds(sides != "target", translations, memories=cls.attention is not None)

    @classmethod
    def system_name(cls, config: ModelConfig) -> str:
        """Returns `base`, or the context encoder, integration and sides, such as `docgraph-hyb-both`."""
        context = config.context
        if config.hints is not None:
            return "hints" if context is None else f"hints-{context.encoder}-{context.integration}-{context.sides}"
        return "base" if context is None else f"{context.encoder}-{context.integration}-{context.sides}"

    @classmethod
    def translations_read(cls, config: ModelConfig, document: DocumentExample, sentence: int) -> Iterable[int]:
        """Returns the sentences of a prepared document whose translations a sentence reads as context."""
        return range(sentence)

    @classmethod
    def prepare(cls, config: ModelConfig, example: DocumentExample) -> DocumentExample:
        """Returns the document in the form that the model reads."""
        return replace(example, ahead=example.ahead and cls.needs(config).only_given_translations)

    @classmethod
    def target_prefix(cls, config: ModelConfig, translations: Sequence[Ids], sentence: int) -> Ids:
        """Returns target tokens that precede the translation of a sentence in the decoded sequence."""
        return np.empty(0, np.int64)

    @classmethod
    def translation(cls, config: ModelConfig, tokens: Sequence[int]) -> tuple[int, ...]:
        """Returns the translation of the sentence itself within a decoded sequence."""
        return tuple(tokens)

    def memories(self, batch: DocumentBatch, base: Base) -> Memories:
        """Returns the memories of the sides that the config names."""
        return Memories(self.source_memory(batch, base), self.target_memory(batch, base))

    def source_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """Returns the memory of the source sentences; None if the config does not name the source side."""
        return None

    def target_memory(self, batch: DocumentBatch, base: Base) -> Memory | None:
        """Returns the memory of the translations; None if the config does not name the target side or none exist."""
        return None

    def output(self, transformer: TransformerConfig) -> ContextLayer | None:
        """Returns the layer that reads the target memory at the output, instead of context attention in the decoder."""
        return None

    def output_states(self, batch: DocumentBatch, base: Base) -> Tensor | None:
        """Returns the decoder states that predict each reference token [Nt, d], or None if context changes them."""
        return None

    def begin(self, batch: DocumentBatch, base: Base) -> tuple[Tensor, int]:
        """Returns the input of the encoder stack, [Ns, d], and the number of its layers that are already applied."""
        return base.embeddings(batch.source.tokens, batch.source.sentences.positions, "source"), 0

    def sentences_read(self, memory: Memory, batch: DocumentBatch, side: SideName, columns: int) -> Tensor:
        """Returns the sentence that each column of the attention over a memory belongs to: [S, columns], -1 for none.

        Explanations ask for this, for a batch of one document. By default column m is sentence m.
        """
        order = torch.arange(columns, device=batch.index_of.device).expand(batch.num_sentences, -1)
        return torch.where(order < len(batch.places), order, -1)

    def flops(self, batch: DocumentBatch, base_trains: bool) -> float:
        """Returns FLOPs of `memories` in a training step, forward and backward; by default too few to be counted."""
        return 0.0

    def compile_parts(self, dynamic: bool) -> None:
        """Compiles `memories` in place."""
        self.memories = torch.compile(self.memories, dynamic=dynamic)  # type: ignore[method-assign]

    @property
    def reads_source(self) -> bool:
        """True if the config names the source side."""
        return self.config.sides != "target"

    @property
    def reads_target(self) -> bool:
        """True if the config names the target side."""
        return self.config.sides != "source"


CONTEXTS: dict[str, type[ContextEncoder]] = {}
E = TypeVar("E", bound=type[ContextEncoder])


def context_encoder(name: str) -> Callable[[E], E]:
    """Registers a context encoder under the name that configs use."""

    def register(kind: E) -> E:
        CONTEXTS[name] = kind
        return kind

    return register


@cache
def _register_all() -> None:
    """Imports the modules of this package, which register themselves."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")


def context_class(config: ModelConfig) -> type[ContextEncoder]:
    """Returns the context encoder of a model; for Base, `ContextEncoder` itself."""
    if config.context is None:
        from docgraph.model.systems.concatenation import Concatenation

        return ContextEncoder if config.concatenation is None else Concatenation
    _register_all()
    name, sides = config.context.encoder, config.context.sides
    if name not in CONTEXTS:
        raise DocgraphError(f"there is no context encoder '{name}'; choose among {', '.join(sorted(CONTEXTS))}")
    kind = CONTEXTS[name]
    if sides not in kind.sides:
        raise DocgraphError(f"'{name}' reads {' or '.join(kind.sides)}, not '{sides}'; set 'context.sides'")
    return kind


def context_needs(config: ModelConfig) -> ContextNeeds:
    """Returns the parts of a document that a model reads."""
    needs = context_class(config).needs(config)
    if config.hints is None:
        return needs
    return replace(needs, hints=config.hints.relations)


def prepare(example: DocumentExample, config: ModelConfig) -> DocumentExample:
    """Returns the document as a model reads it: with hints, with its links selected, or with sentences concatenated.

    Hints whose words are not yet known are left out, and stay in `hints`.
    """
    if config.hints is not None and example.hints:
        source, words = insert_all(example.source, example.source_words, example.hints, config.hints.separator)
        unknown = [hint for hint in example.hints if not hint.ids]
        example = replace(example, source=source, source_words=words, hints=unknown)
    return context_class(config).prepare(config, example)
