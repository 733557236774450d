"""The interface of decoders, which translate documents with the model of a translator.

`Translator.decode` is the plain one; the one of a server (server/batching.py) decodes the documents of several requests
together. Both return what `document_decoding.decode_documents` returns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import torch

from docgraph.model.batch import DocumentExample
from docgraph.translation.decoding.constraints import Constraints
from docgraph.translation.decoding.hypotheses import Hypotheses, Known, SearchConfig

Mode = Literal["parallel", "sequential"]
BATCH_TOKENS = {"cpu": 1 << 14, "cuda": 1 << 16}
"""Source sub-words encoded together, by type of device."""
BaseTranslations = Mapping[int, tuple[int, ...]]
"""The translation of some sentences of a document without given translations and a dictionary, by index."""


def batch_tokens(device: torch.device) -> int:
    """Returns how many source sub-words a device encodes together."""
    return BATCH_TOKENS.get(device.type, BATCH_TOKENS["cuda"])


@dataclass(frozen=True, eq=False)
class DecoderInput:
    """A document to decode, and what is known of its translation, by index of the sentence."""

    example: DocumentExample
    """Its `target` and `target_words` are ignored. If it has a `window`, only the sentences in it are decoded; the
    others are context and must be known."""
    known: Known = field(default_factory=dict)
    """Translations from the user or an earlier run."""
    constraints: Constraints = field(default_factory=dict)
    """The constraints of some sentences; a sentence that cannot meet them has no hypotheses."""
    base: BaseTranslations = field(default_factory=dict)
    """Base translations of an earlier call (`Hypothesis.base`), which need not be found again."""


@dataclass(frozen=True)
class DecodedDocument:
    """The translation of a document."""

    sentences: Hypotheses
    """[M] lists of hypotheses, best first."""
    passes: int
    """Maximum number of times a sentence was decoded."""


class Decoder(Protocol):
    """Decodes documents with the model of a translator; see `decode_documents` for the arguments."""

    def __call__(
        self,
        documents: Sequence[DecoderInput],
        search: SearchConfig,
        mode: Mode = "parallel",
        *,
        tokens: int | None = None,
        on_final: Callable[[int, int, Hypotheses], None] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> list[DecodedDocument]:
        """Returns the translation of each document."""
