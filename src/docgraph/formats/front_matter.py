"""Front matter of Markdown files (YAML or TOML): the title and the description are text, the rest is left alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from docgraph.formats.base import Span
from docgraph.formats.paragraph import Block

_FENCES = {"---": re.compile(r"(?:---|\.\.\.)[ \t]*$"), "+++": re.compile(r"\+\+\+[ \t]*$")}
_KEY = r"[\"']?(?:title|description|summary|subtitle)[\"']?"
_VALUE = {
    "---": re.compile(
        rf"""{_KEY}[ \t]*:[ \t]+(?:"(?P<double>(?:[^"\\]|\\.)+)"|'(?P<single>(?:[^']|'')+)'"""
        r"""|(?P<plain>[^\s"'#&*!|>%@`\[\]{{}},?-](?:[^:#]|(?<!\s)\#|:(?=\S))*?))[ \t]*(?:[ \t]\#.*)?$""",
        re.I,
    ),
    "+++": re.compile(
        rf"""{_KEY}[ \t]*=[ \t]*(?:"(?P<double>(?:[^"\\]|\\.)+)"(?!")|'(?P<literal>[^']+)'(?!'))""", re.I
    ),
}
_NOT_PLAIN = re.compile(
    r"[\s\"'#&*!|>%@`\[\]{},?:-]|.*(?::(?:\s|$)|\s#)|(?:true|false|null|yes|no|on|off|~|[\d.+-].*)$", re.I
)
"""Texts that YAML would read as something else without quotation marks."""
_JSON_ESCAPE = re.compile(r"\\(?:[\"\\/]|u[0-9a-fA-F]{4})")


def front_matter(source: str, lines: list[Span]) -> tuple[int, list[Block]]:
    """Return the number of lines of the front matter (0 if there is none), and its texts."""
    fence = source[slice(*lines[0])].rstrip()
    if fence not in _FENCES:
        return 0, []
    for number, (start, end) in enumerate(lines[1:], start=1):
        if _FENCES[fence].match(source, start, end):
            return number + 1, [block for line in lines[1:number] if (block := _text(source, fence, line))]
    return 0, []  # nothing closes it, so that it is a horizontal rule


def _text(source: str, fence: str, line: Span) -> Block | None:
    """Return the text of a line if its key is one that readers see."""
    match = _VALUE[fence].match(source, *line)
    if match is None:
        return None
    kind = next(name for name, value in match.groupdict().items() if value is not None)
    # A plain text may need quotation marks around all of it, so that it must not be split.
    block = Block(source, syntax=f"front-matter-{kind}", split=kind != "plain")
    start, end = match.span(kind)
    escapes = {"double": _JSON_ESCAPE, "single": re.compile("''")}.get(kind)
    if kind == "double" and "\\" in _JSON_ESCAPE.sub("", match[kind]):
        return None  # an escape that JSON does not have
    for found in escapes.finditer(source, start, end) if escapes else ():
        block.text(start, found.start())
        block.decoded("'" if kind == "single" else json.loads(f'"{found[0]}"'), *found.span())
        start = found.end()
    block.text(start, end)
    return block


def _double(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _plain(text: str) -> str:
    return f'"{_double(text)}"' if _NOT_PLAIN.match(text) else text


ESCAPES: dict[str, Callable[[str], str]] = {
    "front-matter-double": _double,
    "front-matter-single": lambda text: text.replace("'", "''"),
    "front-matter-literal": lambda text: text.replace("'", "’"),
    "front-matter-plain": _plain,
}
"""Escape functions by the quotation marks around a text; a TOML literal cannot hold an apostrophe."""
