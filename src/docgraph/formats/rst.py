"""reStructuredText: prose, titles, lists, definitions, notes and the like are read; everything else is left alone.

`_Scanner` finds the paragraphs by lines and indentation; rst_inline.py finds the markup inside them. The underline of a
title is marked by NUL in the source of the document, and gets the length of the translated title when it is written.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats.base import LINE, Format, Span, check_lines, decode, names, splice
from docgraph.formats.paragraph import Block, document_of
from docgraph.formats.rst_inline import escape, inline_block, referenced_names, separate
from docgraph.formats.string_values import is_text

MAX_DEPTH = 40
"""Deeper nesting is left alone."""
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*[ \t]*")
_EXPLICIT = re.compile(
    r"\.\.(?=\s|$)\s*"
    r"(?:(?:\|[^|\r\n]+\|[ \t]+)?(?P<directive>[A-Za-z0-9](?:[\w.+:-]*\w)?)[ \t]?::(?=[ \t]|$)[ \t]*"
    r"|(?P<note>\[[^\]\s]+\])[ \t]+)?"
)
_BULLET = re.compile("[-*+•‣⁃](?:[ \t]+|$)")
_NUMBER = r"(?:[0-9]{1,4}|[A-Za-z]|[ivxlcdmIVXLCDM]{1,6}|\#)"
_ENUMERATOR = re.compile(rf"(?:\({_NUMBER}\)|{_NUMBER}[.)])(?:[ \t]+|$)")
_FIELD = re.compile(r":(?![: \t])(?P<name>(?:[^:\\\r\n]|\\.|:(?!([ \t]|$)))*+):(?:[ \t]+|$)")
_OPTION_NAME = r"(?:--?|/)[A-Za-z0-9][\w-]*(?:[ =]?(?:<[^<>]+>|[A-Za-z][\w-]*))?"
_OPTION = re.compile(rf"{_OPTION_NAME}(?:, {_OPTION_NAME})*(?:[ \t]{{2,}}|$)")
_GRID = re.compile(r"\+(?:[-=]+\+)+[ \t]*$")
_SIMPLE_TABLE = re.compile(r"=+(?:[ \t]+=+)+[ \t]*$")
_VERSION = re.compile(r"\S+[ \t]*")
_TEXT_ARGUMENT = names(
    "attention caution danger error hint important note tip warning seealso todo admonition topic sidebar rubric"
    " centered list-table csv-table table tab tab-item dropdown card grid-item-card"
)
"""Directives whose argument is text."""
_VERSIONED = names("versionadded versionchanged versionremoved deprecated deprecated-removed")
_TEXT_BODY = (
    _TEXT_ARGUMENT
    | _VERSIONED
    | names(
        "figure container compound class highlights pull-quote epigraph only tabs group-tab tab-set grid grid-item"
        " function method classmethod staticmethod attribute property data exception"
        " module currentmodule decorator option confval describe object envvar program cmdoption directive"
        " role rst:directive rst:role glossary setting templatetag templatefilter fieldlookup opcode"
        " pdbcommand audit-event availability impl-detail c:function c:type c:macro c:member c:var c:struct c:enum"
        " cpp:function cpp:class js:function js:class py:function py:method py:class py:attribute py:data"
        " py:exception py:module py:property py:decorator"
    )
) - names("rubric centered csv-table table")
"""Directives whose body is text; the body of any other directive (code, math, raw) is left alone."""
_NO_FIELD = names(
    "author authors address contact date version revision status orphan tocdepth organization copyright meta"
    " type paramtype kwtype vartype rtype"
)
"""Fields whose body is not text."""
_TEXT_OPTION = names("alt caption")
"""Options of directives whose value is text."""


def unpack(data: bytes, name: str) -> str:
    """Return the text with a NUL before each line that adorns a title."""
    text, _ = decode(data, name)
    if "\0" in text:
        raise DocgraphError("contains NUL characters; remove them", path=name)
    check_lines(text, name)
    return splice(text, ((start, start, "\0") for start, _, _ in _adornments(text)))


def pack(data: bytes, source: str) -> bytes:
    """Return the file with the new text; adornments of titles are as long as the titles."""
    text, encoding = decode(data, "the original file")
    original = unpack(data, "the original file")
    units = {part.raw.strip() for sentence in parse(original, "en")[0] for part in sentence.markup}
    parts = separate(source, original, units).split("\0")
    new = parts[:1]
    for (start, end, title), before, part in zip(_adornments(text), parts, parts[1:], strict=False):
        adornment, rest = text[start:end], part[end - start :]
        lines = (rest if start < title[0] else before).strip("\ufeff\r\n")
        new_title, old_title = re.split("[\r\n]+", lines)[-1].rstrip(), text[slice(*title)]
        if new_title != old_title:
            margin = max(len(adornment) - _width(old_title), 0)
            width = _width(new_title)
            adornment = adornment[0] * max(width + margin if margin <= 4 else len(adornment), width, 4)
        new += [adornment, rest]
    return "".join(new).encode(encoding, "replace")


def _adornments(text: str) -> list[tuple[int, int, Span]]:
    """Return (start, end, span of the title) of each line over or under a title, in order."""
    lines = [match.span("text") for match in LINE.finditer(text)]
    start = int(text.startswith("\ufeff"))
    lines[0] = (max(lines[0][0], start), lines[0][1])
    adorned: list[tuple[int, int, Span]] = []
    index = 0
    while index < len(lines) - 1:
        run = _run(text, lines[index])
        has_over = bool(run) and index + 2 < len(lines) and _run(text, lines[index + 2]) == run
        title, under = lines[index + has_over : index + has_over + 2]
        content = text[slice(*title)].rstrip()
        before = text[slice(*lines[index - 1])] if index else ""
        starts = (
            not before.strip() or before[0] in " \t" or before.startswith("..") or _run(text, lines[index - 1]) != ""
        )
        fits = _run(text, under) and (under[1] - under[0] >= 4 or len(text[slice(*under)].rstrip()) >= _width(content))
        is_plain = content.strip() and not _run(text, title) and (has_over or not content[0].isspace())
        if is_plain and fits and starts:
            span = (title[0], title[0] + len(content))
            around = [*lines[index : index + has_over], under]
            adorned += [(start, start + len(text[start:end].rstrip()), span) for start, end in around]
            index += 2 + has_over
        else:
            index += 1
    return adorned


def _run(text: str, line: Span) -> str:
    """Return the character that a line repeats, or nothing."""
    match = _ADORNMENT.fullmatch(text, *line)
    return match[1] if match else ""


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else not unicodedata.combining(char) for char in text)


def parse(source: str, language: str) -> list[Document]:
    """Read a reStructuredText file, marked by `unpack`."""
    return document_of(source, _Scanner(source).blocks(), language)


class _Scanner:
    """Goes through the lines of the source; a line is (indentation, start of its text, end)."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines: list[tuple[int, int, int]] = []
        for match in LINE.finditer(source):
            text = match["text"].rstrip()
            stripped = text.lstrip(" \t\ufeff")
            start = match.start() + len(text) - len(stripped)
            indent = len(text[: len(text) - len(stripped)].lstrip("\ufeff").expandtabs(8))
            self.lines.append((indent, start, match.start() + len(text)))
        self.names = referenced_names(source)

    def blocks(self) -> Iterator[Block]:
        """Yield the paragraphs, titles and list items."""
        yield from self._body(0, len(self.lines), 0)

    def _text(self, index: int) -> str:
        _, start, end = self.lines[index]
        return self.source[start:end]

    def _is_blank(self, index: int) -> bool:
        return self.lines[index][1] == self.lines[index][2]

    def _indented_end(self, index: int, last: int, indent: int) -> int:
        """Return the end of the lines from `index` that are blank or indented by more than `indent`."""
        end = index
        while index < last and (self._is_blank(index) or self.lines[index][0] > indent):
            index += 1
            if not self._is_blank(index - 1):
                end = index
        return end

    def _end_of_paragraph(self, index: int, last: int, indent: int) -> int:
        """Return the end of the lines from `index` that are not blank and indented by more than `indent`."""
        while index < last and not self._is_blank(index) and self.lines[index][0] > indent:
            index += 1
        return index

    def _body(self, index: int, last: int, depth: int, keep_terms: bool = False) -> Iterator[Block]:
        """Yield the blocks of the lines [index, last)."""
        if depth > MAX_DEPTH:
            return
        while index < last:
            if self._is_blank(index):
                index += 1
                continue
            indent = self.lines[index][0]
            end = index + 1
            while end < last and (self._is_blank(end) or self.lines[end][0] >= indent):
                end += 1
            literal = False
            while index < end:
                if self._is_blank(index):
                    index += 1
                elif self.lines[index][0] > indent:
                    stop = self._indented_end(index, end, indent)
                    if not literal:
                        yield from self._body(index, stop, depth + 1)
                    index, literal = stop, False
                elif literal and (quote := re.match(r"[!-/:-@\[-`{-~]", self._text(index))):
                    while index < end and self._text(index)[:1] == quote[0]:
                        index += 1
                    literal = False
                else:
                    index, literal, blocks = self._element(index, end, indent, depth, keep_terms)
                    yield from blocks

    def _element(
        self, index: int, last: int, indent: int, depth: int, keep_terms: bool
    ) -> tuple[int, bool, Iterator[Block]]:
        """Return (next line, whether a literal block follows, blocks) of the element that begins at a line."""
        text = self._text(index)
        stop = self._indented_end(index + 1, last, indent)
        if text[0] == "\0":
            return index + 1, False, iter(())
        if index + 1 < last and self._text(index + 1)[:1] == "\0" and not self._is_adornment_of_next(index + 1, last):
            is_named = " ".join(text.split()).casefold() in self.names
            return index + 1, False, iter(() if is_named else [self._paragraph([index])])
        if explicit := _EXPLICIT.match(text):
            return stop, False, self._explicit(explicit, index, stop, depth)
        if text.startswith(("__ ", ">>> ")) or text == "__" or _GRID.match(text) or _SIMPLE_TABLE.match(text):
            return self._end_of_lines(index, last), False, iter(())
        if _run(self.source, self.lines[index][1:]) and len(text) >= 4:
            return index + 1, False, iter(())
        if marker := _BULLET.match(text) or self._enumerator(index, last, indent) or _OPTION.match(text):
            return stop, False, self._item(index, marker.end(), stop, depth)
        if field := _FIELD.match(text):
            skipped = field["name"].split(" ")[0].lower() in _NO_FIELD
            return stop, False, iter(()) if skipped else self._item(index, field.end(), stop, depth)
        if text.startswith("| "):
            end = self._end_of_paragraph(index + 1, last, indent)
            return end, False, iter([self._paragraph(list(range(index, end)), skip=2)])
        if index + 1 < last and not self._is_blank(index + 1) and self.lines[index + 1][0] > indent:
            return stop, False, self._definition(index, stop, depth, keep_terms)
        end = index
        while end < last and not self._is_blank(end) and self.lines[end][0] == indent and self._text(end)[0] != "\0":
            end += 1
        literal = self._text(end - 1).endswith("::")
        return end, literal, iter([self._paragraph(list(range(index, end)))])

    def _is_adornment_of_next(self, index: int, last: int) -> bool:
        """Return whether an adornment stands over a title, after a paragraph without a blank line."""
        return index + 2 < last and self._text(index + 2)[:1] == "\0" and not self._is_blank(index + 1)

    def _end_of_lines(self, index: int, last: int) -> int:
        """Return the end of a table or doctest block: the next blank line, but not inside a simple table."""
        borders = 0
        is_table = _SIMPLE_TABLE.match(self._text(index)) is not None
        while index < last:
            if is_table and _SIMPLE_TABLE.match(self._text(index)):
                borders += 1
            if self._is_blank(index) and (
                not is_table or (borders >= 2 and _SIMPLE_TABLE.match(self._text(index - 1)))
            ):
                break
            index += 1
        return index

    def _enumerator(self, index: int, last: int, indent: int) -> re.Match[str] | None:
        """Return the marker of a list item, whose next line is blank, indented, or another item."""
        marker = _ENUMERATOR.match(self._text(index))
        if marker and index + 1 < last and not self._is_blank(index + 1) and self.lines[index + 1][0] == indent:
            return marker if _ENUMERATOR.match(self._text(index + 1)) else None
        return marker

    def _item(self, index: int, offset: int, stop: int, depth: int) -> Iterator[Block]:
        """Yield the blocks of a list item, whose text begins `offset` characters into the line."""
        indent, start, end = self.lines[index]
        if start + offset >= end:
            yield from self._body(index + 1, stop, depth + 1)
            return
        following = [self.lines[i][0] for i in range(index + 1, stop) if not self._is_blank(i)]
        self.lines[index] = min([indent + offset, *following[:1]]), start + offset, end
        yield from self._body(index, stop, depth + 1)

    def _explicit(self, explicit: re.Match[str], index: int, stop: int, depth: int) -> Iterator[Block]:
        """Yield the texts of a directive (argument, options, body) or footnote; comments and targets have none."""
        if explicit["note"]:
            yield from self._item(index, explicit.end(), stop, depth)
        if not explicit["directive"]:
            return
        name, first, offset = explicit["directive"].lower(), index + 1, explicit.end()
        if name in _VERSIONED and (version := _VERSION.match(self._text(index), offset)):
            offset = version.end()
        argument_end = first
        while argument_end < stop and not self._is_blank(argument_end) and not _FIELD.match(self._text(argument_end)):
            argument_end += 1
        if (name in _TEXT_ARGUMENT or name in _VERSIONED) and offset < len(self._text(index)):
            lines = [index, *range(first, argument_end)]
            yield self._paragraph(lines, skip=offset)
            if self._text(lines[-1]).endswith("::"):  # a literal block follows
                return
            first = argument_end
        elif name not in _TEXT_ARGUMENT and name not in _VERSIONED and explicit.end() < len(self._text(index)):
            first = argument_end if name not in ("glossary",) else first
        while first < stop and not self._is_blank(first) and (option := _FIELD.match(self._text(first))):
            option_end = self._end_of_paragraph(first + 1, stop, self.lines[first][0])
            if option["name"].lower() in _TEXT_OPTION and option.end() < len(self._text(first)):
                block = Block(self.source, syntax="option")
                block.text(self.lines[first][1] + option.end(), self.lines[option_end - 1][2])
                yield block
            first = option_end
        if name in _TEXT_BODY:
            yield from self._body(first, stop, depth + 1, keep_terms=name == "glossary")

    def _definition(self, index: int, stop: int, depth: int, keep_terms: bool) -> Iterator[Block]:
        """Yield a term, unless it is a name, and its definition."""
        term = self._text(index)
        if not keep_terms and " : " not in term and is_text(term) and (" " in term or not term[0].islower()):
            yield self._paragraph([index])
        yield from self._body(index + 1, stop, depth + 1)

    def _paragraph(self, indices: list[int], skip: int = 0) -> Block:
        lines = [self.lines[index][1:] for index in indices]
        lines[0] = (lines[0][0] + skip, lines[0][1])
        start, end = lines[-1]
        if self.source.endswith("::", start, end):
            lines[-1] = (start, end - 2)
        return inline_block(self.source, lines)


RST = Format("rst", (".rst", ".rest"), parse, escape, unpack, pack, escapes={"option": str})
