"""Excel workbooks: cells that hold text, and text boxes and titles of charts.

Formulas, numbers, dates, codes and addresses are left alone, and so are texts that other parts of the workbook refer
to: headers of tables and pivot tables, texts in formulas, entries of drop-down lists, filters.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import replace

from docgraph.formats.office import CORE_PROPERTIES, VOCABULARY, declare, numbered
from docgraph.formats.zipped_xml import Archive, zipped_format

_SHEET = r"xl/worksheets/[^/]*\.xml"
_STRINGS = (r"xl/sharedStrings\d*\.xml",)
_DRAWINGS = (r"xl/drawings/drawing\d*\.xml", r"xl/charts/chart\d*\.xml", r"xl/diagrams/data\d*\.xml")
_REFERRING = (_SHEET, r"xl/workbook\.xml", r"xl/tables/[^/]*\.xml", r"xl/pivotCache/pivotCacheDefinition[^/]*\.xml")
_NAME = re.compile(r"""<(?:\w+:)?(?:tableColumn|cacheField|filter)\s(?:[^<>]*\s)?(?:name|val)\s*=\s*"([^"]*)\"""")
_FORMULA = re.compile(r"<(?:\w+:)?(?:f|formula[12]?|definedName|calculatedColumnFormula)(?:\s[^<>]*)?(?<!/)>([^<]*)<")
_LITERAL = re.compile(r'"((?:[^"]|"")*)"')
_CODE = re.compile(r"\S*[\d_@/\\]\S*|\S*\w[.:=]\w\S*")


def is_text(text: str) -> bool:
    """Return whether the text of a cell has words: more than a number, a date, a code or an address."""
    return any(char.isalpha() for char in text) and not _CODE.fullmatch(text)


def parts(archive: Archive) -> list[str]:
    """Return the parts that hold text: the shared texts first, then sheets that hold texts themselves."""
    archive.require("xl/workbook.xml")
    sheets = [sheet for sheet in numbered(archive, (_SHEET,)) if b"inlineStr" in archive.content(sheet)]
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


def _plain(text: str) -> str:
    """Return the text on one line, as cells are compared."""
    return " ".join(re.sub(r"_x000[AaDd]_", " ", html.unescape(text)).split())


XLSX = zipped_format(
    "xlsx", (".xlsx", ".xlsm", ".xltx"), parts, replace(VOCABULARY, accept=is_text), declare=declare, fixed=fixed
)
