"""Plain text, one sentence a line; blank lines part documents."""

from __future__ import annotations

import re

from docgraph.document import Document, Gap, Sentence
from docgraph.formats.base import NEWLINE, Format

_LINE = re.compile(rf"([^\r\n]*)(?:{NEWLINE}|\Z)")
_NUL = re.compile("\0+")
# Unicode has no white space beyond U+3000
_AROUND = "\0" + "".join(char for char in map(chr, range(0x3001)) if char.isspace())


def parse(source: str, language: str) -> list[Document]:
    """One document a run of lines that are not blank; the blank lines after it belong to it."""
    documents: list[Document] = []
    spans: list[tuple[int, int]] = []
    begin, blank = 0, False
    for line in _LINE.finditer(source):
        left = line.start() + len(line[1]) - len(line[1].lstrip(_AROUND))
        right = line.start() + len(line[1].rstrip(_AROUND))
        if left >= right:
            blank = True
            continue
        if blank and spans:
            documents.append(_document(source, begin, line.start(), spans))
            begin, spans = line.start(), []
        blank = False
        spans.append((left, right))
    documents.append(_document(source, begin, len(source), spans))
    return documents


def _document(source: str, begin: int, end: int, spans: list[tuple[int, int]]) -> Document:
    return Document(tuple(_sentence(source, begin, *span) for span in spans), source[begin:end])


def _sentence(source: str, begin: int, left: int, right: int) -> Sentence:
    """source[left:right] in a document that begins at `begin`; NULs are kept out of its text."""
    raw = source[left:right]
    gaps, hidden = [], 0
    for nul in _NUL.finditer(raw):
        gaps.append(Gap(nul.start() - hidden, nul[0]))
        hidden += len(nul[0])
    return Sentence(_NUL.sub("", raw), left - begin, right - begin, gaps=tuple(gaps))


LINES = Format("lines", (), parse)
