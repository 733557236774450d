"""Document, Sentence and ParallelDocument: the objects that flow through the whole package.

A document holds the text of a file as it was read (`source`) and the sentences found in it, each with its position.
Text outside the sentences (markup, timestamps, blank lines) is never changed. Writing a document therefore replaces the
sentences in `source`: an unchanged document gives the same file, byte for byte, and new sentences keep the layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MarkupRole = Literal["", "open", "close", "atom", "break"]
"""What inline markup does: opens or closes an element, stands for words of its own (inline code, a placeholder), or
separates two subtitle cues."""


class Link(NamedTuple):
    """A link between characters of a sentence and of its translation."""

    target: int
    """Position in the translation."""
    source: int
    """Position in the sentence."""
    weight: float
    """The weights of a word of the translation sum to at most 1."""


Alignment = tuple[Link, ...]
"""The links of a sentence, by position in its translation."""


@dataclass(frozen=True, slots=True)
class InlineMarkup:
    """Markup inside a sentence (an inline tag, a subtitle break): `raw` precedes character `offset` of the text."""

    offset: int
    raw: str
    role: MarkupRole = ""
    """Empty if the parser does not know it; then the form of the markup and the white space around it decide."""
    start: int = -1
    """Position of `raw` in the source, if it is there as it is; a sentence may be nested in it (a link title)."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence: its readable `text`, and the span [start, end) of its raw form in the source of the document."""

    text: str
    start: int
    end: int
    paragraph: int = 0
    markup: tuple[InlineMarkup, ...] = ()
    speaker: str | None = None
    syntax: str = ""
    """Names the escape function of the format (`Format.escapes`) for text in another syntax (an HTML attribute)."""
    prefix: str = ""
    """Raw markup that is written before the sentence if it changes (the anchor of a renamed heading)."""
    language: str = ""
    """Code of the language that the file declares for this sentence (fr); empty if it declares none."""


@dataclass(frozen=True, slots=True)
class Document:
    """Sentences in order, the source text that contains them, and the name of the format that writes them.

    A sentence may be nested in inline markup of the sentence before it: the title of a link, the text of an image.
    """

    sentences: tuple[Sentence, ...]
    source: str
    id: str = ""
    format: str = "lines"
    path: str | None = None
    encoding: str = "utf-8"
    """Encodes the source into the bytes of the file; a byte order mark is part of the source."""
    container: bytes | None = field(default=None, repr=False, compare=False)
    """The original file, for formats whose source is only a part of it (a DOCX archive)."""

    def __post_init__(self) -> None:
        last = end = 0
        for index, sentence in enumerate(self.sentences):
            is_nested = last <= sentence.start <= sentence.end <= end
            if not is_nested and not end <= sentence.start <= sentence.end <= len(self.source):
                raise ValueError(
                    f"sentence {index} of document '{self.id}' overlaps the previous sentence or exceeds the source"
                )
            last = sentence.end if is_nested else sentence.start
            end = max(end, sentence.end)

    def __repr__(self) -> str:
        name = f"'{self.id}', " if self.id else ""
        return f"Document({name}{len(self)} sentence{'' if len(self) == 1 else 's'})"

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[Sentence]:
        return iter(self.sentences)

    @property
    def texts(self) -> list[str]:
        """The sentences as plain strings."""
        return [sentence.text for sentence in self.sentences]

    @classmethod
    def from_sentences(
        cls, texts: Sequence[str], id: str = "", speakers: Sequence[str | None] | None = None
    ) -> Document:
        """Builds a document from plain sentences, written one per line; line breaks in a sentence become spaces."""
        sentences, start = [], 0
        for index, text in enumerate(texts):
            line = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
            speaker = speakers[index] if speakers is not None else None
            sentences.append(Sentence(line, start, start + len(line), speaker=speaker))
            start += len(line) + 1
        return cls(tuple(sentences), "".join(f"{sentence.text}\n" for sentence in sentences), id)


@dataclass(frozen=True, slots=True)
class ParallelDocument:
    """A document of a parallel corpus: M >= 1 sentence pairs in document order."""

    id: str
    source: tuple[str, ...]
    target: tuple[str, ...]
    path: str
    """The file that the source sentences were read from."""
    lines: tuple[int, ...]
    """[M]: the line of each source sentence in that file, counted from 1."""
    speakers: tuple[str | None, ...] | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.source), len(self.target), len(self.lines), len(self.speakers or self.source)}
        if len(lengths) > 1:
            raise ValueError(f"the columns of parallel document '{self.id}' differ in length")

    def __len__(self) -> int:
        return len(self.source)

    @property
    def document(self) -> Document:
        """The source side as a document, ready to be annotated."""
        return Document.from_sentences(self.source, self.id, self.speakers)
