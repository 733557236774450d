"""JSON and ARB files of strings: values that are text are read; keys, order, layout and all other values stay.

Keys that begin with `@` are metadata and stay; `@@locale` of an ARB file names the target language. If every entry of a
file is an object with a `message` (Chrome extensions) or `defaultMessage` (FormatJS), only this string is read.

Plurals of i18next (`item_one`, `item_other`) get the form `item_many`, which the rules of some languages ask for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial

from docgraph.errors import DocgraphError
from docgraph.formats.base import Edit, decode
from docgraph.formats.catalog import Catalog, Unit, catalog_format, line_of, safe_apostrophes
from docgraph.formats.string_values import check_string_file, is_text
from docgraph.languages import base_language

MAX_DEPTH = 200
"""Maximum nesting of objects and arrays."""
_TOKEN = re.compile(
    r"""(?P<skip>[ \t\r\n]+|//[^\r\n]*|/\*(?s:.*?)\*/)
    |(?P<string>"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+")
    |(?P<other>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)
    |(?P<mark>[\[\]{}:,])""",
    re.X,
)
_MESSAGE_KEYS = ("message", "defaultMessage")
_COUNT = re.compile(r"\{\{-?\s*count\b")
_SPACE_BEFORE = re.compile(r"[ \t\r\n]*\Z")
_MAX_INDENT = 1000
_LANGUAGES_WITH_MANY = ("ca", "es", "fr", "it", "pt")
"""Languages whose plurals are those of English and `many`, for a million; its text is that of `other`."""


@dataclass(frozen=True, slots=True)
class _Value:
    """A string, number or literal at source[start:end]; `path` has the keys that lead to it (None in arrays)."""

    path: tuple[str | None, ...]
    start: int
    end: int
    text: str | None
    """None if the value is not a string."""
    key: tuple[int, int] = (0, 0)
    """Span of its key; empty in arrays."""


def scan(data: bytes, name: str) -> Catalog:
    """Read a JSON file."""
    content, encoding = decode(data, name)
    values = list(_values(content, name))
    ascii_only = content.isascii() and "\\u" in content
    paths = {value.path for value in values}
    units = [
        Unit(value.text, partial(_write, content, value, ascii_only, _lacks_many(content, value, paths)))
        for value in _translatable(values)
        if value.text is not None and is_text(value.text)
    ]
    locale = [value for value in values if value.path == ("@@locale",)]
    return Catalog(
        content, encoding, units, declare=lambda language: [(v.start, v.end, json.dumps(language)) for v in locale]
    )


def check(data: bytes, name: str) -> None:
    """Refuse a JSON file of data or settings."""
    content, _ = decode(data, name)
    values = _translatable(list(_values(content, name)))
    check_string_file([v.text for v in values if v.text is not None], sum(v.text is None for v in values), name, "json")


def _translatable(values: list[_Value]) -> list[_Value]:
    """Return the messages, if every entry of the file is an object with a message; otherwise all values."""
    values = [value for value in values if not any(key and key.startswith("@") for key in value.path)]
    entries = {value.path[0] for value in values if value.path}
    for key in _MESSAGE_KEYS:
        messages = [value for value in values if len(value.path) == 2 and value.path[1] == key]
        if messages and {value.path[0] for value in messages} == entries:
            return messages
    return values


def _lacks_many(content: str, value: _Value, paths: Collection[tuple[str | None, ...]]) -> bool:
    """Return whether a value is the last form of a plural of i18next that has no form for a million."""
    if not content[slice(*value.key)].endswith('_other"') or not _COUNT.search(value.text or ""):
        return False
    *parents, key = value.path
    base = (key or "").removesuffix("_other")
    is_plural = (*parents, f"{base}_one") in paths and (*parents, f"{base}_many") not in paths
    return is_plural and not base.endswith("_ordinal")


def _write(content: str, value: _Value, ascii_only: bool, lacks_many: bool, text: str, language: str) -> list[Edit]:
    """Return the changes that write a text as a value, and as the next one for `many` if the language has that."""
    assert value.text is not None
    text = safe_apostrophes(value.text, text)
    new = json.dumps(text, ensure_ascii=ascii_only or re.search("[\ud800-\udfff]", text) is not None)
    if "\\/" in content[value.start : value.end]:
        new = new.replace("/", "\\/")
    edits = [(value.start, value.end, new)]
    if lacks_many and base_language(language) in _LANGUAGES_WITH_MANY:
        start, end = value.key
        space = _SPACE_BEFORE.search(content, max(start - _MAX_INDENT, 0), start)
        key = content[start:end].removesuffix('_other"') + '_many"'
        between = content[end : value.start]
        edits.append((value.end, value.end, f",{space[0] if space else ''}{key}{between}{new}"))
    return edits


def _values(content: str, name: str) -> Iterator[_Value]:
    """Yield the values that are not objects or arrays; comments and trailing commas are accepted."""
    path: list[str | None] = []
    closers: list[str] = []
    position, expected, key = int(content.startswith("\ufeff")), "value", (0, 0)
    while position < len(content):
        token = _TOKEN.match(content, position)
        if token is None:
            raise _error(content, position, name)
        kind, text = token.lastgroup, token[0]
        if kind == "mark" and text in "]}":
            if not closers or closers.pop() != text or expected not in ("key", "value or end", "comma"):
                raise _error(content, position, name)
            path.pop()
            expected = "comma" if closers else "end"
        elif kind == "mark" and text in "[{" and expected in ("value", "value or end"):
            if len(path) == MAX_DEPTH:
                raise DocgraphError(f"nests more than {MAX_DEPTH} values; check the file", path=name)
            path.append(None)
            closers.append("]" if text == "[" else "}")
            expected = "value or end" if text == "[" else "key"
        elif kind == "string" and expected == "key":
            path[-1], expected, key = json.loads(text), "colon", token.span()
        elif kind in ("string", "other") and expected in ("value", "value or end"):
            own_key = key if path and path[-1] is not None else (0, 0)
            yield _Value(tuple(path), *token.span(), json.loads(text) if kind == "string" else None, own_key)
            expected = "comma" if closers else "end"
        elif text == ":" and expected == "colon":
            expected = "value"
        elif text == "," and expected == "comma":
            expected = "key" if closers[-1] == "}" else "value or end"
        elif kind != "skip":
            raise _error(content, position, name)
        position = token.end()
    if closers or (expected == "value" and content.strip("\ufeff \t\r\n")):
        raise _error(content, len(content), name)


def _error(content: str, position: int, name: str) -> DocgraphError:
    found = repr(content[position : position + 10]) if position < len(content) else "the end of the file"
    return DocgraphError(f"is not JSON: did not expect {found}; correct it", path=name, line=line_of(content, position))


JSON = catalog_format("json", (".json",), scan, check=check, mnemonics=("&",))
ARB = catalog_format("arb", (".arb",), scan, mnemonics=("&",))
