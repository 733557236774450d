"""Inline markup of reStructuredText: emphasis and links are markup; code, roles and references are opaque."""

from __future__ import annotations

import re

from docgraph.formats.base import JoinedLines, Span, splice
from docgraph.formats.literals import MAIL_ADDRESS, web_address
from docgraph.formats.paragraph import Block

_ADDRESS = f"{web_address(stop='`', trailing='}')}|{MAIL_ADDRESS}"

_BEFORE = r"(?:(?<=[\s'\"(\[{<:/‘’“”«–—-])|^)"
_JOINED = r"(?:\\\ )?"
"""An escaped space: markup begins inside a word, or beside other markup."""
_AFTER = r"(?=[\s'\")\]}>:/.,;!?\\’”»…–—-]|$)"
_TOKEN = re.compile(
    rf"""(?P<newline>[ \t]*\n)
    |(?P<literal>(?:{_BEFORE}|\\\ )``(?=\S)(?:[^`]|`(?!`{_AFTER})|(?<=\s)`)++``{_AFTER})
    |(?P<target>{_BEFORE}_`[^`]+`{_AFTER})
    |(?P<open>{_JOINED}(?P<role>:[\w.+:-]+:)?`(?=[^\s`]))(?P<text>(?:[^`\\]|\\.){{1,2000}}?)(?P<link>\s<[^<>`]+>)?(?P<close>`(?P<suffix>__?|:[\w.+:-]+:)?{_AFTER})
    |(?P<substitution>(?:{_BEFORE}|\\\ )\|[^\s|](?:[^|\n]*[^\s|])?\|(?:__?)?{_AFTER})
    |(?P<note>(?:{_BEFORE}|\\\ )\[(?:\#?[\w.-]*|\*)\]_{_AFTER})
    |(?P<escape>\\(?:\s|\S))
    |(?P<address>{_ADDRESS})
    |(?P<name>(?<![\w./-])[A-Za-z0-9](?:[\w.+:-]*[A-Za-z0-9])?__?{_AFTER}(?![./-]\w))
    |(?P<strong>{_BEFORE}\*\*(?=[^\s*])(?P<strong_text>[^*]{{0,999}}?[^\s*])\*\*{_AFTER})
    |(?P<emphasis>{_BEFORE}\*(?=[^\s*])(?P<emphasis_text>[^*]{{0,999}}?[^\s*])\*{_AFTER})
    """,
    re.X,
)
_TITLED_ROLES = frozenset([":ref:", ":doc:", ":numref:", ":any:", ":term:", ":std:ref:", ":std:doc:", ":download:"])
_REFERENCE = re.compile(
    r"`([^`<>]+)`_|<([^<>`]+)_>`_|:(?:std:)?ref:`([^`<>]+)`|:ref:`[^`<>]*<([^<>`]+)>`|(?<![\w./-])([A-Za-z0-9][\w.-]*)_(?!\w)"
)
_LEADING = re.compile(
    r"(?:[-+•‣⁃]|\.\.|>>>|\|)(?=\s|$)|\(?(?:[0-9]{1,4}|[A-Za-z#]|[ivxlcdmIVXLCDM]{1,6})[.)](?=\s|$)|:(?=[^:\s][^:]*:(?:\s|$))|__(?=\s|$)"
)
_MIN_WORDS = 3


def referenced_names(source: str) -> set[str]:
    """Return the names that references in the source may use for a title, in lower case."""
    found = (name for match in _REFERENCE.finditer(source) for name in match.groups() if name)
    return {" ".join(name.split()).casefold() for name in found}


def inline_block(source: str, lines: list[Span]) -> Block:
    """Return the block of a paragraph, whose lines are spans in the source."""
    block, joined = Block(source), JoinedLines(source, lines)
    _add(block, joined, 0, len(joined.text))
    return block


def _add(block: Block, joined: JoinedLines, start: int, end: int) -> None:
    """Add characters [start, end) of the joined lines."""
    place = joined.source_of
    for token in _TOKEN.finditer(joined.text, start, end):
        block.text(place(start), place(token.start()))
        start = token.end()
        first, last = place(token.start()), place(token.end())
        kind = token.lastgroup
        if token["newline"] is not None:
            _add_line_break(block, joined, *token.span())
        elif token["escape"]:
            char = token[0][1]
            if char.isspace():
                block.markup(first, last, raw="")  # separates markup from a word; `separate` writes it again
            else:
                block.decoded(char, first, last)
        elif token["strong"] or token["emphasis"]:
            group = "strong_text" if token["strong"] else "emphasis_text"
            _add_enclosed(block, joined, token, *token.span(group))
        elif token["open"] and _has_title(token):
            _add_enclosed(block, joined, token, *token.span("text"))
        elif token["address"]:
            block.text(first, last)
        elif kind is not None:
            block.opaque(first, last)
    block.text(place(start), place(end))


