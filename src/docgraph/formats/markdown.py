"""Markdown (CommonMark with tables, front matter, footnotes, math): prose is read, everything else is left alone.

`_Scanner` finds the paragraphs, line by line. `_InlineParser` finds the markup inside a paragraph: emphasis and links
are inline markup, code, math and images are opaque, and addresses are read and written unchanged.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from docgraph.document import Document
from docgraph.formats.base import LINE, Block, Format, Span, document_of, names
from docgraph.formats.html import ENTITY

_MARKER = re.compile(
    r"[ \t]*(?:(?P<quote>>)|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)(?:[ \t]+\[[ xX]\](?=[ \t]))?|\[\^[^\]\s]+\]:|:(?=[ \t]))"
)
_RULE = re.compile(r"[ \t]*+(?:(?:-[ \t]*+)++|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|=++[ \t]*+)$")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?=[^`]*$)|~{3,}|\$\$(?!.*\$\$))")
_HEADING = re.compile(r"[ \t]*#{1,6}(?=[ \t]|$)")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_CELL = re.compile(r"(?:`[^`\n]*`|[^|\\]|\\.?)++")
_HARD_BREAK = re.compile(r"(?:  |(?<!\\)\\)$")
_DEFINITION = re.compile(r"[ \t]*\[(?!\^)(?P<label>[^\[\]]+)\]:[ \t]*\S")
_HTML = re.compile(r"[ \t]{0,3}<(?P<tag>!--|[!?]|/?[a-zA-Z][a-zA-Z0-9-]*(?=[\s/>]|$))")
_HTML_END = {"!--": "-->", "script": "</script>", "style": "</style>", "pre": "</pre>", "textarea": "</textarea>"}
_HTML_BLOCKS = names(
    "address article aside blockquote body caption center col colgroup dd details dialog div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img legend li link main menu nav ol optgroup"
    " option p picture section source summary table tbody td tfoot th thead title tr ul video"
)

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


def parse(source: str, language: str) -> list[Document]:
    """Read a Markdown file."""
    return document_of(source, _Scanner(source).blocks(), language)


class _Scanner:
    """Goes through the lines of the source and collects the lines of each paragraph."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [match.span("text") for match in LINE.finditer(source)]
        definitions = (_DEFINITION.match(source, *line) for line in self.lines)
        self.labels = {match["label"].casefold() for match in definitions if match}
        self.next = 0
        self.paragraph: list[Span] = []
        self.quotes = 0
        self.margin = 0
        """Indentation of the text of the current list item; 0 outside lists."""
        self.after_blank = True

    def blocks(self) -> Iterator[Block]:
        """Yield the paragraphs, headings and table cells."""
        self._skip_front_matter()
        while self.next < len(self.lines):
            start, end = self.lines[self.next]
            self.next += 1
            yield from self._read_line(start, end)
        yield from self._end_paragraph()

    def _read_line(self, start: int, end: int) -> Iterator[Block]:
        content, quotes, item = self._markers(start, end)
        text = self.source[content:end]
        after_blank, self.after_blank = self.after_blank, not text.strip()
        if self.after_blank:
            yield from self._end_paragraph()
            return
        indent = len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip(" "))
        if item:
            self.margin = content - start + 1
        elif after_blank and not indent:
            self.margin = 0
        if after_blank and not item and indent >= self.margin + 4:
            self.after_blank = True  # the next line may be indented code, too
            return
        if item or quotes > self.quotes:
            yield from self._end_paragraph()
            self.quotes = quotes
        if "|" in text and self._is_table_rule():
            yield from self._end_paragraph()
            yield from self._table(content, end)
        elif self._skip_block(text):
            self.after_blank = True  # no paragraph continues here, so that an indented line is code
            yield from self._end_paragraph()
        elif heading := _HEADING.match(text):
            yield from self._end_paragraph()
            self.paragraph = [(content + heading.end(), content + _heading_end(text, heading.end()))]
            yield from self._end_paragraph()
        else:
            hard_break = _HARD_BREAK.search(text)
            last = content + hard_break.start() if hard_break else end
            self.paragraph.append((content + len(text) - len(text.lstrip(" \t")), last))
            if hard_break:
                yield from self._end_paragraph()

    def _end_paragraph(self) -> Iterator[Block]:
        if self.paragraph:
            yield _inline_block(self.source, self.paragraph, self.labels)
            self.paragraph, self.quotes = [], 0

    def _markers(self, start: int, end: int) -> tuple[int, int, bool]:
        """Return where the content of the line begins, its quote depth, and whether it opens a list item or a note."""
        quotes, item = 0, False
        while not _RULE.match(self.source, start, end) and (marker := _MARKER.match(self.source, start, end)):
            start = marker.end()
            quotes += marker["quote"] is not None
            item = item or marker["quote"] is None
        return start, quotes, item

    def _skip_block(self, text: str) -> bool:
        """Return whether a block that is not prose begins here, and skip its other lines."""
        if fence := _FENCE.match(text):
            self._skip_until(re.compile(r"[ \t>]*" + re.escape(fence["fence"])))
            return True
        if (html := _HTML.match(text)) and not self.paragraph:
            return self._skip_html(html["tag"].lower(), text)
        return _RULE.match(text) is not None or _DEFINITION.match(text) is not None

    def _is_table_rule(self) -> bool:
        """Return whether the next line makes this line the head of a table."""
        if self.next == len(self.lines):
            return False
        content, _, item = self._markers(*self.lines[self.next])
        rule = self.source[content : self.lines[self.next][1]]
        return not item and "|" in rule and _TABLE_RULE.match(rule) is not None

    def _table(self, start: int, end: int) -> Iterator[Block]:
        """Yield the cells of a table whose head is the line [start, end); a line without `|` ends the table."""
        yield from self._cells(start, end)
        self.next += 1
        while self.next < len(self.lines) and "|" in self.source[slice(*self.lines[self.next])]:
            start, end = self.lines[self.next]
            self.next += 1
            yield from self._cells(self._markers(start, end)[0], end)

    def _cells(self, start: int, end: int) -> Iterator[Block]:
        for cell in _CELL.finditer(self.source, start, end):
            yield _inline_block(self.source, [cell.span()], self.labels)

    def _skip_html(self, tag: str, text: str) -> bool:
        if closing := _HTML_END.get(tag):
            if closing not in text.lower():
                self._skip_until(re.compile(".*" + re.escape(closing), re.I))
            return True
        if tag not in ("!", "?") and tag.lstrip("/") not in _HTML_BLOCKS:
            return False
        self._skip_until(re.compile(r"[ \t>]*$"))
        return True

    def _skip_until(self, last: re.Pattern[str]) -> None:
        """Skip all lines up to and including the next match, or to the end of the file."""
        while self.next < len(self.lines):
            line = self.source[slice(*self.lines[self.next])]
            self.next += 1
            if last.match(line):
                return

    def _skip_front_matter(self) -> None:
        fences = {"---": r"(?:---|\.\.\.)[ \t]*$", "+++": r"\+\+\+[ \t]*$"}
        closing = fences.get(self.source[slice(*self.lines[0])].rstrip())
        if closing is None:
            return
        pattern = re.compile(closing)
        self.next = 1
        self._skip_until(pattern)
        last = self.source[slice(*self.lines[self.next - 1])]
        if not pattern.match(last):  # nothing closes it, so that it is a horizontal rule
            self.next = 1


