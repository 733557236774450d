"""Markdown (CommonMark with tables, front matter, footnotes, math): prose is read, everything else is left alone.

The blocks are found by markdown-it-py, which keeps line numbers; `markdown_inline` finds the markup inside a paragraph.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from docgraph.document import Document
from docgraph.formats.base import LINE, Format, Span, check_lines
from docgraph.formats.front_matter import ESCAPES as FRONT_MATTER_ESCAPES
from docgraph.formats.front_matter import front_matter
from docgraph.formats.html import escape as escape_html
from docgraph.formats.html import escape_attribute, html_blocks
from docgraph.formats.markdown_inline import (
    escape,
    escape_title,
    escaped_block,
    heading_text,
    inline_blocks,
    is_intact,
    without_heading_id,
)
from docgraph.formats.paragraph import Block, document_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_MAX_NESTING = 50
"""Quotes and lists nested deeper than this are left alone."""
_CELL = re.compile(r"(?:[^|\\]|\\.?)++")
_HARD_BREAK = re.compile(r"(?: {2,}|(?<!\\)(?:\\\\)*+(?P<backslash>\\))$")
_TICKS = re.compile(r"`{3,}")
_TASK = re.compile(r"\[[ xX]\](?=[ \t])[ \t]*")
_ALERT = re.compile(r"\[![A-Za-z]+\][-+]?(?:[ \t]+|$)")
_NEW_BLOCK = re.compile(r"\[\^[^\]\s]+\]:[ \t]*|:[ \t]+|:{3,}.*$")
"""A footnote, a definition (`: text`), or the fence of a container (`:::note`) at the start of a line."""
_RAW_BLOCKS = (
    (re.compile(r"\$\$(?!.*\$\$)"), re.compile(r"\$\$")),
    (re.compile(r"\{%-?\s*(?:highlight|raw|comment)\b"), re.compile(r"\{%-?\s*end(?:highlight|raw|comment)\b")),
    (re.compile(r"\{\{[<%]\s*highlight\b"), re.compile(r"\{\{[<%]\s*/\s*highlight\b")),
)
"""First line and end of blocks that CommonMark does not know and that are not prose: math, code of Jekyll and Hugo."""
_ANCHOR_LINK = re.compile(r"""(?:\]\(|\]:[ \t]*|\bhref\s*=\s*["'])#([^\s)"'>]+)""")
_DEFINITION_TITLE = re.compile(
    r"""[ \t](?:"(?P<double>[^"\\]+)"|'(?P<single>[^'\\]+)'|\((?P<round>[^()\\]+)\))[ \t]*$"""
)


def parse(source: str, language: str) -> list[Document]:
    """Read a Markdown file."""
    check_lines(source)
    return document_of(source, _Reader(source).blocks(), language)


@cache
def _block_parser() -> MarkdownIt:
    """Return a parser that finds blocks and link definitions, but does not look into paragraphs."""
    from markdown_it import MarkdownIt

    options = {"inline_definitions": True, "maxNesting": _MAX_NESTING}
    parser = MarkdownIt("commonmark", options).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


class _Reader:
    """Maps the blocks of markdown-it-py back to the source."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [match.span("text") for match in LINE.finditer(source)]
        first, self.front_matter = front_matter(source, self.lines)
        text = "\n".join(source[start:end].replace("\0", "\ufffd") for start, end in self.lines[first:])
        environment: dict[str, dict[str, object]] = {}
        self.tokens = _block_parser().parse("\n" * first + text, environment)
        self.labels = frozenset(environment.get("references", {}))
        self.linked = {anchor.lower() for anchor in _ANCHOR_LINK.findall(source)}
        self.anchors = Counter[str]()
        self.raw_end: re.Pattern[str] | None = None
        """Pattern in the last line of the raw block that the reader is in."""
        self.unended: set[re.Pattern[str]] = set()
        """Patterns that the rest of the source does not have."""

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of text in the order of the source."""
        yield from self.front_matter
        for index, token in enumerate(self.tokens):
            if token.map is None:
                continue
            if token.type == "html_block":
                yield from self._html(token)
            elif token.type == "definition":
                yield from self._definition(token)
            elif token.type == "tr_open":
                yield from self._table_row(index)
            elif token.type == "inline":
                parent = self.tokens[index - 1]
                if parent.type == "paragraph_open":
                    is_item = index > 1 and self.tokens[index - 2].type == "list_item_open"
                    yield from self._paragraph(self._spans(token), is_item)
                elif parent.type == "heading_open":
                    yield from self._heading(token, parent.markup.startswith("#"))

    def _spans(self, token: Token) -> list[Span]:
        """Return the lines of a paragraph in the source; an empty list if they cannot be found."""
        spans = []
        for number, content in enumerate(token.content.split("\n"), start=token.map[0] if token.map else 0):
            start, end = self.lines[number]
            line, content = self.source[start:end].rstrip(), content.strip()
            if not line.replace("\0", "\ufffd").endswith(content):
                return []
            spans.append((start + len(line) - len(content), start + len(line)))
        return spans

    def _paragraph(self, spans: list[Span], is_item: bool) -> Iterator[Block]:
        """Yield the blocks of a paragraph: hard line breaks, notes and definitions begin new ones.

        A paragraph that is no fence of code only because of a later backtick is left alone.
        """
        block: list[Span] = []
        fence = _TICKS.match(self.source, *spans[0]) if spans else None
        if fence and fence[0] not in _TICKS.findall(self.source, fence.end(), spans[-1][1]):
            return
        for number, (start, end) in enumerate(spans):
            text = self.source[start:end]
            if self._is_raw(text, end):
                yield from self._block(block)
                block = []
                continue
            if not number:
                marker = (_TASK.match(text) if is_item else None) or _ALERT.match(text)
                start += marker.end() if marker else 0
            if marker := _NEW_BLOCK.match(self.source, start, end):
                yield from self._block(block)
                block = []
                start = marker.end()
            hard_break = _HARD_BREAK.search(self.source[start : self._line_end(end)])
            if hard_break and number + 1 < len(spans):
                end = start + hard_break.start("backslash") if hard_break["backslash"] else end
                yield from self._block([*block, (start, end)])
                block = []
            else:
                block.append((start, end))
        yield from self._block(block)

    def _line_end(self, position: int) -> int:
        """Return the end of the line of a position, which only spaces follow."""
        match = re.compile(r"[ \t]*").match(self.source, position)
        return match.end() if match else position

    def _is_raw(self, text: str, end: int) -> bool:
        """Return whether the line, which ends at `end`, belongs to a block that is not prose."""
        if self.raw_end is not None:
            if self.raw_end.search(text):
                self.raw_end = None
            return True
        for first, last in _RAW_BLOCKS:
            if first.match(text) and last not in self.unended and not last.search(text, 2):
                if last.search(self.source, end):
                    self.raw_end = last
                    return True
                self.unended.add(last)
        return False

    def _block(self, spans: list[Span]) -> Iterator[Block]:
        if spans:
            yield from inline_blocks(self.source, spans, self.labels)

    def _heading(self, token: Token, is_atx: bool) -> Iterator[Block]:
        """Yield the block of a heading, with an anchor of its old name if the document links to it."""
        if is_atx and token.map:
            start, end = self.lines[token.map[0]]
            marker = self.source.find("#", start, end)
            begin = self.source.find(token.content.replace("\ufffd", "\0"), marker, end) if token.content else -1
            spans = [(begin, begin + len(token.content))] if begin >= 0 else []
        else:
            spans = self._spans(token)
        if not spans:
            return
        length, has_id = without_heading_id(self.source[slice(*spans[-1])])
        spans[-1] = (spans[-1][0], spans[-1][0] + length)
        blocks = list(inline_blocks(self.source, spans, self.labels))
        anchor = _anchor(heading_text("\n".join(self.source[slice(*span)] for span in spans)))
        self.anchors[anchor] += 1
        if self.anchors[anchor] > 1:
            anchor = f"{anchor}-{self.anchors[anchor] - 1}"
        if anchor in self.linked and not has_id:
            blocks[0].prefix = f'<a id="{anchor}"></a>'
        yield from blocks

    def _table_row(self, index: int) -> Iterator[Block]:
        """Yield the cells of a row; the first one tells where the row begins in its line."""
        number = (self.tokens[index].map or [0])[0]
        start, end = self.lines[number]
        first = next(token for token in self.tokens[index:] if token.type in ("inline", "tr_close"))
        content = first.content.replace("|", "\\|").replace("\ufffd", "\0")
        begin = self.source.find(content or "|", start, end)
        if begin >= 0:
            for cell in _CELL.finditer(self.source, begin, end):
                yield from inline_blocks(self.source, [cell.span()], self.labels)

    def _definition(self, token: Token) -> Iterator[Block]:
        """Yield the title of a link definition, or the text of a footnote of one word, which looks like one."""
        first, last = token.map or [0, 0]
        if str(token.meta["label"]).startswith("^"):
            spans = [self.lines[number] for number in range(first, last)]
            start = self.source.find("[^", *spans[0])
            yield from self._paragraph([(start, spans[0][1]), *spans[1:]], is_item=False)
            return
        title = _DEFINITION_TITLE.search(self.source, *self.lines[last - 1])
        if title and title[title.lastgroup or 0] == token.meta["title"]:
            yield escaped_block(self.source, *title.span(title.lastgroup or 0), "title")

    def _html(self, token: Token) -> Iterator[Block]:
        """Yield the texts of an HTML block; comments, declarations and blocks inside quotes are left alone."""
        first, last = token.map or [0, 0]
        start = self.source.find("<", *self.lines[first])
        while last > first + 1 and not self.source[slice(*self.lines[last - 1])].strip():
            last -= 1
        end = self.lines[last - 1][1]
        is_quoted = any(self.source[slice(*self.lines[n])].lstrip().startswith(">") for n in range(first + 1, last))
        if start >= 0 and not is_quoted and self.source[start + 1 : start + 2] not in ("!", "?"):
            yield from html_blocks(self.source, start, end, syntax="html")


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, by the rules of GitHub (other renderers agree for English headings)."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


MARKDOWN = Format(
    "markdown",
    (".md", ".markdown", ".mdown"),
    parse,
    escape,
    escapes={
        "alt": escape,
        "title": escape_title,
        "html": escape_html,
        "attribute": escape_attribute,
        **FRONT_MATTER_ESCAPES,
    },
    is_intact=is_intact,
)
