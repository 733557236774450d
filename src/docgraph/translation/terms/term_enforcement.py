"""Enforcement of terms and formality: sentences that lack a term or have the wrong formality are decoded again.

Dictionary words are terms, too, if there is a reason to distrust the translation (dictionary_terms.py). A sentence that
has all its terms and the right formality is never decoded again.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from docgraph.annotate.dictionary import Entry
from docgraph.model.hints import Hint
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.checks.doubts import Doubt, weight
from docgraph.translation.checks.lexicon import invented_words
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.checks.repetition import split_words
from docgraph.translation.decoding.constraints import Constraint, ConstraintEncoder, initial
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.terms.dictionary_terms import dictionary_terms
from docgraph.translation.terms.formality import (
    DocumentFormality,
    Formality,
    exceptional_words,
    forbidden_words,
    has_you,
    with_set_phrases,
)
from docgraph.translation.terms.term import Term, TermFinder, TermUse, are_used, find_all, missing_terms
from docgraph.translation.text.preprocessing import Segment

MAX_CONSTRAINTS = 8
"""Maximum constraints of a sentence; each makes its search slower."""
_QUOTATION_MARKS, _QUOTATION_WEIGHT = '"«»', 10
_SENTENCE_END = re.compile(r"[.!?…]|\bMr\b")
"""The end of a sentence, or what may have a full stop in the translation."""
_NEXT_SENTENCE = re.compile(r"[.!?](?=[\"'”’» \u00a0\u202f]*\s\w)")
_LONG_FACTOR, _LONG_TERM = 1.25, 15
"""A translation with terms that is longer than factor * the first translation + characters for each term is padded."""
_SHORT_FACTOR, _SHORT_TERM = 0.85, 12
"""One that is shorter than factor * the first translation - characters for each term is cut."""
_WEIGHT = 25
"""Weight of a missing term among the doubts of a translation."""
_FORMALITY_WEIGHT = 3
"""Weight of the wrong formality, which is less than that of any doubt."""
_WORD_WEIGHT, _WORD_LOSS = 2, 1.0
"""Weight of a missing word of a dictionary, and how much less likely than the first a translation with it may be."""
_NAME_LOSS = 1.25
"""How much less likely a translation with a name may be; beyond that, it is no name, or the model has translated it."""


@dataclass(eq=False)
class DocumentTerms:
    """The terms of one document."""

    finders: Sequence[TermFinder] = ()
    formality: DocumentFormality | None = None
    """How the document addresses people; None if that is not decided."""
    of_utterances: Mapping[int, DocumentFormality] = field(default_factory=dict)
    """How the speaker of a segment addresses people, where the first translations do it both ways."""
    _found: dict[str, list[Term]] = field(default_factory=dict)

    def at(self, segment: int) -> DocumentTerms:
        """Returns the terms of one segment of the document, with its formality."""
        if self.formality is not None or segment not in self.of_utterances:
            return self
        return replace(self, formality=self.of_utterances[segment])

    def find(self, text: str) -> list[Term]:
        """Returns the terms of a text."""
        if not self.finders:
            return []
        if text not in self._found:
            self._found[text] = find_all(self.finders, text)
        return self._found[text]

    def missing(self, segment: Segment, translation: str) -> list[Term]:
        """Returns the terms of a segment that a translation lacks."""
        return missing_terms(self.find(segment.text), translation)

    def give_up_names(self, segment: Segment, translation: str) -> None:
        """Forgets the names of a segment that a translation lacks: the model translates them otherwise."""
        missing = self.missing(segment, translation)
        self._found[segment.text] = [
            term for term in self.find(segment.text) if term.origin != "name" or term not in missing
        ]

    def doubts(self, segment: Segment, translation: str) -> list[Doubt]:
        """Returns a doubt for each term that a translation lacks."""
        found = []
        for term in self.missing(segment, translation):
            is_kept = term.source in term.targets
            reason = f"{term.source} is missing" if is_kept else f"{term.source} is not '{term.target}'"
            found.append(Doubt(reason, _WEIGHT))
        return found

    def disagrees(self, segment: Segment, translation: str) -> bool:
        """Returns whether a translation has another formality than the document."""
        return self.formality is not None and self.formality.disagrees(segment.text, translation)

    def uses(self, segments: Sequence[Segment], translation: str) -> tuple[TermUse, ...]:
        """Returns the glossary terms of a sentence, given its segments and its translation."""
        terms = [term for each in segments for term in self.find(each.text) if term.origin == "glossary"]
        used = are_used(terms, translation)
        return tuple(TermUse(term.source, term.target, each) for term, each in zip(terms, used, strict=True))


def _badness(segment: Segment, attempt: Attempt, first: Attempt, terms: DocumentTerms, words: Sequence[Term]) -> int:
    """Returns the weight of everything that is wrong with an attempt: doubts, other quotation marks than in the first
    translation, the wrong formality, and missing dictionary `words`.

    A word without mistranslations that it replaces was looked for because of words that are not French. It counts as
    missing unless the attempt has fewer of them.
    """
    marks = [Counter(char for char in each.text if char in _QUOTATION_MARKS) for each in (attempt, first)]
    quotation = 0 if marks[0] == marks[1] else _QUOTATION_WEIGHT
    is_likely = _is_likely(attempt, first, _WORD_LOSS)
    lacking = sum(not is_likely or word.entry is None or not _improves(word.entry, attempt, first) for word in words)
    formality = _formality_weight(segment, attempt, first, terms)
    return weight(attempt.doubts) + quotation + formality + _WORD_WEIGHT * lacking


def _is_likely(attempt: Attempt, first: Attempt, max_loss: float) -> bool:
    """Returns whether an attempt is not much less likely than the first one."""
    return attempt.score >= first.score - max_loss


def _improves(entry: Entry, attempt: Attempt, first: Attempt) -> bool:
    """Returns whether an attempt has a word of a dictionary and lacks what the word is to replace."""
    before, now = (sum(1 for _ in invented_words("", each.text, entry.language)) for each in (first, attempt))
    return entry.is_translated(attempt.text) and (bool(entry.instead_of) or now < before)


def _formality_weight(segment: Segment, attempt: Attempt, first: Attempt, terms: DocumentTerms) -> int:
    """Returns the weight of the wrong formality, or of a right one that costs too much."""
    if terms.formality is None or not terms.disagrees(segment, first.text):
        return _FORMALITY_WEIGHT if terms.disagrees(segment, attempt.text) else 0
    is_cheap = attempt.score >= first.score - terms.formality.max_loss or bool(terms.missing(segment, first.text))
    return 0 if is_cheap and terms.formality.accepts(segment.text, first.text, attempt.text) else _FORMALITY_WEIGHT


def is_padded(attempt: Attempt, first: Attempt, constraints: Sequence[Constraint | ForbiddenWords]) -> bool:
    """Returns whether an attempt extends the first translation by more text only to contain a term.

    It has more sentences than the first one, repeats words that the first one does not, or is much longer.
    """
    if len(_NEXT_SENTENCE.findall(attempt.text)) > len(_NEXT_SENTENCE.findall(first.text)):
        return True
    if _repeats(attempt.text) and not _repeats(first.text):
        return True
    terms = sum(not isinstance(each, ForbiddenWords) for each in constraints)
    return terms > 0 and len(attempt.text) > _LONG_FACTOR * len(first.text) + _LONG_TERM * terms


def is_cut(attempt: Attempt, first: Attempt, constraints: Sequence[Constraint | ForbiddenWords]) -> bool:
    """Returns whether an attempt is much shorter than the first translation, unless that one repeats words."""
    shortest = _SHORT_FACTOR * len(first.text) - _SHORT_TERM * len(constraints)
    return len(attempt.text) < shortest and not _repeats(first.text)


def _repeats(text: str) -> bool:
    """Returns whether a text has four words twice in the same order."""
    words = split_words(text)
    phrases = [tuple(words[start : start + 4]) for start in range(len(words) - 3)]
    return len({*phrases}) < len(phrases)


def _find(words: str, text: str) -> re.Match[str] | None:
    """Returns where a text has some whole words."""
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text)


def _max_loss(term: Term) -> float:
    """Returns how much less likely than the first a translation with a term may be."""
    return _NAME_LOSS if term.origin == "name" and not term.is_certain else math.inf


def _kept_names(terms: Sequence[Term]) -> list[Term]:
    """Returns the names with a translation of the same first letter, so that the words before them stay the same."""
    return [
        term
        for term in terms
        if term.origin == "name" and term.source not in term.targets and initial(term.source) == initial(term.target)
    ]


@dataclass(frozen=True)
class Lacking:
    """The terms and the formality that a translation lacks."""

    constraints: list[Constraint | ForbiddenWords]
    words: list[Term]
    """The words of a dictionary among the terms that it lacks."""
    max_loss: float
    """How much less likely a translation that does not lack it may be."""


class TermEnforcer:
    """Tells which terms translations by one model lack, and which other translations are better."""

    def __init__(self, source: SubwordCoder, target: SubwordCoder, language: str | None, tag: str | None) -> None:
        """`language` is the target language."""
        self._source, self._target, self._tag = source, target, tag
        self._encoder = ConstraintEncoder(target, language)
        self._forbidden: dict[Formality, ForbiddenWords] = {}

    def with_replacements(self, segment: Segment, hypothesis: Hypothesis, terms: DocumentTerms) -> Hypothesis:
        """Returns a translation in which names that it kept are translated and set phrases have the right formality."""
        text = first = self._target.decode(hypothesis.tokens)
        for term in _kept_names(terms.find(segment.text)):
            match = _find(term.source, text)
            if match and not _find(term.target, text):
                text = text[: match.start()] + term.target + text[match.end() :]
        if terms.formality is not None and terms.disagrees(segment, text):
            changed = with_set_phrases(text, terms.formality.formality)
            text = text if terms.disagrees(segment, changed) else changed
        if text == first:
            return hypothesis
        return replace(hypothesis, tokens=tuple(self._target.ids([text])[0][:-1].tolist()))

    def lacking(
        self, segment: Segment, translation: str, terms: DocumentTerms, lookups: Sequence[Hint]
    ) -> Lacking | None:
        """Returns what a translation of a segment lacks; None if it has all terms and the right formality.

        `lookups` are the dictionary words of the segment.
        """
        missing, words, spans = terms.missing(segment, translation), list[Term](), list[list[int]]()
        if missing or lookups:
            spans = self._source.encode(segment.text, self._tag)[1].tolist()
            is_plural = (
                hint.entry is not None and self._target.decode(hint.ids) != hint.entry.translations[0]
                for hint in lookups
            )
            found = dictionary_terms(lookups, segment.text, translation, spans, is_plural)
            others = terms.find(segment.text)
            words = [term for term in found if not any(term.start < o.end and o.start < term.end for o in others)]
        encoded = self._encoded(segment, [*missing, *words], spans)
        if terms.formality is not None and terms.disagrees(segment, translation):
            return Lacking([*encoded, self._words_of(segment, translation, terms.formality)], words, math.inf)
        max_loss = max(map(_max_loss, missing), default=_WORD_LOSS)
        return Lacking([*encoded, *self.forbidden(segment, translation, terms)], words, max_loss) if encoded else None

    def better(
        self,
        segment: Segment,
        first: Attempt,
        attempts: Iterable[tuple[Hypothesis, Attempt]],
        lacking: Lacking,
        terms: DocumentTerms,
    ) -> list[tuple[Hypothesis, Attempt]]:
        """Returns the attempts to replace a first translation, best first; none if it is better than all of them.

        An attempt that repeats itself, has further sentences or is cut is left out. If all are much less likely than
        the first translation, the names that it lacks are no terms any more.
        """
        likely = [pair for pair in attempts if _is_likely(pair[1], first, lacking.max_loss)]
        if not likely:
            terms.give_up_names(segment, first.text)
        whole = [
            (_badness(segment, attempt, first, terms, lacking.words), (hypothesis, attempt))
            for hypothesis, attempt in likely
            if not is_padded(attempt, first, lacking.constraints) and not is_cut(attempt, first, lacking.constraints)
        ]
        whole.sort(key=lambda ranked: ranked[0])
        is_better = whole and whole[0][0] < _badness(segment, first, first, terms, lacking.words)
        return [pair for _, pair in whole] if is_better else []

    def forbidden(self, segment: Segment, translation: str, terms: DocumentTerms) -> list[ForbiddenWords]:
        """Returns what a new translation of a segment must not contain, so that it keeps the right formality."""
        formality = terms.formality
        if formality is None or not has_you(segment.text) or not formality.applies(segment.text):
            return []
        return [] if terms.disagrees(segment, translation) else [self._words_of(segment, translation, formality)]

    def _words_of(self, segment: Segment, translation: str, formality: DocumentFormality) -> ForbiddenWords:
        """Returns the words that the formality of a document forbids in another translation of a segment."""
        other = formality.other
        if exceptional := exceptional_words(other, segment.text, translation):
            return forbidden_words(self._target, other, exceptional)
        if other not in self._forbidden:
            self._forbidden[other] = forbidden_words(self._target, other)
        return self._forbidden[other]

    def _encoded(self, segment: Segment, missing: Sequence[Term], spans: Sequence[Sequence[int]]) -> list[Constraint]:
        """Returns the constraints of the terms that the translation of a segment lacks, given its sub-words."""
        found = []
        for term in missing[:MAX_CONSTRAINTS]:
            places = [place for place, (begin, end) in enumerate(spans) if begin < term.end and end > term.start]
            source = range(places[0], places[-1] + 1) if places else None
            before = segment.text[: term.start].strip()
            constraint = self._encoder.constraint(
                term.targets,
                source,
                allows_article=term.allows_article,
                allows_begin=not before or any(map(str.isalnum, before)),
                in_first_sentence=_SENTENCE_END.search(before) is None,
            )
            if constraint is not None:
                found.append(constraint)
        return found
