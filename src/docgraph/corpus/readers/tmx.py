"""TMX 1.4 translation memories: one XML file of units, which have a segment for each language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.aligned import DocumentBuilder
from docgraph.corpus.readers.text_files import MAX_LINE, Problems, clean, read_blocks
from docgraph.corpus.readers.xml_stream import XmlStream, declared_language
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.languages import base_language

CODES = frozenset({"bpt", "ept", "it", "ph", "sub", "ut"})
"""Elements that contain markup of the original document, not text."""
DOCUMENT_PROPERTIES = frozenset({"document", "file", "filename"})
"""Types of <prop>, with or without x-, that name the document of a unit."""


@dataclass
class Unit:
    """A unit of a translation memory."""

    line: int
    document: str = ""
    properties: dict[str, str] = field(default_factory=dict)
    """Values of the <prop> elements, by type; the first of each type."""
    segments: dict[str, tuple[int, str]] = field(default_factory=dict)
    """(line, text) by language; the first segment of each language."""


class _UnitParser(XmlStream):
    """Collects the units of a file."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.source = ""
        """The language in the header's srclang."""
        self._units: list[Unit] = []
        self._unit: Unit | None = None
        self._language = self._property = ""
        self._codes = self._size = self._line = 0
        self._text: list[str] | None = None
        """Text of the current segment or property; None outside of them."""

    def units(self) -> Iterator[Unit]:
        """Yields the units in order, parsing a block of the file at a time."""
        size = 0
        for block in read_blocks(self.path):
            size += len(block)
            self.feed(block)
            yield from self._take_units()
            if size - self.position > MAX_LINE + 2 * len(block):
                raise self.error("a tag or comment is over a megabyte long; this is not a translation memory")
        self.feed(b"", final=True)
        yield from self._take_units()

    def _take_units(self) -> list[Unit]:
        units, self._units = self._units, []
        return units

    def check_root(self, name: str) -> None:
        if name != "tmx":
            raise self.error(f"this is not TMX, its outermost element is <{name}>; choose another 'format'")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if name == "header":
            self.source = base_language(attributes.get("srclang", ""))
        elif name == "tu":
            self._unit, self._language = Unit(self.line), ""
        elif name == "tuv":
            self._language = declared_language(attributes)
        elif name in CODES:
            self._codes += 1
        elif name in ("seg", "prop"):
            self._text, self._size, self._line = [], 0, self.line
            self._property = attributes.get("type", "").lower()

    def characters(self, text: str) -> None:
        # A text of MAX_LINE characters exceeds every limit, so that the rest of it need not be kept.
        if self._text is not None and not self._codes and self._size < MAX_LINE:
            self._text.append(text)
            self._size += len(text)

    def end(self, name: str) -> None:
        if name in CODES:
            self._codes -= 1
        elif name == "tu" and self._unit is not None:
            self._units.append(self._unit)
            self._unit = None
        elif name in ("seg", "prop"):
            if self._text is not None and self._unit is not None:
                text = clean("".join(self._text))
                if name == "prop":
                    self._unit.properties.setdefault(self._property, text)
                    if self._property.removeprefix("x-") in DOCUMENT_PROPERTIES:
                        self._unit.document = self._unit.document or text
                elif self._language:
                    self._unit.segments.setdefault(self._language, (self._line, text))
            self._text = None


def read_units(path: str) -> Iterator[Unit]:
    """Yields the units of a file, in all their languages."""
    return _UnitParser(path).units()


def read_tmx(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads consecutive units with the same document name as one document, and each other unit as a document."""
    parser, builder = _UnitParser(entry.source), DocumentBuilder(entry.source, problems)
    chosen = _chosen_languages(entry)
    seen: set[str] = set()
    pair, current = chosen or ("", ""), ""
    for unit in parser.units():
        seen.update(unit.segments)
        pair = chosen or _default_languages(parser.source, seen, entry.source, unit.line)
        if unit.document != current or not current:
            current = unit.document
            yield from builder.finish(current)
        missing = [language or "another language" for language in pair if language not in unit.segments]
        if missing:
            languages = f"has {_join(unit.segments)} but not {_join(missing)}"
            problems.add("empty side", f"this unit {languages} ('languages' sets the pair)", entry.source, unit.line)
        else:
            (line, source), (_, target) = (unit.segments[language] for language in pair)
            builder.add(line, source, target)
    unseen = [language for language in pair if language and language not in seen]
    if seen and unseen:
        message = f"no unit has a segment in {_join(unseen)}, only in {_join(seen)}"
        raise DocgraphError(f"{message}; give another file, or other 'languages'", path=entry.source)
    yield from builder.finish()


def _chosen_languages(entry: DataEntry) -> tuple[str, str] | None:
    """Returns the languages that the entry names, or None."""
    if entry.languages is None:
        return None
    source, target = (base_language(tag) for tag in entry.languages)
    if not source or not target or source == target:
        languages = ", ".join(entry.languages)
        message = f"'languages' is [{languages}]; it must name two languages, source first, such as [en, fr]"
        raise DocgraphError(message, path=entry.source)
    return source, target


def _default_languages(source: str, seen: set[str], path: str, line: int) -> tuple[str, str]:
    """Returns the header's srclang and the only other language seen so far, or "" for it if there is none yet."""
    others = seen - {source}
    if source not in ("", "*all*") and len(others) < 2:
        return source, next(iter(others), "")
    header = f"srclang '{source}'" if source else "no srclang"
    message = f"the file has {header} and, up to here, segments in {_join(seen)}"
    raise DocgraphError(f"{message}; set 'languages' to the two to read, source first", path=path, line=line)


def _join(languages: Iterable[str]) -> str:
    *most, last = sorted(languages) or ["no language"]
    return f"{', '.join(most)} and {last}" if most else last
