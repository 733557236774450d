"""Document and Sentence: the one object that flows through everything.

A document is the text of a file as it was read (`source`) and the sentences found in it, each with its place there.
Whatever lies outside the sentences (markup, timestamps, blank lines) is never touched, so that writing a document
back is a splice: the same file where nothing changed, the same layout where the sentences did.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gap:
    """Markup in a sentence (an inline tag, a subtitle break): `raw` stands before character `offset` of its text."""

    offset: int
    raw: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence: readable `text`, and where its raw form stands in the source of its document."""

    text: str
    start: int
    end: int
    paragraph: int = 0
    gaps: tuple[Gap, ...] = ()
    speaker: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Sentences in order, the source text they were found in, and the name of the format that can write them back."""

    sentences: tuple[Sentence, ...]
    source: str
    id: str = ""
    format: str = "lines"
    path: str | None = None
    encoding: str = "utf-8"
    """How the source becomes the bytes of the file; a byte order mark is part of the source."""
    container: bytes | None = field(default=None, repr=False, compare=False)
    """The file around the source where the source is not the whole of it (a DOCX archive)."""

    def __post_init__(self) -> None:
        end = 0
        for index, sentence in enumerate(self.sentences):
            if not end <= sentence.start <= sentence.end <= len(self.source):
                raise ValueError(
                    f"sentence {index} of document '{self.id}' overlaps the one before or leaves the source"
                )
            end = sentence.end

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
        """A document made of sentences that came from no file: one a line."""
        sentences, start = [], 0
        for index, text in enumerate(texts):
            line = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
            speaker = speakers[index] if speakers is not None else None
            sentences.append(Sentence(line, start, start + len(line), speaker=speaker))
            start += len(line) + 1
        return cls(tuple(sentences), "".join(f"{sentence.text}\n" for sentence in sentences), id)
