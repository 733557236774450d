"""The inside of a Markdown paragraph: emphasis and links are gaps; code, math and images stay; addresses are read, and
written as they are."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

from docgraph.formats.base import Block
from docgraph.formats.html import ENTITY

_PUNCTUATION = r"[!-/:-@\[-`{-~]"
_TITLE = r"""(?:"[^"]{0,999}"|'[^']{0,999}'|\([^()]{0,999}\))"""
_TARGET = rf"\([ \t\n]*(?:<[^<>\n]*>|[^\s()<]*+(?:\([^\s()]*+\)[^\s()]*+)*+)(?:[ \t\n]+{_TITLE})?[ \t\n]*\)"
_ADDRESS = (
    r"<[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*+>|<[^\s<>@]++@[^\s<>@]++>"
    r"|(?:https?://|www\.)[^\s<>\[\]`]*[^\s<>\[\]`.,;:!?\"'*_~)]"
)
_TOKEN = re.compile(
    rf"(?P<escape>\\{_PUNCTUATION})"
    r"|(?P<code>`+)"
    r"|(?P<math>\$(?=[^\s$])(?:[^$\\\n]|\\.){1,999}(?<!\s)\$(?!\d))"
    rf"|(?P<image>!\[[^\[\]]*+\](?:{_TARGET}|\[[^\[\]]*+\])?)"
    r"|(?P<note>\[\^[^\]\s]++\])"
    r"|(?P<wiki>\[\[[^\[\]\n]++\]\](?!\())"
    r"|(?P<open>\[)"
    rf"|(?P<close>\](?:{_TARGET}|\[[^\[\]]*+\])?)"
    r"|(?P<html><(?:!--(?s:.{0,1999}?)--|/?[a-zA-Z][a-zA-Z0-9-]*+(?:\s[^<>]*+)?/?)>)"
    rf"|(?P<address>{_ADDRESS})"
    rf"|(?P<entity>{ENTITY.pattern})"
    r"|(?P<emphasis>\*+|_+|~~)"
    r"|(?P<newline>[ \t]*+\n)"
)
_OPAQUE = ("math", "image", "note", "wiki")
_LEADING = re.compile(r"(?:[-+=>]|#{1,6}(?=\s|$)|~(?=~~))|(?P<number>\d{1,9})(?=[.)](?:\s|$))")

Kind = Literal["text", "decoded", "markup", "opaque"]


@dataclass(slots=True)
class _Token:
    """flat[start:end] and what it turned out to be; its first and last character are whose they are in the source."""

    kind: Kind
    start: int
    end: int
    text: str = ""


def add_inline(block: Block, lines: list[tuple[int, int]], labels: set[str]) -> None:
    """The lines of a paragraph, as spans in the source; `labels` are the link definitions of the document."""
    flat = _Flat(block.source, lines)
    position = 0
    for token in _Tokens(flat.text, labels).read():
        if token.start < position:
            continue  # inside what a link by its own text covers
        block.text(flat.source_of(position), flat.source_of(token.start))
        start, end = flat.source_of(token.start), flat.source_of(token.end)
        if token.kind == "decoded":
            block.decoded(token.text, start, end)
        elif token.kind == "text":
            block.text(start, end)
        elif token.kind == "markup":
            block.markup(start, end)
        else:
            block.opaque(start, end)
        position = token.end
    block.text(flat.source_of(position), flat.source_of(len(flat.text)))


class _Flat:
    """The lines joined by single newlines, whatever stands between them in the source."""

    def __init__(self, source: str, lines: list[tuple[int, int]]) -> None:
        self.text = "\n".join(source[start:end] for start, end in lines)
        self.starts = [start for start, _ in lines]
        self.offsets: list[int] = []
        offset = 0
        for start, end in lines:
            self.offsets.append(offset)
            offset += end - start + 1

    def source_of(self, position: int) -> int:
        """Where a position of the text lies in the source."""
        line = bisect_right(self.offsets, position) - 1
        return self.starts[line] + position - self.offsets[line]


class _Tokens:
    """Finds the tokens that are not plain text and pairs brackets and emphasis; what has no partner is text."""

    def __init__(self, text: str, labels: set[str]) -> None:
        self.text = text
        self.labels = labels
        self.tokens: list[_Token] = []
        self.brackets: list[_Token] = []
        self.emphasis: dict[str, list[_Token]] = {"*": [], "_": [], "~": []}
        self.fences: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self.fences.setdefault(len(run[0]), []).append(run.start())

    def read(self) -> list[_Token]:
        position = 0
        while match := _TOKEN.search(self.text, position):
            token = _Token("text", *match.span())
            self._resolve(token, match)
            self.tokens.append(token)
            position = max(token.end, position + 1)
        return sorted(self.tokens, key=lambda token: token.start)

    def _resolve(self, token: _Token, match: re.Match[str]) -> None:
        kind = match.lastgroup or ""
        if kind == "escape":
            token.kind, token.text = "decoded", match[0][1]
        elif kind == "entity" and (decoded := html.unescape(match[0])) != match[0]:
            token.kind, token.text = "decoded", decoded
        elif kind == "newline":
            token.kind, token.text = "decoded", " "
        elif kind in _OPAQUE:
            token.kind = "opaque"
        elif kind == "html":
            token.kind = "markup"
        elif kind == "code":
            self._code(token)
        elif kind == "open":
            self.brackets.append(token)
        elif kind == "close":
            self._close_bracket(token)
        elif kind == "emphasis":
            self._emphasis(token)

    def _code(self, token: _Token) -> None:
        width = token.end - token.start
        starts = self.fences.get(width, [])
        following = bisect_right(starts, token.start)
        if following < len(starts):
            token.kind, token.end = "opaque", starts[following] + width

    def _close_bracket(self, token: _Token) -> None:
        """A link where a bracket is open and a target follows; a link by its own text must keep that text."""
        if not self.brackets:
            token.end = token.start + 1
            return
        opening = self.brackets.pop()
        target = self.text[token.start + 1 : token.end]
        label = self.text[opening.end : token.start].casefold()
        if target.startswith("(") or (target.startswith("[") and target[1:-1].casefold() in self.labels):
            opening.kind = token.kind = "markup"
        elif label in self.labels:
            opening.kind, opening.end = "opaque", token.end if target == "[]" else token.start + 1
            token.end = max(opening.end, token.start + 1)
        else:
            token.end = token.start + 1

    def _emphasis(self, token: _Token) -> None:
        """Flanking rules of CommonMark, simplified: runs pair by character."""
        before = self.text[token.start - 1] if token.start else " "
        after = self.text[token.end] if token.end < len(self.text) else " "
        inside_word = before.isalnum() and after.isalnum() and self.text[token.start] == "_"
        can_open = not after.isspace() and not inside_word and (after.isalnum() or not before.isalnum())
        can_close = not before.isspace() and not inside_word and (before.isalnum() or not after.isalnum())
        openers = self.emphasis[self.text[token.start]]
        if can_close and openers:
            openers.pop().kind = token.kind = "markup"
        elif can_open:
            openers.append(token)


def escape(text: str) -> str:
    """Plain text as Markdown that reads the same."""
    parts = re.split(f"({_ADDRESS})", text)
    text = "".join(part if place % 2 else _escaped(part) for place, part in enumerate(parts))
    leading = _LEADING.match(text)
    if leading is None:
        return text
    place = leading.end() if leading["number"] else 0
    return f"{text[:place]}\\{text[place:]}"


def _escaped(text: str) -> str:
    text = re.sub(r"([\\`*\[\]<|]|~(?=~))", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    return re.sub(r"&(?=#?\w+;)", "&amp;", text)
