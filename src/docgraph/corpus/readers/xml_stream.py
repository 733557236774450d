"""XML files read as a stream: TMX and TBX.

Expat is used directly, because `xml.etree` gives no line numbers and expands entities: here entities are refused, and
nothing outside of the file is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from xml.parsers import expat

from docgraph.errors import DocgraphError
from docgraph.languages import base_language

MAX_DEPTH = 100
"""Maximum depth of nested elements; translation memories and glossaries have about six."""


class XmlStream(ABC):
    """A parser of one file; subclasses handle its elements and text."""

    def __init__(self, path: str | Path) -> None:
        self.path = path
        self._depth = 0
        self._parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self.characters
        parser.EntityDeclHandler = self._refuse_entity
        parser.SkippedEntityHandler = self._refuse_entity

    @abstractmethod
    def check_root(self, name: str) -> None:
        """Refuses a file with another outermost element than those of the format."""

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Handles the start of an element."""

    @abstractmethod
    def characters(self, text: str) -> None:
        """Handles text."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Handles the end of an element."""

    @property
    def line(self) -> int:
        """The current line."""
        return self._parser.CurrentLineNumber

    @property
    def position(self) -> int:
        """The bytes parsed so far; the current tag or comment begins here."""
        return self._parser.CurrentByteIndex

    def feed(self, data: bytes, final: bool = False) -> None:
        """Parses the next bytes of the file."""
        try:
            self._parser.Parse(data, final)
        except expat.ExpatError as error:
            message = f"this is not well-formed XML ({expat.ErrorString(error.code)}); correct the markup"
            raise DocgraphError(message, path=self.path, line=error.lineno) from None
        except (ValueError, LookupError) as error:  # raised for an encoding that Python does not have
            raise self.error(f"the encoding of this file is unknown ({error}); convert it to UTF-8") from None

    def error(self, message: str) -> DocgraphError:
        """Returns an error at the current line."""
        return DocgraphError(message, path=self.path, line=self.line)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self.error(f"the entity '{name}' is not predefined in XML, and others are not read; write it out")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth == 1:
            self.check_root(name)
        if self._depth > MAX_DEPTH:
            raise self.error(f"elements are nested over {MAX_DEPTH} deep; correct the markup")
        self.start(name, attributes)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self.end(name)


def declared_language(attributes: dict[str, str]) -> str:
    """Returns the primary language of an element with xml:lang or lang; empty if it has neither."""
    return base_language(attributes.get("xml:lang") or attributes.get("lang", ""))
