"""Paragraphs: `Block` reads one from its raw source, and splits it into sentences with their markup."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from docgraph.document import Document, InlineMarkup, MarkupRole, Sentence
from docgraph.errors import DocgraphError
from docgraph.formats.base import CJK_CHARACTER, has_content
from docgraph.formats.sentences import split_sentences

MAX_PARAGRAPH = 1_000_000
"""Maximum length of a paragraph in characters: each takes about 90 bytes of memory while it is read."""
MAX_MARKUP = 100_000
"""Maximum number of inline markup (tags, changes of formatting) in a paragraph."""
_RUN = re.compile(r"(?P<space>[ \t\r\n\f\v]+)|(?P<nul>\0+)|[^ \t\r\n\f\v\0]+(?: [^ \t\r\n\f\v\0]+)*+")
_CLOSING = frozenset(".,;:!?)]}»”’…。，、；：！？）」』")
_ATOM_WORD = "Code"
"""What the sentence splitter reads instead of an atom."""
_NO_WORD = re.compile(
    r"\s*(?:!\[|\[\^|<(?!code|kbd|samp|var|(?:x|ph)\s(?![^<>]*(?:LINE_BREAK|TAG_|\bICU))))", re.IGNORECASE
)
"""Atoms that are no words: images, notes, tags, except the placeholders of XLIFF that stand for words."""

_Place = tuple[int, int]
"""Position in the text of a block, and the index of the atom whose word is there, or -1."""


@dataclass(slots=True)
class _MarkupSpan:
    """Invisible source[start:end], which precedes character `offset` of the block's text."""

    offset: int
    start: int
    end: int
    raw: str
    role: MarkupRole = ""


