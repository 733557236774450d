"""HTML: text of block elements is read, inline tags are inline markup; script, style, pre, code etc. are left alone."""

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
_OPTION_WITHOUT_VALUE = re.compile(r"<option(?=[\s/>])(?![^<>]*\svalue\s*=)", re.I)
"""A form sends the text of an option without a value, so that the text must not change."""
_RAW_TEXT = names("script style textarea xmp")
_LINK_END = re.compile(r"</a\s*>(?:\s*[\r\n]\s*)?\Z", re.I)
"""Text between two links of a menu: nothing, or a line break. In prose, a word or a space separates links."""
_NO_TRANSLATION = re.compile(r"""\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*(?:["'][^"']*)?\bnotranslate\b""", re.I)
_ROOT = re.compile(rf"<html\b{ATTRIBUTES}>", re.I)
_LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)[\w-]+""", re.I)
_VOID = names("area base br col embed hr img input link meta source track wbr")


def parse(source: str, language: str) -> list[Document]:
    """Read an HTML page."""
    return document_of(source, _blocks(source), language)


def declare(source: str, language: str) -> str:
    """Set the `lang` attributes of <html>, if it has any."""
    return _ROOT.sub(lambda tag: _LANGUAGE.sub(rf"\g<1>{language}", tag[0]), source, count=1)


def escape(text: str) -> str:
    """Escape text for an HTML or XML element."""
    return html.escape(text, quote=False)


def add_text(block: Block, start: int, end: int) -> None:
    """Add source[start:end], text with character references, to the block."""
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
    """Yield a block for each stretch of text and inline tags."""
    block, last, position = Block(source), 0, 0
    elements = _ElementEnds(source)
    while token := _TOKEN.search(source, position):
        add_text(block, position, token.start())
        end = token.end()
        tag = (token["tag"] or "").lower()
        if token["comment"] is not None:
            comment_end = source.find("-->", token.start() + 2)
            end = len(source) if comment_end < 0 else comment_end + 3
        opaque = _is_opaque(token, tag, source, elements)
        inline = not tag or tag in _INLINE or tag in _OPAQUE_INLINE
        if opaque:
            end = elements.end_of(tag, end)
        elif tag == "a" and not token["close"] and _LINK_END.search(source, last, token.start()):
            inline = False  # the links of a menu are texts of their own
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


def _is_opaque(token: re.Match[str], tag: str, source: str, elements: _ElementEnds) -> bool:
    """Return whether the token is the start tag of an element whose content is not translated."""
    if not tag or token["close"] or token["attributes"].endswith("/"):
        return False
    if tag == "select":
        return _OPTION_WITHOUT_VALUE.search(source, token.end(), elements.end_of(tag, token.end())) is not None
    return tag in _OPAQUE or (tag not in _VOID and _NO_TRANSLATION.search(token["attributes"]) is not None)


class _ElementEnds:
    """Finds the ends of elements; remembers tags that are never closed, so that the total time stays linear."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.unclosed: set[str] = set()

    def end_of(self, tag: str, start: int) -> int:
        """Return the end of the element whose start tag ends at `start`.

        An element that is never closed ends at its start tag; raw text (script, style) ends at the end of the file.
        """
        default = len(self.source) if tag in _RAW_TEXT else start
        if tag in self.unclosed:
            return default
        depth, position = 1, start
        pattern = re.compile(rf"<(/?){re.escape(tag)}(?=[\s/>]){ATTRIBUTES}>", re.I)
        while match := pattern.search(self.source, position):
            depth += -1 if match[1] else tag not in _RAW_TEXT
            position = match.end()
            if depth == 0:
                return position
        self.unclosed.add(tag)
        return default


HTML = Format("html", (".html", ".htm", ".xhtml"), parse, escape, declare=declare)
