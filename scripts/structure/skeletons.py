"""What must survive translation in each format, read by a parser that docgraph does not use.

A skeleton is a list of lines. The text of the document is not in it; markup, addresses, code, placeholders and times
are. The order of inline markup in a block is free, because words change places.

| format | parser | in the skeleton |
|---|---|---|
| Markdown | mistune | blocks and their nesting, code, targets of links and images, number of emphases |
| HTML | html5lib | elements and attributes, inline ones by block; code, scripts, styles |
| reStructuredText | docutils | nodes, targets of references, literals, directives, number of problems |
| PO | polib | messages, contexts, comments, flags, earlier translations, placeholders of new ones |
| XLIFF | lxml | elements, sources, earlier targets, inline elements of new targets |
| DOCX, PPTX, XLSX, ODT | lxml | parts, elements and attributes; python-docx, python-pptx, openpyxl, odfpy open it |
| EPUB | html5lib, lxml | parts, elements and attributes; ebooklib opens it |
| SRT, VTT | pysrt, webvtt-py | numbers, times, number of cues |
"""

from __future__ import annotations

import io
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import docutils.core
import docutils.nodes
import docx
import ebooklib.epub
import html5lib
import mistune
import odf.opendocument
import openpyxl
import polib
import pptx
import pysrt
import webvtt
from lxml import etree

Skeleton = list[str]
PLACEHOLDER = re.compile(r"%\(\w+\)[a-z]|%[sd]|\{[\w.]*\}|\{\{[^{}]*\}\}|<[^<>]*>")


def _counted(items: Iterator[str]) -> str:
    """Return items as text, in an order that does not depend on theirs."""
    return ", ".join(f"{name} x{count}" for name, count in sorted(Counter(items).items()))


def _text(data: bytes) -> str:
    return data.decode("utf-8-sig", "surrogateescape")


# Markdown


def markdown(data: bytes) -> Skeleton:
    """Return blocks by nesting; front matter is left to YAML parsers."""
    text = re.sub(r"\A---\r?\n.*?\n---\r?\n", "", _text(data), count=1, flags=re.S)
    text = re.sub(r"<a id=[^<>]*></a>", "", text)  # keeps links to a translated heading working
    parse = mistune.create_markdown(renderer="ast", plugins=["table", "strikethrough", "task_lists", "footnotes"])
    return list(_markdown_blocks(parse(text), 0))


def _markdown_blocks(tokens: Any, depth: int) -> Iterator[str]:
    for token in tokens:
        kind, children = token["type"], token.get("children", ())
        if kind == "blank_line":
            continue
        raw = token.get("raw", "") if kind in ("block_code", "block_html") else ""
        if kind == "block_html":
            raw = " ".join(re.findall(r"</?[A-Za-z][\w-]*", raw))
        attributes = {name: value for name, value in token.get("attrs", {}).items() if name != "label"}
        yield f"{'  ' * depth}{kind} {attributes or ''} {raw}".rstrip()
        if any("children" in child or child["type"].startswith("block") for child in children) and kind not in _INLINE:
            yield from _markdown_blocks(children, depth + 1)
        else:
            yield f"{'  ' * depth}  {_counted(_markdown_inline(children))}"


_INLINE = ("paragraph", "heading", "block_text", "table_cell")


def _markdown_inline(tokens: Any) -> Iterator[str]:
    for token in tokens:
        kind = token["type"]
        if kind in ("text", "softbreak", "linebreak"):
            continue
        if kind == "inline_html":
            yield re.match(r"</?[\w-]*|<!", token["raw"])[0]  # type: ignore[index]
        else:
            code = token.get("raw", "") if kind == "codespan" else ""
            yield f"{kind} {code} {token.get('attrs', {}).get('url', '')}".strip()
        yield from _markdown_inline(token.get("children", ()))


# HTML

