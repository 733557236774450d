"""Escape functions of Markdown: plain text to what a reader shows as that text."""

from __future__ import annotations

import re
from collections.abc import Callable

from docgraph.formats.literals import PLACEHOLDER, web_address

MARKDOWN_ADDRESS = r"(?<![^\W_])" + web_address(stop=r"\[\]`|\\", trailing="*_~")
_VERBATIM = re.compile(f"({MARKDOWN_ADDRESS}|{PLACEHOLDER})")
_LEADING = re.compile(
    r"(?:[-+=>]|:(?=\s|::)|!(?=!!)|\?(?=\?\?)|/(?=//)|#{1,6}(?=\s|$)|~(?=~~))|(?P<number>\d{1,9})(?=[.)](?:\s|$))"
)


def escape(text: str) -> str:
    """Escape plain text so that Markdown shows it unchanged; addresses and placeholders are not escaped."""
    parts = _VERBATIM.split(text)
    text = "".join(part if index % 2 else _escape_inline(part) for index, part in enumerate(parts))
    leading = _LEADING.match(text)
    if leading is None:
        return text
    position = leading.end() if leading["number"] else 0
    return f"{text[:position]}\\{text[position:]}"


def _escape_inline(text: str) -> str:
    text = re.sub(r"([\\`*\[\]|]|~(?=~)|(?<=~)~|(?<!\w)=(?==\S)|(?<=\S)=(?==(?!\w)))", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    if text.count("$") > 1:
        text = text.replace("$", r"\$")
    return re.sub(r"<(?=[A-Za-z/!?]|$)", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", text))


def _title_escape(delimiters: str) -> Callable[[str], str]:
    """Return a function that escapes text for the title of a link between these delimiters."""
    special = re.compile(rf"\\(?=[!-/:-@\[-`{{-~]|$)|[`|{delimiters}]|&(?=#?\w+;)")
    return lambda text: special.sub(r"\\\g<0>", text)


TITLE_ESCAPES = {
    "title-double": _title_escape('"'),
    "title-single": _title_escape("'"),
    "title-round": _title_escape("()"),
}
"""Escape functions by the delimiters around the title of a link."""
