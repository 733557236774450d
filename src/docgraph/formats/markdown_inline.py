"""Inline Markdown: emphasis, links, code, images and escapes of a paragraph, by the rules of CommonMark.

`inline_blocks` makes the blocks of a paragraph. Emphasis and links are inline markup; code, math, images, template
tags and identifiers are atoms, which are written unchanged; addresses are read and written unchanged.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from docgraph.document import InlineMarkup
from docgraph.formats.base import JoinedLines, Span, has_content
from docgraph.formats.html import ENTITY, attribute_blocks, note_end, tag_role
from docgraph.formats.literals import PLACEHOLDER, web_address
from docgraph.formats.markdown_emphasis import DelimiterRuns
from docgraph.formats.paragraph import Block

_ADDRESS = r"(?<![^\W_])" + web_address(stop=r"\[\]`|\\", trailing="*_~")
_VERBATIM = re.compile(f"({_ADDRESS}|{PLACEHOLDER})")
_LEADING = re.compile(
    r"(?:[-+=>]|:(?=\s|::)|!(?=!!)|\?(?=\?\?)|/(?=//)|#{1,6}(?=\s|$)|~(?=~~))|(?P<number>\d{1,9})(?=[.)](?:\s|$))"
)
_ESCAPE = r"\\[!-/:-@\[-`{-~]"
_ESCAPED = re.compile(rf"{_ESCAPE}|{ENTITY.pattern}")
_TITLE = r"""(?P<title>"(?:[^"\\]|\\.){0,999}"|'(?:[^'\\]|\\.){0,999}'|\((?:[^()\\]|\\.){0,999}\))"""
_TARGET = re.compile(
    r"\([ \t\n]*+(?:<(?:[^<>\n\\]|\\.)*+>|(?!<)(?:[^\s()\\\0-\x1f]|\\[^\s])*+"
    r"(?:\((?:[^\s()\\]|\\[^\s]|\((?:[^\s()\\]|\\[^\s])*+\))*+\)(?:[^\s()\\]|\\[^\s])*+)*+)"
    rf"(?:[ \t\n]+{_TITLE})?[ \t\n]*+\)",
    re.S,
)
_REFERENCE = re.compile(r"\[(?P<label>(?:[^\[\]\\]|\\.){0,999})\]", re.S)
_AUTOLINK = r"<[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*+>|<[^\s<>@]++@[^\s<>@]++>"
ATTRIBUTES = (
    r"\{(?::[^{}\n]{0,200}|[ \t]*[#.][\w-][^{}\n]{0,200}"
    r"|[ \t]*[\w-]{1,40}=(?:\"[^\"{}\n]{0,200}\"|'[^'{}\n]{0,200}'|[\w%./-]{1,200})[^{}\n]{0,200})\}"
)
"""Attributes of the element before: `{: .note }`, `{ #id .class }`, `{ width=300 }`."""
_ATTACHED = re.compile(r"\{[^{}\n]{1,200}\}")
_KEY = r"(?:[a-z0-9-]{1,20}|\"[^\"\n]{1,40}\")"
_KEYS = rf"(?<![\w+])\+\+{_KEY}(?:\+{_KEY}){{0,5}}\+\+(?![\w+])"
"""Keys to press: `++ctrl+c++`."""
_ATOM = rf"{PLACEHOLDER}|{ATTRIBUTES}|{_KEYS}"
_EXPRESSION = r"\{(?:[^{}\n]|\{[^{}\n]{0,999}+\}){0,999}+\}"
_TOKEN_PATTERN = (
    rf"(?P<escape>{_ESCAPE})"
    r"|(?P<code>`+)"
    r"|(?P<math>(?<![\w$])\$(?=[^\s$])(?:[^$\\\n]|\\.){1,999}(?<!\s)\$(?![\w$]))"
    r"|(?P<atom>@ATOM@)"
    r"|(?P<note>\[\^[^\]\s]++\])"
    r"|(?P<wiki>\[\[[^\[\]\n]++\]\](?!\())"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
    rf"|(?P<autolink>{_AUTOLINK})"
    rf"|(?P<address>{_ADDRESS})"
    r"|(?P<html><(?:!--(?s:.{0,1999}?)--|/?[a-zA-Z][a-zA-Z0-9-]*+"
    rf"""(?:\s(?:[^<>"'{{]|{_EXPRESSION}|\{{|"[^"<]*+"|'[^'<]*+')*+)?/?)>)"""
    rf"|(?P<entity>{ENTITY.pattern})"
    r"|(?P<emphasis>\*+|_+|~+|==+)"
    r"|(?P<newline>[ \t]*+\n)"
)
_TOKEN = re.compile(_TOKEN_PATTERN.replace("@ATOM@", _ATOM))
_TOKEN_OR_EXPRESSION = re.compile(_TOKEN_PATTERN.replace("@ATOM@", f"{_ATOM}|{_EXPRESSION}"))
_BLOCK_TAG = re.compile(
    r"<!--|</?(?:address|article|aside|blockquote|body|br|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    r"|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main|menu"
    r"|nav|noframes|ol|optgroup|option|p|param|pre|script|search|section|style|summary|table|tbody|td|textarea|tfoot|th"
    r"|thead|title|tr|track|ul)(?=[\s/>])",
    re.I,
)
"""What begins an HTML block of CommonMark at the start of a line, and <br>."""
_CODE_TAG = re.compile(r"<(code|kbd|samp|var)(?=[\s>])(?![^>]*/>)", re.I)
_HEADING_ID = re.compile(rf"[ \t]*(?:{ATTRIBUTES}|\{{/\*[^{{}}\n]*\*/\}})[ \t]*$")
_TITLE_KINDS = {'"': "title-double", "'": "title-single", "(": "title-round"}
Kind = Literal["text", "decoded", "open", "close", "tag", "atom"]


