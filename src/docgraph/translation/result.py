"""Translations as one takes them in hand: the new document, and what is known of each of its sentences."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docgraph.document import Document
from docgraph.formats import with_texts

if TYPE_CHECKING:
    from docgraph.translation.explain import ContextWeights


@dataclass(frozen=True)
class Candidate:
    """One way to translate a sentence."""

    text: str
    score: float
    """What the search went by: the log-probability, less what its length penalty makes up for."""
    log_probability: float


@dataclass(frozen=True)
class SentenceTranslation:
    """The translation of one sentence."""

    source: str
    text: str
    candidates: tuple[Candidate, ...] = ()
    """The n best, the best first; none for a sentence that stays as it is, having no words, or that was given."""
    context: ContextWeights | None = None
    """The sentences it read and the mean gate, where that was asked for and the model has context."""
    given: bool = False
    """Whether the translation was known, and not the model's."""
    memory: tuple[tuple[str, str], ...] = ()
    """Entries of a translation memory that it was shown, source and translation, the likest first; told with the
    context."""

    @property
    def score(self) -> float | None:
        return self.candidates[0].score if self.candidates else None

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"source": self.source, "translation": self.text, "score": self.score}
        if self.given:
            found["given"] = True
        if len(self.candidates) > 1:
            found["n_best"] = [{"translation": each.text, "score": each.score} for each in self.candidates]
        if self.context is not None:
            found |= {"gate": self.context.gate}
            for side, weights in (("source_context", self.context.source), ("target_context", self.context.target)):
                found[side] = [{"sentence": place, "weight": weight} for place, weight in weights.items()]
        if self.memory:
            found["memory"] = [{"source": source, "translation": target} for source, target in self.memory]
        return found


@dataclass(frozen=True)
class Translation:
    """A translated document."""

    source: Document
    sentences: tuple[SentenceTranslation, ...]
    passes: int
    """How often the document was gone through until no translation changed another."""

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[SentenceTranslation]:
        return iter(self.sentences)

    @property
    def texts(self) -> list[str]:
        """The translated sentences as plain strings."""
        return [sentence.text for sentence in self.sentences]

    @cached_property
    def document(self) -> Document:
        """The document with the translations in the place of its sentences, ready for `docgraph.formats.write`."""
        return with_texts(self.source, self.texts)

    def __str__(self) -> str:
        return "\n".join(self.texts)

    def _repr_html_(self) -> str:
        """Side by side, for notebooks."""
        rows = "".join(
            f'<tr><td style="text-align:left">{html.escape(each.source)}</td>'
            f'<td style="text-align:left">{html.escape(each.text)}</td></tr>'
            for each in self.sentences
        )
        return f"<table>{rows}</table>"
