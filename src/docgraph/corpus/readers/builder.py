"""Sentence pairs gathered into documents, one in memory at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docgraph.corpus.readers.problems import Problems, Reason
from docgraph.document import ParallelDocument


class DocumentBuilder:
    """Pairs of the document being read; `finish` hands it out and begins the next."""

    def __init__(self, path: str, problems: Problems) -> None:
        self._path, self._file = path, Path(path).name
        self._problems = problems
        self._begin("")

    def _begin(self, identifier: str) -> None:
        self._id = identifier
        self._pairs: list[tuple[str, str, int, str | None]] = []
        self._spoilt: Reason | None = None

    def add(self, line: int, source: str | None, target: str | None, speaker: str | None = None) -> None:
        """A pair; one with a side that was not UTF-8 is left out, one with an empty side is bad."""
        if source is None or target is None:
            return
        if source and target:
            self._pairs.append((source, target, line, speaker))
        elif source or target:
            side = "source" if not source else "target"
            self._problems.add("empty side", f"the {side} side of this pair is empty", self._path, line)

    def spoil(self, reason: Reason) -> None:
        """The document being read is bad as a whole."""
        self._spoilt = reason

    def finish(self, next_id: str = "") -> Iterator[ParallelDocument]:
        """The document, unless it has no pairs or was spoilt."""
        pairs, identifier, spoilt = self._pairs, self._id, self._spoilt
        self._begin(next_id)
        if spoilt is not None:
            self._problems.dropped[spoilt] += len(pairs)
        elif pairs:
            source, target, lines, speakers = zip(*pairs, strict=True)
            name = identifier or f"{self._file}:{lines[0]}"
            known = speakers if any(speaker is not None for speaker in speakers) else None
            yield ParallelDocument(name, source, target, self._path, lines, known)
