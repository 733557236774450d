"""Enforcement of terms and formality: sentences that lack a term or have the wrong formality are decoded again.

Dictionary words are terms, too, if there is a reason to distrust the translation (dictionary_terms.py). A sentence that
has all its terms and the right formality is never decoded again.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from docgraph.annotate.dictionary import Entry
from docgraph.model.hints import Hint
from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.checks.doubts import Doubt, weight
from docgraph.translation.checks.lexicon import invented_words
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.checks.repetition import split_words
from docgraph.translation.decoding.constraints import Constraint, ConstraintEncoder, Constraints
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis
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
    lookups: Mapping[int, Sequence[Hint]] = field(default_factory=dict)
    """Dictionary words, by segment; segments without any are left out."""
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
        return [Doubt(_reason(term), _WEIGHT) for term in self.missing(segment, translation)]

    def disagrees(self, segment: Segment, translation: str) -> bool:
        """Returns whether a translation has another formality than the document."""
        return self.formality is not None and self.formality.disagrees(segment.text, translation)

    def uses(self, segments: Sequence[Segment], translation: str) -> tuple[TermUse, ...]:
        """Returns the glossary terms of a sentence, given its segments and its translation."""
        terms = [term for each in segments for term in self.find(each.text) if term.origin == "glossary"]
        used = are_used(terms, translation)
        return tuple(TermUse(term.source, term.target, each) for term, each in zip(terms, used, strict=True))


def _reason(term: Term) -> str:
    return f"{term.source} is missing" if term.source in term.targets else f"{term.source} is not '{term.target}'"


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
        if term.origin == "name" and term.source not in term.targets and _initial(term.source) == _initial(term.target)
    ]


def _initial(text: str) -> str:
    return unicodedata.normalize("NFD", text[:1].lower())[:1]


Judge = Callable[[Segment, Hypothesis, DocumentTerms], Attempt]
"""(segment, hypothesis, terms) -> its finished text, with its doubts."""
Decode = Callable[[list[Constraints]], list[dict[int, list[Hypothesis]]]]
"""The constraints of each document, by segment -> the hypotheses of these segments."""


@dataclass(frozen=True)
class _Lacking:
    """The terms and the formality that a translation lacks."""

    constraints: list[Constraint | ForbiddenWords]
    words: list[Term]
    """The words of a dictionary among the terms that it lacks."""
    max_loss: float
    """How much less likely a translation that does not lack it may be."""


class TermEnforcer:
    """Enforces terms for one model."""

    def __init__(self, source: SubwordCoder, target: SubwordCoder, language: str | None, tag: str | None) -> None:
        """`language` is the target language."""
        self._source, self._target, self._tag = source, target, tag
        self._encoder = ConstraintEncoder(target, language)
        self._forbidden: dict[Formality, ForbiddenWords] = {}

    def enforce(
        self,
        documents: Sequence[tuple[Mapping[int, Segment], Hypotheses, DocumentTerms]],
        judge: Judge,
        decode: Decode,
    ) -> list[dict[int, list[Term]]]:
        """Replaces hypotheses that lack a term or have the wrong formality, in place, by better ones.

        A document is given by the segments to look at, the hypotheses of all segments, and its terms. A name that a
        translation only kept is replaced in it, and so are set phrases; other terms need another translation. If every
        new translation repeats itself, has further sentences or is cut, the first one stays, and lacks the term.
        Returns the words of a dictionary that replaced hypotheses have now, for each document by segment.
        """
        enforced: list[dict[int, list[Term]]] = [{} for _ in documents]
        for segments, hypotheses, terms in documents:
            for m, segment in segments.items():
                if not hypotheses[m]:
                    continue
                if names := _kept_names(terms.find(segment.text)):
                    hypotheses[m] = [self._with_names(hypotheses[m][0], names), *hypotheses[m][1:]]
                if terms.at(m).formality is not None:
                    hypotheses[m] = [self._with_phrases(hypotheses[m][0], segment, terms.at(m)), *hypotheses[m][1:]]
        wanted = [dict(self._lacking(*document, judge)) for document in documents]
        if not any(wanted):
            return enforced
        constraints = [{m: each.constraints for m, each in own.items()} for own in wanted]
        decoded = zip(documents, wanted, decode([*constraints]), enforced, strict=True)
        for (segments, hypotheses, terms), lacking, found, words in decoded:
            for m, new in found.items():
                own = terms.at(m)
                first = judge(segments[m], hypotheses[m][0], own)
                attempts = [(each, judge(segments[m], each, own)) for each in new]
                likely = [pair for pair in attempts if _is_likely(pair[1], first, lacking[m].max_loss)]
                if not likely:
                    own.give_up_names(segments[m], first.text)
                whole = [
                    (_badness(segments[m], attempt, first, own, lacking[m].words), each)
                    for each, attempt in likely
                    if not is_padded(attempt, first, lacking[m].constraints)
                    and not is_cut(attempt, first, lacking[m].constraints)
                ]
                whole.sort(key=lambda pair: pair[0])
                if whole and whole[0][0] < _badness(segments[m], first, first, own, lacking[m].words):
                    hypotheses[m] = [each for _, each in whole][: len(hypotheses[m])]
                    text = judge(segments[m], hypotheses[m][0], own).text
                    words[m] = [each for each in lacking[m].words if each.entry and each.entry.is_translated(text)]
        return enforced

    def _with_names(self, hypothesis: Hypothesis, names: Sequence[Term]) -> Hypothesis:
        """Returns a translation in which the translations of names stand for names that it kept, with their titles."""
        text = kept = self._target.decode(hypothesis.tokens)
        for term in names:
            match = _find(term.source, text)
            if match and not _find(term.target, text):
                text = text[: match.start()] + term.target + text[match.end() :]
        return hypothesis if text == kept else self._with_text(hypothesis, text)

    def _with_phrases(self, hypothesis: Hypothesis, segment: Segment, terms: DocumentTerms) -> Hypothesis:
        """Returns a translation whose set phrases have the right formality, if all of it has it then."""
        text = self._target.decode(hypothesis.tokens)
        if terms.formality is None or not terms.disagrees(segment, text):
            return hypothesis
        changed = with_set_phrases(text, terms.formality.formality)
        return hypothesis if terms.disagrees(segment, changed) else self._with_text(hypothesis, changed)

    def _with_text(self, hypothesis: Hypothesis, text: str) -> Hypothesis:
        """Returns a hypothesis with another text."""
        return replace(hypothesis, tokens=tuple(self._target.ids([text])[0][:-1].tolist()))

    def _lacking(
        self, segments: Mapping[int, Segment], hypotheses: Hypotheses, terms: DocumentTerms, judge: Judge
    ) -> Iterator[tuple[int, _Lacking]]:
        """Yields what every segment lacks whose best hypothesis lacks a term or has the wrong formality."""
        for m, segment in segments.items():
            if not hypotheses[m] or not hypotheses[m][0].tokens:
                continue
            own = terms.at(m)
            if own.formality is None and not own.find(segment.text) and m not in own.lookups:
                continue
            text = judge(segment, hypotheses[m][0], own).text
            words = self._dictionary_terms(segment, text, own.find(segment.text), own.lookups.get(m, ()))
            missing = own.missing(segment, text)
            encoded = self._encoded(segment, [*missing, *words])
            max_loss = max(map(_max_loss, missing), default=_WORD_LOSS)
            if own.formality is not None and own.disagrees(segment, text):
                yield m, _Lacking([*encoded, self._words_of(segment, text, own.formality)], words, math.inf)
            elif encoded:
                yield m, _Lacking([*encoded, *self.forbidden(segment, text, own)], words, max_loss)

    def _dictionary_terms(
        self, segment: Segment, translation: str, others: Sequence[Term], lookups: Sequence[Hint]
    ) -> list[Term]:
        """Returns the dictionary words that a translation lacks, without those that belong to `others`."""
        spans = self._source.encode(segment.text, self._tag)[1].tolist()
        is_plural = (
            hint.entry is not None and self._target.decode(hint.ids) != hint.entry.translations[0] for hint in lookups
        )
        found = dictionary_terms(lookups, segment.text, translation, spans, is_plural)
        return [term for term in found if not any(term.start < o.end and o.start < term.end for o in others)]

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

    def _encoded(self, segment: Segment, missing: Sequence[Term]) -> list[Constraint]:
        """Returns the constraints of the terms that the translation of a segment lacks."""
        spans = self._source.encode(segment.text, self._tag)[1].tolist()
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
