"""Text in XML parts: which elements hold paragraphs, and how runs of formatting become inline markup.

There are two kinds of vocabulary. In Office Open XML, text is only in special elements (`w:t`), and everything between
two of them is one markup. In OpenDocument, text is directly in the paragraphs, and each inline tag is one markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from docgraph.errors import DocgraphError
from docgraph.formats.html import add_text
from docgraph.formats.html import escape as escape_html
from docgraph.formats.html import escape_attribute as escape_html_attribute
from docgraph.formats.markup_in_words import is_note_mark
from docgraph.formats.paragraph import Block

MAX_PARAGRAPHS = 500_000
"""Maximum number of paragraphs in a part."""
NAMESPACES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://purl.oclc.org/ooxml/drawingml/main": "a",
    "http://schemas.openxmlformats.org/drawingml/2006/chart": "c",
    "http://purl.oclc.org/ooxml/drawingml/chart": "c",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "x",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "x",
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://www.daisy.org/z3986/2005/ncx/": "ncx",
    "http://www.w3.org/1999/xhtml": "html",
    "urn:oasis:names:tc:opendocument:xmlns:office:1.0": "office",
    "urn:oasis:names:tc:opendocument:xmlns:text:1.0": "text",
    "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0": "draw",
    "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0": "svg",
}
"""Namespace -> the prefix that stands for it in a vocabulary; files may use another."""
_TAG = re.compile(
    r"""<!--(?s:.*?)-->|<!\[CDATA\[(?s:.*?)\]\]>|<\?(?s:.*?)\?>|<!DOCTYPE[^<>\[]*>"""
    r"""|<(?P<close>/?)(?P<name>[^\s<>/!?]+)(?P<rest>(?:[^<>"']|"[^"]*+"|'[^']*+')*+)>"""
)
_XMLNS = re.compile(r"""\sxmlns(?::([A-Za-z_][\w.-]*))?\s*=\s*(?:"([^"<>]*)"|'([^'<>]*)')""")
_ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MOVED = re.compile(r"<\?docgraph-moved ([0-9]+)\?>")
_TEXT_ELEMENT = re.compile(r"<(?P<name>[^\s<>/!?]*\bt)(?P<rest>(?:\s[^<>]*)?)(?<!/)>(?P<text>[^<]*)")
_MAX_NAMES = 10_000
_PIECE = "\x01"
"""Separates the pieces of a part; XML cannot contain it."""
_RUN_LANGUAGE = re.compile(r"""(?:\sw:val|\slang)\s*=\s*["']([A-Za-z]{2,3})(?![A-Za-z])""")
_RAISED = re.compile(r"""="superscript"|\sbaseline\s*=\s*["'][1-9]""")
_SAME_RUN = re.compile(r"</[\w:]*t>\s*<[\w:]*t(?:\s[^<>]*)?>")
_STYLE_NAME = re.compile(r"""\s(?:text|style):(?:style-)?name\s*=\s*["']([^"'<>]*)""")
_STYLE_LANGUAGE = re.compile(r"""\sfo:language\s*=\s*["']([A-Za-z]{2,3})["']""")
_HARD_BREAK = re.compile(r"[\n\r\t\v]+|_x000[AaBbDd]_|&#(?:10|13|x[0Aa]|x[0Dd]);")


def escape(text: str) -> str:
    """Escape text for XML and remove the characters that XML does not allow."""
    return escape_html(_ILLEGAL.sub("", text))


def escape_attribute(text: str) -> str:
    """Escape text for a quoted attribute of XML."""
    return escape_html_attribute(_ILLEGAL.sub("", text))


def is_html(source: str, start: int, end: int) -> bool:
    """Return whether the part source[start:end] is an XHTML page."""
    root = next((tag["name"] for tag in _TAG.finditer(source, start, end) if tag["name"]), "")
    return bool(root.rpartition(":")[2] == "html")


NameOf = Callable[[str | None], str]
TextReader = Callable[[list[Block], int, int], None]
"""Adds source[start:end] to the last block, or to new ones."""


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The elements of a format that hold text, named with the prefixes of `NAMESPACES`."""

    paragraphs: frozenset[str]
    """Elements that begin and end a paragraph."""
    text: frozenset[str]
    """Elements that hold characters. If `mixed`, inline elements of a paragraph, which holds characters itself."""
    mixed: bool = False
    breaks: frozenset[str] = frozenset()
    """Elements that separate texts inside a paragraph (line breaks, tabs)."""
    hidden: frozenset[str] = frozenset()
    """Elements whose text is not read: page numbers, pronunciation, notes that were moved."""
    moved: frozenset[str] = frozenset()
    """Elements with paragraphs of their own inside a paragraph (footnotes, text boxes); they are read after it."""
    multiline: frozenset[str] = frozenset()
    """Text elements in which line ends and tabs separate texts; in others they are spaces."""
    preserve: frozenset[str] = frozenset()
    """Text elements that lose outer spaces without the attribute `xml:space="preserve"`."""
    readers: Mapping[str, TextReader] = field(default_factory=dict)
    """Readers of text elements with a syntax of their own."""
    hyphens: Mapping[str, str] = field(default_factory=dict)
    """Empty elements that stand for a character inside a word."""
    accept: Callable[[str], bool] = bool
    """Returns whether the text of a paragraph is to be translated."""

    def hoist(self, part: str) -> str:
        """Return the part with each `moved` element replaced by a mark; the elements follow the part as pieces."""
        if not self.moved or "<?docgraph-moved" in part:
            return part
        name_of = _names_in(part)
        pieces: list[str] = []
        open_pieces: list[list[str]] = [[]]
        position = 0
        for tag in _TAG.finditer(part):
            if name_of(tag["name"]) not in self.moved or tag["rest"].endswith("/"):
                continue
            if not tag["close"]:
                open_pieces[-1].append(part[position : tag.start()])
                open_pieces.append([])
                position = tag.start()
                continue
            piece = [*open_pieces.pop(), part[position : tag.end()]]
            open_pieces[-1].append(f"<?docgraph-moved {len(pieces)}?>")
            pieces.append("".join(piece))
            position = tag.end()
        return _PIECE.join(["".join([*open_pieces[0], part[position:]]), *pieces])

    def lower(self, source: str) -> str:
        """Return the XML part of a source that `hoist` made."""
        body, *pieces = source.split(_PIECE)
        for index, piece in enumerate(pieces):  # a piece refers only to earlier pieces
            pieces[index] = _put_back(piece, pieces)
        return _put_back(body, pieces) if pieces else body

    def preserve_spaces(self, old: str, new: str) -> str:
        """Return the new part; its text elements that changed and have outer spaces now declare to preserve them."""
        if not self.preserve:
            return new
        name_of = _names_in(old)
        before = [match[0] for match in _TEXT_ELEMENT.finditer(old) if name_of(match["name"]) in self.preserve]
        originals = iter(before)

        def declare(match: re.Match[str]) -> str:
            if name_of(match["name"]) not in self.preserve:
                return match[0]
            text = match["text"]
            if match[0] == next(originals) or text == text.strip() or "xml:space" in match["rest"]:
                return match[0]
            return f'<{match["name"]}{match["rest"]} xml:space="preserve">{text}'

        return _TEXT_ELEMENT.sub(declare, new)

    def blocks(self, source: str, start: int, end: int, kept: frozenset[str] = frozenset()) -> Iterator[Block]:
        """Yield the texts of the part source[start:end] and its pieces, without paragraphs whose text is in `kept`."""
        read = self._mixed_paragraphs if self.mixed else self._run_paragraphs
        name_of = _names_in(source[start:end])
        count = 0
        while start <= end:
            piece_end = source.find(_PIECE, start, end)
            piece_end = end if piece_end < 0 else piece_end
            for blocks in read(source, start, piece_end, name_of):
                text = " ".join(filter(None, (" ".join(block.readable.split()) for block in blocks)))
                if not text or text in kept or not self.accept(text):
                    continue
                count += 1
                if count > MAX_PARAGRAPHS:
                    raise DocgraphError(f"holds more than {MAX_PARAGRAPHS:,} paragraphs; split the document")
                yield from blocks
            start = piece_end + 1

    def _run_paragraphs(self, source: str, start: int, end: int, name_of: NameOf) -> Iterator[list[Block]]:
        """Yield paragraphs whose characters are in text elements; all source between two of them is one markup."""
        blocks = [Block(source)]
        text_start: int | None = None
        run_end: int | None = None
        hidden, depth = "", 0
        add: TextReader = _add_line
        run, is_note = _Run(), False
        hyphens: list[tuple[int, int, str]] = []
        """Start, end and character of the hyphens since the last text that was read."""
        for tag in _TAG.finditer(source, start, end):
            name = name_of(tag["name"])
            run.follow(name, tag["rest"])
            if hidden:
                if name == hidden and not tag["rest"].endswith("/"):
                    depth += -1 if tag["close"] else 1
                    hidden = hidden if depth else ""
                continue
            if text_start is not None:
                first, begun = blocks[-1], len(blocks[-1])
                add(blocks, text_start, tag.start())
                first.declare_language(run.language, begun)
                text_start = tag.end()
            if name in self.paragraphs:
                if len(blocks) > 1 or len(blocks[0]):
                    yield blocks
                    blocks = [Block(source)]
                run_end, text_start, hyphens = None, None, []
            elif name in self.breaks:
                blocks.append(Block(source))
                run_end, hyphens = None, []
            if name in self.hidden and not tag["close"] and not tag["rest"].endswith("/"):
                hidden, depth = name, 1
            elif name in self.hyphens and tag["rest"].endswith("/"):
                hyphens.append((*tag.span(), self.hyphens[name]))
            elif name in self.text and tag["close"]:
                text_start, run_end, is_note = None, run_end if is_note else tag.start(), False
            elif name in self.text and not tag["rest"].endswith("/"):
                content = source[tag.end() : source.find("<", tag.end())]
                is_note = run.is_raised and is_note_mark(blocks[-1].ending, content)
                if is_note:
                    continue
                if run_end is not None:
                    _add_run_end(blocks[-1], run_end, tag.end(), hyphens)
                text_start, hyphens = tag.end(), []
                add = self.readers.get(name) or (_add_lines if name in self.multiline else _add_line)
            elif text_start is not None:
                blocks[-1].markup(tag.start(), tag.end())
        yield blocks

    def _mixed_paragraphs(self, source: str, start: int, end: int, name_of: NameOf) -> Iterator[list[Block]]:
        """Yield paragraphs that hold characters themselves; each tag of an inline element is one markup."""
        blocks = [Block(source)]
        position, inside = start, False
        hidden_start: int | None = None
        depth = 0
        styles = _style_languages(source, start, end)
        languages = [""]
        """Declared languages of the open elements of a paragraph."""
        for tag in _TAG.finditer(source, start, end):
            name = name_of(tag["name"])
            is_empty = tag["name"] is None or tag["rest"].endswith("/")
            if hidden_start is not None:
                depth += 0 if is_empty else -1 if tag["close"] else 1
                if not depth:
                    if inside:
                        hide = blocks[-1].markup if name in self.hidden else blocks[-1].opaque
                        hide(hidden_start, tag.end())
                    hidden_start, position = None, tag.end()
                continue
            if inside:
                begun = len(blocks[-1])
                add_text(blocks[-1], position, tag.start())
                blocks[-1].declare_language(languages[-1], begun)
                position = tag.end()
            if name in self.paragraphs:
                yield blocks
                blocks = [Block(source)]
                position, inside = tag.end(), not tag["close"] and not is_empty
                languages = [_language_of_style(tag["rest"], styles)]
            elif not inside:
                if name in self.hidden and not is_empty:
                    hidden_start, depth = tag.start(), 1
            elif name in self.breaks:
                blocks.append(Block(source))
            elif name == "text:s" and is_empty and len(blocks[-1]) and not source[tag.start() - 1].isspace():
                blocks[-1].decoded(" ", tag.start(), tag.end())
            elif is_empty:
                blocks[-1].markup(tag.start(), tag.end())
            elif name in self.text:
                blocks[-1].markup(tag.start(), tag.end(), role="close" if tag["close"] else "open")
                if not tag["close"]:
                    languages.append(_language_of_style(tag["rest"], styles) or languages[-1])
                elif len(languages) > 1:
                    languages.pop()
            else:
                hidden_start, depth = tag.start(), 1
        yield blocks


def _style_languages(source: str, start: int, end: int) -> dict[str, str]:
    """Return the declared language of each style of a part that declares one, by the name of the style."""
    found: dict[str, str] = {}
    style = ""
    for tag in _TAG.finditer(source, start, end) if source.find("fo:language", start, end) >= 0 else ():
        if tag["name"] == "style:style" and not tag["close"]:
            named = _STYLE_NAME.search(tag["rest"])
            style = named[1] if named else ""
        elif tag["name"] == "style:text-properties" and style and (code := _STYLE_LANGUAGE.search(tag["rest"])):
            found[style] = code[1]
    return found


def _language_of_style(attributes: str, styles: dict[str, str]) -> str:
    named = _STYLE_NAME.search(attributes) if styles else None
    return styles.get(named[1], "") if named else ""


@dataclass(slots=True)
class _Run:
    """What a run declares of its text."""

    language: str = ""
    is_raised: bool = False

    def follow(self, name: str, attributes: str) -> None:
        """Read a tag."""
        if name in ("w:r", "a:r"):
            self.language, self.is_raised = "", False
        elif name in ("w:lang", "a:rPr") and (declared := _RUN_LANGUAGE.search(attributes)):
            self.language = declared[1]
        if name in ("w:vertAlign", "a:rPr"):
            self.is_raised = _RAISED.search(attributes) is not None


def _names_in(part: str) -> NameOf:
    """Return a function from the element names of a part to names with the prefixes of `NAMESPACES`, or to ''."""
    prefixes: dict[str, str] = {}
    for prefix, double, single in _XMLNS.findall(part):
        prefixes.setdefault(prefix, NAMESPACES.get(double or single, ""))

    @lru_cache(_MAX_NAMES)
    def name_of(raw: str | None) -> str:
        prefix, _, local = (raw or "").rpartition(":")
        known = prefixes.get(prefix)
        return f"{known}:{local}" if raw and known else ""

    return name_of


def _add_run_end(block: Block, start: int, end: int, hyphens: Sequence[tuple[int, int, str]]) -> None:
    """Add source[start:end], which stands between two texts, as markup, and the hyphens in it as characters."""
    raw, last = "", start
    for begin, stop, char in hyphens:
        block.decoded(char, start, start)
        raw += block.source[last:begin]
        last = stop
    raw += block.source[last:end]
    if not hyphens or not _SAME_RUN.fullmatch(raw):
        block.markup(start, end, raw)


def _add_line(blocks: list[Block], start: int, end: int) -> None:
    """Add source[start:end] to the last block."""
    add_text(blocks[-1], start, end)


def _add_lines(blocks: list[Block], start: int, end: int) -> None:
    """Add source[start:end] to the last block; each line begins a new block."""
    source = blocks[-1].source
    for hard_break in _HARD_BREAK.finditer(source, start, end):
        add_text(blocks[-1], start, hard_break.start())
        blocks.append(Block(source))
        start = hard_break.end()
    add_text(blocks[-1], start, end)


def _put_back(text: str, pieces: list[str]) -> str:
    return _MOVED.sub(lambda mark: pieces[int(mark[1])], text)
