"""Markdown (CommonMark with tables, front matter, footnotes, math): prose is text, everything else is left alone.

This module finds the paragraphs, line by line; markdown_inline.py reads what is in them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from docgraph.document import Document
from docgraph.formats.base import NEWLINE, Block, Format, document_of, names
from docgraph.formats.markdown_inline import add_inline, escape

_LINE = re.compile(rf"(?P<text>[^\r\n]*)(?:{NEWLINE}|\Z)")
_MARKER = re.compile(
    r"[ \t]*(?:(?P<quote>>)|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)(?:[ \t]+\[[ xX]\](?=[ \t]))?|\[\^[^\]\s]+\]:|:(?=[ \t]))"
)
_RULE = re.compile(r"[ \t]*+(?:(?:-[ \t]*+)++|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+|=++[ \t]*+)$")
_FENCE = re.compile(r"[ \t]*(?P<fence>`{3,}(?=[^`]*$)|~{3,}|\$\$(?!.*\$\$))")
_HEADING = re.compile(r"[ \t]*#{1,6}(?=[ \t]|$)")
_TABLE_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*+\|?[ \t]*$")
_CELL = re.compile(r"(?:`[^`\n]*`|[^|\\]|\\.?)++")
_HARD_BREAK = re.compile(r"(?:  |(?<!\\)\\)$")
_DEFINITION = re.compile(r"[ \t]*\[(?!\^)(?P<label>[^\[\]]+)\]:[ \t]*\S")
_HTML = re.compile(r"[ \t]{0,3}<(?P<tag>!--|[!?]|/?[a-zA-Z][a-zA-Z0-9-]*(?=[\s/>]|$))")
_HTML_END = {"!--": "-->", "script": "</script>", "style": "</style>", "pre": "</pre>", "textarea": "</textarea>"}
_HTML_BLOCKS = names(
    "address article aside blockquote body caption center col colgroup dd details dialog div dl dt fieldset figcaption"
    " figure footer form h1 h2 h3 h4 h5 h6 head header hr html iframe img legend li link main menu nav ol optgroup"
    " option p picture section source summary table tbody td tfoot th thead title tr ul video"
)


def parse(source: str, language: str) -> list[Document]:
    return document_of(source, _Scanner(source).blocks(), language)


class _Scanner:
    """Walks the lines of the source and gathers those of a paragraph."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.lines = [match.span("text") for match in _LINE.finditer(source)]
        definitions = (_DEFINITION.match(source, *line) for line in self.lines)
        self.labels = {match["label"].casefold() for match in definitions if match}
        self.next = 0
        self.paragraph: list[tuple[int, int]] = []
        self.quotes = 0
        self.margin = 0
        """How far the text of the current list item is indented; 0 outside lists."""
        self.after_blank = True

    def blocks(self) -> Iterator[Block]:
        self._skip_front_matter()
        while self.next < len(self.lines):
            start, end = self.lines[self.next]
            self.next += 1
            yield from self._read_line(start, end)
        yield from self._end_paragraph()

    def _read_line(self, start: int, end: int) -> Iterator[Block]:
        content, quotes, item = self._markers(start, end)
        text = self.source[content:end]
        after_blank, self.after_blank = self.after_blank, not text.strip()
        if self.after_blank:
            yield from self._end_paragraph()
            return
        indent = len(text.expandtabs(4)) - len(text.expandtabs(4).lstrip(" "))
        if item:
            self.margin = content - start + 1
        elif after_blank and not indent:
            self.margin = 0
        if after_blank and not item and indent >= self.margin + 4:
            self.after_blank = True  # for the next line of indented code
            return
        if item or quotes > self.quotes:
            yield from self._end_paragraph()
            self.quotes = quotes
        if "|" in text and self._is_table_rule():
            yield from self._end_paragraph()
            yield from self._table(content, end)
        elif self._skip_block(text):
            self.after_blank = True  # no paragraph goes on here: what is indented further is code
            yield from self._end_paragraph()
        elif heading := _HEADING.match(text):
            yield from self._end_paragraph()
            self.paragraph = [(content + heading.end(), content + _without_hashes(text, heading.end()))]
            yield from self._end_paragraph()
        else:
            hard_break = _HARD_BREAK.search(text)
            last = content + hard_break.start() if hard_break else end
            self.paragraph.append((content + len(text) - len(text.lstrip(" \t")), last))
            if hard_break:
                yield from self._end_paragraph()

    def _end_paragraph(self) -> Iterator[Block]:
        if self.paragraph:
            block = Block(self.source)
            add_inline(block, self.paragraph, self.labels)
            yield block
            self.paragraph, self.quotes = [], 0

    def _markers(self, start: int, end: int) -> tuple[int, int, bool]:
        """Where the content of the line begins, how deep it is quoted, and whether it opens a list item or a note."""
        quotes, item = 0, False
        while not _RULE.match(self.source, start, end) and (marker := _MARKER.match(self.source, start, end)):
            start = marker.end()
            quotes += marker["quote"] is not None
            item = item or marker["quote"] is None
        return start, quotes, item

    def _skip_block(self, text: str) -> bool:
        """Whether a block that is not prose begins here; its other lines are passed over."""
        if fence := _FENCE.match(text):
            self._skip_until(re.compile(r"[ \t>]*" + re.escape(fence["fence"])))
            return True
        if (html := _HTML.match(text)) and not self.paragraph:
            return self._skip_html(html["tag"].lower(), text)
        return _RULE.match(text) is not None or _DEFINITION.match(text) is not None

    def _is_table_rule(self) -> bool:
        """Whether the next line makes this one the head of a table."""
        if self.next == len(self.lines):
            return False
        content, _, item = self._markers(*self.lines[self.next])
        rule = self.source[content : self.lines[self.next][1]]
        return not item and "|" in rule and _TABLE_RULE.match(rule) is not None

    def _table(self, start: int, end: int) -> Iterator[Block]:
        """The cells of a table whose head is the line [start, end); all its lines have bars."""
        yield from self._cells(start, end)
        self.next += 1
        while self.next < len(self.lines) and "|" in self.source[slice(*self.lines[self.next])]:
            start, end = self.lines[self.next]
            self.next += 1
            yield from self._cells(self._markers(start, end)[0], end)

    def _cells(self, start: int, end: int) -> Iterator[Block]:
        for cell in _CELL.finditer(self.source, start, end):
            block = Block(self.source)
            add_inline(block, [cell.span()], self.labels)
            yield block

    def _skip_html(self, tag: str, text: str) -> bool:
        if closing := _HTML_END.get(tag):
            if closing not in text.lower():
                self._skip_until(re.compile(".*" + re.escape(closing), re.I))
            return True
        if tag not in ("!", "?") and tag.lstrip("/") not in _HTML_BLOCKS:
            return False
        self._skip_until(re.compile(r"[ \t>]*$"))
        return True

    def _skip_until(self, last: re.Pattern[str]) -> None:
        """Pass over lines up to the one that matches, or the end of the file."""
        while self.next < len(self.lines):
            line = self.source[slice(*self.lines[self.next])]
            self.next += 1
            if last.match(line):
                return

    def _skip_front_matter(self) -> None:
        fences = {"---": r"(?:---|\.\.\.)[ \t]*$", "+++": r"\+\+\+[ \t]*$"}
        closing = fences.get(self.source[slice(*self.lines[0])].rstrip())
        if closing is None:
            return
        pattern = re.compile(closing)
        self.next = 1
        self._skip_until(pattern)
        last = self.source[slice(*self.lines[self.next - 1])]
        if not pattern.match(last):  # a rule, then: nothing closes it
            self.next = 1


def _without_hashes(heading: str, start: int) -> int:
    """Where the text of a heading ends: before the closing hashes, if a space parts them from it."""
    text = heading.rstrip(" \t")
    bare = text.rstrip("#")
    return max(start, len(bare) if bare.endswith((" ", "\t")) else len(text))


MARKDOWN = Format("markdown", (".md", ".markdown", ".mdown"), parse, escape)
