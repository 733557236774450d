"""What all formats share: `Format`, scripts without spaces, lines and decoding."""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from docgraph.document import Document, InlineMarkup
from docgraph.errors import DocgraphError

Span = tuple[int, int]
"""(start, end) in the source of a document."""
Edit = tuple[int, int, str]
"""(start, end, new text) of a part of a text that is replaced."""
IsIntact = Callable[[str, str, Sequence[InlineMarkup]], bool]
"""(raw form of a sentence, its text with atoms, its markup) -> whether the raw form reads back as these."""
CJK = "\u2e80-\u303f\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff"
"""Character class of scripts written without spaces between words (Chinese, Japanese)."""
ATOM_CHARACTERS = "\U000f0000-\U000ffffd"
"""Character class of private use characters that stand for atoms (atoms.py); each counts as a word."""
DELIMITERS = frozenset("`*_~$|")
"""Characters that begin and end code and emphasis; a run of two means something else."""
MAX_LINE = 2_000_000
"""Maximum length of a line in formats whose readers look at whole lines; a picture inside the text may be that long."""
NEWLINE = r"(?:\r\n|\n|\r)"
LINE = re.compile(rf"(?P<text>[^\r\n]*)(?:{NEWLINE}|\Z)")
CJK_CHARACTER = re.compile(f"[{CJK}]")
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DOCUMENT_REMEDY = "extract its text first, or save it as DOCX, HTML or text"
_ARCHIVE_REMEDY = "unpack it and translate the files in it; an office document needs its usual extension"
_OTHER_REMEDY = "copy its text into a text file and translate that"
_SIGNATURES = tuple(
    (re.compile(pattern, re.DOTALL), kind, remedy)
    for pattern, kind, remedy in (
        (rb"%PDF-", "a PDF document", _DOCUMENT_REMEDY),
        (rb"\xd0\xcf\x11\xe0", "an old Office document", _DOCUMENT_REMEDY),
        (rb"PK(?:\x03\x04|\x05\x06)", "a ZIP archive", _ARCHIVE_REMEDY),
        (rb"\x1f\x8b", "a gzip archive", _ARCHIVE_REMEDY),
        (rb"7z\xbc\xaf", "a 7z archive", _ARCHIVE_REMEDY),
        (rb"Rar!\x1a", "a RAR archive", _ARCHIVE_REMEDY),
        (rb"GIF8[79]a.[\x00-\x09]", "a GIF picture", _OTHER_REMEDY),
        (rb"\x89PNG", "a PNG picture", _OTHER_REMEDY),
        (rb"\xff\xd8\xff", "a JPEG picture", _OTHER_REMEDY),
        (rb"\x7fELF", "a program", _OTHER_REMEDY),
    )
)
"""(first bytes of a file, what it is, what to do) for kinds of files that are often taken for text."""
SIGNATURE_BYTES = 8
"""Bytes that tell the kind of a file."""


def unchanged(text: str, _: str = "") -> str:
    """Return the text."""
    return text


@dataclass(slots=True)
class Cue:
    """One subtitle: its times in seconds and its lines, as spans in the source."""

    begin: float
    end: float
    lines: list[Span]


@dataclass(frozen=True, slots=True)
class Format:
    """A file format; decoding bytes, replacing sentences and writing files are common to all formats."""

    name: str
    extensions: tuple[str, ...]
    parse: Callable[[str, str], list[Document]]
    """(source, language) -> documents; their sources, concatenated, are the source."""
    escape: Callable[[str], str] = unchanged
    """Plain text -> its representation in the source."""
    unpack: Callable[[bytes, str], str] | None = None
    """(file, file name for errors) -> source, for files that are not text."""
    pack: Callable[[bytes, str], bytes] | None = None
    """(original file, new source) -> new file."""
    declare: Callable[[str, str], str] = unchanged
    """(source, language) -> source whose language declaration, if it has one, names the language."""
    check: Callable[[bytes, str], None] | None = None
    """(file, file name) -> None; refuses a file that has the extension but not the content of this format. Not asked if
    the user names the format."""
    escapes: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    """Escape functions for text in another syntax (an HTML attribute), by `Sentence.syntax`."""
    is_intact: IsIntact | None = None
    """Decides whether markup can be written in a certain way."""
    filler: str = ""
    """Written where a line without text would end a block too early (a subtitle cue)."""
    cues: Callable[[str], Iterable[Cue]] | None = None
    """Source -> cues, for subtitles, whose breaks are placed by time and alignment."""


