"""Measures of whole documents from word alignments: lexical translation consistency and pronoun translation.

LTCR (Lyu et al. 2021) is the share of pairs of occurrences of a source word in a document whose translations agree:

    LTCR = sum over words w of agreeing pairs(w) / sum over words w of k(w) (k(w) - 1) / 2

where k(w) is the number of aligned occurrences of w in the document. A word is the lemma of a content word (no
punctuation, no function word), its translation is the target word of its best link, and two translations agree if their
lower-cased lemmas are equal. Unaligned occurrences are left out. "LTCR names" counts proper nouns only.

APT (Miculicich Werlen and Popescu-Belis 2017) is the accuracy of pronoun translation. For each source pronoun of the
table (data/pronouns), its translation in the output and in the reference is the target pronoun of the table with the
best link above the aligner's threshold. The cases, as in APT:

    1 equal   2 equivalent   3 different   4 none in the output   5 none in the reference   6 none in either

APT = (cases 1 + 2) / (cases 1 to 4): of the pronouns that the reference translates by a pronoun, the share that the
output translates by the same or an equivalent one. "APT strict" counts case 1 only. The equivalences are our own table,
wider if the parser labels the source pronoun an expletive. APT's rule-based corrections of the alignment are not
implemented; candidates are restricted to pronouns instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from itertools import permutations
from typing import Any

import numpy as np

from docgraph.annotation import BoolArray
from docgraph.errors import DocgraphError
from docgraph.evaluation.alignment import (
    ALIGNER,
    THRESHOLD,
    BitextAnnotator,
    Posteriors,
    SentencePairs,
    Words,
    align,
    sum_by,
    word_annotator,
)
from docgraph.evaluation.buckets import Breakdown, break_down, bucket_of, range_labels
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Measurement, Statistics, Unit, ratio_scores
from docgraph.graph.links import Cliques, LongArray

REFERENCE = "reference"
"""The name of the row that measures the reference as if it were a system."""
DISTANCES = (0, 1, 5, 10, 20)
"""Bucket edges of the distance between two occurrences, in sentences."""
DISTANCE_LABELS = range_labels(DISTANCES)
PRONOUN_TABLES = resources.files("docgraph") / "data" / "pronouns"
CASES = ("equal", "equivalent", "different", "none in the output", "none in the reference", "none in either")


def count_consistent_pairs(source: Words, target: Words, links: Posteriors, words: BoolArray) -> Statistics:
    """Returns [documents, distances, 2]: (agreeing pairs, pairs) of words [W] with the same lemma."""
    best = links.best_target(len(source.forms), THRESHOLD)
    aligned = np.flatnonzero(words & (best >= 0))
    lemmas = np.unique(np.array(source.keys, dtype=object)[aligned].astype(str), return_inverse=True)[1]
    translations = np.unique(np.array(target.keys, dtype=object)[best[aligned]].astype(str), return_inverse=True)[1]
    documents, sentences = source.documents[aligned], source.sentences[aligned]
    repeated = Cliques.of_keys(np.arange(len(aligned)), [lemmas, documents]).expand()
    first, second = repeated.source, repeated.target
    num_distances = len(DISTANCE_LABELS)
    rows = documents[first] * num_distances + bucket_of(np.abs(sentences[second] - sentences[first]), DISTANCES)
    size = (int(source.documents.max(initial=-1)) + 1) * num_distances
    agree = translations[first] == translations[second]
    counts = np.stack([sum_by(rows, weights, size) for weights in (agree, np.ones(len(rows)))], axis=1)
    return counts.reshape(-1, num_distances, 2)


@dataclass(frozen=True, slots=True)
class PronounTable:
    """The pronouns of a language pair."""

    source: tuple[str, ...]
    """Source pronouns that are evaluated."""
    target: dict[str, str]
    """Spelling -> target pronoun."""
    equivalent: frozenset[tuple[str, str]]
    """Pairs of target pronouns that are equally good."""
    equivalent_expletive: frozenset[tuple[str, str]]
    """Further pairs if the source pronoun is an expletive."""


@cache
def pronoun_table(pair: str) -> PronounTable:
    """Returns the table of a language pair such as en-fr."""
    file = PRONOUN_TABLES / f"{pair}.toml"
    if not file.is_file():
        known = ", ".join(sorted(entry.name.removesuffix(".toml") for entry in PRONOUN_TABLES.iterdir()))
        raise DocgraphError(f"there is no pronoun table for {pair}; choose from {known}")
    values = tomllib.loads(file.read_text(encoding="utf-8"))

    def ordered_pairs(groups: Iterable[Iterable[str]]) -> frozenset[tuple[str, str]]:
        return frozenset(pair for group in groups for pair in permutations(group, 2))

    target = {form: forms[0] for forms in values["target"] for form in forms}
    equivalent, expletive = values["equivalent"], values["equivalent_expletive"]
    return PronounTable(tuple(values["source"]), target, ordered_pairs(equivalent), ordered_pairs(expletive))


@dataclass(frozen=True, eq=False)
class PronounCases:
    """The K source pronouns of a set, classified."""

    sentences: LongArray
    """[K]: the sentence of each pronoun."""
    pronouns: LongArray
    """[K]: index in the table's source pronouns."""
    cases: LongArray
    """[K]: index in `CASES`."""

    def statistics(self, num_sentences: int, num_pronouns: int, strict: bool = False) -> Statistics:
        """Returns [sentences, pronouns, 2]: (right, translated by a pronoun in the reference)."""
        rows, size = self.sentences * num_pronouns + self.pronouns, num_sentences * num_pronouns
        right, counted = self.cases < (1 if strict else 2), self.cases < 4
        counts = np.stack([sum_by(rows, weights, size) for weights in (right, counted)], axis=1)
        return counts.reshape(num_sentences, num_pronouns, 2)


