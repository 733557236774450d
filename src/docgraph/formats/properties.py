"""Java .properties files: values that are text are read; keys, comments, order and layout stay.

Files are UTF-8 or ISO-8859-1. New characters beyond ASCII are written as `\\u00e9`, unless the file has such characters
as they are and is UTF-8.
"""

from __future__ import annotations

import json
import re
from functools import partial

from docgraph.formats.base import NEWLINE, Edit, check_lines
from docgraph.formats.catalog import Catalog, Unit, catalog_format, decode_text
from docgraph.formats.string_values import check_string_file, is_text

_CONTINUATION = rf"\\{NEWLINE}[ \t\f]*"
_ENTRY = re.compile(
    rf"""[ \t\f]*(?:[\#!][^\r\n]*
    |(?P<key>(?:[^\\\s:=]|{_CONTINUATION}|\\.)++)(?:[ \t\f]|{_CONTINUATION})*+[:=]?(?:[ \t\f]|{_CONTINUATION})*+
     (?P<value>(?:[^\\\r\n]|{_CONTINUATION}|\\.)*+)
    |[^\r\n]*+)(?:{NEWLINE}|\Z)""",
    re.X,
)
_ESCAPE = re.compile(rf"(?P<continuation>{_CONTINUATION})|\\u(?P<code>[0-9a-fA-F]{{4}})|\\(?P<char>.)", re.S)
_CHARACTERS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_ESCAPED = str.maketrans({"\\": "\\\\", **{char: f"\\{letter}" for letter, char in _CHARACTERS.items()}})
_ARGUMENT = re.compile(r"\{\d")
_SINGLE_QUOTE = re.compile(r"(?<!')'(?:'')*(?!')")


def scan(data: bytes, name: str) -> Catalog:
    """Read a .properties file."""
    content, encoding = decode_text(data, name, "iso-8859-1")
    check_lines(content, name)
    raw = encoding != "iso8859-1" and not content.removeprefix("\ufeff").isascii()
    units = []
    for start, end in _values(content):
        text = _unescape(content[start:end])
        if is_text(text):
            doubled = _ARGUMENT.search(text) is not None and "''" in text and not _SINGLE_QUOTE.search(text)
            shown = text.replace("''", "'") if doubled else text
            units.append(Unit(shown, partial(_write, (start, end), shown, doubled, raw)))
    return Catalog(content, encoding, units)


def check(data: bytes, name: str) -> None:
    """Refuse a .properties file of settings."""
    content, _ = decode_text(data, name, "iso-8859-1")
    check_lines(content, name)
    check_string_file([_unescape(content[start:end]) for start, end in _values(content)], 0, name, "properties")


def _values(content: str) -> list[tuple[int, int]]:
    start = int(content.startswith("\ufeff"))
    return [entry.span("value") for entry in _ENTRY.finditer(content, start) if entry["value"]]


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        if match["continuation"]:
            return ""
        if match["code"]:
            return chr(int(match["code"], 16))
        return _CHARACTERS.get(match["char"], match["char"])

    text = _ESCAPE.sub(character, text)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # joins escaped surrogate pairs


def _write(span: tuple[int, int], old: str, doubled: bool, raw: bool, text: str, language: str) -> list[Edit]:
    """Write a value; a single quote in a message with arguments would hide them, so it is doubled or curly."""
    if doubled:
        text = text.replace("'", "''")
    elif _ARGUMENT.search(old) and "'" not in old:
        text = text.replace("'", "\u2019")
    text = text.translate(_ESCAPED)
    if text[:1] == " ":
        text = f"\\{text}"
    if not raw:
        text = re.sub(r"[^\x00-\x7f]+", lambda match: json.dumps(match[0])[1:-1], text)
    return [(*span, text)]


PROPERTIES = catalog_format("properties", (".properties",), scan, check=check, mnemonics=("&",))