def space_between(old_space: str, old_end: str, before: str, after: str) -> str:
    """Return what stands between two translated sentences, given the white space between the old ones.

    `old_end` is the character before the old space; `before` and `after` are the characters around the new one. Scripts
    without spaces lose a single space; other scripts gain one if the old script had none, or if the first sentence
    ended with a mark that the new one does not have.
    """
    unspaced = [CJK_CHARACTER.match(char) is not None for char in (before, after)]
    if old_space or any(unspaced) or not after.strip():
        return "" if old_space == " " and all(unspaced) else old_space
    begins_word = after.isalnum() or after in tuple("`*_~")
    is_new = CJK_CHARACTER.match(old_end) is not None or (not old_end.isalnum() and before.isalnum() and begins_word)
    return " " if is_new else ""


def names(words: str) -> frozenset[str]:
    """Return the set of names (tags, elements) in a space-separated string."""
    return frozenset(words.split())


def has_content(text: str) -> bool:
    """Return whether the text has more than punctuation, spaces and control characters."""
    return any(unicodedata.category(char)[0] not in "PZC" and char not in "*_=~+<>|^`$" for char in text)


def line_groups(source: str, start: int = 0, end: int | None = None) -> Iterator[list[Span]]:
    """Yield the lines between blank lines of source[start:end], a group at a time, as spans without line ends."""
    group: list[Span] = []
    for match in LINE.finditer(source, start, len(source) if end is None else end):  # the last match is empty
        if match["text"].strip():
            group.append(match.span("text"))
        elif group:
            yield group
            group = []


def around(text: str, offset: int) -> tuple[str, str]:
    """Return the characters before and after a position; empty at the ends of the text."""
    return text[max(offset - 1, 0) : offset], text[offset : offset + 1]


def strip_span(source: str, start: int, end: int) -> Span:
    """Return the span without its leading and trailing white space."""
    text = source[start:end]
    return start + len(text) - len(text.lstrip()), start + len(text.rstrip())


class JoinedLines:
    """The lines of a paragraph joined by single newlines, without what is between them in the source."""

    def __init__(self, source: str, lines: Sequence[Span]) -> None:
        self.text = "\n".join(source[start:end] for start, end in lines)
        self._starts = [start for start, _ in lines]
        self._offsets = list(accumulate((end - start + 1 for start, end in lines[:-1]), initial=0))

    def source_of(self, position: int) -> int:
        """Map a position of the joined text to the source."""
        line = bisect_right(self._offsets, position) - 1
        return self._starts[line] + position - self._offsets[line]


def splice(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with all edits; insertions at one position keep their order."""
    parts, position = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):
        parts += [text[position:start], new]
        position = end
    return "".join([*parts, text[position:]])


def check_lines(source: str, name: str | None = None) -> None:
    """Raise if a line is too long; `name` is that of the file, if the caller does not add it."""
    if any(match.end() - match.start() > MAX_LINE for match in LINE.finditer(source)):
        raise DocgraphError(f"has a line of more than {MAX_LINE:,} characters; split it", path=name)


def binary_kind(data: bytes) -> str | None:
    """Return why a file that begins with these bytes is no text, and what to do; None if it may be text."""
    for signature, kind, remedy in _SIGNATURES:
        if signature.match(data):
            return f"is not a text file but {kind}; {remedy}"
    return None


def decode(data: bytes, name: str) -> tuple[str, str]:
    """Return (text, encoding) of a file; encoding the text gives the same bytes again.

    Files are UTF-8, or UTF-16 or UTF-32 with a byte order mark; the mark stays in the text.
    """
    if (message := binary_kind(data)) is not None:
        raise DocgraphError(message, path=name)
    encoding = next((encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and b"\0" in data[:4096]:
            raise DocgraphError(f"is not a text file; {_DOCUMENT_REMEDY}", path=name) from None
        line = data[: error.start].decode(encoding, "replace").count("\n") + 1
        message = (
            f"byte {error.start + 1} (0x{data[error.start]:02x}) is not {encoding.upper()}; convert the file, for"
            " example with: iconv -f WINDOWS-1252 -t UTF-8"
        )
        raise DocgraphError(message, path=name, line=line) from error
    if len(text) >= 64 and text.count("\0") * 5 > len(text):
        raise DocgraphError("is a binary file, or UTF-16 without a byte order mark; convert it to UTF-8", path=name)
    return text, encoding
