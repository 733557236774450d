"""What the formats of message catalogues share (PO, XLIFF, JSON, YAML, properties, tables).

A catalogue is read as a list of units. The source of its document is the texts of the units, decoded and joined by NUL;
the first field holds the languages (see `declare`). Writing edits the original file: only units that have a new text,
and declarations of the language, change.
"""

from __future__ import annotations

import codecs
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from docgraph.document import Document
from docgraph.errors import DocgraphError, UntranslatableError
from docgraph.formats.base import Edit, Format, Span, decode, has_content, names, splice
from docgraph.formats.html import ATTRIBUTES, ENTITY, tag_role
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.plain_text import paragraph_lines
from docgraph.formats.program_strings import ProgramString
from docgraph.languages import LANGUAGE_CODE, base_language

_LANGUAGES = names(
    "ar bg bn ca cs cy da de el en eo es et eu fa fi fr ga gl he hi hr hu hy is it ja ka ko lt lv mk ms nb nl nn pl"
    " pt ro ru sk sl sq sr sv sw ta te th tr uk ur vi zh"
)

_TAG = re.compile(
    r"<!--(?:[^<]|<(?!!--))*?-->"
    rf"|(?i:<(?P<code>code|kbd|pre|samp|script|style|var)(?=[\s>]){ATTRIBUTES}>.{{0,2000}}?</(?P=code)\s*>)"
    rf"|<(?P<close>/?)(?P<name>[a-zA-Z][^\s<>/]*|\d{{1,3}}(?=/?>))(?P<attributes>{ATTRIBUTES})>"
    rf"|(?P<entity>{ENTITY.pattern})|(?P<count>\#)|(?P<tab>\t)"
)
_INLINE_TAGS = names(
    "a abbr b bdi bdo big br cite del dfn div em font h1 h2 h3 h4 h5 h6 hr i img ins label li mark ol p q s small span"
    " strike strong sub sup table tbody td th thead time tr tt u ul wbr"
)
_BLOCK_TAGS = names("br div h1 h2 h3 h4 h5 h6 hr li ol p table tbody td th thead tr ul")
_ICU_ARGUMENT = re.compile(r"\{\s*\w+\s*,\s*(?P<kind>plural|select|selectordinal|choice)\s*,")
_CASE_MARK = re.compile("[{}|]")
_LIMIT = re.compile(r"\s*[^\s#<\u2264{}|]+\s*[#<\u2264]")
"""What comes before the text of a case of a Java choice: 0#, 1<."""
_MAX_ICU_DEPTH = 20
_MAX_ELEMENT = 2_000
"""Maximum length of an element whose name is not one of HTML; a longer search would be slow."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A text to translate, and how its translation is written."""

    text: str
    edits: Callable[[str, str], list[Edit]]
    """(new text, target language or "") -> changes of the file."""
    is_format: bool | None = None
    """Whether the text is a format string (%s), if the file says so."""


@dataclass(frozen=True, slots=True)
class Catalog:
    """A file of units."""

    content: str
    encoding: str
    units: list[Unit]
    language: str = ""
    """Language of the translations, if the file declares it."""
    declare: Callable[[str], list[Edit]] = field(default=lambda language: [])
    """Target language -> changes of the language declarations of the file."""
    errors: str = "replace"
    """How characters that the encoding lacks are written (see `codecs`)."""
    declare_utf8: tuple[Edit, ...] = ()
    """Changes that declare UTF-8, if the file can be written in UTF-8 when its encoding lacks a character."""


def catalog_format(
    name: str,
    extensions: tuple[str, ...],
    scan: Callable[[bytes, str], Catalog],
    parse: Callable[[str, str], list[Document]] | None = None,
    escape: Callable[[str], str] = str,
    check: Callable[[bytes, str], None] | None = None,
    mnemonics: tuple[str, ...] = (),
) -> Format:
    """Return a format that reads the units of a catalogue; see `Format` for the arguments.

    `scan` maps a file and its name for errors to the catalogue. `mnemonics` are the marks before the letter of a
    mnemonic: `&`, `_`.
    """

    def unpack(data: bytes, name: str) -> str:
        catalog = _scan(data, name)
        return "\0".join([catalog.language, *(unit.text for unit in catalog.units)])

    def pack(data: bytes, source: str) -> bytes:
        return _write(data, _scan(data, "the original file"), source)

    def _scan(data: bytes, name: str) -> Catalog:
        catalog = scan(data, name)
        # NUL separates the units, so that a unit that contains it is left alone.
        units = [_readable(unit, mnemonics) for unit in catalog.units if "\0" not in unit.text]
        return replace(catalog, units=units)

    return Format(name, extensions, parse or parse_messages, escape, unpack, pack, declare, check)


