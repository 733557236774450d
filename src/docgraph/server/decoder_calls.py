"""Calls of the batch decoder, and the batches that are composed of parts of several calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from queue import SimpleQueue

from docgraph.translation.decoding.continuous_decoding import OpenDocument
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput, DecodingOptions
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis

BATCH = 4096
"""Source sub-words of a batch, about 160 sentences. Larger batches are hardly faster on a CPU, and requests wait longer
for their turn."""


@dataclass(eq=False)
class DecoderCall:
    """A call of the decoder that waits for results."""

    options: DecodingOptions
    documents: Sequence[DecoderInput]
    decoded: list[dict[int, list[Hypothesis]]]
    """For each document, the hypotheses of the parts decoded so far."""
    waiting: deque[DocumentPart] = field(default_factory=deque)
    """Waiting parts of documents that cannot join the running batch."""
    open: dict[OpenDocument, int] = field(default_factory=dict)
    """The documents that join the running batch, with their indices."""
    results: SimpleQueue[FinalSentences | BaseException] = field(default_factory=SimpleQueue)

    @property
    def plain_options(self) -> DecodingOptions:
        """The options that calls of one batch must share."""
        return DecodingOptions(self.options.search, self.options.mode)


@dataclass(frozen=True, eq=False)
class DocumentPart:
    """Consecutive sentences of a document, decoded in one batch."""

    call: DecoderCall
    document: int
    span: range
    size: int
    """Source sub-words."""

    @property
    def input(self) -> DecoderInput:
        """The document."""
        return self.call.documents[self.document]

    @property
    def decoded(self) -> dict[int, list[Hypothesis]]:
        """The hypotheses of the earlier parts of the document."""
        return self.call.decoded[self.document]

    def joined(self, later: DocumentPart) -> DocumentPart:
        """Returns this part joined with a later part of the same document."""
        return replace(self, span=range(self.span.start, later.span.stop), size=self.size + later.size)


@dataclass(frozen=True)
class FinalSentences:
    """Final sentences of a document, from `first` on."""

    number: int
    """The number of the document in its call, or in the connection to a process."""
    first: int
    sentences: Hypotheses
    passes: int


def remaining(number: int, document: OpenDocument, decoded: DecodedDocument) -> FinalSentences:
    """Returns the sentences of a decoded document that have not been reported yet."""
    first = document.num_reported
    return FinalSentences(number, first, decoded.sentences[first:], decoded.passes)


def next_batch(calls: deque[DecoderCall]) -> list[DocumentPart]:
    """Takes parts from the calls in turn, as many as fit; calls with other options than the first one wait.

    Calls without further parts are removed.
    """
    if not calls:
        return []
    shared, batch, size = calls[0].plain_options, list[DocumentPart](), 0
    turns = deque(call for call in calls if call.plain_options == shared)
    while turns:
        call = turns.popleft()
        if batch and size + call.waiting[0].size > BATCH:
            break
        part = call.waiting.popleft()
        batch.append(part)
        size += part.size
        calls.remove(call)
        if call.waiting:  # behind all others
            calls.append(call)
            turns.append(call)
    return _joined(batch)


def _joined(parts: Sequence[DocumentPart]) -> list[DocumentPart]:
    """Joins the parts of each document, which are consecutive."""
    found: dict[tuple[int, int], DocumentPart] = {}
    for part in parts:
        key = id(part.call), part.document
        found[key] = found[key].joined(part) if key in found else part
    return list(found.values())
