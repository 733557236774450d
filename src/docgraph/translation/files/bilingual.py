"""Bilingual files: the source and the translation of each sentence side by side, to be corrected and read back.

XLIFF 1.2, TMX 1.4, tables (source, translation, status; tab-separated) and an HTML page that is edited in the browser.
The status of a translation is `confirmed`, or `machine` and a digest of it. A translation that differs from its digest
has been edited and counts as confirmed. So does a translation without a status, which another program has written.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from docgraph.corpus.readers.text_files import Problems, clean, read_lines
from docgraph.corpus.readers.tmx import read_units
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.formats import MAX_BYTES
from docgraph.formats.atoms import shown_texts
from docgraph.formats.base import NEWLINE, decode
from docgraph.html_page import html_page
from docgraph.languages import base_language

STATUS_PROPERTY = "x-status"
"""Type of the TMX property that holds the status of a unit."""
HEADER = ("source", "translation", "status")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that XML 1.0 does not allow."""
_NEWLINE = re.compile(NEWLINE)
_SPACES = re.compile(r"[ \t\r\n\f\v]+")
_DATA = re.compile(r'<script type="application/json" id="segments">(.*?)</script>', re.DOTALL)
_CONFIRMED_STATES = frozenset(["translated", "reviewed", "final", "signed-off"])
_DIGITS = 8
"""Hexadecimal digits of a digest."""


@dataclass(frozen=True)
class BilingualSegment:
    """A sentence and its translation."""

    source: str
    translation: str | None
    confirmed: bool = False
    document: str = ""
    """Name of its document."""

    @property
    def status(self) -> str:
        """`confirmed`, `machine` with the digest of the translation, or nothing without a translation."""
        text = plain(self.translation or "")
        if not text:
            return ""
        return "confirmed" if self.confirmed else f"machine {_digest(text)}"

    @classmethod
    def read(cls, source: str, translation: str, status: str) -> BilingualSegment:
        """Returns a segment as it was read from a file."""
        source, translation = plain(source), plain(translation)
        kind, _, digest = status.strip().partition(" ")
        is_machine = kind == "machine" and digest == _digest(translation)
        return cls(source, translation or None, bool(translation) and not is_machine)


Languages = tuple[str, str] | None


@dataclass(frozen=True)
class BilingualFormat:
    """A format of bilingual files."""

    name: str
    suffixes: tuple[str, ...]
    media_type: str
    write: Callable[[Sequence[BilingualSegment], Languages], str]
    read: Callable[[Path, Languages], Iterable[BilingualSegment]]


def plain(text: str) -> str:
    """Returns a text as stored in bilingual files: without control characters, white space as single spaces."""
    return _SPACES.sub(" ", _UNSAFE.sub(lambda char: "\ufffd" if char[0] >= "\x7f" else "", text)).strip()


def _digest(translation: str) -> str:
    """Returns the digest of a plain translation."""
    return hashlib.sha256(translation.encode()).hexdigest()[:_DIGITS]


def format_of(path: str | Path) -> BilingualFormat | None:
    """Returns the bilingual format with the extension of a file name, or None."""
    suffix = Path(path).suffix.lower()
    return next((form for form in BILINGUAL.values() if suffix in form.suffixes), None)


def check_name(path: Path) -> BilingualFormat:
    """Returns the bilingual format of a file to be written; refuses other names."""
    form = format_of(path)
    if form is None:
        names = ", ".join(suffix for form in BILINGUAL.values() for suffix in form.suffixes)
        raise DocgraphError(f"a bilingual file must end in {names}; choose another name", path=path)
    return form


def write_bilingual(path: Path, segments: Sequence[BilingualSegment], languages: Languages) -> None:
    """Writes segments to a file, whose extension chooses the format."""
    form = check_name(path)
    with replacing(path) as temporary:
        temporary.write_text(form.write(segments, languages), "utf-8", newline="")


def read_bilingual(path: Path, languages: Languages) -> list[BilingualSegment]:
    """Returns the segments of a file."""
    form = format_of(path)
    assert form is not None
    if path.stat().st_size > MAX_BYTES:
        raise DocgraphError(f"is larger than {MAX_BYTES / 2**20:.0f} MiB; split the document", path=path)
    return list(form.read(path, languages))