@dataclass(slots=True)
class _Token:
    """Characters [start, end) of the joined lines; `text` is what a decoded token represents."""

    kind: Kind
    start: int
    end: int
    text: str = ""
    nested: list[tuple[str, int, int]] = field(default_factory=list)
    """(syntax, start, end) of the texts in it: the title of a link, the description of an image."""


def inline_blocks(source: str, lines: list[Span], labels: Collection[str], with_expressions: bool) -> Iterator[Block]:
    """Yield the blocks of a paragraph, whose lines are spans in the source; `labels` are the defined link labels.

    A tag of a block element or line break (`<br>`) ends a block. `with_expressions`: text in braces is JavaScript.
    """
    block, joined = Block(source), JoinedLines(source, lines)
    position = 0
    pattern = _TOKEN_OR_EXPRESSION if with_expressions else _TOKEN
    for token in _InlineParser(joined.text, labels, pattern).tokens():
        block.text(joined.source_of(position), joined.source_of(token.start))
        start, end = joined.source_of(token.start), joined.source_of(token.end)
        position = token.end
        if token.kind == "decoded":
            block.decoded(token.text, start, end)
        elif token.kind == "atom":
            block.opaque(start, end)
        elif token.kind == "text":
            block.text(start, end)
        elif token.kind == "tag":
            raw = source[start:end]
            if _BLOCK_TAG.match(raw):
                yield block
                block = Block(source)
            else:
                block.markup(start, end, role=tag_role(raw))
            block.nested += attribute_blocks(source, start, end)
        else:
            block.markup(start, end, role=token.kind)
        for syntax, first, last in token.nested:
            if "\n" not in joined.text[first:last]:
                block.nested.append(escaped_block(source, joined.source_of(first), joined.source_of(last), syntax))
    block.text(joined.source_of(position), joined.source_of(len(joined.text)))
    yield block


def escaped_block(source: str, start: int, end: int, syntax: str) -> Block:
    """Return the block of text with backslash escapes and character references, but without other markup."""
    block = Block(source, syntax=syntax)
    for match in _ESCAPED.finditer(source, start, end):
        block.text(start, match.start())
        decoded = match[0][1] if match[0].startswith("\\") else html.unescape(match[0])
        block.decoded(decoded, *match.span())
        start = match.end()
    block.text(start, end)
    return block