def _add_enclosed(block: Block, joined: JoinedLines, token: re.Match[str], start: int, end: int) -> None:
    """Add text between an opening and a closing mark."""
    block.markup(joined.source_of(token.start()), joined.source_of(start), role="open")
    for part in re.finditer(r"[^\n]+|\n", joined.text[start:end]):
        a, b = start + part.start(), start + part.end()
        if part[0] == "\n":
            block.decoded(" ", joined.source_of(a), joined.source_of(b))
        else:
            block.text(joined.source_of(a), joined.source_of(b))
    block.markup(joined.source_of(end), joined.source_of(token.end()), role="close")


def _has_title(token: re.Match[str]) -> bool:
    """Return whether a role or link has a text of its own, before its target in angle brackets."""
    if not token["link"]:
        return False
    return token["role"] in _TITLED_ROLES if token["role"] else (token["suffix"] or "").startswith("_")


def _add_line_break(block: Block, joined: JoinedLines, start: int, end: int) -> None:
    """Add the end of a line; a line of few words is joined with the next, because a translation may have fewer."""
    line = joined.text[joined.text.rfind("\n", 0, start) + 1 : start]
    words = len(re.findall(r"(?<!\S)[^\W\d_`]+(?![^\s.,;:!?)])", line))
    first, last = joined.source_of(start), joined.source_of(end)
    if words >= _MIN_WORDS:
        block.line_break(first, last)
    else:
        block.decoded(" ", first, last)


def escape(text: str) -> str:
    """Escape plain text so that reStructuredText shows it unchanged; addresses are not escaped."""
    parts = re.split(f"({_ADDRESS})", text)
    text = "".join(part if index % 2 else _escape_inline(part) for index, part in enumerate(parts))
    return f"\\{text}" if _LEADING.match(text) else text


def _escape_inline(text: str) -> str:
    return re.sub(r"[\\*`]|\|(?=\S)|(?<=[A-Za-z0-9])_(?!\w)|(?<!\w)_(?=`)", r"\\\g<0>", text)


_UNIT = re.compile(
    r"``.+``|(?::[\w.+:-]+:)?`[^`]+`(?:__?|:[\w.+:-]+:)?|<[^<>`]+>`__?|\[[\w.#*-]+\]_|\|.+\|_{0,2}", re.S
)
_DOMAIN = re.compile(r":[\w.+-]+\Z")
_BESIDE = r"""[^\s'"(\[{<\-/:‘“«–—\\"""
_TOUCHED = re.compile(
    rf"""(?<={_BESIDE}`])(?=`)|(?<={_BESIDE}])(?=:[A-Za-z]|\[|\|)|(?<=[`_|])(?=[^\s'")\]}}>\-/\\:.,;!?’”»…–—_`])"""
)


def separate(text: str, original: str, units: set[str]) -> str:
    """Return the text with an escaped space where a word touches inline markup, which would not be recognised.

    `units` are the hidden pieces of the original text.
    """
    units = {bare for unit in units if _UNIT.fullmatch(bare := unit.removeprefix("\\ "))}
    places = [
        place
        for touched in _TOUCHED.finditer(text)
        if any(_ends(text, place := touched.start(), unit) for unit in units)
        and text[max(place - 12, 0) : place + 12] not in original
    ]
    return splice(text, ((place, place, "\\ ") for place in places))


def _ends(text: str, place: int, unit: str) -> bool:
    """Return whether a unit ends or begins at a place of the text; longer code may contain it."""
    if text.startswith(unit, place):
        if unit[0] == ":" and _DOMAIN.search(text, max(place - 30, 0), place):
            return False  # the second half of :py:func:
        return not text.startswith("`", place + len(unit))
    before = text[place - len(unit) - 1 : place - len(unit)] if place > len(unit) else ""
    return text.endswith(unit, 0, place) and before != "`"