@dataclass(frozen=True)
class Match:
    """Confirmed translations of sentences, and those that no sentence matches."""

    known: list[list[str]]
    """The confirmed translation of each sentence of each document; empty if there is none."""
    unused: list[str]
    """Sources of confirmed translations that match no sentence, because the document has changed."""


def match_segments(documents: Sequence[Document], segments: Sequence[BilingualSegment]) -> Match:
    """Finds the confirmed translation of each sentence by its text; equal sentences are matched in their order."""
    waiting: dict[str, deque[BilingualSegment]] = {}
    for segment in segments:
        waiting.setdefault(segment.source, deque()).append(segment)
    known = []
    for document in documents:
        found = (waiting.get(plain(text)) for text in shown_texts(document))
        matched = [queue.popleft() if queue else None for queue in found]
        known.append([each.translation or "" if each is not None and each.confirmed else "" for each in matched])
    unused = [segment.source for queue in waiting.values() for segment in queue if segment.confirmed]
    return Match(known, unused)


def read_known(path: Path, documents: Sequence[Document], languages: Languages) -> Match:
    """Returns the known translations of the documents of a file, and those that match no sentence.

    In a bilingual file (.xlf, .tmx, .tsv, .html), the confirmed and the edited translations are known.
    """
    if format_of(path) is not None:
        return match_segments(documents, read_bilingual(path, languages))
    return Match(_read_parallel_lines(path, documents), [])


def _read_parallel_lines(path: Path, documents: Sequence[Document]) -> list[list[str]]:
    """Returns the known translations in a file whose lines are parallel to those of the documents."""
    if any(document.format != "lines" for document in documents):
        message = "has lines, which belong to a text of one sentence per line; pass --format lines, or a bilingual file"
        raise DocgraphError(message, path=path)
    lines = _split_lines(decode(path.read_bytes(), str(path))[0].removeprefix("\ufeff"))
    count = len(_split_lines("".join(document.source for document in documents)))
    if len(lines) != count:
        raise DocgraphError(
            f"has {len(lines):,} line{'' if len(lines) == 1 else 's'} but the text has {count:,}; keep one line for"
            " each, empty if its translation is unknown",
            path=path,
        )
    known, first = [], 0
    for document in documents:
        ends = [newline.end() for newline in _NEWLINE.finditer(document.source)]
        places = [first + bisect_right(ends, sentence.start) for sentence in document]
        known.append([lines[place].strip() for place in places])
        own = range(first, first + len(_split_lines(document.source)))
        if stray := [place for place in sorted({*own} - {*places}) if lines[place].strip()]:
            raise DocgraphError("this translation belongs to a blank line of the text", path=path, line=stray[0] + 1)
        first = own.stop
    return known


def _split_lines(text: str) -> list[str]:
    lines = _NEWLINE.split(text)
    return lines if lines[-1] else lines[:-1]


def _write_xliff(segments: Sequence[BilingualSegment], languages: Languages) -> str:
    source, target = languages or ("und", "und")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">',
    ]
    for index, segment in enumerate(segments):
        if index == 0 or segment.document != segments[index - 1].document:
            lines += ["</body>", "</file>"] if index else []
            lines += [
                f'<file original={_attribute(segment.document or "document")} datatype="plaintext"'
                f" source-language={_attribute(source)} target-language={_attribute(target)}>",
                "<body>",
            ]
        approved = ' approved="yes"' if segment.confirmed else ""
        status = f" extradata={_attribute(segment.status)}" if segment.status else ""
        lines.append(f'<trans-unit id="{index + 1}"{approved}{status}>')
        lines.append(f'<source xml:space="preserve">{escape(plain(segment.source))}</source>')
        if segment.status:
            state = "final" if segment.confirmed else "needs-review-translation"
            lines.append(
                f'<target xml:space="preserve" state="{state}">{escape(plain(segment.translation or ""))}</target>'
            )
        lines.append("</trans-unit>")
    lines += ["</body>", "</file>"] if segments else []
    return "\n".join([*lines, "</xliff>", ""])


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _read_xliff(path: Path, languages: Languages) -> Iterator[BilingualSegment]:
    from docgraph.formats.xliff import read_pairs

    for pair in read_pairs(path.read_bytes(), str(path)):
        status = pair.attributes.get("extradata", "")
        is_final = pair.attributes.get("approved") == "yes" or pair.state in _CONFIRMED_STATES
        yield BilingualSegment.read(pair.source, pair.target, "confirmed" if is_final else status)