_TRANSLATED = {"alt", "title", "placeholder", "aria-label", "lang", "xml:lang", "content", "label", "summary", "value"}
_PHRASING = {
    *("a", "abbr", "b", "bdi", "bdo", "br", "button", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img"),
    *("input", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time"),
    *("tt", "u", "var", "wbr"),
}
_VERBATIM = {"script", "style", "pre", "code", "kbd", "samp", "tt", "textarea", "svg", "math"}


def html(data: bytes) -> Skeleton:
    """Return block elements in order, each with its inline elements."""
    tree = html5lib.parse(data, treebuilder="lxml", namespaceHTMLElements=False)
    return list(_html_block(tree.getroot(), 0))


def _name(element: Any) -> str:
    return etree.QName(element).localname if isinstance(element.tag, str) else "comment"


def _described(element: Any) -> str:
    kept = {name: value for name, value in element.attrib.items() if str(name).lower() not in _TRANSLATED}
    name = _name(element)
    code = " ".join("".join(element.itertext()).split()) if name in _VERBATIM else ""
    return f"<{name}{''.join(f' {key}={value!r}' for key, value in sorted(kept.items()))}>{code}"


def _html_block(element: Any, depth: int) -> Iterator[str]:
    inline: list[str] = []
    blocks: list[Any] = []

    def sort(parent: Any) -> None:
        for child in parent:
            if _name(child) in _PHRASING:
                inline.append(_described(child))
                if _name(child) not in _VERBATIM:
                    sort(child)
            else:
                blocks.append(child)

    if _name(element) not in _VERBATIM:
        sort(element)
    yield f"{'  ' * depth}{_described(element)} {_counted(iter(inline))}"
    for block in blocks:
        yield from _html_block(block, depth + 1)


# reStructuredText


def rst(data: bytes) -> Skeleton:
    """Return the nodes of the document tree; unknown directives and roles of Sphinx become problems, which count."""
    settings = {
        "report_level": 5,
        "halt_level": 5,
        "file_insertion_enabled": False,
        "raw_enabled": False,
        "warning_stream": io.StringIO(),
        "input_encoding": "unicode",
    }
    tree = docutils.core.publish_doctree(_text(data), settings_overrides=settings)
    return list(_rst_nodes(tree, 0))


def _rst_nodes(node: docutils.nodes.Node, depth: int) -> Iterator[str]:
    for child in node.children:
        if isinstance(child, docutils.nodes.Text):
            continue
        if isinstance(child, docutils.nodes.system_message):
            if child["level"] > 1:  # 1: two titles have the same text
                yield f"{'  ' * depth}problem {child['level']}"
            continue
        code = child.astext() if isinstance(child, docutils.nodes.literal | docutils.nodes.FixedTextElement) else ""
        if isinstance(child, docutils.nodes.TextElement) and not isinstance(child, docutils.nodes.Inline):
            yield f"{'  ' * depth}{child.tagname} {code} {_counted(_rst_inline(child))}"
        else:
            yield f"{'  ' * depth}{child.tagname} {code}"
            yield from _rst_nodes(child, depth + 1)


def _rst_inline(node: docutils.nodes.Element) -> Iterator[str]:
    for child in node.findall(docutils.nodes.Inline):
        if child is not node:
            assert isinstance(child, docutils.nodes.Element)
            code = child.astext() if isinstance(child, docutils.nodes.literal) else ""
            yield f"{child.tagname} {code} {child.get('refuri', '')}"


# Message catalogues


def po(data: bytes) -> Skeleton:
    """Return the messages; of new translations, whether they have the placeholders of the message."""
    return [_po_entry(entry) for entry in polib.pofile(_text(data))]


def _po_entry(entry: polib.POEntry) -> str:
    flags = [flag for flag in entry.flags if flag != "fuzzy"]
    keys = (entry.msgctxt, entry.msgid, entry.msgid_plural, entry.comment, entry.tcomment, entry.occurrences, flags)
    new = "fuzzy" in entry.flags or not (entry.msgstr or any(entry.msgstr_plural.values()))
    translations = "" if new else (entry.msgstr, sorted(entry.msgstr_plural.items()))
    return f"{keys!r} {translations} {entry.obsolete}"


def po_placeholders(before: bytes, after: bytes) -> list[str]:
    """Return the new translations without the placeholders of their messages."""
    old = {(entry.msgctxt, entry.msgid): entry.msgstr for entry in polib.pofile(_text(before))}
    return [
        f"{entry.msgid!r} -> {entry.msgstr!r}"
        for entry in polib.pofile(_text(after))
        if entry.msgstr and entry.msgstr != old.get((entry.msgctxt, entry.msgid))
        if Counter(PLACEHOLDER.findall(entry.msgid)) != Counter(PLACEHOLDER.findall(entry.msgstr))
    ]


def xliff(data: bytes) -> Skeleton:
    """Return all elements but new targets, with the text of sources and earlier targets."""
    return list(_xliff(etree.fromstring(data, _parser()), 0))


def _parser() -> etree.XMLParser:
    return etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)


def _xliff(element: Any, depth: int) -> Iterator[str]:
    free = {"state", "target-language", "trgLang", "subState", "approved"}
    attributes = {name: value for name, value in element.attrib.items() if name not in free}
    if _name(element) == "target":
        return
    whole = "".join(element.itertext()) if _name(element) in ("source", "note") else ""
    yield f"{'  ' * depth}{element.tag} {attributes} {whole}"
    for child in element:
        yield from _xliff(child, depth + 1)


# Office documents and e-books


def office(data: bytes) -> Skeleton:
    """Return the parts; of XML parts the elements, without text and runs of text, which may be joined or divided."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    lines = []
    for name, content in parts.items():
        if not content or not name.endswith((".xml", ".rels")):
            lines.append(f"{name} {hash(content)}")
            continue
        lines.append(name)
        lines.extend(_xml_lines(etree.fromstring(content, _parser()), 1))
    return lines


_RUNS = {"r", "t", "rPr", "span", "s", "tab", "lang", "proofErr", "rFonts", "sz", "b", "i", "color", "u"}
_TEXTUAL = {"lang", "language", "country", "count", "uniqueCount", "space"}


def _xml_lines(element: Any, depth: int) -> Iterator[str]:
    if not isinstance(element.tag, str):
        return
    kept = {k: v for k, v in element.attrib.items() if etree.QName(k).localname not in _TEXTUAL}
    if _name(element) not in _RUNS:
        yield f"{'  ' * depth}{_name(element)} {sorted(kept.items())}"
    for child in element:
        yield from _xml_lines(child, depth + (_name(element) not in _RUNS))


def epub(data: bytes) -> Skeleton:
    """Return the parts; of pages their HTML skeleton, of other XML parts the elements."""
    lines = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            content = archive.read(name)
            lines.append(name)
            if name.endswith((".xhtml", ".html", ".htm")):
                lines.extend(html(content))
            elif name.endswith((".opf", ".ncx", ".xml")):
                lines.extend(_xml_lines(etree.fromstring(content, _parser()), 1))
            else:
                lines.append(str(hash(content)))
    return lines


# Subtitles


def srt(data: bytes) -> Skeleton:
    """Return numbers and times of cues."""
    cues = pysrt.from_string(_text(data), error_handling=pysrt.ERROR_PASS)
    return [f"{cue.index} {cue.start} {cue.end} {cue.position} {bool(cue.text.strip())}" for cue in cues]


def vtt(data: bytes) -> Skeleton:
    """Return identifiers and times of cues; a file that webvtt-py refuses has the skeleton of its times."""
    try:
        captions = webvtt.from_buffer(io.BytesIO(data), "vtt")
    except webvtt.errors.MalformedFileError:
        return re.findall(r".* --> .*", _text(data))
    return [f"{each.identifier} {each.start} {each.end} {bool(each.text.strip())}" for each in captions]


SKELETONS: dict[str, Callable[[bytes], Skeleton]] = {
    ".md": markdown,
    ".html": html,
    ".rst": rst,
    ".po": po,
    ".xlf": xliff,
    ".docx": office,
    ".pptx": office,
    ".xlsx": office,
    ".odt": office,
    ".epub": epub,
    ".srt": srt,
    ".vtt": vtt,
}

OPENERS: dict[str, Callable[[str], Any]] = {
    ".docx": docx.Document,
    ".pptx": pptx.Presentation,
    ".xlsx": openpyxl.load_workbook,
    ".odt": odf.opendocument.load,
    ".epub": ebooklib.epub.read_epub,
}


def opens(path: Path, data: bytes) -> bool:
    """Return whether the library of the format opens a file; True if there is none."""
    suffix = path.suffix.lower()
    if suffix not in OPENERS:
        return True
    with tempfile.NamedTemporaryFile(suffix=suffix) as file:
        file.write(data)
        file.flush()
        try:
            OPENERS[suffix](file.name)
        except Exception:  # libraries raise anything
            return False
    return True


def skeleton(path: Path, data: bytes) -> Skeleton:
    """Return the skeleton of a file by the extension of its name."""
    return SKELETONS[path.suffix.lower()](data)
