"""Blocks: what part of its document a sentence belongs to (a heading, a list item, a cell, a subtitle cue).

The parsers keep positions only, so the kind is told from the source before a sentence: the nearest tag, the start of
its line, or the times of its cue.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from docgraph.document import Document, Sentence

REACH = 4_000
"""Characters before a sentence in which its tag is looked for."""
_CUE_TIMES = re.compile(r"(?m)^[ \t]*((?:\d+:)?\d+:\d+[.,]\d+[ \t]*-->[ \t]*(?:\d+:)?\d+:\d+[.,]\d+)")
_MARKDOWN = (
    (re.compile(r"\s{0,3}#{1,6}(?:\s|$)"), "heading"),
    (re.compile(r"[\s>]*(?:[-*+]|\d{1,9}[.)])\s"), "list item"),
    (re.compile(r"[\s>]*\|"), "cell"),
    (re.compile(r"\s{0,3}>"), "quotation"),
)
_UNDERLINE = re.compile(r"[^\n]*\r?\n[ \t]*([=\-~^\"'`#*+])\1{2,}[ \t]*(?:\r?\n|\Z)")
"""The line under a heading (Markdown, reStructuredText)."""
_KINDS = {
    name: kind
    for kind, elements in {
        "heading": "title h1 h2 h3 h4 h5 h6 h",
        "list item": "li list-item dt dd",
        "cell": "td th table-cell tc",
        "quotation": "blockquote",
        "caption": "figcaption",
    }.items()
    for name in elements.split()
}
"""Name of an element -> kind of block."""
_TAG = re.compile(rf"<(?P<close>/?)(?:\w+:)?(?P<name>{'|'.join(_KINDS)})(?P<rest>(?:[\s/][^<>]*)?)>")
_WORD_STYLE = re.compile(
    r"""<w:(?P<name>pStyle|numPr)\b(?:\s+w:val="(?P<style>[^"]*)")?[^<>]*>|<(?P<paragraph>w:p)[ >]"""
)
_MESSAGES = frozenset(["po", "xliff", "json", "arb", "yaml", "properties"])
_CELLS = frozenset(["xlsx", "csv", "tsv"])


@dataclass(frozen=True)
class SentenceBlock:
    """The block of a sentence."""

    kind: str
    """paragraph, heading, list item, cell, quotation, caption, cue or message."""
    index: int
    """Number of the block in the document."""
    label: str | None = None
    """Times of a cue, or the speaker."""


def blocks_of(document: Document) -> list[SentenceBlock]:
    """Return the block of each sentence; sentences of one paragraph share a block."""
    base = document.format.partition(":")[0]
    if base in ("srt", "vtt"):
        return list(_cues(document))
    blocks: list[SentenceBlock] = []
    for index, (_, sentences) in enumerate(groupby(document.sentences, key=lambda sentence: sentence.paragraph)):
        first, *others = sentences
        blocks += [SentenceBlock(_kind(base, document.source, first), index, first.speaker)] * (1 + len(others))
    return blocks


def _cues(document: Document) -> Iterator[SentenceBlock]:
    """Yield the cue in which each sentence begins."""
    times = list(_CUE_TIMES.finditer(document.source))
    ends = [match.end() for match in times]
    for sentence in document.sentences:
        place = max(bisect_right(ends, sentence.start) - 1, 0)
        yield SentenceBlock("cue", place, " ".join(times[place][1].split()) if times else None)


def _kind(base: str, source: str, sentence: Sentence) -> str:
    if base in _MESSAGES:
        return "message"
    if base in _CELLS:
        return "cell"
    if base in ("markdown", "mdx", "rst"):
        return _kind_of_line(source, sentence)
    if base == "docx":
        return _kind_in_word(source, sentence.start)
    return _kind_by_tags(source, sentence.start) if base in ("html", "odt", "pptx", "epub") else "paragraph"


def _kind_of_line(source: str, sentence: Sentence) -> str:
    begin = source.rfind("\n", 0, sentence.start) + 1
    line = source[begin : begin + REACH]
    if _UNDERLINE.match(line):
        return "heading"
    return next((kind for pattern, kind in _MARKDOWN if pattern.match(line)), "paragraph")


def _kind_by_tags(source: str, start: int) -> str:
    """Return the kind of the innermost element that is open before a position and says what it is."""
    closed: list[str] = []
    for tag in reversed(list(_TAG.finditer(source, max(0, start - REACH), start))):
        if tag["rest"].endswith("/"):
            continue
        if tag["close"]:
            closed.append(tag["name"])
        elif closed and closed[-1] == tag["name"]:
            closed.pop()
        else:
            return _KINDS[tag["name"]]
    return "paragraph"


def _kind_in_word(source: str, start: int) -> str:
    """Return the kind of a paragraph of WordprocessingML by its style, or by the cell that contains it."""
    for match in reversed(list(_WORD_STYLE.finditer(source, max(0, start - REACH), start))):
        if match["paragraph"]:
            break
        if match["name"] == "numPr" or (match["style"] or "").lower().startswith("list"):
            return "list item"
        if (match["style"] or "").lower().startswith(("heading", "title", "subtitle")):
            return "heading"
    return _kind_by_tags(source, start)