def classify_pronouns(
    table: PronounTable, source: Words, output: tuple[Words, Posteriors], reference: tuple[Words, Posteriors]
) -> PronounCases:
    """Returns the case of every source pronoun, from the source's links with the output and with the reference."""
    numbers = {form: number for number, form in enumerate(table.source)}
    places = [
        place
        for place, form in enumerate(source.forms)
        if form.lower() in numbers and (source.tags is None or source.tags[place] == "PRON")
    ]
    outputs, references = (_pronoun_translations(table, source, *side) for side in (output, reference))
    cases = []
    for place in places:
        expletive = source.relations is not None and source.relations[place] == "expl"
        cases.append(_case(table, outputs[place], references[place], expletive))
    index = np.array(places, dtype=np.int64)
    pronouns = np.array([numbers[source.forms[place].lower()] for place in places], dtype=np.int64)
    return PronounCases(source.sentences[index], pronouns, np.array(cases, dtype=np.int64))


def _pronoun_translations(table: PronounTable, source: Words, target: Words, links: Posteriors) -> list[str | None]:
    """Returns [W]: the target pronoun that each source word is best linked with."""
    pronouns = [table.target.get(form.lower().replace("’", "'")) for form in target.forms]
    is_pronoun = np.array([pronoun is not None for pronoun in pronouns], dtype=np.bool_)
    best = links.where(is_pronoun[links.target]).best_target(len(source.forms), THRESHOLD)
    return [pronouns[place] if place >= 0 else None for place in best.tolist()]


def _case(table: PronounTable, output: str | None, reference: str | None, expletive: bool) -> int:
    """Returns the index in `CASES`."""
    if reference is None:
        return 5 if output is None else 4
    if output is None:
        return 3
    if output == reference:
        return 0
    pair = (output, reference)
    equivalent = pair in table.equivalent or (expletive and pair in table.equivalent_expletive)
    return 1 if equivalent else 2


