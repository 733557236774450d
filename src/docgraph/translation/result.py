"""Translation: a translated document with the candidates, scores and context of each sentence."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from docgraph.document import Alignment, Document
from docgraph.files import display_name
from docgraph.formats import with_texts
from docgraph.html_page import html_page
from docgraph.translation.terms.term import TermUse

if TYPE_CHECKING:
    from docgraph.translation.decoding.hypotheses import Hypothesis
    from docgraph.translation.explain import ContextWeights


@dataclass(frozen=True)
class Candidate:
    """One of the n best translations of a sentence."""

    text: str
    score: float
    """Length-normalised log-probability, by which the search ranks."""
    log_probability: float


@dataclass(frozen=True)
class HintUse:
    """A hint that the model read beside words of a sentence."""

    words: str
    """The words of the source, such as "It"; empty if the hint is about the whole sentence."""
    translation: str
    """The content of the hint: the translation of what the words refer to, such as "la voiture", or of the words
    themselves. If `relation` is "previous", the words of the sentence before, not translated; if it is "paraphrase",
    the words that the model read instead."""
    sentence: int | None
    """The sentence that the words refer to, or whose known translation is the source of the hint; None for a hint from
    a dictionary or a paraphrase."""
    relation: str = "coreference"
    """The origin of the hint: coreference, definition, correction (a known translation), dictionary, previous or
    paraphrase (an idiom in plain words)."""


@dataclass(frozen=True)
class SentenceTranslation:
    """The translation of one sentence."""

    source: str
    text: str
    candidates: tuple[Candidate, ...] = ()
    """The n best, best first. Empty for a known translation, and for a sentence that is copied."""
    context: ContextWeights | None = None
    """Attention to other sentences, and the mean gate; None without `explain` or if the model has no context."""
    given: bool = False
    """True for a known translation."""
    memory: tuple[tuple[str, str], ...] = ()
    """The (source, translation) entries of the translation memory that the sentence read, nearest first; only with
    `explain`."""
    hints: tuple[HintUse, ...] = ()
    """The hints that the sentence read; only with `explain`."""
    doubts: tuple[str, ...] = ()
    """What may be wrong with the translation, such as "repetition"; see checks/doubts.py."""
    alignment: Alignment | None = None
    """Links with words of the source, if they are needed to write the document."""
    terms: tuple[TermUse, ...] = ()
    """The terms of the glossary that the source contains."""
    segments: tuple[Hypothesis, ...] = ()
    """The hypothesis of each segment before terms were enforced; only set by `corrections`."""

    @property
    def score(self) -> float | None:
        """Score of the best candidate; None if there is none."""
        return self.candidates[0].score if self.candidates else None

    def with_text(self, text: str) -> SentenceTranslation:
        """Returns a copy with another text of the best candidate."""
        if text == self.text:
            return self
        return replace(self, text=text, candidates=(replace(self.candidates[0], text=text), *self.candidates[1:]))

    def to_json(self) -> dict[str, Any]:
        """Returns the fields of a --jsonl line."""
        fields: dict[str, Any] = {"source": self.source, "translation": self.text, "score": self.score}
        if self.given:
            fields["given"] = True
        if self.doubts:
            fields["doubtful"] = list(self.doubts)
        if self.terms:
            fields["glossary"] = [
                {"source": term.source, "translation": term.target, "used": term.used} for term in self.terms
            ]
        if len(self.candidates) > 1:
            fields["n_best"] = [{"translation": each.text, "score": each.score} for each in self.candidates]
        if self.context is not None:
            fields |= {"gate": self.context.gate}
            for side, weights in (("source_context", self.context.source), ("target_context", self.context.target)):
                fields[side] = [{"sentence": place, "weight": weight} for place, weight in weights.items()]
        if self.hints:
            fields["hints"] = [asdict(hint) for hint in self.hints]
        if self.memory:
            fields["memory"] = [{"source": source, "translation": target} for source, target in self.memory]
        return fields


@dataclass(frozen=True)
class Translation:
    """A translated document."""

    source: Document
    sentences: tuple[SentenceTranslation, ...]
    passes: int
    """Number of decoding passes until no translation changed."""

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[SentenceTranslation]:
        return iter(self.sentences)

    @property
    def texts(self) -> list[str]:
        """The translated sentences as plain strings."""
        return [sentence.text for sentence in self.sentences]

    @property
    def alignments(self) -> list[Alignment | None]:
        """The alignment of each sentence, if it is needed to write the document."""
        return [sentence.alignment for sentence in self.sentences]

    @property
    def doubtful(self) -> int:
        """Number of sentences with doubts."""
        return sum(bool(sentence.doubts) for sentence in self.sentences)

    @property
    def terms(self) -> list[TermUse]:
        """The terms of the glossary in all sentences."""
        return [term for sentence in self.sentences for term in sentence.terms]

    @cached_property
    def document(self) -> Document:
        """The document with its sentences replaced by their translations, ready for `docgraph.formats.write`."""
        return with_texts(self.source, self.texts, self.alignments)

    def __str__(self) -> str:
        return "\n".join(self.texts)

    def _repr_html_(self) -> str:
        """Returns a side-by-side table for notebooks."""
        rows = "".join(
            f'<tr><td style="text-align:left">{html.escape(each.source)}</td>'
            f'<td style="text-align:left">{html.escape(each.text)}</td></tr>'
            for each in self.sentences
        )
        return f"<table>{rows}</table>"


def to_html(translations: Sequence[Translation], languages: tuple[str, str] | None = None) -> str:
    """Returns a page with source and translation side by side and the context weights of each sentence."""
    title = display_name(translations[0].source.path or translations[0].source.id) if translations else ""
    documents = [
        {"id": each.source.id, "passes": each.passes, "sentences": list(map(_page_sentence, each))}
        for each in translations
    ]
    data = {"title": title, "languages": languages, "documents": documents}
    return html_page("translation_page", data, title=title)


def _page_sentence(sentence: SentenceTranslation) -> dict[str, Any]:
    """Returns the values of a sentence that the script of the page reads."""
    values: dict[str, Any] = {
        "source": sentence.source,
        "text": sentence.text,
        "candidates": [[each.text, round(each.score, 4)] for each in sentence.candidates],
        "given": sentence.given,
        "hints": [[hint.words, hint.translation, hint.sentence, hint.relation] for hint in sentence.hints],
        "memory": sentence.memory,
        "doubts": sentence.doubts,
        "terms": [[term.source, term.target, term.used] for term in sentence.terms],
    }
    if sentence.context is not None:
        values["gate"] = round(sentence.context.gate, 4)
        for side, weights in (("sourceContext", sentence.context.source), ("targetContext", sentence.context.target)):
            values[side] = [[other, round(weight, 4)] for other, weight in weights.items()]
    return values
