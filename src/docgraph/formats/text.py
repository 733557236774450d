"""Plain text as prose: paragraphs, hard-wrapped or one a line, cut into sentences."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.formats.base import NEWLINE, Block, Format, document_of
from docgraph.formats.split import split_sentences

_LINE = re.compile(rf"(?P<text>[^\r\n]*)(?P<end>{NEWLINE}|\Z)")
_ENDS = tuple(".!?…。！？\"'”’»:;)")
_SAMPLE = 200
_NARROWEST, _WIDEST = 40, 160
"""A text is hard-wrapped at a width between these; shorter lines are a list or verse, longer ones are paragraphs."""
_FULL = 0.8
"""Share of the width that a full line has at least, with the word that did not fit."""

Line = tuple[int, int]
"""(start, end) of a line in the source, less the white space around it."""


def parse(source: str, language: str) -> list[Document]:
    return document_of(source, _paragraphs(source), language)


def _paragraphs(source: str) -> Iterator[Block]:
    runs = list(_runs(source))
    width = _wrap_width(source, runs)
    for run in runs:
        block = Block(source)
        for index, (start, end) in enumerate(run):
            if index and not _continues(source, run[index - 1], run[index], width):
                yield block
                block = Block(source)
            elif index:
                block.line_break(run[index - 1][1], start)
            block.text(start, end)
        yield block


def _runs(source: str) -> Iterator[list[Line]]:
    """The lines between blank lines."""
    run: list[Line] = []
    for match in _LINE.finditer(source):
        text = match["text"].strip()
        if text:
            start = match.start() + match["text"].index(text)
            run.append((start, start + len(text)))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _wrap_width(source: str, runs: list[list[Line]]) -> int:
    """The width the text is wrapped at (the 95th percentile of the lines that have a next one); 0 where it is not:
    where it is, most of these are full."""
    pairs = [pair for run in runs for pair in itertools.pairwise(run)]
    lengths = sorted(end - start for (start, end), _ in pairs)
    width = lengths[int(len(lengths) * 0.95)] if lengths else 0
    full = sum(_filled(source, *pair) > width * _FULL for pair in pairs)
    return width if _NARROWEST <= width <= _WIDEST and 2 * full >= len(pairs) else 0


def _continues(source: str, line: Line, following: Line, width: int) -> bool:
    """Whether the line was broken because the next word did not fit, not because something ended there."""
    if not width:
        return False
    return source[following[0]].islower() or _filled(source, line, following) > width * 0.95


def _filled(source: str, line: Line, following: Line) -> int:
    """How long the line would be with the next word."""
    word = source[following[0] : min(following[1], following[0] + 20)].split(maxsplit=1)[0]
    return line[1] - line[0] + 1 + len(word)


def looks_like_lines(source: str, language: str) -> bool:
    """Whether a plain text holds one sentence a line rather than prose.

    So it is where, in its first 200 lines, lines stand in groups of two and more on average, at least 80% end like a
    sentence and at least 95% hold one sentence only.
    """
    lines: list[str] = []
    groups, blank = 0, True
    for match in _LINE.finditer(source):
        text = match["text"].strip()
        if text:
            groups += blank
            lines.append(text)
        blank = not text
        if len(lines) == _SAMPLE:
            break
    if len(lines) < 2 * max(groups, 1):
        return False
    ended = sum(line.endswith(_ENDS) for line in lines)
    single = sum(len(split_sentences(line, language)) <= 1 for line in lines)
    return ended >= 0.8 * len(lines) and single >= 0.95 * len(lines)


TEXT = Format("text", (".txt", ".text"), parse)
