"""HTML: the text of block elements; inline tags are gaps; script, style, pre, code and the like are left alone."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.formats.base import Block, Format, document_of, names

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
ATTRIBUTES = r"""(?:[^<>"']|"[^"]*+"|'[^']*+')*+"""
_TOKEN = re.compile(
    rf"<!--(?P<comment>)|<(?P<close>/?)(?P<tag>[a-zA-Z][^\s<>/]*)(?P<attributes>{ATTRIBUTES})>|<[!?][^<>]*>"
)
_INLINE = names(
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label mark nobr q rp rt ruby s small span strike"
    " strong sub sup time tt u wbr"
)
_OPAQUE_INLINE = names("code kbd samp var")
_OPAQUE = _OPAQUE_INLINE | names(
    "applet audio canvas iframe math noembed noframes object pre script select style svg template textarea video xmp"
)
_SENT_AS_READ = re.compile(r"<option(?=[\s/>])(?![^<>]*\svalue\s*=)", re.I)
"""A choice without a value: a form sends its text."""
_RAW = names("script style textarea xmp")
_MENU = re.compile(r"</a\s*>(?:\s*[\r\n]\s*)?\Z", re.I)
"""What stands before a link that follows another: nothing, or a line break. In prose a word would, or a space."""
_NO_TRANSLATION = re.compile(r"""\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*(?:["'][^"']*)?\bnotranslate\b""", re.I)
_DOCUMENT = re.compile(rf"<html\b{ATTRIBUTES}>", re.I)
_LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)[\w-]+""", re.I)
_VOID = names("area base br col embed hr img input link meta source track wbr")


def parse(source: str, language: str) -> list[Document]:
    return document_of(source, _blocks(source), language)


def declare(source: str, language: str) -> str:
    return _DOCUMENT.sub(lambda tag: _LANGUAGE.sub(rf"\g<1>{language}", tag[0]), source, count=1)


def add_text(block: Block, start: int, end: int) -> None:
    """Text with character references."""
    for entity in ENTITY.finditer(block.source, start, end):
        block.text(start, entity.start())
        start = entity.end()
        decoded = html.unescape(entity[0])
        if decoded == entity[0]:
            block.text(entity.start(), start)
        else:
            block.decoded(decoded, entity.start(), start)
    block.text(start, end)


def _blocks(source: str) -> Iterator[Block]:
    """One block for each stretch of text and inline tags."""
    block, last, position = Block(source), 0, 0
    closing = _Closing(source)
    while token := _TOKEN.search(source, position):
        add_text(block, position, token.start())
        end = token.end()
        tag = (token["tag"] or "").lower()
        if token["comment"] is not None:
            found = source.find("-->", token.start() + 2)
            end = len(source) if found < 0 else found + 3
        opaque = tag in _OPAQUE or (tag not in _VOID and _NO_TRANSLATION.search(token["attributes"] or "") is not None)
        if tag == "select" and not token["close"]:
            opaque = _SENT_AS_READ.search(source, end, closing.after(tag, end)) is not None
        if opaque and not token["close"] and not token["attributes"].endswith("/"):
            end = closing.after(tag, end)
            inline = tag in _OPAQUE_INLINE or tag in _INLINE
        else:
            opaque, inline = False, not tag or tag in _INLINE or tag in _OPAQUE_INLINE
            inline = inline and not (tag == "a" and not token["close"] and _MENU.search(source, last, token.start()))
        if not inline:
            yield block
            block = Block(source)
        elif opaque:
            block.opaque(token.start(), end)
        else:
            block.markup(token.start(), end)
        last, position = token.start(), end
    add_text(block, position, len(source))
    yield block


class _Closing:
    """Finds where an element ends, looking once only for an end tag that never comes."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.missing: set[str] = set()

    def after(self, tag: str, start: int) -> int:
        """The end of the element whose start tag ends at `start`; where nothing closes it, the end of raw text is the
        end of the file and another element is its start tag alone."""
        unclosed = len(self.source) if tag in _RAW else start
        if tag in self.missing:
            return unclosed
        depth, position = 1, start
        pattern = re.compile(rf"<(/?){re.escape(tag)}(?=[\s/>]){ATTRIBUTES}>", re.I)
        while found := pattern.search(self.source, position):
            depth += -1 if found[1] else tag not in _RAW
            position = found.end()
            if depth == 0:
                return position
        self.missing.add(tag)
        return unclosed


def escape(text: str) -> str:
    return html.escape(text, quote=False)


HTML = Format("html", (".html", ".htm", ".xhtml"), parse, escape, declare=declare)
