"""SubRip subtitles: numbers and times stay; a sentence may run over several cues."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.formats.base import Block, Format
from docgraph.formats.cues import LINE, TIMING, Cue, content, cue, document_of_cues

_NUMBER = re.compile(r"[ \t]*\d+[ \t]*$")
_TAG = re.compile(r"</?[a-zA-Z][^<>\r\n]*>|\{\\[^{}\r\n]*\}|\{[a-zA-Z]:[^{}\r\n]*\}")


def parse(source: str, language: str) -> list[Document]:
    return document_of_cues(source, _cues(source), language, _add_line)


def _cues(source: str) -> Iterator[Cue]:
    """A cue's lines go on to the number (or, without one, the times) of the next, over blank lines too."""
    lines = [match.span("text") for match in LINE.finditer(source)]
    timings = [(index, match) for index, line in enumerate(lines) if (match := TIMING.match(source, *line))]
    for position, (index, timing) in enumerate(timings):
        last = timings[position + 1][0] if position + 1 < len(timings) else len(lines)
        if last < len(lines) and last - 1 > index and _NUMBER.match(source, *lines[last - 1]):
            last -= 1
        spans = (content(source, *line) for line in lines[index + 1 : last])
        yield cue(timing, [(start, end) for start, end in spans if start < end])


def _add_line(block: Block, start: int, end: int) -> None:
    for tag in _TAG.finditer(block.source, start, end):
        block.text(start, tag.start())
        block.markup(*tag.span())
        start = tag.end()
    block.text(start, end)


def escape(text: str) -> str:
    return text.replace("-->", "→")


SRT = Format("srt", (".srt",), parse, escape)
