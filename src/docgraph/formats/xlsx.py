"""Excel workbooks: cells that hold text, and text boxes and titles of charts.

The text of print headers and footers is read, without its codes (&P, &"Arial,Bold").

Formulas, numbers, dates, codes and addresses are left alone, and so are texts that other parts of the workbook refer
to: headers of tables and pivot tables, texts in formulas, entries of drop-down lists, filters.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from docgraph.formats.base import names
from docgraph.formats.html import add_text
from docgraph.formats.office import CORE_PROPERTIES, VOCABULARY, declare, numbered
from docgraph.formats.paragraph import Block
from docgraph.formats.xml_text import escape
from docgraph.formats.zipped_xml import Archive, zipped_format

_SHEET = r"xl/worksheets/[^/]*\.xml"
_STRINGS = (r"xl/sharedStrings\d*\.xml",)
_DRAWINGS = (r"xl/drawings/drawing\d*\.xml", r"xl/charts/chart\d*\.xml", r"xl/diagrams/data\d*\.xml")
_REFERRING = (_SHEET, r"xl/workbook\.xml", r"xl/tables/[^/]*\.xml", r"xl/pivotCache/pivotCacheDefinition[^/]*\.xml")
_HOLDS_TEXT = re.compile(rb"inlineStr|<(?:\w+:)?(?:odd|even|first)(?:Header|Footer)>[^<]")
_NAME = re.compile(r"""<(?:\w+:)?(?:tableColumn|cacheField|filter)\s(?:[^<>]*\s)?(?:name|val)\s*=\s*"([^"]*)\"""")
_FORMULA = re.compile(r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula)(?:\s[^<>]*)?(?<!/)>([^<]*)<")
_HEADERS = names("x:oddHeader x:oddFooter x:evenHeader x:evenFooter x:firstHeader x:firstFooter")
_HEADER_CODE = re.compile(
    r"&amp;(?:(?P<section>[LCR])|(?P<field>[PNDTFAGZ](?:[+-]\d+)?)|(?P<ampersand>&amp;)"
    r"|(?:\"[^\"]*\"|&quot;.*?&quot;|K[\dA-F]{2}(?:[\dA-F]{4}|[+-]\d{3})|\d{1,3}|[A-Z]))",
    re.IGNORECASE,
)
_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_CODE = re.compile(r"\S*[\d_@/\\]\S*|\S*\w[.:=]\w\S*")


def is_text(text: str) -> bool:
    """Return whether the text of a cell has words: more than a number, a date, a code or an address."""
    return any(char.isalpha() for char in text) and not _CODE.fullmatch(text)


def parts(archive: Archive) -> list[str]:
    """Return the parts that hold text: the shared texts first, then sheets that hold texts themselves."""
    archive.require("xl/workbook.xml")
    sheets = [sheet for sheet in numbered(archive, (_SHEET,)) if _HOLDS_TEXT.search(archive.content(sheet))]
    core = [CORE_PROPERTIES] if CORE_PROPERTIES in archive else []
    return [*numbered(archive, _STRINGS), *sheets, *numbered(archive, _DRAWINGS), *core]


def fixed(archive: Archive) -> Iterator[str]:
    """Yield the texts that other parts refer to by their wording."""
    for part in numbered(archive, _REFERRING):
        xml = archive.xml(part)[0]
        for match in _NAME.finditer(xml):
            yield _plain(match[1])
        for formula in _FORMULA.finditer(xml):
            for literal in _LITERAL.finditer(html.unescape(formula[1])):
                yield _plain(literal[1].replace('""', '"'))
                yield from map(_plain, literal[1].split(","))


def _add_header(blocks: list[Block], start: int, end: int) -> None:
    """Add the text of a header or footer; each of its sections (&L, &C, &R) begins a new block."""
    source = blocks[-1].source
    blocks[-1].syntax = "header"
    for code in _HEADER_CODE.finditer(source, start, end):
        add_text(blocks[-1], start, code.start())
        start = code.end()
        if code["section"]:
            blocks.append(Block(source, syntax="header"))
        elif code["ampersand"]:
            blocks[-1].decoded("&", *code.span())
        elif code["field"]:
            blocks[-1].opaque(*code.span())
        else:
            blocks[-1].markup(*code.span())
    add_text(blocks[-1], start, end)


def escape_header(text: str) -> str:
    """Escape text for a header or footer."""
    return escape(text.replace("&", "&&"))


def _plain(text: str) -> str:
    """Return the text on one line, as cells are compared."""
    return " ".join(re.sub(r"_x000[AaDd]_", " ", html.unescape(text)).split())


_CELLS = replace(
    VOCABULARY,
    paragraphs=VOCABULARY.paragraphs | _HEADERS,
    text=VOCABULARY.text | _HEADERS,
    readers=dict.fromkeys(_HEADERS, _add_header),
    accept=is_text,
)
XLSX = zipped_format(
    "xlsx",
    (".xlsx", ".xlsm", ".xltx"),
    parts,
    _CELLS,
    declare=declare,
    fixed=fixed,
    escapes={"header": escape_header},
)
