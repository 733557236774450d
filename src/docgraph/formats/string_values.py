"""Which values of a data file are text: the formats JSON, YAML and properties share these rules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from docgraph.errors import UntranslatableError

_PLACEHOLDER = re.compile(
    r"\{\{[^{}]*\}\}|\$?\{[\w.]*\}|%\(\w+\)[a-zA-Z]|%(?:\d+\$)?[-+#0]?\d*(?:\.\d+)?[a-zA-Z]|\$\w+\$?|<[^<>]+>|&\w+;|:\w+:"
)
_LETTER = re.compile(r"[^\W\d_]")
_NOT_TEXT = re.compile(
    r"""(?ix)
    [a-z][a-z0-9+.-]+:\S*                                    # an address: https://x.org, mailto:a@x.org
    | \S+@\S+\.\S+ | www\.\S+ | [^\s/]+\.[a-z]{2,4}/\S*
    | (?-i:\S*[a-z0-9][A-Z]\S*)                              # camelCase
    | \S*_\S* | \S*\w\.\w\S* | [.$#@~:-]\S*                  # snake_case, dotted.name, .class, $var, --option
    | \S*\\\S* | (?-i:(?![A-Z][\w']*/[A-Z]\w*$)\S*/\S*)      # a path, but Yes/No
    | (?-i:[a-z0-9]+(?:-[a-z0-9]+)+ | [a-z]{2,3}-[A-Z]{2})   # kebab-case, a language code
    | (?=\S*\d)(?=\S*[a-z])[a-z0-9%.,#+-]+                   # utf8, 10px, h1
    | (?:rgba?|hsla?|url|calc|var|linear-gradient)\(.*\)     # a value of a style sheet
    """,
    re.S,
)
_DATE_PART = r"(?:[Dd]o|Y{1,4}|y{1,4}|M{1,4}|D{1,4}|d{1,4}|E{1,4}|HH?|hh?|mm?|ss?|S{1,3}|[aAZz]|LTS?|L{1,4}|'[^']*')"
_DATE_FORMAT = re.compile(
    rf"(?=.*(?:YY|yy|MM|DD|dd|HH|hh|mm|ss|LT|LL)){_DATE_PART}(?:(?:[\s,./:\-]+|T|'[^']*'){_DATE_PART})*+Z?"
)
_MAX_IDENTIFIER = 200
"""Longer values with spaces are text, and without spaces are data."""


def is_text(value: str) -> bool:
    """Return whether a value is text to translate, rather than an identifier, address, path, colour or format."""
    text = value.strip()
    bare = _PLACEHOLDER.sub("", text).strip()
    if not _LETTER.search(bare):
        return False
    if len(text) > _MAX_IDENTIFIER:
        return len(text.split(maxsplit=3)) > 3 or not text.isascii()
    return _NOT_TEXT.fullmatch(text) is None and _DATE_FORMAT.fullmatch(text) is None


def check_string_file(values: Sequence[str], others: int, name: str, format: str) -> None:
    """Refuse a file of data or settings, given its string values and the number of its other values."""
    texts = sum(is_text(value) and _is_prose(value) for value in values)
    filled = sum(bool(value.strip()) for value in values)
    if filled and (2 * texts < filled or others * 9 > len(values) + 9):
        raise UntranslatableError(
            f"looks like data or settings ({texts:,} of {len(values) + others:,} values are text), not like a file of"
            f" strings; pass --format {format} to translate its texts anyway",
            path=name,
        )


def _is_prose(value: str) -> bool:
    """Return whether a value has several words, or begins with anything but a lower-case Latin letter."""
    words = sum(_LETTER.search(word) is not None for word in value[:_MAX_IDENTIFIER].split())
    first = _LETTER.search(value)
    return words > 1 or (first is not None and not "a" <= first[0] <= "z")
