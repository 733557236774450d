"""Enforcement of terms: sentences whose translations lack a prescribed term are decoded again with constraints.

A translation that has all its terms is never touched, so that terms cost nothing in other sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.checks import Doubt, weight
from docgraph.translation.constraints import Constraint, ConstraintEncoder, Constraints
from docgraph.translation.document_decoding import Hypotheses
from docgraph.translation.hypotheses import Hypothesis
from docgraph.translation.preprocessing import Segment
from docgraph.translation.repair import Attempt
from docgraph.translation.result import TermUse
from docgraph.translation.terms import Term, TermFinder, are_used, find_all, missing_terms

MAX_CONSTRAINTS = 8
"""Maximum constraints of a sentence; each makes its search slower."""
_QUOTATION_MARKS, _QUOTATION_WEIGHT = '"«»', 10
_WEIGHT = 25
"""Weight of a missing term among the doubts of a translation."""


@dataclass(eq=False)
class DocumentTerms:
    """The terms of one document."""

    finders: Sequence[TermFinder] = ()
    _found: dict[str, list[Term]] = field(default_factory=dict)

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

    def doubts(self, segment: Segment, translation: str) -> list[Doubt]:
        """Returns a doubt for each term that a translation lacks."""
        return [Doubt(_reason(term), _WEIGHT) for term in self.missing(segment, translation)]

    def uses(self, segments: Sequence[Segment], translation: str) -> tuple[TermUse, ...]:
        """Returns the glossary terms of a sentence, given its segments and its translation."""
        terms = [term for each in segments for term in self.find(each.text) if term.origin == "glossary"]
        used = are_used(terms, translation)
        return tuple(TermUse(term.source, term.target, each) for term, each in zip(terms, used, strict=True))


def _reason(term: Term) -> str:
    return f"{term.source} is missing" if term.source in term.targets else f"{term.source} is not '{term.target}'"


def _badness(attempt: Attempt, first: Attempt) -> int:
    """Returns the weight of the doubts of an attempt, and of quotation marks that the first one does not have."""
    marks = [Counter(char for char in each.text if char in _QUOTATION_MARKS) for each in (attempt, first)]
    return weight(attempt.doubts) + (0 if marks[0] == marks[1] else _QUOTATION_WEIGHT)


Judge = Callable[[Segment, Hypothesis, DocumentTerms], Attempt]
"""(segment, hypothesis, terms) -> its finished text, with its doubts."""
Decode = Callable[[list[Constraints]], list[dict[int, list[Hypothesis]]]]
"""The constraints of each document, by segment -> the hypotheses of these segments."""


class TermEnforcer:
    """Enforces terms for one model."""

    def __init__(self, source: SubwordCoder, target: SubwordCoder, language: str | None, tag: str | None) -> None:
        """`language` is the target language."""
        self._source, self._tag = source, tag
        self._encoder = ConstraintEncoder(target, language)

    def enforce(
        self,
        documents: Sequence[tuple[Mapping[int, Segment], Hypotheses, DocumentTerms]],
        judge: Judge,
        decode: Decode,
    ) -> None:
        """Replaces hypotheses that lack a term, in place, by ones that are less doubtful.

        A document is given by the segments to look at, the hypotheses of all segments, and its terms.
        """
        wanted = [dict(self._constraints(*document, judge)) for document in documents]
        if not any(wanted):
            return
        for (segments, hypotheses, terms), found in zip(documents, decode(list(wanted)), strict=True):
            for m, new in found.items():
                first = judge(segments[m], hypotheses[m][0], terms)
                attempts = [judge(segments[m], each, terms) for each in new]
                order = sorted(range(len(new)), key=lambda rank: _badness(attempts[rank], first))
                if order and _badness(attempts[order[0]], first) < _badness(first, first):
                    hypotheses[m] = [new[rank] for rank in order][: len(hypotheses[m])]

    def _constraints(
        self, segments: Mapping[int, Segment], hypotheses: Hypotheses, terms: DocumentTerms, judge: Judge
    ) -> Iterator[tuple[int, list[Constraint]]]:
        """Yields the constraints of every segment whose best hypothesis lacks a term."""
        for m, segment in segments.items():
            if hypotheses[m] and hypotheses[m][0].tokens and terms.find(segment.text):
                missing = terms.missing(segment, judge(segment, hypotheses[m][0], terms).text)
                if missing and (own := self._encoded(segment, missing)):
                    yield m, own

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
            )
            if constraint is not None:
                found.append(constraint)
        return found