class Block:
    """A paragraph under construction: a parser calls `text`, `decoded`, `markup`, ... in the order of the source.

    Character i of the readable text comes from source[starts[i]:ends[i]]; white space is collapsed to single spaces.
    """

    def __init__(self, source: str, speaker: str | None = None, *, syntax: str = "", split: bool = True) -> None:
        self.source = source
        self.speaker = speaker
        self.syntax = syntax
        self.split = split
        """Whether the text is split into sentences."""
        self.prefix = ""
        """Raw markup that is written before the first sentence if it changes."""
        self.nested: list[Block] = []
        """Blocks inside the markup of this one: link titles, texts of images."""
        self._languages = Counter[str]()
        """Characters by the language that the file declares for them."""
        self._chars: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._markup: list[_MarkupSpan] = []
        self._wrap = -1
        """Index of the space that represents the last line break, until text follows it."""

    def __len__(self) -> int:
        return len(self._chars)

    @property
    def readable(self) -> str:
        """The readable text so far."""
        return "".join(self._chars)

    @property
    def ending(self) -> str:
        """The last characters of the readable text."""
        return "".join(self._chars[-5:])

    def check_length(self, added: int) -> None:
        """Raise if the paragraph would become too long."""
        if len(self._chars) + added > MAX_PARAGRAPH:
            raise DocgraphError(f"has a paragraph of more than {MAX_PARAGRAPH:,} characters; split it")

    def text(self, start: int, end: int) -> None:
        """Add source[start:end] as readable text; NUL characters in it become markup."""
        self.check_length(end - start)
        for run in _RUN.finditer(self.source, start, end):
            if run["space"]:
                self._space(run.start(), run.end())
            elif run["nul"]:
                self.markup(run.start(), run.end())
            else:
                self._settle_space_before(run[0][:2])
                self._append(run[0], range(run.start(), run.end()), range(run.start() + 1, run.end() + 1))

    def decoded(self, text: str, start: int, end: int) -> None:
        """Add `text`, which source[start:end] (an entity, an escape) represents."""
        if not text.strip("\0"):
            self.markup(start, end)
        elif not text.strip(" \t\r\n\f\v"):
            self._space(start, end)
        else:
            self._settle_space_before(text[:2])
            self._append(text, [start] + [end] * (len(text) - 1), [end] * len(text))

    def markup(self, start: int, end: int, raw: str | None = None, role: MarkupRole = "") -> None:
        """Hide source[start:end] from the text; `raw` replaces it in a rewritten sentence."""
        if len(self._markup) == MAX_MARKUP:
            raise DocgraphError(f"has a paragraph with more than {MAX_MARKUP:,} changes of formatting; split it")
        raw = self.source[start:end] if raw is None else raw
        self._markup.append(_MarkupSpan(len(self._chars), start, end, raw, role))

    def opaque(self, start: int, end: int) -> None:
        """Hide source[start:end], which stands for words (inline code, an image); the spaces around it stay two."""
        self.markup(start, end, role="atom")

    def line_break(self, start: int, end: int, role: MarkupRole = "") -> None:
        """Read source[start:end], the end of a line or subtitle, as a space, or as nothing between CJK characters."""
        if not self._chars:
            return
        self.markup(start, end, role=role)
        if self._chars[-1] != " ":
            self._wrap = len(self._chars)
            self._append(" ", [end], [end])

    def declare_language(self, code: str, start: int) -> None:
        """Record the language that the file declares for the text from character `start` of the block on."""
        if code:
            self._languages[code.lower()] += len(self._chars) - start

    @property
    def language(self) -> str:
        """The language that the file declares for most of the text; empty if there is none."""
        [(code, count)] = self._languages.most_common(1) or [("", 0)]
        return code if 2 * count > len(self._chars) else ""

    def sentences(self, language: str, paragraph: int) -> list[Sentence]:
        """Split the text into sentences; parts without a word (`* * *`) are left out and stay in the source."""
        shown, places = self._with_words_for_atoms()
        # White space at the start is never added.
        spans = split_sentences(shown, language) if self.split else [(0, len(shown.rstrip()))]
        found = (self._sentence(places[a:b], paragraph) for a, b in spans)
        sentences = [sentence for sentence in found if sentence is not None]
        if sentences and self.prefix:
            sentences[0] = replace(sentences[0], prefix=self.prefix)
        if self.nested:
            sentences += [sentence for block in self.nested for sentence in block.sentences(language, paragraph)]
            sentences.sort(key=lambda sentence: (sentence.start, -sentence.end))
        return sentences

    def _with_words_for_atoms(self) -> tuple[str, list[_Place]]:
        """Return the text with a word for each inline code and placeholder, and the origins of its characters."""
        parts, places, last = list[str](), list[_Place](), 0
        for index, span in enumerate(self._markup):
            before = "".join(self._chars[max(span.offset - 1, 0) : span.offset])
            if span.role == "atom" and not before.isalnum() and before not in _CLOSING and not _NO_WORD.match(span.raw):
                word = _ATOM_WORD + " " * span.raw[-1:].isspace()
                parts += [*self._chars[last : span.offset], word]
                places += [(offset, -1) for offset in range(last, span.offset)] + [(span.offset, index)] * len(word)
                last = span.offset
        places += [(offset, -1) for offset in range(last, len(self._chars))]
        return "".join([*parts, *self._chars[last:]]), places

    def _sentence(self, places: Sequence[_Place], paragraph: int) -> Sentence | None:
        """Return some characters of the text with atoms as a sentence; None if there is no text between its atoms."""
        offsets = [offset for offset, atom in places if atom < 0 and not self._chars[offset].isspace()]
        a, b = (offsets[0], offsets[-1] + 1) if offsets else (0, 0)
        text = "".join(self._chars[a:b])
        if not has_content(text):
            return None
        atoms = {atom for _, atom in places if atom >= 0}
        before = self._leading({atom for atom in atoms if self._markup[atom].offset <= a}, a)
        after = self._trailing({atom for atom in atoms if self._markup[atom].offset >= b}, b)
        first = bisect_right(self._markup, a, key=lambda span: span.offset)
        last = bisect_left(self._markup, b, key=lambda span: span.offset)
        markup = tuple(
            InlineMarkup(min(max(span.offset, a), b) - a, span.raw, span.role, span.start)
            for span in [*before, *self._markup[first:last], *after]
        )
        start = before[0].start if before else self._starts[a]
        end = after[-1].end if after else self._ends[b - 1]
        return Sentence(text, start, end, paragraph, markup, self.speaker, self.syntax, language=self.language)

    def _leading(self, atoms: Collection[int], a: int) -> list[_MarkupSpan]:
        """Return atoms before the first character of a sentence, with the elements around them and all later markup."""
        first = min(atoms, default=len(self._markup))
        last = bisect_right(self._markup, a, key=lambda span: span.offset)
        closed = sum(span.role == "close" for span in self._markup[first:last])
        while first and closed and self._markup[first - 1].role == "open" and self._markup[first - 1].offset == a:
            first, closed = first - 1, closed - 1
        spans = self._markup[first:last]
        ends = [*(span.start for span in spans[1:]), self._starts[a]]
        return self._with_gaps(spans, [span.start for span in spans], ends)

    def _trailing(self, atoms: Collection[int], b: int) -> list[_MarkupSpan]:
        """Return atoms after the last character of a sentence, with the elements around them and all earlier markup."""
        first = bisect_left(self._markup, b, key=lambda span: span.offset)
        last = max(atoms, default=first - 1) + 1
        opened = sum(span.role == "open" for span in self._markup[first:last])
        while last < len(self._markup) and opened and self._markup[last].role == "close":
            last, opened = last + 1, opened - 1
        spans = self._markup[first:last]
        starts = [self._ends[b - 1], *(span.end for span in spans[:-1])]
        return self._with_gaps(spans, starts, [span.end for span in spans])

    def _with_gaps(self, spans: Sequence[_MarkupSpan], starts: Sequence[int], ends: Sequence[int]) -> list[_MarkupSpan]:
        """Return markup with the white space beside it; none if its raw form is not that of the source."""
        if any(span.raw != self.source[span.start : span.end] for span in spans):
            return []
        return [
            replace(span, start=start, end=end, raw=self.source[start:end])
            for span, start, end in zip(spans, starts, ends, strict=False)
        ]

    def _append(self, chars: str, starts: Iterable[int], ends: Iterable[int]) -> None:
        self._chars.extend(chars)
        self._starts.extend(starts)
        self._ends.extend(ends)

    def _pop(self) -> int:
        """Remove the last character and return its start in the source."""
        self._chars.pop()
        self._ends.pop()
        return self._starts.pop()

    def _space(self, start: int, end: int) -> None:
        if not self._chars:
            return
        if self._chars[-1] != " ":
            self._append(" ", [start], [end])
        elif self._ends[-1] == start:
            self._ends[-1] = end
        elif self._markup and self._markup[-1].end == start:
            self._markup[-1].end = end
            self._markup[-1].raw += self.source[start:end]
        else:
            self.markup(start, end)

    def _settle_space_before(self, text: str) -> None:
        """Remove the space before `text` if it wraps CJK text, or separates opaque markup from a full stop."""
        is_wrapped = self._wrap >= 0 and self._wrap == len(self._chars) - 1
        self._wrap = -1
        if is_wrapped:
            if CJK_CHARACTER.match(self._chars[-2]) and CJK_CHARACTER.match(text):
                self._pop()
                for span in reversed(self._markup):
                    if span.offset <= len(self._chars):
                        break
                    span.offset = len(self._chars)
            return
        last = self._markup[-1] if self._markup else None
        if last is None or last.role != "atom" or last.offset != len(self._chars) or text[0] not in _CLOSING:
            return
        if text[0] == "’" and text[1:].isalpha():
            return  # the end of a word (`path`’s), not a closing quotation mark
        if self._chars and self._chars[-1] == " " and self._ends[-1] == last.start:
            last.start = self._pop()
            last.offset -= 1
            last.raw = self.source[last.start : last.end]


def document_of(source: str, blocks: Iterable[Block], language: str) -> list[Document]:
    """Return the single document of a file, given its blocks in the order of the source."""
    sentences: list[Sentence] = []
    paragraph = 0
    for block in blocks:
        if block_sentences := block.sentences(language, paragraph):
            sentences += block_sentences
            paragraph += 1
    return [Document(tuple(sentences), source)]
