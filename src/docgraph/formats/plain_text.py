"""Plain text: `lines` (one sentence per line, blank lines between documents) and `text` (prose in paragraphs)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from docgraph.document import Document, InlineMarkup, Sentence
from docgraph.formats.base import LINE, Format, Span, line_groups, strip_span
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.sentences import split_sentences

_NUL = re.compile("\0+")
# Unicode has no white space beyond U+3000.
_NUL_OR_SPACE = "\0" + "".join(char for char in map(chr, range(0x3001)) if char.isspace())
_TAB = re.compile(r"[ \t]*\t[ \t]*")
_SENTENCE_ENDS = tuple(".!?…。！？\"'”’»:;)")
_LEADER = re.compile(r"\.{3,}\s*[$£€]?\d[\d.,]*\s?[%€]?$")
"""The end of a line in a menu or a table of contents: Soup .... £5."""
_SAMPLE_LINES = 200
_MIN_WIDTH, _MAX_WIDTH = 40, 160
"""Widths of hard-wrapped text: shorter lines are a list or verse, longer lines are whole paragraphs."""
_FULL = 0.8
"""A line is full if it fills this share of the width together with the first word of the next line."""


def parse_lines(source: str, language: str) -> list[Document]:
    """Read each group of non-blank lines as a document, which also owns the blank lines after it."""
    documents: list[Document] = []
    spans: list[Span] = []
    begin, blank = 0, False
    for line in LINE.finditer(source):
        text = line["text"]
        left = line.start() + len(text) - len(text.lstrip(_NUL_OR_SPACE))
        right = line.start() + len(text.rstrip(_NUL_OR_SPACE))
        if left >= right:
            blank = True
            continue
        if blank and spans:
            documents.append(_document_of_lines(source, begin, line.start(), spans))
            begin, spans = line.start(), []
        blank = False
        spans.append((left, right))
    documents.append(_document_of_lines(source, begin, len(source), spans))
    return documents


def _document_of_lines(source: str, begin: int, end: int, spans: list[Span]) -> Document:
    """Return the document source[begin:end], whose sentences are at the spans."""
    sentences = []
    for left, right in spans:
        raw = source[left:right]
        markup, hidden = [], 0
        for nul in _NUL.finditer(raw):  # NUL characters are hidden from the text
            markup.append(InlineMarkup(nul.start() - hidden, nul[0]))
            hidden += len(nul[0])
        sentences.append(Sentence(_NUL.sub("", raw), left - begin, right - begin, markup=tuple(markup)))
    return Document(tuple(sentences), source[begin:end])


def looks_like_lines(source: str, language: str) -> bool:
    """Return whether a plain text has one sentence per line, rather than prose.

    This is so if, among its first 200 lines, groups have two or more lines on average, at least 80% of the lines end
    like a sentence, and at least 95% hold a single sentence.
    """
    lines: list[str] = []
    groups = 0
    for group in line_groups(source):
        groups += 1
        lines += [source[slice(*strip_span(source, *line))] for line in group[: _SAMPLE_LINES - len(lines)]]
        if len(lines) == _SAMPLE_LINES:
            break
    if len(lines) < 2 * max(groups, 1):
        return False
    ended = sum(line.endswith(_SENTENCE_ENDS) for line in lines)
    single = sum(len(split_sentences(line, language)) <= 1 for line in lines)
    return ended >= 0.8 * len(lines) and single >= 0.95 * len(lines)


def parse_prose(source: str, language: str) -> list[Document]:
    """Read paragraphs, hard-wrapped or one per line, and split them into sentences."""
    return document_of(source, _paragraphs(source), language)


def _paragraphs(source: str) -> Iterator[Block]:
    for lines in paragraph_lines(source, 0, len(source)):
        block = Block(source)
        for index, (start, end) in enumerate(lines):
            if index:
                block.line_break(lines[index - 1][1], start)
            for tab in _TAB.finditer(source, start, end):
                block.text(start, tab.start())
                yield block
                block, start = Block(source), tab.end()
            block.text(start, end)
        yield block


def paragraph_lines(source: str, start: int, end: int) -> Iterator[list[Span]]:
    """Yield the lines of each paragraph of source[start:end], without outer white space."""
    groups = [[strip_span(source, *line) for line in group] for group in line_groups(source, start, end)]
    width = _wrap_width(source, groups)
    for group in groups:
        lines: list[Span] = []
        for line in group:
            if lines and not _continues(source, lines[-1], line, width):
                yield lines
                lines = []
            lines.append(line)
        yield lines


def _wrap_width(source: str, groups: list[list[Span]]) -> int:
    """Return the width at which the text is hard-wrapped, or 0 if it is not.

    The width is the 95th percentile of the lines that another line follows. At least half of them must be full.
    """
    pairs = [pair for group in groups for pair in itertools.pairwise(group)]
    lengths = sorted(end - start for (start, end), _ in pairs)
    width = lengths[int(len(lengths) * 0.95)] if lengths else 0
    full = sum(_length_with_next_word(source, *pair) > width * _FULL for pair in pairs)
    return width if _MIN_WIDTH <= width <= _MAX_WIDTH and 2 * full >= len(pairs) else 0


def _continues(source: str, line: Span, following: Span, width: int) -> bool:
    """Return whether the line was broken because the next word did not fit, so that the paragraph goes on."""
    if not width or _LEADER.search(source, *line):
        return False
    return source[following[0]].islower() or _length_with_next_word(source, line, following) > width * 0.95


def _length_with_next_word(source: str, line: Span, following: Span) -> int:
    word = source[following[0] : min(following[1], following[0] + 20)].split(maxsplit=1)[0]
    return line[1] - line[0] + 1 + len(word)


LINES = Format("lines", (), parse_lines)
TEXT = Format("text", (".txt", ".text", ".log"), parse_prose)
