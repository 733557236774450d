"""Consistency and pronouns of every system, from one annotation of the source and one alignment a system."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from docgraph.evaluation import consistency, pronouns
from docgraph.evaluation.aligner import AlignerConfig, Posteriors
from docgraph.evaluation.alignment import THRESHOLD, Languages, Pairs, Words, align, word_finder
from docgraph.evaluation.breakdown import Breakdown, break_down
from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.metrics import Measured, Statistics, Unit, ratio_scores

REFERENCE = "reference"
"""The row that measures the reference itself, by the same model a perfect system would have."""


@dataclass(frozen=True, eq=False)
class GroupedRatio:
    """A share of things that are right, counted by segment and by group."""

    label: str
    unit: Unit
    signature: dict[str, str]
    groups: tuple[str, ...]
    name: str | None
    """Of the breakdown by group; None is none."""
    axis: str
    counted: str
    statistics: dict[str, Statistics] = field(default_factory=dict)
    """By system, [segments, groups, 2]: (right, counted)."""

    def measured(self) -> Measured:
        by_segment = {system: counts.sum(axis=1) for system, counts in self.statistics.items()}
        values = {system: float(ratio_scores(counts.sum(axis=0))) for system, counts in by_segment.items()}
        return Measured(self.label, self.unit, by_segment, ratio_scores, values, self.signature)

    def breakdown(self, data: EvaluationSet) -> list[Breakdown]:
        """By group, where that has a name and there is anything to count."""
        if self.name is None or not self.statistics:
            return []
        flat = {system: counts.reshape(-1, 2) for system, counts in self.statistics.items()}
        segments = len(next(iter(flat.values()))) // len(self.groups)
        measured = Measured(self.label, self.unit, flat, ratio_scores, {}, self.signature)
        groups = np.tile(np.arange(len(self.groups)), segments)
        texts = {"name": self.name, "axis": self.axis, "counted": self.counted}
        return [break_down(measured, groups, self.groups, data, weigh=True, **texts)]


class DocumentMeasures:
    """Collects the counts of one system after another."""

    def __init__(self, data: EvaluationSet, languages: Languages, pronoun_pair: str | None) -> None:
        self._table = pronouns.pronoun_table(pronoun_pair) if pronoun_pair is not None else None
        self._data, self._languages = data, languages
        self._source = languages.source_words(data)
        self._reference = languages.target_words(data, data.reference)
        self.details: dict[str, dict[str, Any]] = {"aligned share of content words": {}}
        self._learnt = "test"
        self._pairs: dict[str, dict[str, Statistics]] = {"all": {}, "names": {}}
        self._cases: dict[str, pronouns.PronounCases] = {}

    def add(self, system: str, corpus: Pairs) -> None:
        """Align and count a system, or the reference by its name.

        Each system is aligned by a model of its own (its output, the reference, the corpus), so that its scores do not
        depend on which other systems are evaluated.
        """
        self._learnt = f"test+{len(corpus)}" if corpus else "test"
        sentences = self._data.reference if system == REFERENCE else self._data.systems[system]
        output = self._languages.target_words(self._data, sentences)
        links, gold = align(self._source, [output, self._reference], corpus)
        self._count_pairs(system, output, links)
        if self._table is not None and system != REFERENCE:
            cases = pronouns.classify(self._table, self._source, (output, links), (self._reference, gold))
            self._cases[system] = cases
            counts = np.bincount(cases.cases, minlength=len(pronouns.CASES)).tolist()
            self.details.setdefault("pronoun cases", {})[system] = dict(zip(pronouns.CASES, counts, strict=True))

    def _count_pairs(self, system: str, output: Words, links: Posteriors) -> None:
        source = self._source
        aligned = links.best_target(len(source.forms), THRESHOLD)[source.content] >= 0
        self.details["aligned share of content words"][system] = float(aligned.mean()) if len(aligned) else 0.0
        self._pairs["all"][system] = consistency.count_pairs(source, output, links, source.content)
        if source.tags is not None:
            names = np.array([tag == "PROPN" for tag in source.tags], dtype=np.bool_)
            self._pairs["names"][system] = consistency.count_pairs(source, output, links, names)

    def ratios(self, *, consistency: bool) -> list[GroupedRatio]:
        """The measures asked for, over all systems added."""
        made = []
        if consistency:
            made += [self._consistency("LTCR", "all", "consistency"), self._consistency("LTCR names", "names", None)]
        if self._table is not None:
            made += [self._pronouns("APT", "pronouns"), self._pronouns("APT strict", None)]
        return [ratio for ratio in made if ratio.statistics]

    def _consistency(self, label: str, words: str, name: str | None) -> GroupedRatio:
        groups, axis = tuple(consistency.LABELS), "sentences between two occurrences"
        signature = {"words": words, **self._signature()}
        return GroupedRatio(label, "document", signature, groups, name, axis, "pairs", self._pairs[words])

    def _pronouns(self, label: str, name: str | None) -> GroupedRatio:
        assert self._table is not None
        groups, strict = self._table.source, label == "APT strict"
        sizes = len(self._data.reference), len(groups)
        counts = {system: cases.statistics(*sizes, strict=strict) for system, cases in self._cases.items()}
        signature = {"equivalents": "no" if strict else "yes", **self._signature()}
        return GroupedRatio(label, "sentence", signature, groups, name, "source pronoun", "pronouns", counts)

    def _signature(self) -> dict[str, str]:
        return {
            "aligner": str(AlignerConfig()),
            "threshold": str(THRESHOLD),
            "learnt": self._learnt,
            "source": self._languages.source,
            "target": word_finder(self._languages.target),
        }