def _write_tmx(segments: Sequence[BilingualSegment], languages: Languages) -> str:
    from docgraph import __version__

    source, target = languages or ("und", "und")
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<tmx version="1.4">',
        f'<header creationtool="docgraph" creationtoolversion="{__version__}" segtype="sentence" o-tmf="docgraph"'
        f' adminlang="en" srclang={_attribute(source)} datatype="plaintext"/>',
        "<body>",
    ]
    for segment in segments:
        if segment.status:
            name = f'<prop type="x-document">{escape(plain(segment.document))}</prop>' if segment.document else ""
            lines += [
                f'<tu>{name}<prop type="{STATUS_PROPERTY}">{segment.status}</prop>',
                f"<tuv xml:lang={_attribute(source)}><seg>{escape(plain(segment.source))}</seg></tuv>",
                f"<tuv xml:lang={_attribute(target)}><seg>{escape(plain(segment.translation or ''))}</seg></tuv></tu>",
            ]
    return "\n".join([*lines, "</body>", "</tmx>", ""])


def _read_tmx(path: Path, languages: Languages) -> Iterator[BilingualSegment]:
    source, target = (base_language(language) for language in languages or ("und", "und"))
    for unit in read_units(str(path)):
        if source in unit.segments and target in unit.segments:
            (_, text), (_, translation) = unit.segments[source], unit.segments[target]
            yield BilingualSegment.read(text, translation, unit.properties.get(STATUS_PROPERTY, ""))


def _write_table(segments: Sequence[BilingualSegment], languages: Languages) -> str:
    rows = ((plain(each.source), plain(each.translation or ""), each.status) for each in segments)
    return "".join("\t".join(row) + "\n" for row in (HEADER, *rows))


def _read_table(path: Path, languages: Languages) -> Iterator[BilingualSegment]:
    for number, line in enumerate(read_lines(path, Problems(), tabs=True), start=1):
        cells = [clean(cell) for cell in (line or "").split("\t")]
        if not any(cells) or (number == 1 and cells == list(HEADER)):
            continue
        if len(cells) not in (2, 3):
            raise DocgraphError(
                f"this line has {len(cells)} columns; a bilingual table has a source, a translation and a status,"
                " separated by tabs",
                path=path,
                line=number,
            )
        yield BilingualSegment.read(cells[0], cells[1], cells[2] if len(cells) > 2 else "")


def _write_page(segments: Sequence[BilingualSegment], languages: Languages) -> str:
    rows = [
        {"source": plain(s.source), "translation": plain(s.translation or ""), "status": s.status} for s in segments
    ]
    title = next((segment.document for segment in segments if segment.document), "")
    source, target = languages or ("und", "und")
    return html_page("bilingual_page", rows, title=plain(title), source=source, target=target)


def _read_page(path: Path, languages: Languages) -> Iterator[BilingualSegment]:
    data = _DATA.search(path.read_bytes().decode("utf-8", "replace"))
    try:
        rows = json.loads(data[1] if data is not None else "null")
        pairs = [(str(row["source"]), str(row["translation"]), str(row["status"])) for row in rows]
    except (ValueError, TypeError, KeyError, RecursionError):
        message = "has no segments; it must be a page that docgraph translate --bilingual wrote"
        raise DocgraphError(message, path=path) from None
    yield from (BilingualSegment.read(*pair) for pair in pairs)


BILINGUAL = {
    form.name: form
    for form in (
        BilingualFormat("xliff", (".xlf", ".xliff"), "application/xliff+xml", _write_xliff, _read_xliff),
        BilingualFormat("tmx", (".tmx",), "application/x-tmx+xml", _write_tmx, _read_tmx),
        BilingualFormat("tsv", (".tsv",), "text/tab-separated-values; charset=utf-8", _write_table, _read_table),
        BilingualFormat("html", (".html", ".htm"), "text/html; charset=utf-8", _write_page, _read_page),
    )
}
"""The bilingual formats, by name."""
