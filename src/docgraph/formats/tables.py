"""CSV and TSV: one column holds the texts, another receives the translations where it is empty.

Column names tell them (source and target, or two language codes); `csv:NAME:NAME` names other columns, by name or
number from 1. With a single column (`csv:NAME`), the translation replaces the text. If columns are given by number, the
first row is text, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial

from docgraph.errors import DocgraphError, UntranslatableError
from docgraph.formats.base import NEWLINE, Edit, Format, decode
from docgraph.formats.catalog import Catalog, Unit, catalog_format, is_language

_DELIMITERS = ",;\t|"
_SEPARATOR_LINE = re.compile(rf"sep=(?P<delimiter>[^\r\n])(?:{NEWLINE}|\Z)", re.I)
_QUOTED = re.compile('"[^"]*+"')
_SAMPLE = 65_536
_SOURCE_NAMES = ("source", "original", "source text", "msgid")
_TARGET_NAMES = ("target", "translation", "target text", "msgstr")


@dataclass(frozen=True, slots=True)
class _Cell:
    start: int
    end: int
    text: str
    quoted: bool


Row = list[_Cell]


def scan(data: bytes, name: str, kind: str, columns: tuple[str, ...]) -> Catalog:
    """Read a table; `kind` is csv or tsv."""
    content, encoding = decode(data, name)
    delimiter, rows = _rows(content, kind)
    if not rows:
        return Catalog(content, encoding, [])
    numbered = bool(columns) and all(column.isdecimal() for column in columns)
    header = [] if numbered else [cell.text.strip() for cell in rows[0]]
    source, target = _find_columns(header, max(map(len, rows)), columns, kind, name)
    units = []
    for row in rows[0 if numbered else 1 :]:
        is_open = source == target or target >= len(row) or not row[target].text.strip()
        if source < len(row) and is_open and row[source].text.strip():
            units.append(Unit(row[source].text, partial(_write, row, source, target, delimiter)))
    code = header[target] if source != target and header and is_language(header[target]) else ""
    return Catalog(content, encoding, units, code)


def _find_columns(header: list[str], width: int, columns: Sequence[str], kind: str, name: str) -> tuple[int, int]:
    """Return the indices of the columns of texts and of translations."""
    lowered = [each.lower() for each in header]
    if columns:
        found = []
        for column in columns:
            named = lowered.index(column.lower()) if column.lower() in lowered else -1
            index = int(column) - 1 if column.isdecimal() and named < 0 else named
            if not 0 <= index < width:
                listed = ", ".join(header) or f"1 to {width}"
                raise DocgraphError(f"there is no column '{column}'; the columns are {listed}", path=name)
            found.append(index)
        return found[0], found[-1]
    sources = [index for index, each in enumerate(lowered) if each in _SOURCE_NAMES]
    targets = [index for index, each in enumerate(lowered) if each in _TARGET_NAMES]
    if len(sources) == 1 and len(targets) == 1:
        return sources[0], targets[0]
    languages = [index for index, each in enumerate(header) if is_language(each)]
    if len(languages) == 2:
        return languages[0], languages[1]
    listed = ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
    raise UntranslatableError(
        f"which columns hold the texts and their translations is not clear (columns: {listed}); name them, for example"
        f" --format {kind}:en:fr or --format {kind}:2:3",
        path=name,
    )


def _rows(content: str, kind: str) -> tuple[str, list[Row]]:
    """Return the delimiter and the rows that are not empty."""
    position = int(content.startswith("\ufeff"))
    if kind == "tsv":
        delimiter = "\t"
    elif declared := _SEPARATOR_LINE.match(content, position):
        delimiter, position = declared["delimiter"], declared.end()
    else:
        unquoted = _QUOTED.sub("", content[position : position + _SAMPLE])
        first = re.split("[\r\n]", unquoted, maxsplit=1)[0]
        delimiter = max(_DELIMITERS, key=first.count)
    cell = re.compile(
        rf'(?:"(?P<quoted>(?:[^"]|"")*+)"(?=[{re.escape(delimiter)}\r\n]|\Z)|(?P<bare>[^{re.escape(delimiter)}\r\n]*+))'
        rf"(?P<end>{re.escape(delimiter)}|{NEWLINE}|\Z)"
    )
    rows: list[Row] = []
    row: Row = []
    while position < len(content) or row:
        match = cell.match(content, position)
        assert match is not None
        quoted = match["quoted"] is not None
        text = match["quoted"].replace('""', '"') if quoted else match["bare"]
        row.append(_Cell(match.start(), match.start("end"), text, quoted))
        position = match.end()
        if match["end"] != delimiter:
            if len(row) > 1 or row[0].text:
                rows.append(row)
            row = []
    return delimiter, rows


def _write(row: Row, source: int, target: int, delimiter: str, text: str, language: str) -> list[Edit]:
    quoted = row[source].quoted or (target < len(row) and row[target].quoted)
    if quoted or delimiter in text or text.startswith('"') or re.search("[\r\n]", text):
        text = '"' + text.replace('"', '""') + '"'
    if target < len(row):
        return [(row[target].start, row[target].end, text)]
    end = row[-1].end
    return [(end, end, delimiter * (target - len(row) + 1) + text)]


@cache
def table_format(kind: str, columns: tuple[str, ...] = ()) -> Format:
    """Return the format `csv` or `tsv`, with given columns of texts and translations."""
    if len(columns) > 2 or not all(columns):
        raise DocgraphError(f"name one or two columns, for example {kind}:en:fr or {kind}:2:3")
    return catalog_format(":".join([kind, *columns]), (f".{kind}",), partial(scan, kind=kind, columns=columns))


CSV = table_format("csv")
TSV = table_format("tsv")
