"""Format: how one kind of file is read and written. Block: the readable text of a paragraph, tied to its raw source."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from docgraph.document import Document, Gap, Sentence
from docgraph.formats.split import split_sentences

CJK = "\u2e80-\u303f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
"""Character class of scripts written without spaces between words (Chinese, Japanese)."""
NEWLINE = r"(?:\r\n|\n|\r)"
_CJK = re.compile(f"[{CJK}]")
_RUN = re.compile(r"(?P<space>[ \t\r\n\f\v]+)|(?P<nul>\0+)|[^ \t\r\n\f\v\0]+(?: [^ \t\r\n\f\v\0]+)*+")
_CLOSING = frozenset(".,;:!?)]}»”’…。，、；：！？）」』")


def _unchanged(text: str, _: str = "") -> str:
    return text


@dataclass(frozen=True, slots=True)
class Format:
    """One file format; everything else (reading bytes, splicing, atomic writing) is common to all."""

    name: str
    extensions: tuple[str, ...]
    parse: Callable[[str, str], list[Document]]
    """(source, language) -> documents whose sources join to the source."""
    escape: Callable[[str], str] = _unchanged
    """Plain text -> what stands for it in the source."""
    unpack: Callable[[bytes, str], str] | None = None
    """(file, name for errors) -> source, where the file is not text."""
    pack: Callable[[bytes, str], bytes] | None = None
    """(original file, new source) -> new file."""
    declare: Callable[[str, str], str] = _unchanged
    """(source, language) -> the source, saying that it is in this language where it says in which it is."""


@dataclass(slots=True)
class _Markup:
    """Raw source [start, end) that the reader of the text does not see, before character `offset` of the block."""

    offset: int
    start: int
    end: int
    raw: str
    opaque: bool = False


class Block:
    """A paragraph, as its parser meets it: call `text`, `decoded`, `markup`, ... in the order of the source.

    Character i of the readable text came from source[starts[i]:ends[i]]; white space is collapsed to single spaces.
    """

    def __init__(self, source: str, speaker: str | None = None) -> None:
        self.source = source
        self.speaker = speaker
        self._chars: list[str] = []
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._markup: list[_Markup] = []
        self._wrap = -1
        """Index of the space that the last line break stands for, until text follows it."""

    def text(self, start: int, end: int) -> None:
        """source[start:end] is readable as it is; NULs in it are kept out of sight."""
        for run in _RUN.finditer(self.source, start, end):
            if run["space"]:
                self._space(run.start(), run.end())
            elif run["nul"]:
                self.markup(run.start(), run.end())
            else:
                self._open(run[0][0])
                self._chars.extend(run[0])
                self._starts.extend(range(run.start(), run.end()))
                self._ends.extend(range(run.start() + 1, run.end() + 1))

    def decoded(self, text: str, start: int, end: int) -> None:
        """source[start:end] (an entity, an escape) stands for `text`."""
        if not text.strip("\0"):
            self.markup(start, end)
            return
        if not text.strip(" \t\r\n\f\v"):
            self._space(start, end)
            return
        self._open(text[0])
        self._chars.extend(text)
        self._starts.extend([start] + [end] * (len(text) - 1))
        self._ends.extend([end] * len(text))

    def markup(self, start: int, end: int, raw: str | None = None) -> None:
        """source[start:end] is not to be seen; `raw` replaces it where the sentence is written anew."""
        self._markup.append(_Markup(len(self._chars), start, end, self.source[start:end] if raw is None else raw))

    def opaque(self, start: int, end: int) -> None:
        """Like markup, but in place of words (inline code, a bare address): the spaces beside it are two."""
        self.markup(start, end)
        self._markup[-1].opaque = True

    def line_break(self, start: int, end: int) -> None:
        """source[start:end] breaks a line (or a subtitle) and is read as a space, or as nothing between CJK."""
        if not self._chars:
            return
        self.markup(start, end)
        if self._chars[-1] != " ":
            self._wrap = len(self._chars)
            self._append(" ", end, end)

    def sentences(self, language: str, paragraph: int) -> list[Sentence]:
        """The block cut into sentences; what has no word in it (`* * *`) is left to the source."""
        text = "".join(self._chars)
        return [self.sentence(a, b, paragraph) for a, b in split_sentences(text, language) if has_content(text[a:b])]

    def sentence(self, a: int, b: int, paragraph: int) -> Sentence:
        """Characters [a, b) of the readable text as a sentence."""
        first = bisect_right(self._markup, a, key=lambda markup: markup.offset)
        last = bisect_left(self._markup, b, key=lambda markup: markup.offset)
        gaps = tuple(Gap(markup.offset - a, markup.raw) for markup in self._markup[first:last])
        text = "".join(self._chars[a:b])
        return Sentence(text, self._starts[a], self._ends[b - 1], paragraph, gaps, self.speaker)

    def _append(self, char: str, start: int, end: int) -> None:
        self._chars.append(char)
        self._starts.append(start)
        self._ends.append(end)

    def _pop(self) -> int:
        """Drop the last character; where it began in the source."""
        self._chars.pop()
        self._ends.pop()
        return self._starts.pop()

    def _space(self, start: int, end: int) -> None:
        if not self._chars:
            return
        if self._chars[-1] != " ":
            self._append(" ", start, end)
        elif self._ends[-1] == start:
            self._ends[-1] = end
        elif self._markup and self._markup[-1].end == start:
            self._markup[-1].end = end
            self._markup[-1].raw += self.source[start:end]
        else:
            self.markup(start, end)

    def _open(self, char: str) -> None:
        """Settle the space before `char`, the next: none between opaque markup and a full stop, none in wrapped CJK."""
        if self._wrap >= 0 and self._wrap == len(self._chars) - 1:
            if _CJK.match(self._chars[-2]) and _CJK.match(char):
                self._pop()
                for markup in reversed(self._markup):
                    if markup.offset <= len(self._chars):
                        break
                    markup.offset = len(self._chars)
            self._wrap = -1
            return
        self._wrap = -1
        last = self._markup[-1] if self._markup else None
        if last is None or not last.opaque or last.offset != len(self._chars) or char not in _CLOSING:
            return
        if self._chars and self._chars[-1] == " " and self._ends[-1] == last.start:
            last.start = self._pop()
            last.offset -= 1
            last.raw = self.source[last.start : last.end]


def names(listed: str) -> frozenset[str]:
    """A set of names (tags, elements) from one string."""
    return frozenset(listed.split())


def has_content(text: str) -> bool:
    """Whether there is more in the text than punctuation, spaces and control characters."""
    return any(unicodedata.category(char)[0] not in "PZC" and char not in "*_=~+<>|^`$" for char in text)


def document_of(source: str, blocks: Iterable[Block], language: str) -> list[Document]:
    """The one document of a file, from its blocks in the order of the source."""
    sentences: list[Sentence] = []
    paragraph = 0
    for block in blocks:
        if found := block.sentences(language, paragraph):
            sentences += found
            paragraph += 1
    return [Document(tuple(sentences), source)]
