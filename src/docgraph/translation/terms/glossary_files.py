"""Files of glossaries: tables (TSV, CSV) and TBX.

A table has a column of terms and one of translations. A header is recognised by its names (source and target, or two
language codes); without a header, the first two columns are read. An empty translation, or the term itself, keeps the
term untranslated; a vertical bar separates translations of which any may be used. Lines that begin with # are comments.

TBX is read in both dialects: <termEntry>, <langSet> (TBX-Basic, ISO 30042:2008) and <conceptEntry>, <langSec> (2019).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from docgraph.corpus.readers.xml_stream import XmlStream, declared_language
from docgraph.errors import DocgraphError
from docgraph.formats.base import decode
from docgraph.languages import base_language

MAX_BYTES = 64 << 20
"""Maximum size of a glossary file."""
MAX_ENTRIES = 100_000
MAX_TERM = 200
"""Maximum characters of a term."""
_SOURCE_NAMES, _TARGET_NAMES = ("source", "source term", "term", "original"), ("target", "target term", "translation")
_DELIMITERS = {".tsv": "\t", ".tab": "\t", ".txt": "\t"}
_CONCEPTS, _LANGUAGES = ("termEntry", "conceptEntry"), ("langSet", "langSec")


@dataclass(frozen=True)
class Entry:
    """A term and its translations."""

    source: str
    targets: tuple[str, ...]
    """Empty for a term that stays as it is."""
    line: int = 0


def read_entries(path: Path, languages: tuple[str, str] | None) -> list[Entry]:
    """Returns the entries of a glossary file, in order."""
    if path.stat().st_size > MAX_BYTES:
        raise DocgraphError(f"a glossary has at most {MAX_BYTES >> 20} MB; divide it", path=path)
    data = path.read_bytes()
    if path.suffix.lower() in (".tbx", ".xml"):
        entries = list(_tbx(data, path, languages))
    else:
        text = decode(data, str(path))[0].removeprefix("\ufeff")
        entries = list(_table(text, path, languages))
    if not entries:
        raise DocgraphError("there are no terms in this glossary; write lines of term, tab, translation", path=path)
    return entries


def _table(text: str, path: Path, languages: tuple[str, str] | None) -> Iterator[Entry]:
    delimiter = _DELIMITERS.get(path.suffix.lower())
    if delimiter is None:
        first = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
        delimiter = max(",;\t", key=first.count)
    # A quotation mark in a tab-separated file is an ordinary character.
    if delimiter == "\t":
        rows = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        rows = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    columns: tuple[int, int] | None = None
    count = 0
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if not any(cells) or cells[0].startswith("#"):
                continue
            if columns is None:
                columns = _header(cells, languages)
                if columns is not None:
                    continue
                columns = 0, 1
            source, target = (cells[place] if place < len(cells) else "" for place in columns)
            if source:
                count += 1
                yield _entry(source, target.split("|"), path, rows.line_num, count)
    except csv.Error as error:
        message = f"this table is damaged ({error}); correct its quotation marks"
        raise DocgraphError(message, path=path, line=rows.line_num) from None


def _header(cells: list[str], languages: tuple[str, str] | None) -> tuple[int, int] | None:
    """Returns the columns of terms and translations if the first row names them."""
    names = [cell.lower() for cell in cells]
    codes = [base_language(cell) for cell in cells]
    sources = [place for place, name in enumerate(names) if name in _SOURCE_NAMES]
    targets = [place for place, name in enumerate(names) if name in _TARGET_NAMES]
    if languages is not None:
        sources += [place for place, code in enumerate(codes) if code == base_language(languages[0])]
        targets += [place for place, code in enumerate(codes) if code == base_language(languages[1])]
    return (sources[0], targets[0]) if sources and targets else None


def _entry(source: str, targets: list[str], path: Path, line: int, count: int) -> Entry:
    chosen = tuple(dict.fromkeys(" ".join(target.split()) for target in targets if target.strip()))
    source = " ".join(source.split())
    if max(map(len, (source, *chosen))) > MAX_TERM:
        raise DocgraphError(f"a term has at most {MAX_TERM} characters; shorten it", path=path, line=line)
    if count > MAX_ENTRIES:
        raise DocgraphError(f"a glossary has at most {MAX_ENTRIES:,} terms; divide it", path=path, line=line)
    return Entry(source, chosen if chosen != (source,) else (), line)


@dataclass
class _Concept:
    line: int
    terms: dict[str, list[str]] = field(default_factory=dict)
    """By language."""


class _TermParser(XmlStream):
    """Collects the concepts of a TBX file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.concepts: list[_Concept] = []
        self._language = ""
        self._text: list[str] | None = None

    def check_root(self, name: str) -> None:
        if name not in ("martif", "tbx"):
            raise self.error(f"this is not TBX, its outermost element is <{name}>; pass a .tbx, .tsv or .csv file")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name in _CONCEPTS:
            self.concepts.append(_Concept(self.line))
            self._language = ""
        elif name in _LANGUAGES:
            self._language = declared_language(attributes)
        elif name == "term":
            self._text = []

    def characters(self, text: str) -> None:
        if self._text is not None and sum(map(len, self._text)) <= MAX_TERM:
            self._text.append(text)

    def end(self, name: str) -> None:
        if name == "term" and self._text is not None:
            if self.concepts and self._language and (term := "".join(self._text).strip()):
                self.concepts[-1].terms.setdefault(self._language, []).append(term)
            self._text = None


def _tbx(data: bytes, path: Path, languages: tuple[str, str] | None) -> Iterator[Entry]:
    """Yields the terms of the source language with those of the target language, as synonyms."""
    if languages is None:
        raise DocgraphError("the model does not state its languages; pass the glossary as a .tsv file", path=path)
    source, target = map(base_language, languages)
    parser, count = _TermParser(path), 0
    parser.feed(data, final=True)
    for concept in parser.concepts:
        targets = concept.terms.get(target, [])
        for term in concept.terms.get(source, []) if targets else []:
            count += 1
            yield _entry(term, targets, path, concept.line, count)