class _InlineParser:
    """Finds tokens that are not plain text, and pairs brackets and emphasis; an unpaired one is plain text."""

    def __init__(
        self,
        text: str,
        labels: Collection[str],
        pattern: re.Pattern[str] = _TOKEN,
        *,
        with_placeholders: bool = True,
    ) -> None:
        self.text = text
        self.labels = labels
        self.pattern = pattern
        self.with_placeholders = with_placeholders
        self.found: list[_Token] = []
        self.brackets: list[tuple[_Token, int]] = []
        """Each open `[` or `![`, with the number of delimiter runs before it."""
        self.links_end = 0
        """Brackets below this height contain a link, so that they open none: links are not nested."""
        self.delimiters = DelimiterRuns(text)
        self.unclosed: set[str] = set()
        """Tags of code that are never closed after the current position."""
        self.fences: dict[int, list[int]] = {}
        for run in re.finditer("`+", text):
            self.fences.setdefault(len(run[0]), []).append(run.start())

    def tokens(self) -> Iterator[_Token]:
        """Yield the tokens in order, without those inside an atom (an image, or a link by its own text)."""
        position = 0
        while match := self.pattern.search(self.text, position):
            position = max(self._read(match), position + 1)
        self._pair_emphasis(0)
        position = 0
        for token in sorted(self.found, key=lambda token: (token.start, -token.end)):
            if token.start >= position:
                yield token
                position = token.end

    def _read(self, match: re.Match[str]) -> int:
        """Add the tokens of a match and return where to go on."""
        kind, (start, end) = match.lastgroup or "", match.span()
        if kind == "code":
            end = self._code(start, end)
        elif kind == "open":
            token = _Token("text", start, end)
            self.found.append(token)
            self.brackets.append((token, len(self.delimiters)))
        elif kind == "close":
            end = self._close_bracket(start)
        elif kind == "emphasis":
            self.delimiters.add(start, end)
        elif kind == "escape":
            self.found.append(_Token("decoded", start, end, match[0][1]))
        elif kind == "entity":
            decoded = html.unescape(match[0])
            self.found.append(_Token("text" if decoded == match[0] else "decoded", start, end, decoded))
        elif kind == "newline":
            self.found.append(_Token("decoded", start, end, " "))
        elif kind == "html":
            end = self._html(match)
        elif kind != "address" and (kind != "atom" or self.with_placeholders):
            self.found.append(_Token("atom", start, end))
        else:
            self.found.append(_Token("text", start, end))
        return end

    def _code(self, start: int, end: int) -> int:
        starts = self.fences.get(end - start, [])
        following = bisect_right(starts, start)
        if following < len(starts):
            closing = starts[following] + end - start
            self.found.append(_Token("atom", start, closing))
            return closing
        self.found.append(_Token("text", start, end))
        return end

    def _html(self, match: re.Match[str]) -> int:
        """Add a tag, or an element of code as an atom."""
        start, end = match.span()
        code = _CODE_TAG.match(match[0])
        if code and code[1].lower() not in self.unclosed:
            closing = re.compile(rf"</{code[1]}\s*>", re.I).search(self.text, end)
            if closing:
                self.found.append(_Token("atom", start, closing.end()))
                return closing.end()
            self.unclosed.add(code[1].lower())
        if closing_note := note_end(self.text, start, len(self.text), self.text[max(start - 5, 0) : start]):
            self.found.append(_Token("atom", start, closing_note))
            return closing_note
        self.found.append(_Token("tag", start, end))
        return end

    def _close_bracket(self, start: int) -> int:
        """Make a link or an image of the last open bracket and this one; a link by its own text is an atom."""
        if not self.brackets:
            return start + 1
        opening, first_delimiter = self.brackets.pop()
        is_image = opening.end - opening.start == 2
        contains_link = len(self.brackets) < self.links_end
        self.links_end = min(self.links_end, len(self.brackets))
        if contains_link and not is_image:
            return start + 1
        inside = self.text[opening.end : start]
        target, reference = _TARGET.match(self.text, start + 1), _REFERENCE.match(self.text, start + 1)
        by_own_text = False
        if target:
            end = target.end()
        elif reference and reference["label"] and self._is_label(reference["label"], opening.start):
            end = reference.end()
        elif (reference and not reference["label"]) or (not reference and normalize_label(inside) in self.labels):
            end = reference.end() if reference else start + 1
            by_own_text = True
        else:
            return start + 1
        if attributes := _ATTACHED.match(self.text, end):
            end = attributes.end()
        nested = []
        if target and target["title"]:
            nested = [(_TITLE_KINDS[target["title"][0]], target.start("title") + 1, target.end("title") - 1)]
        if is_image or by_own_text:
            if is_image and not by_own_text and not re.search(r"[\[\]`<]", inside):
                nested.insert(0, ("alt", opening.end, start))
            opening.kind, opening.end, opening.nested = "atom", end, nested
        else:
            opening.kind = "open"
            self.found.append(_Token("close", start, end, nested=nested))
            self.links_end = len(self.brackets)
        self._pair_emphasis(first_delimiter)
        return end

    def _is_label(self, label: str, start: int) -> bool:
        """Return whether a link that begins at `start` may have this label; another file may define it."""
        is_word = start > 0 and self.text[start - 1].isalnum()
        return normalize_label(label) in self.labels or not is_word

    def _pair_emphasis(self, first: int) -> None:
        self.found += [_Token(*delimiter) for delimiter in self.delimiters.pair(first)]