@dataclass(frozen=True, eq=False)
class GroupedRatio:
    """A ratio counted by segment and by group."""

    label: str
    unit: Unit
    signature: dict[str, str]
    groups: tuple[str, ...]
    name: str | None
    """The name of the breakdown by group; None makes no breakdown."""
    axis: str
    counted: str
    statistics: dict[str, Statistics] = field(default_factory=dict)
    """By system, [segments, groups, 2]: (numerator, denominator)."""

    def measurement(self) -> Measurement:
        """Returns the ratio by segment, over all groups."""
        by_segment = {system: counts.sum(axis=1) for system, counts in self.statistics.items()}
        values = {system: float(ratio_scores(counts.sum(axis=0))) for system, counts in by_segment.items()}
        return Measurement(self.label, self.unit, by_segment, ratio_scores, values, self.signature)

    def breakdown(self, data: EvaluationSet) -> list[Breakdown]:
        """Returns the breakdown by group; empty if it has no name or there is nothing to count."""
        if self.name is None or not self.statistics:
            return []
        flat = {system: counts.reshape(-1, 2) for system, counts in self.statistics.items()}
        segments = len(next(iter(flat.values()))) // len(self.groups)
        measurement = Measurement(self.label, self.unit, flat, ratio_scores, {}, self.signature)
        groups = np.tile(np.arange(len(self.groups)), segments)
        texts = {"name": self.name, "axis": self.axis, "counted": self.counted}
        return [break_down(measurement, groups, self.groups, data, weigh=True, **texts)]


class DocumentMeasures:
    """Collects LTCR and APT of one system after another; the source is annotated once."""

    def __init__(self, data: EvaluationSet, annotator: BitextAnnotator, pronoun_pair: str | None) -> None:
        self._table = pronoun_table(pronoun_pair) if pronoun_pair is not None else None
        self._data, self._annotator = data, annotator
        self._source = annotator.source_words(data)
        self._reference = annotator.target_words(data, data.reference)
        self.details: dict[str, dict[str, Any]] = {"aligned share of content words": {}}
        self._trained_on = "test"
        self._pairs: dict[str, dict[str, Statistics]] = {"all": {}, "names": {}}
        self._cases: dict[str, PronounCases] = {}

    def add(self, system: str, corpus: SentencePairs) -> None:
        """Aligns and counts a system, or the reference under its name.

        Each system has an aligner of its own, trained on its output, the reference and the corpus, so that its scores
        do not depend on which other systems are evaluated.
        """
        self._trained_on = f"test+{len(corpus)}" if corpus else "test"
        sentences = self._data.reference if system == REFERENCE else self._data.systems[system]
        output = self._annotator.target_words(self._data, sentences)
        links, reference_links = align(self._source, [output, self._reference], corpus)
        self._count_pairs(system, output, links)
        if self._table is not None and system != REFERENCE:
            sides = (output, links), (self._reference, reference_links)
            cases = self._cases[system] = classify_pronouns(self._table, self._source, *sides)
            counts = np.bincount(cases.cases, minlength=len(CASES)).tolist()
            self.details.setdefault("pronoun cases", {})[system] = dict(zip(CASES, counts, strict=True))

    def _count_pairs(self, system: str, output: Words, links: Posteriors) -> None:
        source = self._source
        aligned = links.best_target(len(source.forms), THRESHOLD)[source.content] >= 0
        self.details["aligned share of content words"][system] = float(aligned.mean()) if len(aligned) else 0.0
        self._pairs["all"][system] = count_consistent_pairs(source, output, links, source.content)
        if source.tags is not None:
            names = np.array([tag == "PROPN" for tag in source.tags], dtype=np.bool_)
            self._pairs["names"][system] = count_consistent_pairs(source, output, links, names)

    def ratios(self, *, consistency: bool) -> list[GroupedRatio]:
        """Returns the measures of all systems added: LTCR if `consistency`, APT if there is a pronoun table."""
        ratios = []
        if consistency:
            ratios += [self._consistency("LTCR", "all", "consistency"), self._consistency("LTCR names", "names", None)]
        if self._table is not None:
            ratios += [self._pronouns("APT", "pronouns"), self._pronouns("APT strict", None)]
        return [ratio for ratio in ratios if ratio.statistics]

    def _consistency(self, label: str, words: str, name: str | None) -> GroupedRatio:
        groups, axis = tuple(DISTANCE_LABELS), "sentences between two occurrences"
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
            "aligner": ALIGNER,
            "threshold": str(THRESHOLD),
            "learnt": self._trained_on,
            "source": self._annotator.source,
            "target": word_annotator(self._annotator.target),
        }
