"""HTML: text of block elements and of some attributes is read; inline tags are inline markup.

Script, style, pre, code, `translate="no"` and words inside a sentence that are marked as another language are left
alone. Paragraphs in another language have their language recorded.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping

from docgraph.document import Document, MarkupRole
from docgraph.formats.base import Format, names
from docgraph.formats.literals import PLACEHOLDER
from docgraph.formats.markup_in_words import is_note_mark
from docgraph.formats.paragraph import Block, document_of
from docgraph.languages import base_language

ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
ATTRIBUTES = r"""(?:[^<>"']|"[^"]*+"|'[^']*+')*+"""
_TOKEN = re.compile(
    rf"<!--(?P<comment>)|<(?P<close>/?)(?P<tag>[a-zA-Z][^\s<>/]*)(?P<attributes>{ATTRIBUTES})>|<[!?][^<>]*>"
)
_TEXT = re.compile(rf"(?P<entity>{ENTITY.pattern})|(?P<atom>{PLACEHOLDER})")
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
_UNCLOSED_TO_END = _RAW_TEXT | {"pre"}
"""Elements that last until the end of the file if nothing closes them."""
_LINK_END = re.compile(r"</a\s*>(?:\s*[\r\n]\s*)?\Z", re.I)
"""Text between two links of a menu: nothing, or a line break. In prose, a word or a space separates links."""
_NOTE = re.compile(
    r"<(?P<tag>sup|a)(?P<attributes>(?:\s[^<>]{0,999})?)>"
    r"(?P<content>(?:<(?!/?(?P=tag)[\s>])[^<>]{0,999}>|[^<>]){1,99}?)</(?P=tag)\s*>",
    re.I,
)
_NOTE_LINK = re.compile(r"noteref|\bfootnote-ref", re.I)
_NO_TRANSLATION = re.compile(r"""\btranslate\s*=\s*["']?no\b|\bclass\s*=\s*(?:["'][^"']*)?\bnotranslate\b""", re.I)
_ROOT = re.compile(rf"<html\b{ATTRIBUTES}>", re.I)
_MARKED = re.compile(rf"<[a-zA-Z](?=[^<>]*\slang\b|[^<>]*\sxml:lang\b){ATTRIBUTES}>", re.I)
_LANGUAGE = re.compile(r"""(\s(?:xml:)?lang\s*=\s*["']?)([\w-]+)""", re.I)
_VOID = names("area base br col embed hr img input link meta source track wbr")
_ATTRIBUTE = re.compile(r"""\s(?P<name>[\w:-]+)\s*=\s*(?:"(?P<double>[^"]*+)"|'(?P<single>[^']*+)')""")
_TEXT_ATTRIBUTES = names("alt title placeholder aria-label")
_TEXT_META = names("description og:title og:description twitter:title twitter:description")


def parse(source: str, language: str) -> list[Document]:
    """Read an HTML page."""
    return document_of(source, html_blocks(source, 0, len(source), language), language)


def declare(source: str, language: str) -> str:
    """Set the `lang` attributes of <html> and of all translated elements that declare the same language."""
    root = _ROOT.search(source)
    declared = _LANGUAGE.search(root[0]) if root else None
    if declared is None:
        return source
    main = base_language(declared[2])

    def mark(lang: re.Match[str]) -> str:
        return lang[1] + (language if base_language(lang[2]) == main else lang[2])

    return _MARKED.sub(
        lambda tag: tag[0] if _NO_TRANSLATION.search(tag[0]) else _LANGUAGE.sub(mark, tag[0]),
        source,
    )


def escape(text: str) -> str:
    """Escape text for an HTML or XML element."""
    return html.escape(text, quote=False)


def escape_attribute(text: str) -> str:
    """Escape text for a quoted attribute."""
    return html.escape(text, quote=True)


def tag_role(raw: str) -> MarkupRole:
    """Return whether a tag opens or closes an element; empty for void elements, comments and declarations."""
    match = re.match(r"<(/?)([a-zA-Z0-9][^\s<>/]*)", raw)
    if match is None or match[2].lower() in _VOID or raw.endswith("/>"):
        return ""
    return "close" if match[1] else "open"


def note_end(source: str, start: int, end: int, before: str) -> int:
    """Return the end of the element at source[start:end] if it is the mark of a note after the text `before`, else 0.

    The mark of a note is a superscript, or a link to the note.
    """
    note = _NOTE.match(source, start, end)
    if note is None:
        return 0
    is_link = (
        note["tag"] in "aA" and not _NOTE_LINK.search(note["attributes"]) and "<sup" not in note["content"].lower()
    )
    content = html.unescape(re.sub("<[^<>]*>", "", note["content"]))
    return 0 if is_link or not is_note_mark(before, content) else note.end()


def add_text(block: Block, start: int, end: int) -> None:
    """Add source[start:end], text with character references and placeholders, to the block."""
    block.check_length(end - start)  # before a slow search
    for token in _TEXT.finditer(block.source, start, end):
        block.text(start, token.start())
        start = token.end()
        decoded = html.unescape(token[0])
        if token["atom"]:
            block.opaque(*token.span())
        elif decoded == token[0]:
            block.text(*token.span())
        else:
            block.decoded(decoded, *token.span())
    block.text(start, end)


def attribute_blocks(source: str, start: int, end: int) -> list[Block]:
    """Return the texts in the attributes of the tag source[start:end]: alt, title, placeholder, descriptions."""
    tag = source[start:end]
    if "=" not in tag or tag.startswith("</") or _NO_TRANSLATION.search(tag):
        return []
    attributes = list(_ATTRIBUTE.finditer(source, start, end))
    values = {found["name"].lower(): found["double"] or found["single"] or "" for found in attributes}
    wanted = _text_attributes(tag, values)
    blocks = []
    for found in attributes:
        if found["name"].lower() in wanted:
            block = Block(source, syntax="attribute")
            add_text(block, *found.span("double" if found["double"] is not None else "single"))
            blocks.append(block)
    return blocks


def _text_attributes(tag: str, values: Mapping[str, str]) -> frozenset[str]:
    """Return the names of the attributes of a tag that are text.

    The value of a button is its caption. A submit button with a name sends it to the server: it must not change.
    """
    if re.match(r"<[A-Z][a-z]", tag):
        return _TEXT_ATTRIBUTES | {"label", "caption"}  # a component of MDX, such as <TabItem label="...">
    match = re.match(r"<(meta|input|option|optgroup)\b", tag, re.I)
    name = match[1].lower() if match else ""
    if name == "meta":
        is_text = _TEXT_META & {values.get("name", "").lower(), values.get("property", "").lower()}
        return frozenset({"content"}) if is_text else frozenset()
    if name == "input":
        kind = values.get("type", "").lower()
        is_caption = kind in ("button", "reset") or (kind == "submit" and not values.get("name"))
        return _TEXT_ATTRIBUTES | {"value"} if is_caption else _TEXT_ATTRIBUTES
    return _TEXT_ATTRIBUTES | {"label"} if name else _TEXT_ATTRIBUTES


def html_blocks(source: str, start: int, end: int, language: str = "", syntax: str = "") -> Iterator[Block]:
    """Yield a block for each stretch of text and inline tags in source[start:end].

    Words inside a sentence that are marked as another language than `language` and the one of the page are left alone.
    """
    block, last, position = Block(source, syntax=syntax), start, start
    elements = _Elements(source, start, end, language)
    while token := _TOKEN.search(source, position, end):
        _add_marked_text(block, position, token.start(), elements)
        token_end = token.end()
        tag = (token["tag"] or "").lower()
        if token["comment"] is not None:
            comment_end = source.find("-->", token.start() + 2, end)
            token_end = end if comment_end < 0 else comment_end + 3
        end_of_note = note_end(source, token.start(), end, block.ending) if tag in ("a", "sup") else 0
        opaque = bool(end_of_note) or elements.is_opaque(token, tag)
        inline = not tag or tag in _INLINE or tag in _OPAQUE_INLINE
        nested = attribute_blocks(source, *token.span()) if tag and not opaque else []
        if opaque:
            token_end = end_of_note or elements.end_of(tag, token_end)
        elif tag == "a" and not token["close"] and _LINK_END.search(source, last, token.start()):
            inline = False  # the links of a menu are texts of their own
        if not inline:
            yield block
            block = Block(source, syntax=syntax)
            if tag and not opaque:
                elements.follow(token, tag)
        elif opaque:
            block.opaque(token.start(), token_end)
        else:
            block.markup(token.start(), token_end, role=tag_role(token[0]))
        for each in nested:
            each.declare_language(elements.language, 0)
        block.nested += nested
        last, position = token.start(), token_end
    _add_marked_text(block, position, end, elements)
    yield block


def _add_marked_text(block: Block, start: int, end: int, elements: _Elements) -> None:
    """Add text and record the language that the elements around it declare."""
    begun = len(block)
    add_text(block, start, end)
    block.declare_language(elements.language, begun)


class _Elements:
    """Finds elements that are left alone, and the language of the others.

    Remembers tags that are never closed, so that the total time stays linear.
    """

    def __init__(self, source: str, start: int, end: int, language: str) -> None:
        self.source = source
        self.end = end
        self.unclosed: set[str] = set()
        self.marked: list[tuple[str, str]] = []
        """Name and language of the open blocks, from the first that declares a language."""
        self.open_names = Counter[str]()
        root = _ROOT.search(source, start, end)
        declared = _LANGUAGE.search(root[0]) if root else None
        self.languages = {base_language(code) for code in (language, declared[2] if declared else "") if code}

    def is_opaque(self, token: re.Match[str], tag: str) -> bool:
        """Return whether the token is the start tag of an element whose content is not translated."""
        if not tag or token["close"] or token["attributes"].endswith("/"):
            return False
        if tag == "select":
            return _OPTION_WITHOUT_VALUE.search(self.source, token.end(), self.end_of(tag, token.end())) is not None
        if tag in _OPAQUE:
            return True
        if tag in _VOID:
            return False
        is_foreign = tag in _INLINE and self._language(token["attributes"]) not in ("", *self.languages)
        return is_foreign or _NO_TRANSLATION.search(token["attributes"]) is not None

    def _language(self, attributes: str) -> str:
        """Return the language that a tag declares; empty if it declares none, or if nothing is known of the page."""
        declared = _LANGUAGE.search(attributes) if self.languages else None
        return "" if declared is None else base_language(declared[2])

    def follow(self, token: re.Match[str], tag: str) -> None:
        """Update the language of the following text; <html> and <body> declare the one of the page."""
        if token["close"]:
            while self.open_names[tag]:
                name, _ = self.marked.pop()
                self.open_names[name] -= 1
                if name == tag:
                    break
        elif tag not in _VOID and tag not in ("html", "body"):
            if self.marked and (self.marked[-1][0] == "p" or tag == self.marked[-1][0] == "li"):  # ends by itself
                self.open_names[self.marked.pop()[0]] -= 1
            language = self._language(token["attributes"])
            if self.marked or language:
                own = "" if language in self.languages else language or self.language
                self.marked.append((tag, own))
                self.open_names[tag] += 1

    @property
    def language(self) -> str:
        """The language that the open elements declare; empty for that of the page."""
        return self.marked[-1][1] if self.marked else ""

    def end_of(self, tag: str, start: int) -> int:
        """Return the end of the element whose start tag ends at `start`.

        An element that is never closed ends at its start tag; raw text (script, style) and preformatted text last until
        the end of the file.
        """
        default = self.end if tag in _UNCLOSED_TO_END else start
        if tag in self.unclosed:
            return default
        depth, position = 1, start
        pattern = re.compile(rf"<(/?){re.escape(tag)}(?=[\s/>]){ATTRIBUTES}>", re.I)
        while match := pattern.search(self.source, position, self.end):
            depth += -1 if match[1] else tag not in _RAW_TEXT
            position = match.end()
            if depth == 0:
                return position
        self.unclosed.add(tag)
        return default


HTML = Format(
    "html", (".html", ".htm", ".xhtml"), parse, escape, declare=declare, escapes={"attribute": escape_attribute}
)