def _heading_end(heading: str, start: int) -> int:
    """Return where the text of a heading ends: before closing hashes, which a space must precede."""
    text = heading.rstrip(" \t")
    bare = text.rstrip("#")
    return max(start, len(bare) if bare.endswith((" ", "\t")) else len(text))


Kind = Literal["text", "decoded", "markup", "opaque"]


@dataclass(slots=True)
class _Token:
    """Characters [start, end) of the joined lines; `text` is what a decoded token represents."""

    kind: Kind
    start: int
    end: int
    text: str = ""


def _inline_block(source: str, lines: list[Span], labels: set[str]) -> Block:
    """Return the block of a paragraph, whose lines are spans in the source; `labels` are the defined link labels."""
    block, joined = Block(source), _JoinedLines(source, lines)
    add = {"text": block.text, "markup": block.markup, "opaque": block.opaque}
    position = 0
    for token in _InlineParser(joined.text, labels).tokens():
        if token.start < position:
            continue  # inside a link by its own text, which is opaque
        block.text(joined.source_of(position), joined.source_of(token.start))
        start, end = joined.source_of(token.start), joined.source_of(token.end)
        if token.kind == "decoded":
            block.decoded(token.text, start, end)
        else:
            add[token.kind](start, end)
        position = token.end
    block.text(joined.source_of(position), joined.source_of(len(joined.text)))
    return block


class _JoinedLines:
    """The lines of a paragraph joined by single newlines, without the markers between them in the source."""

    def __init__(self, source: str, lines: list[Span]) -> None:
        self.text = "\n".join(source[start:end] for start, end in lines)
        self.starts = [start for start, _ in lines]
        self.offsets: list[int] = []
        offset = 0
        for start, end in lines:
            self.offsets.append(offset)
            offset += end - start + 1

    def source_of(self, position: int) -> int:
        """Map a position of the joined text to the source."""
        line = bisect_right(self.offsets, position) - 1
        return self.starts[line] + position - self.offsets[line]


class _InlineParser:
    """Finds tokens that are not plain text, and pairs brackets and emphasis; an unpaired one is plain text."""

    def __init__(self, text: str, labels: set[str]) -> None:
        self.text = text
        self.labels = labels
        self.brackets: list[_Token] = []
        self.emphasis: dict[str, list[_Token]] = {"*": [], "_": [], "~": []}
        self.fences: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self.fences.setdefault(len(run[0]), []).append(run.start())

    def tokens(self) -> list[_Token]:
        """Return the tokens in order of their starts."""
        tokens: list[_Token] = []
        position = 0
        while match := _TOKEN.search(self.text, position):
            token = _Token("text", *match.span())
            self._resolve(token, match)
            tokens.append(token)
            position = max(token.end, position + 1)
        return sorted(tokens, key=lambda token: token.start)

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
        """Make a link of the last open bracket and this one; a link by its own text ([text][]) is opaque."""
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
        """Pair runs of the same character by simplified CommonMark flanking rules."""
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
    """Escape plain text so that Markdown shows it unchanged; addresses are not escaped."""
    parts = re.split(f"({_ADDRESS})", text)
    text = "".join(part if index % 2 else _escape_inline(part) for index, part in enumerate(parts))
    leading = _LEADING.match(text)
    if leading is None:
        return text
    position = leading.end() if leading["number"] else 0
    return f"{text[:position]}\\{text[position:]}"


def _escape_inline(text: str) -> str:
    text = re.sub(r"([\\`*\[\]<|]|~(?=~))", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    return re.sub(r"&(?=#?\w+;)", "&amp;", text)


MARKDOWN = Format("markdown", (".md", ".markdown", ".mdown"), parse, escape)
