"""Markdown (CommonMark with tables, front matter, admonitions, footnotes, ...): prose is read, the rest is left alone.

The blocks are found by markdown-it-py, which keeps line numbers, with the rules of `markdown_blocks`; `markdown_inline`
finds the markup inside a paragraph.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from docgraph.document import Document
from docgraph.formats.base import LINE, Format, Span, check_lines
from docgraph.formats.html import escape as escape_html
from docgraph.formats.html import escape_attribute, html_blocks
from docgraph.formats.markdown_blocks import add_rules
from docgraph.formats.markdown_inline import (
    TITLE_ESCAPES,
    escape,
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
_ALERT = re.compile(r"\[![\w|-]+\][-+]?(?:[ \t]+|$)")
_ANCHOR_LINK = re.compile(r"""(?:\]\(|\]:[ \t]*|\bhref\s*=\s*["'])#([^\s)"'>]+)""")
_DEFINITION_TITLE = re.compile(
    r"""[ \t](?:"(?P<double>[^"\\]+)"|'(?P<single>[^'\\]+)'|\((?P<round>[^()\\]+)\))[ \t]*$"""
)

_FENCE_ENDS = {"---": re.compile(r"(?:---|\.\.\.)[ \t]*$"), "+++": re.compile(r"\+\+\+[ \t]*$")}
_SHOWN_KEY = r"[\"']?(?:title|description|summary|subtitle)[\"']?"
_SHOWN_VALUE = {
    "---": re.compile(
        rf"""{_SHOWN_KEY}[ \t]*:[ \t]+(?:"(?P<double>(?:[^"\\]|\\.)+)"|'(?P<single>(?:[^']|'')+)'"""
        r"""|(?P<plain>[^\s"'#&*!|>%@`\[\]{{}},?-](?:[^:#]|(?<!\s)\#|:(?=\S))*?))[ \t]*(?:[ \t]\#.*)?$""",
        re.I,
    ),
    "+++": re.compile(
        rf"""{_SHOWN_KEY}[ \t]*=[ \t]*(?:"(?P<double>(?:[^"\\]|\\.)+)"(?!")|'(?P<literal>[^']+)'(?!'))""", re.I
    ),
}
_NOT_PLAIN = re.compile(
    r"[\s\"'#&*!|>%@`\[\]{},?:-]|.*(?::(?:\s|$)|\s#)|(?:true|false|null|yes|no|on|off|~|[\d.+-].*)$", re.I
)
"""Texts that YAML would read as something else without quotation marks."""
_JSON_ESCAPE = re.compile(r"\\(?:[\"\\/]|u[0-9a-fA-F]{4})")


def parse(source: str, language: str) -> list[Document]:
    """Read a Markdown file."""
    check_lines(source)
    return document_of(source, MarkdownReader(source, _parser()).blocks(), language)


@cache
def _parser() -> MarkdownIt:
    return block_parser()


def block_parser() -> MarkdownIt:
    """Return a new parser that finds blocks and link definitions, but does not look into paragraphs."""
    from markdown_it import MarkdownIt

    options = {"inline_definitions": True, "maxNesting": _MAX_NESTING}
    parser = MarkdownIt("commonmark", options).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    add_rules(parser)
    return parser


class MarkdownReader:
    """Maps the blocks of markdown-it-py back to the source."""

    def __init__(self, source: str, parser: MarkdownIt, *, with_expressions: bool = False) -> None:
        self.source = source
        self.lines = [match.span("text") for match in LINE.finditer(source)]
        first, self.front_matter = _front_matter(source, self.lines)
        text = "\n".join(source[start:end].replace("\0", "\ufffd") for start, end in self.lines[first:])
        environment: dict[str, dict[str, object]] = {}
        self.tokens = parser.parse("\n" * first + text, environment)
        self.with_expressions = with_expressions
        """Whether text in braces is JavaScript."""
        self.labels = frozenset(environment.get("references", {}))
        self.linked = {anchor.lower() for anchor in _ANCHOR_LINK.findall(source)}
        self.anchors = Counter[str]()

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
            elif token.type == "block_title":
                end = self.lines[token.map[0]][1]
                first, last = token.meta["span"]
                yield from self._block([(end - first, end - last)])
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
        """Yield the blocks of a paragraph: hard line breaks and the title of an alert end one.

        A paragraph that is no fence of code only because of a later backtick is left alone.
        """
        block: list[Span] = []
        fence = _TICKS.match(self.source, *spans[0]) if spans else None
        if fence and fence[0] not in _TICKS.findall(self.source, fence.end(), spans[-1][1]):
            return
        for number, (start, end) in enumerate(spans):
            text = self.source[start:end]
            task = _TASK.match(text) if is_item and not number else None
            alert = _ALERT.match(text) if not number else None
            if marker := task or alert:
                start += marker.end()
            hard_break = _HARD_BREAK.search(self.source[start : self._line_end(end)])
            if (hard_break or alert) and number + 1 < len(spans):
                end = start + hard_break.start("backslash") if hard_break and hard_break["backslash"] else end
                yield from self._block([*block, (start, end)])
                block = []
            else:
                block.append((start, end))
        yield from self._block(block)

    def _line_end(self, position: int) -> int:
        """Return the end of the line of a position, which only spaces follow."""
        match = re.compile(r"[ \t]*").match(self.source, position)
        return match.end() if match else position

    def _block(self, spans: list[Span]) -> Iterator[Block]:
        if spans:
            yield from inline_blocks(self.source, spans, self.labels, self.with_expressions)

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
        blocks = list(self._block(spans))
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
                yield from self._block([cell.span()])

    def _definition(self, token: Token) -> Iterator[Block]:
        """Yield the title of a link definition."""
        last = token.map[1] if token.map else 0
        title = _DEFINITION_TITLE.search(self.source, *self.lines[last - 1])
        if title and title[title.lastgroup or 0] == token.meta["title"]:
            yield escaped_block(self.source, *title.span(title.lastgroup or 0), f"title-{title.lastgroup}")

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


def _front_matter(source: str, lines: list[Span]) -> tuple[int, list[Block]]:
    """Return the number of lines of the front matter (0 if there is none), and its texts.

    The title and the description are text, the rest is left alone.
    """
    fence = source[slice(*lines[0])].rstrip()
    if fence not in _FENCE_ENDS:
        return 0, []
    for number, (start, end) in enumerate(lines[1:], start=1):
        if _FENCE_ENDS[fence].match(source, start, end):
            values = (_SHOWN_VALUE[fence].match(source, *line) for line in lines[1:number])
            return number + 1, [block for value in values if value and (block := _front_matter_text(source, value))]
    return 0, []  # nothing closes it, so that it is a horizontal rule


def _front_matter_text(source: str, value: re.Match[str]) -> Block | None:
    """Return a text, which the group of the match names by the quotation marks around it; None if it is no JSON."""
    kind = value.lastgroup or ""
    if kind == "double" and "\\" in _JSON_ESCAPE.sub("", value[kind]):
        return None
    # A plain text may need quotation marks around all of it, so that it must not be split.
    block = Block(source, syntax=f"front-matter-{kind}", split=kind != "plain")
    start, end = value.span(kind)
    escapes = {"double": _JSON_ESCAPE, "single": re.compile("''")}.get(kind)
    for found in escapes.finditer(source, start, end) if escapes else ():
        block.text(start, found.start())
        block.decoded("'" if kind == "single" else json.loads(f'"{found[0]}"'), *found.span())
        start = found.end()
    block.text(start, end)
    return block


def _in_double_quotes(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _unquoted(text: str) -> str:
    return f'"{_in_double_quotes(text)}"' if _NOT_PLAIN.match(text) else text


_FRONT_MATTER_ESCAPES: dict[str, Callable[[str], str]] = {
    "front-matter-double": _in_double_quotes,
    "front-matter-single": lambda text: text.replace("'", "''"),
    "front-matter-literal": lambda text: text.replace("'", "’"),
    "front-matter-plain": _unquoted,
}
"""Escape functions by the quotation marks around a text; a TOML literal cannot hold an apostrophe."""


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
        **TITLE_ESCAPES,
        "html": escape_html,
        "attribute": escape_attribute,
        **_FRONT_MATTER_ESCAPES,
    },
    is_intact=is_intact,
)
