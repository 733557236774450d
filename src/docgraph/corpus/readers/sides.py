"""Formats that hold each side in documents of their own: matching the documents of the two sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from docgraph.corpus.readers.builder import DocumentBuilder
from docgraph.corpus.readers.problems import Problems
from docgraph.document import ParallelDocument

WAITING = 64
"""With --skip-bad, a document waits for its other side while so many others pass."""


@dataclass
class SideDocument:
    """One side of a document: its id, its place, and (line, segment id, text) of its sentences."""

    id: str
    path: str
    line: int
    segments: list[tuple[int, str, str | None]] = field(default_factory=list)


def match(
    sources: Iterator[SideDocument], targets: Iterator[SideDocument], problems: Problems
) -> Iterator[ParallelDocument]:
    """Documents with the same id on both sides, in order; what has no other side is bad."""
    waiting: tuple[dict[str, SideDocument], dict[str, SideDocument]] = ({}, {})
    while True:
        found = next(sources, None), next(targets, None)
        if found == (None, None):
            break
        source, target = found
        if source is not None and target is not None and source.id == target.id:
            yield from pair(source, target, problems)
            continue
        for side, document in enumerate(found):
            if document is None:
                continue
            if not problems.skip:
                _lonely(document, found[1 - side], problems)
            other = waiting[1 - side].pop(document.id, None)
            if other is None:
                waiting[side][document.id] = document
                if len(waiting[side]) > WAITING:
                    _lonely(waiting[side].pop(next(iter(waiting[side]))), None, problems)
            else:
                yield from pair(*((document, other) if side == 0 else (other, document)), problems)
    for left in (*waiting[0].values(), *waiting[1].values()):
        _lonely(left, None, problems)


def _lonely(document: SideDocument, instead: SideDocument | None, problems: Problems) -> None:
    where = "the other side has none like it here" if instead is None else f"the other side has '{instead.id}' here"
    message = f"document '{document.id}' has no partner: {where}"
    problems.add("documents differ", message, document.path, document.line, max(1, len(document.segments)))


def pair(source: SideDocument, target: SideDocument, problems: Problems) -> Iterator[ParallelDocument]:
    """The two sides of a document, segment by segment."""
    if [segment for _, segment, _ in source.segments] != [segment for _, segment, _ in target.segments]:
        counts = f"{len(source.segments)} segments and {len(target.segments)} in {target.path}:{target.line}"
        message = f"document '{source.id}' has {counts}, or other segment ids"
        problems.add("boundaries differ", message, source.path, source.line, max(1, len(source.segments)))
        return
    builder = DocumentBuilder(source.path, problems)
    yield from builder.finish(source.id)
    for (line, _, text), (_, _, other) in zip(source.segments, target.segments, strict=True):
        builder.add(line, text, other)
    yield from builder.finish()
