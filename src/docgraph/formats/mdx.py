"""MDX: Markdown with components (`<Tabs>`) and JavaScript in braces, which stay, and without indented code."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from docgraph.document import Document
from docgraph.formats.base import check_lines
from docgraph.formats.markdown import MARKDOWN, MarkdownReader, block_parser
from docgraph.formats.markdown_inline import escape as escape_markdown
from docgraph.formats.paragraph import document_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_block import StateBlock

_CODE_START = re.compile(r"<(?:/?(?!(?:pre|script|style|textarea)\b)[A-Za-z][\w.:-]*(?=[\s/>{])|/?>)|\{", re.I)
_MAX_CODE = 20_000
"""Maximum length of a tag or an expression in characters."""
_MAX_UNCLOSED = 100
"""Tags and expressions of a file that nothing closes; after these, all others count as text."""
_PART = re.compile(r"""/\*(?:[^*]|\*(?!/))*+|"[^"]*"|'[^'\n]*'|`(?:[^`\\]|\\.)*`|=>|[{}>]""", re.S)


def parse(source: str, language: str) -> list[Document]:
    """Read an MDX file."""
    check_lines(source)
    return document_of(source, MarkdownReader(source, _parser(), with_expressions=True).blocks(), language)


def escape(text: str) -> str:
    """Escape plain text so that MDX shows it unchanged."""
    return re.sub(r"(?<!\\)[{}]", r"\\\g<0>", escape_markdown(text)).replace("<", "&lt;")


@cache
def _parser() -> MarkdownIt:
    parser = block_parser()
    parser.block.ruler.before("fence", "code_line", _code_line, {"alt": ["paragraph", "reference", "blockquote"]})
    return parser.disable("code")


def _code_line(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read lines that have only tags and expressions; the attributes of plain HTML tags may be text."""
    first = state.bMarks[start] + state.tShift[start]
    is_code = _CODE_START.match(state.src, first) and not (silent and state.src[first] == "{")
    if not is_code or state.env.get("unclosed", 0) > _MAX_UNCLOSED:
        return False
    code_end = _end_of_code(state.src, first, state.eMarks[end - 1])
    if code_end is None:
        state.env["unclosed"] = state.env.get("unclosed", 0) + (_closing(state.src, first, first + _MAX_CODE) is None)
        return False
    if not silent:
        state.line = bisect_left(state.eMarks, code_end) + 1
        if "{" not in state.src[first:code_end]:
            token = state.push("html_block", "", 0)
            token.map = [start, state.line]
    return True


def _end_of_code(text: str, start: int, limit: int) -> int | None:
    """Return the end of the tags and expressions from a position on; None if other text follows on their last line."""
    position: int | None = start
    while position is not None and position < limit and text[position] != "\n":
        if text[position] in " \t":
            position += 1
        elif _CODE_START.match(text, position):
            position = _closing(text, position, min(limit, position + _MAX_CODE))
        else:
            return None
    return position


def _closing(text: str, start: int, limit: int) -> int | None:
    """Return the end of the tag or expression that begins at a position; None if it is not closed."""
    depth = 0
    for part in _PART.finditer(text, start, limit):
        depth += (part[0] == "{") - (part[0] == "}")
        if depth == 0 and part[0] == (">" if text[start] == "<" else "}"):
            return part.end()
    return None


MDX = replace(
    MARKDOWN,
    name="mdx",
    extensions=(".mdx",),
    parse=parse,
    escape=escape,
    escapes={**MARKDOWN.escapes, "alt": escape},
)
