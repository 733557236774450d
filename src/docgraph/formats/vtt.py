"""WebVTT subtitles: like SRT, with notes and styles left alone, voices as speakers, and character references."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.formats.base import Block, Format
from docgraph.formats.cues import LINE, TIMING, Cue, content, cue, document_of_cues
from docgraph.formats.html import add_text, escape

_TAG = re.compile(r"<[^<>\r\n]*>")
_NOT_CUES = re.compile(r"(?:NOTE|STYLE|REGION|WEBVTT)(?:[ \t]|$)")


def parse(source: str, language: str) -> list[Document]:
    return document_of_cues(source, _cues(source), language, _add_line)


def _cues(source: str) -> Iterator[Cue]:
    """A cue ends at a blank line or where the times of another stand."""
    for block in _paragraphs(source):
        if _NOT_CUES.match(source, *block[0]):
            continue
        timings = [(index, match) for index, line in enumerate(block) if (match := TIMING.match(source, *line))]
        ends = [*(index for index, _ in timings[1:]), len(block)]
        for (index, timing), end in zip(timings, ends, strict=False):
            yield cue(timing, [content(source, *line) for line in block[index + 1 : end]])


def _paragraphs(source: str) -> Iterator[list[tuple[int, int]]]:
    """The lines between blank lines."""
    block: list[tuple[int, int]] = []
    for match in LINE.finditer(source):
        if match["text"].strip():
            block.append(match.span("text"))
        elif block:
            yield block
            block = []
    if block:
        yield block


def _add_line(block: Block, start: int, end: int) -> None:
    for tag in _TAG.finditer(block.source, start, end):
        add_text(block, start, tag.start())
        block.markup(*tag.span())
        start = tag.end()
    add_text(block, start, end)


VTT = Format("vtt", (".vtt",), parse, escape)