def _readable(unit: Unit, mnemonics: tuple[str, ...]) -> Unit:
    """Return a unit with the text that people read; a translation that would break a format string is not written."""
    string = ProgramString(unit.text, unit.is_format, mnemonics)

    def edits(text: str, language: str) -> list[Edit]:
        written = string.write(text)
        return [] if written is None else unit.edits(written, language)

    return replace(unit, text=string.text, edits=edits)


def declare(source: str, language: str) -> str:
    """Add the target language to the first field (`fr>fr`); refuses a file that declares another target language."""
    declared, separator, rest = source.partition("\0")
    declared = declared.partition(">")[0]
    if not LANGUAGE_CODE.fullmatch(language):
        return source
    if declared and base_language(declared) != base_language(language):
        raise UntranslatableError(
            f"declares translations into '{declared}', but the model translates into '{language}'; use another model,"
            " or correct the language in the file"
        )
    return f"{declared}>{language}{separator}{rest}"


def is_language(name: str) -> bool:
    """Return whether a key or column name is the code of a common language, with or without a region."""
    return re.fullmatch("[a-z]{2}(?:[-_][A-Za-z]{2,4})?", name) is not None and name[:2] in _LANGUAGES


def _write(data: bytes, catalog: Catalog, source: str) -> bytes:
    """Return the file with new texts; if the target language is declared, unchanged texts count as translations too."""
    head, *texts = source.split("\0")
    _, is_translation, language = head.partition(">")
    changes = [
        edit
        for unit, text in zip(catalog.units, texts, strict=True)
        if text != unit.text or (is_translation and has_content(text))
        for edit in unit.edits(text, language)
    ]
    if not changes:
        return data
    if is_translation:
        changes += catalog.declare(language)
    content = splice(catalog.content, dict.fromkeys(changes))  # equal edits count once
    if catalog.declare_utf8:
        try:
            return content.encode(catalog.encoding)
        except UnicodeEncodeError:
            return splice(catalog.content, dict.fromkeys([*changes, *catalog.declare_utf8])).encode("utf-8", "replace")
    return content.encode(catalog.encoding, catalog.errors)


def decode_text(data: bytes, name: str, declared: str | None) -> tuple[str, str]:
    """Return (text, encoding) of a file; `declared` is used if the file is neither UTF-8 nor has a byte order mark."""
    try:
        return decode(data, name)
    except DocgraphError:
        encoding = _known_encoding(declared)
        if encoding is None:
            raise
    if b"\0" in data:
        raise DocgraphError("is not a text file; choose another file", path=name)
    try:
        text = data.decode(encoding)
        if text.encode(encoding) != data:
            raise ValueError
    except ValueError:
        raise DocgraphError(f"is not {declared}, its declared encoding; convert it to UTF-8", path=name) from None
    return text, encoding


def _known_encoding(name: str | None) -> str | None:
    try:
        info = codecs.lookup(name or "")
    except LookupError:
        return None
    return info.name if info._is_text_encoding else None


def line_of(content: str, position: int) -> int:
    """Return the number of the line that contains a position."""
    return content.count("\n", 0, position) + 1


def parse_messages(source: str, language: str) -> list[Document]:
    """Read units of text: lines, tags, entities, and the cases of ICU plurals and selects in them are recognised."""
    paragraphs = (paragraph for unit in unit_spans(source) for paragraph in message_paragraphs(source, unit))
    blocks = (block for lines, counts in paragraphs for block in _blocks(source, lines, counts))
    return document_of(source, blocks, language)


def unit_spans(source: str) -> Iterator[Span]:
    """Return the span of each unit; the first field of the source is none."""
    return (unit.span(1) for unit in re.finditer("\0([^\0]*)", source))


