"""Context encoders: what a system makes of the rest of the document. One file each; registered by name.

A context encoder turns a batch of documents into a source memory (read by the encoder) and a target memory (read by
the decoder). The integration (hyb, post, pre) is chosen apart from it, so any two make a system.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ModelConfig
from docgraph.model.memory import Memory
from docgraph.model.transformer import Embeddings


class ContextEncoder(Protocol):
    """An nn.Module with these two methods."""

    def source_memory(self, batch: DocumentBatch, embeddings: Embeddings) -> Memory | None:
        """What the source sentences of the documents offer."""

    def target_memory(self, batch: DocumentBatch, embeddings: Embeddings) -> Memory | None:
        """What the translations before each sentence offer; None when there are none."""


CONTEXTS: dict[str, Callable[[ModelConfig], ContextEncoder]] = {}


def context_encoder(
    name: str,
) -> Callable[[Callable[[ModelConfig], ContextEncoder]], Callable[[ModelConfig], ContextEncoder]]:
    """Register a context encoder under a name that configs use."""

    def register(factory: Callable[[ModelConfig], ContextEncoder]) -> Callable[[ModelConfig], ContextEncoder]:
        CONTEXTS[name] = factory
        return factory

    return register


def build_context(config: ModelConfig) -> ContextEncoder:
    """The context encoder a config names."""
    from docgraph.model.contexts import docgraph  # noqa: F401  (registers itself)

    assert config.context is not None
    name = config.context.encoder
    if name not in CONTEXTS:
        raise DocgraphError(f"there is no context encoder '{name}'; choose among {', '.join(sorted(CONTEXTS))}")
    return CONTEXTS[name](config)