def normalize_label(label: str) -> str:
    """Return a link label in the form in which labels are compared."""
    return " ".join(label.split()).lower().upper()


def is_intact(raw: str, flat: str, markup: Sequence[InlineMarkup]) -> bool:
    """Return whether raw Markdown reads as the text `flat` (with atoms) and the markup, in this order."""
    if any("\n" in mark.raw or "\r" in mark.raw for mark in markup):
        return True  # the raw form has the markers of the lines (`> `) in it, and cannot be read by itself
    labels = {normalize_label(reference["label"]) for mark in markup for reference in _REFERENCE.finditer(mark.raw)}
    before, after = _outer_markup(markup)
    wrapped = before + raw + after
    first, last = len(before), len(before) + len(raw)
    found: list[str] = []
    parts: list[str] = []
    position = 0
    for token in _InlineParser(wrapped, labels, with_placeholders=False).tokens():
        parts.append(wrapped[position : token.start])
        content = wrapped[token.start : token.end]
        if token.kind in ("open", "close", "tag"):
            found += [content.strip()] * (first <= token.start < last)
        else:
            parts.append(token.text if token.kind == "decoded" else content)
        position = token.end
    parts.append(wrapped[position:])
    expected = [mark.raw.strip() for mark in markup if mark.role != "atom" and mark.raw.strip(" \0")]
    return found == expected and "".join("".join(parts).split()) == "".join(flat.split())


def _outer_markup(markup: Sequence[InlineMarkup]) -> tuple[str, str]:
    """Return openers and closers of elements that begin before the sentence or end after it."""
    opened: list[str] = []
    before: list[str] = []
    for mark in markup:
        raw = mark.raw.strip()
        if mark.role == "open" and not raw.startswith("<"):
            opened.append(raw)
        elif mark.role == "close" and not raw.startswith("<"):
            if opened:
                opened.pop()
            else:
                before.insert(0, "[" if raw.startswith("]") else raw)
    after = ["](x)" if raw.startswith("[") else raw for raw in reversed(opened)]
    return "".join(before), "".join(after)


def heading_text(text: str) -> str:
    """Return the text of a heading as its anchor is made from: without markup, but with the text of code."""
    parts, position = list[str](), 0
    for token in _InlineParser(text, ()).tokens():
        parts.append(text[position : token.start])
        content = text[token.start : token.end]
        if token.kind == "atom":
            content = re.sub("<[^>]*>", "", content) if _CODE_TAG.match(content) else content.strip("`")
            parts.append("" if content.startswith(("!", "[")) else content)
        elif token.kind in ("text", "decoded"):
            parts.append(token.text or content)
        position = token.end
    return "".join([*parts, text[position:]]).strip()


def without_heading_id(text: str) -> tuple[int, bool]:
    """Return the length of a heading without its attributes, and whether they have an id (`{#id}`)."""
    match = _HEADING_ID.search(text)
    if match is None or not has_content(text[: match.start()]):
        return len(text), False
    return match.start(), "#" in match[0]


def escape(text: str) -> str:
    """Escape plain text so that Markdown shows it unchanged; addresses and placeholders are not escaped."""
    parts = _VERBATIM.split(text)
    text = "".join(part if index % 2 else _escape_inline(part) for index, part in enumerate(parts))
    leading = _LEADING.match(text)
    if leading is None:
        return text
    position = leading.end() if leading["number"] else 0
    return f"{text[:position]}\\{text[position:]}"


def _escape_inline(text: str) -> str:
    text = re.sub(r"([\\`*\[\]|]|~(?=~)|(?<=~)~|(?<!\w)=(?==\S)|(?<=\S)=(?==(?!\w)))", r"\\\1", text)
    text = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)
    if text.count("$") > 1:
        text = text.replace("$", r"\$")
    return re.sub(r"<(?=[A-Za-z/!?]|$)", "&lt;", re.sub(r"&(?=#?\w+;)", "&amp;", text))


def _title_escape(delimiters: str) -> Callable[[str], str]:
    """Return a function that escapes text for the title of a link between these delimiters."""
    special = re.compile(rf"\\(?=[!-/:-@\[-`{{-~]|$)|[`|{delimiters}]|&(?=#?\w+;)")
    return lambda text: special.sub(r"\\\g<0>", text)


TITLE_ESCAPES = {
    "title-double": _title_escape('"'),
    "title-single": _title_escape("'"),
    "title-round": _title_escape("()"),
}
"""Escape functions by the delimiters around the title of a link."""
