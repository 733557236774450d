"""XLIFF 1.2 and 2.x: units without a translation are read; inline elements are markup.

In XLIFF 1.2, a new `<target>` has the state `needs-review-translation`. In XLIFF 2, the segment gets the state
`translated` and the sub-state `docgraph:mt`. Units with a translation, units that are marked as not to be translated,
notes and all other elements stay as they are.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from docgraph.document import Document, MarkupRole
from docgraph.errors import DocgraphError
from docgraph.formats.base import Edit, Span, names, splice
from docgraph.formats.catalog import (
    Catalog,
    Unit,
    catalog_format,
    decode_text,
    line_of,
    message_paragraphs,
    safe_apostrophes,
    unit_spans,
)
from docgraph.formats.html import add_text, tag_role
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.xml_text import escape
from docgraph.languages import LANGUAGE_CODE

MAX_DEPTH = 200
"""Maximum nesting of elements."""
_TOKEN = re.compile(
    r"<!--(?s:.*?)-->|<!\[CDATA\[(?P<cdata>(?s:.*?))\]\]>|<\?(?s:.*?)\?>|<!DOCTYPE[^>]*>"
    r"""|<(?P<close>/?)(?:[^\s<>/:]+:)?(?P<name>[^\s<>/:]+)"""
    r"""(?P<attributes>(?:[^<>"'/]|/(?!>)|"[^"]*+"|'[^']*+')*+)(?P<empty>/?)>"""
)
_ATTRIBUTE = re.compile(r"""\s(?P<name>[\w:.-]+)\s*=\s*(?:"(?P<value>[^"]*)"|'(?P<single>[^']*)')""")
_ENCODING = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([A-Za-z0-9_.-]+)""")
_UNTRANSLATED = names("new needs-translation initial")
"""States of a target that is not yet a translation."""
_SKIPPED = names("alt-trans matches match glossary notes note skeleton skl metadata resourceData originalData")
_PAIRED = names("g pc mrk sm em bx ex sc ec")
"""Inline elements that stand around words; any other inline element stands for words."""
_CONTENT_IS_CODE = names("ph bpt ept it x cp")
_IN_TEXT = re.compile(r"&lt;/?(?:[a-zA-Z](?:(?!&lt;|&gt;)[^<>])*|\d{1,3}/?)&gt;|(?P<count>(?<!&)#)")
_FILLER = "\ufffc"
_Inline = tuple[int, int, MarkupRole]
"""(start, end, role) of a tag, or of an element with its content."""
_TAG_PLACEHOLDER = re.compile(r"(?i)(?:START|CLOSE)_|/(?:b|i|a|span)\b")


@dataclass(slots=True)
class _Element:
    """An element; offsets are those of the file."""

    name: str
    start: int
    tag_end: int
    attributes: dict[str, str]
    attribute_spans: dict[str, Span]
    end_tag: int = -1
    end: int = -1
    translate: bool = True
    keeps_lines: bool = False
    """Whether line breaks in its text count, by the `xml:space` of the element or of one around it."""
    children: list[_Element] = field(default_factory=list)

    def child(self, name: str) -> _Element | None:
        return next((child for child in self.children if child.name == name), None)


@dataclass(frozen=True, slots=True)
class Pair:
    """The readable texts of a unit (1.2) or segment (2.x)."""

    source: str
    target: str
    state: str
    attributes: dict[str, str]
    """Those of the unit or segment."""


def read_pairs(data: bytes, name: str) -> Iterator[Pair]:
    """Yield the source and the translation of each unit of an XLIFF file, empty if it has none."""
    content, _ = _decode(data, name)
    for element in _elements(content, name)[1]:
        source, target = element.child("source"), element.child("target")
        if source is not None:
            text, translation = (
                "" if each is None else _readable(content[each.tag_end : each.end_tag]) for each in (source, target)
            )
            place = element if target is None or "state" not in target.attributes else target
            yield Pair(text, translation, place.attributes.get("state", ""), element.attributes)


def _readable(text: str) -> str:
    """Return the text of an element without inline elements."""
    return html.unescape(_TOKEN.sub("", _without_cdata(text)))


def _decode(data: bytes, name: str) -> tuple[str, str]:
    """Return (text, encoding) of an XLIFF file, after checking that it is well-formed."""
    _check_xml(data, name)
    declared = _ENCODING.match(data.lstrip())
    return decode_text(data, name, declared[1].decode() if declared else None)


def scan(data: bytes, name: str) -> Catalog:
    """Read an XLIFF file."""
    content, encoding = _decode(data, name)
    files, elements = _elements(content, name)
    units = [unit for element in elements if element.translate for unit in _units(content, element)]
    if not files or files[0].name != "xliff":
        raise DocgraphError("is not an XLIFF file; name the format of the file with --format", path=name)
    is_v1 = files[0].attributes.get("version", "1.2").startswith("1")
    attribute = "target-language" if is_v1 else "trgLang"
    places = [element for element in files if element.name == ("file" if is_v1 else "xliff")]
    codes = [code for each in places if LANGUAGE_CODE.fullmatch(code := each.attributes.get(attribute, ""))]
    declare = partial(_declare, content, attribute, places)
    return Catalog(content, encoding, units, codes[0] if codes else "", declare, errors="xmlcharrefreplace")


def _check_xml(data: bytes, name: str) -> None:
    """Refuse XML that is not well-formed, declares entities or is nested too deeply."""
    from xml.parsers import expat

    depth = 0

    def refuse(*_: object) -> None:
        raise DocgraphError("declares XML entities, which are not supported; expand them first", path=name)

    def start_doctype(_name: str, _system: str | None, _public: str | None, has_internal_subset: bool) -> None:
        if has_internal_subset:
            refuse()

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > MAX_DEPTH:
            raise DocgraphError(f"nests more than {MAX_DEPTH} elements; check the file", path=name)

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = start_doctype
    parser.EntityDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise DocgraphError(f"is not well-formed XML ({reason}); correct it", path=name, line=error.lineno) from error
    except (ValueError, LookupError) as error:
        raise DocgraphError(f"is not well-formed XML ({error}); correct it", path=name) from error


def _elements(content: str, name: str) -> tuple[list[_Element], list[_Element]]:
    """Return the elements xliff and file, and the units (1.2) or segments (2.x) with their children."""
    files, units, stack = list[_Element](), list[_Element](), list[_Element]()
    for token in _TOKEN.finditer(content):
        if token["name"] is None:
            continue
        if token["close"]:
            if not stack or stack[-1].name != token["name"]:
                raise DocgraphError(
                    "has tags that cannot be read; save it again", path=name, line=line_of(content, token.start())
                )
            element = stack.pop()
            element.end_tag, element.end = token.start(), token.end()
        else:
            element = _start(token, stack[-1] if stack else None)
            if element.name in ("xliff", "file"):
                files.append(element)
            if stack and element.name in ("source", "target", "seg-source"):
                stack[-1].children.append(element)
            if not token["empty"]:
                stack.append(element)
                continue
            element.end_tag = element.end = token.end()
        if element.name in ("trans-unit", "segment"):
            units.append(element)
    return files, units


def _start(token: re.Match[str], parent: _Element | None) -> _Element:
    attributes, spans = {}, {}
    for match in _ATTRIBUTE.finditer(token[0]):
        kind = "value" if match["value"] is not None else "single"
        attributes[match["name"]] = html.unescape(match[kind])
        spans[match["name"]] = (token.start() + match.start(kind), token.start() + match.end(kind))
    translate = parent is None or parent.translate
    if "translate" in attributes:
        translate = attributes["translate"] != "no"
    translate = translate and token["name"] not in _SKIPPED and not (parent and parent.name in _SKIPPED)
    space = attributes.get("xml:space", "")
    keeps_lines = space == "preserve" or (not space and parent is not None and parent.keeps_lines)
    return _Element(token["name"], *token.span(), attributes, spans, translate=translate, keeps_lines=keeps_lines)


def _units(content: str, element: _Element) -> list[Unit]:
    """Return the text of a unit (1.2) or segment (2.x), unless it has a translation or is approved."""
    source = element.child("seg-source") or element.child("source")
    target = element.child("target")
    if source is None or source.end_tag == source.end or element.attributes.get("approved") == "yes":
        return []
    if target is not None and content[target.tag_end : target.end_tag].strip():
        state = target.attributes.get("state") or element.attributes.get("state")
        if state not in _UNTRANSLATED:
            return []
    text = _without_cdata(content[source.tag_end : source.end_tag])
    if not source.keeps_lines:
        text = re.sub("[\r\n]", " ", text)
    return [Unit(text, partial(_write, content, element, source, target))]


def _without_cdata(text: str) -> str:
    """Return the text with comments removed and CDATA sections escaped, in which a translation could not be escaped."""
    return _TOKEN.sub(
        lambda token: (
            escape(token["cdata"]) if token["cdata"] is not None else "" if token[0][:2] == "<!" else token[0]
        ),
        text,
    )


def _write(
    content: str, unit: _Element, source: _Element, target: _Element | None, text: str, language: str
) -> list[Edit]:
    text = safe_apostrophes(content[source.tag_end : source.end_tag], text)
    prefix = content[unit.start + 1 : unit.tag_end].split(unit.name)[0]
    is_v1 = unit.name == "trans-unit"
    new_attributes = {"state": "needs-review-translation"} if is_v1 else {}
    if language and any(each is not None and "xml:lang" in each.attributes for each in (source, target)):
        new_attributes["xml:lang"] = language
    edits = [] if is_v1 else _set_attributes(content, unit, {"state": "translated", "subState": "docgraph:mt"})
    if target is None:
        line_start = content.rfind("\n", 0, source.start) + 1
        indent = content[line_start : source.start]
        newline = "\r\n" if content[:line_start].endswith("\r\n") else "\n"
        separator = f"{newline}{indent}" if line_start and not indent.strip() else ""
        attributes = "".join(f' {name}="{value}"' for name, value in new_attributes.items())
        new = f"{separator}<{prefix}target{attributes}>{text}</{prefix}target>"
        return [*edits, (source.end, source.end, new)]
    if target.end_tag == target.end:  # <target/>
        tag = content[target.start : target.tag_end]
        for name, value in new_attributes.items():
            tag = re.sub(rf"""\s{name}\s*=\s*(?:"[^"]*"|'[^']*')""", "", tag)
            tag = f'{tag[:-2].rstrip()} {name}="{value}"/>'
        new = f"{tag[:-2].rstrip()}>{text}</{prefix}target>"
        return [*edits, (target.start, target.end, new)]
    edits += _set_attributes(content, target, new_attributes)
    return [*edits, (target.tag_end, target.end_tag, text)]


def _set_attributes(content: str, element: _Element, attributes: dict[str, str]) -> list[Edit]:
    edits, added = [], ""
    for name, value in attributes.items():
        if name in element.attribute_spans:
            edits.append((*element.attribute_spans[name], value))
        else:
            added += f' {name}="{value}"'
    if added:
        place = element.tag_end - (2 if content.startswith("/>", element.tag_end - 2) else 1)
        place = len(content[:place].rstrip()) if content[place - 1].isspace() else place
        edits.append((place, place, added))
    return edits


def _declare(content: str, attribute: str, places: list[_Element], language: str) -> list[Edit]:
    """Declare the target language of the files that declare none."""
    undeclared = (element for element in places if not element.attributes.get(attribute, "").strip())
    return [edit for element in undeclared for edit in _set_attributes(content, element, {attribute: language})]


def parse(source: str, language: str) -> list[Document]:
    """Read units of text with inline elements, line by line, and the cases of ICU plurals and selects one by one."""
    elements = list(_inline_elements(source))
    # Lines and braces inside an element do not count.
    shown = splice(source, ((start, end, _FILLER * (end - start)) for start, end, _ in elements))
    paragraphs = (each for unit in unit_spans(source) for each in message_paragraphs(shown, unit))
    return document_of(source, (_block(source, *each, elements) for each in paragraphs), language)


def _inline_elements(source: str) -> Iterator[_Inline]:
    """Yield the tags of inline elements; an element with code or untranslatable text is yielded as a whole."""
    depth = start = 0
    for token in _TOKEN.finditer(source):
        if token["name"] is None:
            if not depth:
                yield *token.span(), ""
        elif token["close"] and depth:
            depth -= 1
            if not depth:
                yield start, token.end(), "atom"
        elif token["empty"]:
            if not depth:
                is_paired = token["name"] in _PAIRED or _TAG_PLACEHOLDER.search(token["attributes"])
                yield *token.span(), "" if is_paired else "atom"
        elif depth or (not token["close"] and _is_code(token)):
            start = start if depth else token.start()
            depth += 1
        else:
            yield *token.span(), "close" if token["close"] else "open"


def _block(source: str, lines: Sequence[Span], counts: bool, elements: Sequence[_Inline]) -> Block:
    block, last = Block(source), -1
    for start, end in lines:
        if last >= 0:
            block.line_break(last, start)
        for first, after, role in elements[bisect_left(elements, (start,)) : bisect_left(elements, (end,))]:
            _add_text(block, start, first, counts)
            block.markup(first, after, role=role)
            start = after
        _add_text(block, start, end, counts)
        last = end
    return block


def _add_text(block: Block, start: int, end: int, counts: bool) -> None:
    """Add text; an HTML tag in it, which is escaped, is markup, and the `#` of a plural stands for a number."""
    for token in _IN_TEXT.finditer(block.source, start, end):
        if token["count"] and not counts:
            continue
        add_text(block, start, token.start())
        if token["count"]:
            block.opaque(*token.span())
        else:
            block.markup(*token.span(), role=tag_role(html.unescape(token[0])))
        start = token.end()
    add_text(block, start, end)


def _is_code(token: re.Match[str]) -> bool:
    attributes = token["attributes"]
    return token["name"] in _CONTENT_IS_CODE or (
        token["name"] == "mrk"
        and re.search(r"""translate\s*=\s*["']no|mtype\s*=\s*["']protected""", attributes) is not None
    )


XLIFF = catalog_format("xliff", (".xlf", ".xliff"), scan, parse, escape, mnemonics=("&amp;",))
