"""TMX 1.4 translation memories: units with a segment for each language, in one XML file.

Expat reads the file as a stream. No entity is ever expanded and nothing outside of the file is ever read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.builder import DocumentBuilder
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.text_files import LONGEST, clean, read_blocks
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

CODES = frozenset({"bpt", "ept", "it", "ph", "sub", "ut"})
"""What stands in these is markup of the document the segment came from, not text."""
DOCUMENT_PROPERTIES = frozenset({"document", "file", "filename"})
"""Types of <prop>, with or without x-, that say which document a unit came from."""
DEEPEST = 100
"""Elements in elements: a translation memory has about six."""


@dataclass
class _Unit:
    line: int
    document: str = ""
    segments: dict[str, tuple[int, str]] = field(default_factory=dict)
    """(line, text) by language; of several in one language the first."""


def primary(tag: str) -> str:
    """The language of a tag, without its region or script: en of EN-us and en_GB."""
    return tag.strip().lower().replace("_", "-").partition("-")[0]


class _Scanner:
    """Handlers for expat, which gather the units of a file."""

    def __init__(self, path: str) -> None:
        self.source = ""
        """The language of the header's srclang."""
        self._path = path
        self._units: list[_Unit] = []
        self._unit: _Unit | None = None
        self._language = ""
        self._depth = self._codes = self._size = self._line = 0
        self._text: list[str] | None = None
        """What was read of a segment or property; None outside of these."""
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity

    def units(self) -> Iterator[_Unit]:
        """The units in order, a block of the file at a time."""
        size = 0
        try:
            for block in read_blocks(self._path):
                size += len(block)
                self._parser.Parse(block)
                yield from self._take()
                if size - self._parser.CurrentByteIndex > LONGEST + 2 * len(block):
                    raise self._error("a tag or comment of over a megabyte: this is no translation memory")
            self._parser.Parse(b"", True)
            yield from self._take()
        except expat.ExpatError as error:
            message = f"this is not well-formed XML ({expat.ErrorString(error.code)}); correct the markup"
            raise DocgraphError(message, path=self._path, line=error.lineno) from None
        except (ValueError, LookupError) as error:  # of an encoding that Python lacks
            raise self._error(f"the encoding of this file is not known ({error}); convert it to UTF-8") from None

    def _take(self) -> list[_Unit]:
        units, self._units = self._units, []
        return units

    def _error(self, message: str) -> DocgraphError:
        return DocgraphError(message, path=self._path, line=self._parser.CurrentLineNumber)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(f"the entity '{name}' is not one of XML's own, and others are not read; write it out")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1 and name != "tmx":
            raise self._error(f"this is no TMX, its outermost element is <{name}>; choose another 'format'")
        if self._depth > DEEPEST:
            raise self._error(f"elements stand over {DEEPEST} deep in one another; correct the markup")
        if name == "header":
            self.source = primary(attributes.get("srclang", ""))
        elif name == "tu":
            self._unit, self._language = _Unit(self._parser.CurrentLineNumber), ""
        elif name == "tuv":
            self._language = primary(attributes.get("xml:lang") or attributes.get("lang", ""))
        elif name in CODES:
            self._codes += 1
        elif name == "seg" or (
            name == "prop" and attributes.get("type", "").lower().removeprefix("x-") in DOCUMENT_PROPERTIES
        ):
            self._text, self._size, self._line = [], 0, self._parser.CurrentLineNumber

    def _characters(self, text: str) -> None:
        # What is longer than LONGEST is beyond every limit: the rest of it need not be kept.
        if self._text is not None and not self._codes and self._size < LONGEST:
            self._text.append(text)
            self._size += len(text)

    def _end(self, name: str) -> None:
        self._depth -= 1
        if name in CODES:
            self._codes -= 1
        elif name == "tu" and self._unit is not None:
            self._units.append(self._unit)
            self._unit = None
        elif name in ("seg", "prop"):
            if self._text is not None and self._unit is not None:
                self._keep(name, clean("".join(self._text)), self._unit)
            self._text = None

    def _keep(self, name: str, text: str, unit: _Unit) -> None:
        if name == "prop":
            unit.document = unit.document or text
        elif self._language:
            unit.segments.setdefault(self._language, (self._line, text))


def read_tmx(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Consecutive units that name the same document are one; a unit that names none is a document of its own."""
    scanner, builder = _Scanner(entry.source), DocumentBuilder(entry.source, problems)
    named = _named(entry)
    seen: set[str] = set()
    pair, current = named or ("", ""), ""
    for unit in scanner.units():
        seen.update(unit.segments)
        pair = named or _default(scanner.source, seen, entry.source, unit.line)
        if unit.document != current or not current:
            current = unit.document
            yield from builder.finish(current)
        lacking = [language or "another" for language in pair if language not in unit.segments]
        if lacking:
            message = (
                f"this unit has {_listed(unit.segments)} and not {_listed(lacking)} ('languages' chooses the pair)"
            )
            problems.add("empty side", message, entry.source, unit.line)
        else:
            (line, source), (_, target) = (unit.segments[language] for language in pair)
            builder.add(line, source, target)
    unknown = [language for language in pair if language and language not in seen]
    if seen and unknown:
        found = f"no unit has a segment in {_listed(unknown)}, only in {_listed(seen)}"
        raise DocgraphError(f"{found}; give another file, or other 'languages'", path=entry.source)
    yield from builder.finish()


def _named(entry: DataEntry) -> tuple[str, str] | None:
    """The languages that the entry names."""
    if entry.languages is None:
        return None
    tags = [primary(tag) for tag in entry.languages]
    if len(tags) != 2 or len({*tags} - {""}) != 2:
        given = ", ".join(entry.languages)
        raise DocgraphError(
            f"'languages' is [{given}]; it must name two, source first, such as [en, fr]", path=entry.source
        )
    return tags[0], tags[1]


def _default(source: str, seen: set[str], path: str, line: int) -> tuple[str, str]:
    """The header's srclang and the one other language there is; none where there is none yet."""
    others = seen - {source}
    if source not in ("", "*all*") and len(others) < 2:
        return source, next(iter(others), "")
    header = f"srclang '{source}'" if source else "no srclang"
    message = f"the file has {header} and, up to here, segments in {_listed(seen)}"
    raise DocgraphError(f"{message}; name the two to read, source first, as 'languages'", path=path, line=line)


def _listed(languages: Iterable[str]) -> str:
    *most, last = sorted(languages) or ["no language"]
    return f"{', '.join(most)} and {last}" if most else last
