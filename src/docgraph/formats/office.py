"""Word documents, PowerPoint presentations and Excel workbooks: their parts with text, and marks of its language.

Of a workbook, cells that hold text are read, and text boxes, titles of charts, and print headers and footers without
their codes (&P, &"Arial,Bold"). Formulas, numbers, dates, codes and addresses are left alone, and so are texts that
other parts refer to: headers of tables and pivot tables, texts in formulas, entries of drop-down lists, filters.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from docgraph.formats.base import names
from docgraph.formats.html import add_text
from docgraph.formats.paragraph import Block
from docgraph.formats.xml_text import Vocabulary, escape
from docgraph.formats.zipped_xml import Archive, zipped_format

_CORE_PROPERTIES = r"docProps/core\.xml"
VOCABULARY = Vocabulary(
    paragraphs=names("w:p a:p c:v x:si x:is dc:title"),
    text=names("w:t a:t c:v x:t dc:title"),
    breaks=names("w:br w:cr w:tab w:ptab a:br"),
    hidden=names("w:rt w:moveFrom a:fld c:numCache c:numLit x:rPh"),
    moved=names("w:txbxContent"),
    multiline=names("a:t x:t"),
    preserve=names("w:t x:t"),
    hyphens={"w:noBreakHyphen": "\u2011", "w:softHyphen": "\u00ad"},
)
_LANGUAGE = re.compile(
    r"""(<(?:(?P<prefix>[A-Za-z_][\w.-]*):lang\s(?:[^<>]*\s)?(?P=prefix):val"""
    r"""|[A-Za-z_][\w.-]*:(?:rPr|defRPr|endParaRPr)\s(?:[^<>]*\s)?lang)\s*=\s*["'])(?P<language>[A-Za-z]+)[\w-]*"""
)
_RELATIONSHIP = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def declare(source: str, language: str) -> str:
    """Set the proofing language where it is the main language of the document; words in other languages keep theirs."""
    counts = Counter(match["language"].lower() for match in _LANGUAGE.finditer(source))
    main = max(counts, key=lambda name: counts[name], default="")
    return _LANGUAGE.sub(lambda match: match[1] + language if match["language"].lower() == main else match[0], source)


def _numbered(archive: Archive, patterns: Sequence[str]) -> list[str]:
    """Return the parts that match the patterns, in the order of the patterns, then of their numbers."""
    found = []
    for pattern in patterns:
        matching = {part for part in archive.parts if re.fullmatch(pattern, part)}
        found += sorted(matching, key=lambda part: (len(part), part))  # chart2 before chart10
    return found


def _relationships(archive: Archive, part: str) -> dict[str, tuple[str, str]]:
    """Return id -> (type, part) of the parts of the archive that a part refers to."""
    folder, file = posixpath.split(part)
    description = posixpath.join(folder, "_rels", f"{file}.rels")
    if description not in archive:
        return {}
    found = {}
    for element in archive.tree(description).iter(_RELATIONSHIP):
        target = posixpath.normpath(posixpath.join("/", folder, element.get("Target", "")))[1:]
        if element.get("TargetMode") != "External" and target in archive:
            found[element.get("Id", "")] = (element.get("Type", "").rpartition("/")[2], target)
    return found


_WORD_NAMES = "document footnotes endnotes header footer charts/chart diagrams/data diagrams/drawing styles"
_WORD_PARTS = [*(rf"word/{name}\d*\.xml" for name in _WORD_NAMES.split()), _CORE_PROPERTIES]
"""The styles are among them because they declare the language of the text."""


def _word_parts(archive: Archive) -> list[str]:
    """Return the parts that hold text, the main text first."""
    found = _numbered(archive, _WORD_PARTS)
    if not found or not found[0].startswith("word/document"):
        archive.require("word/document.xml")
    return found


DOCX = zipped_format("docx", (".docx", ".docm", ".dotx"), _word_parts, VOCABULARY, declare=declare)

_PRESENTATION = "ppt/presentation.xml"
_RELATED_TO_SLIDE = ("chart", "diagramData", "diagramDrawing", "notesSlide")
_RELATIONSHIP_ID = (
    "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id",
    "{http://purl.oclc.org/ooxml/officeDocument/relationships}id",
)


def _slide_parts(archive: Archive) -> list[str]:
    """Return the slides in the order of the show, each followed by its charts, diagrams and notes.

    Slides that are not in the list of the presentation are left alone.
    """
    archive.require(_PRESENTATION)
    targets = _relationships(archive, _PRESENTATION)
    found: list[str] = []
    for element in archive.tree(_PRESENTATION).iter():
        identifier = next(filter(None, map(element.get, _RELATIONSHIP_ID)), "")
        kind, slide = targets.get(identifier, ("", ""))
        if kind == "slide" and element.tag.rpartition("}")[2] == "sldId":
            related = _relationships(archive, slide).values()
            found += [slide, *(part for wanted in _RELATED_TO_SLIDE for kind, part in related if kind == wanted)]
    return list(dict.fromkeys([*found, *_numbered(archive, [_CORE_PROPERTIES])]))


PPTX = zipped_format("pptx", (".pptx", ".pptm", ".ppsx", ".potx"), _slide_parts, VOCABULARY, declare=declare)

_SHEET = r"xl/worksheets/[^/]*\.xml"
_STRINGS = r"xl/sharedStrings\d*\.xml"
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


def _is_cell_text(text: str) -> bool:
    """Return whether the text of a cell has words: more than a number, a date, a code or an address."""
    return any(char.isalpha() for char in text) and not _CODE.fullmatch(text)


def _workbook_parts(archive: Archive) -> list[str]:
    """Return the parts that hold text: the shared texts first, then sheets that hold texts themselves."""
    archive.require("xl/workbook.xml")
    sheets = [sheet for sheet in _numbered(archive, [_SHEET]) if _HOLDS_TEXT.search(archive.content(sheet))]
    return [*_numbered(archive, [_STRINGS]), *sheets, *_numbered(archive, [*_DRAWINGS, _CORE_PROPERTIES])]


def _fixed_texts(archive: Archive) -> Iterator[str]:
    """Yield the texts that other parts refer to by their wording."""
    for part in _numbered(archive, _REFERRING):
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


def _escape_header(text: str) -> str:
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
    accept=_is_cell_text,
)
XLSX = zipped_format(
    "xlsx",
    (".xlsx", ".xlsm", ".xltx"),
    _workbook_parts,
    _CELLS,
    declare=declare,
    fixed=_fixed_texts,
    escapes={"header": _escape_header},
)