def message_paragraphs(source: str, unit: Span) -> Iterator[tuple[list[Span], bool]]:
    """Yield the lines of each paragraph of a unit, and whether `#` stands for a number in it (in an ICU plural)."""
    for span, counts in _icu_texts(source, unit):
        for lines in paragraph_lines(source, *span):
            yield lines, counts


def _blocks(source: str, lines: list[Span], counts: bool) -> Iterator[Block]:
    """Yield the blocks of a paragraph, which tags and tabs may separate."""
    block = Block(source)
    for index, (start, end) in enumerate(lines):
        if index:
            block.line_break(lines[index - 1][1], start)
        for token in _TAG.finditer(source, start, end):
            block.text(start, token.start())
            start = token.end()
            if token["tab"] or (token["name"] or "").lower() in _BLOCK_TAGS:
                yield block
                block = Block(source)
            else:
                _add_token(block, token, counts, lines[-1][1])
        block.text(start, end)
    yield block


def _add_token(block: Block, token: re.Match[str], counts: bool, end: int) -> None:
    """Add an inline tag as markup, and a token that stands for words or must stay as opaque markup.

    Opaque are a tag of another name that is not closed before `end`, an entity of ASCII, and the `#` of a plural.
    """
    if token["count"]:
        (block.opaque if counts else block.text)(*token.span())
    elif token["entity"]:
        decoded = html.unescape(token["entity"])
        if decoded == token["entity"]:
            block.text(*token.span())
        elif decoded.isascii() and decoded not in ("'", '"'):  # escaped for a reason: &lt; or &#95;
            block.opaque(*token.span())
        else:
            block.decoded(decoded, *token.span())
    elif token["code"] or (token["name"] and not token["close"] and not _is_inline(token, end)):
        block.opaque(*token.span())
    else:
        block.markup(*token.span(), role=tag_role(token[0]))


def _is_inline(token: re.Match[str], end: int) -> bool:
    """Return whether an opening tag begins an element with text: one of HTML, or <0> and <bold> if they are closed."""
    if token["name"].lower() in _INLINE_TAGS:
        return True
    return token.string.find(f"</{token['name']}>", token.end(), min(end, token.end() + _MAX_ELEMENT)) >= 0


def _icu_texts(source: str, unit: Span, counts: bool = False, depth: int = 0) -> Iterator[tuple[Span, bool]]:
    """Yield the texts of an ICU message: outside plural and select arguments, and inside each of their cases.

    Each comes with whether it is inside a plural.
    """
    start, end = unit
    while argument := _ICU_ARGUMENT.search(source, start, end):
        cases, close = _cases(source, argument.end(), end, argument["kind"] == "choice")
        if close is None or depth == _MAX_ICU_DEPTH:
            return  # malformed, so that the rest stays as it is
        yield (start, argument.start()), counts
        for case in cases:
            has_count = argument["kind"] in ("plural", "selectordinal")
            yield from _icu_texts(source, case, counts or has_count, depth + 1)
        start = close
    yield (start, end), counts


def _cases(source: str, start: int, end: int, is_choice: bool) -> tuple[list[Span], int | None]:
    """Return the spans of the cases of an argument, and its end; None if it is malformed.

    Braces are around the cases, but bars between those of a Java choice: `0#no files|1<{0} files`.
    """
    cases, level, opening = [], 0, start
    for mark in _CASE_MARK.finditer(source, start, end):
        position = mark.start()
        level += (mark[0] == "{") - (mark[0] == "}")
        if is_choice and (level < 0 or (mark[0] == "|" and level == 0)):
            limit = _LIMIT.match(source, opening, position)
            if limit is None:
                break
            cases.append((limit.end(), position))
            opening = position + 1
        elif not is_choice and mark[0] == "{" and level == 1:
            opening = position + 1
        elif not is_choice and mark[0] == "}" and level == 0:
            cases.append((opening, position))
        if level < 0:
            return cases, position + 1
    return [], None


def safe_apostrophes(old: str, new: str) -> str:
    """Return the text with curly apostrophes before braces, where an apostrophe starts a quotation in ICU messages."""
    return new if re.search("'[{}]", old) else re.sub("'(?=[{}])", "\u2019", new)
