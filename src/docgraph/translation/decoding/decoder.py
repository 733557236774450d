"""The interface of decoders: inputs, options and results of decoding documents with the model of a translator.

There are two decoders: `Translator.decode`, and `BatchDecoder` of the server (server/batching.py), which decodes the
documents of concurrent requests together. Both return the same as `document_decoding.decode_documents`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import torch

from docgraph.model.batch import DocumentExample
from docgraph.translation.decoding.constraints import Constraints
from docgraph.translation.decoding.hypotheses import Hypotheses, Known, SearchConfig

Mode = Literal["parallel", "sequential"]
BATCH_TOKENS = {"cpu": 1 << 14, "cuda": 1 << 16}
"""Number of source sub-words encoded together, by device type."""


def batch_tokens(device: torch.device) -> int:
    """Returns how many source sub-words a device encodes together."""
    return BATCH_TOKENS.get(device.type, BATCH_TOKENS["cuda"])


@dataclass(frozen=True, eq=False)
class DecoderInput:
    """A document to decode, with known translations, constraints and base translations by sentence index."""

    example: DocumentExample
    """Its `target` and `target_words` are ignored. If it has a `window`, only the sentences in it are decoded; the
    others are context and must be known."""
    known: Known = field(default_factory=dict)
    """Translations from the user or an earlier run."""
    constraints: Constraints = field(default_factory=dict)
    """The constraints of some sentences; a sentence that cannot meet them has no hypotheses."""
    base: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Base translations (`Hypothesis.base_tokens`) that an earlier call has found; they are not decoded again."""


@dataclass(frozen=True)
class DecodingOptions:
    """How documents are decoded, and callbacks for the progress."""

    search: SearchConfig = field(default_factory=SearchConfig)
    mode: Mode = "parallel"
    tokens: int | None = None
    """Number of source sub-words encoded together; None for `batch_tokens` of the device. A server ignores it."""
    on_final: Callable[[int, int, Hypotheses], None] | None = None
    """Receives the index of a document, the index of a sentence, and the final hypotheses from that sentence on."""
    progress: Callable[[int, int], None] | None = None
    """Receives the number of final sentences and the total."""


@dataclass(frozen=True)
class DecodedDocument:
    """The translation of a document."""

    sentences: Hypotheses
    """[M] lists of hypotheses, best first."""
    passes: int
    """Maximum number of times a sentence was decoded."""


Decoder = Callable[[Sequence[DecoderInput], DecodingOptions], list[DecodedDocument]]
"""Returns the translation of each document."""
