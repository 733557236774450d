"""Scores of translations, kept document by document, so that tables and tests of significance need no text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Problems, read
from docgraph.errors import DocgraphError
from docgraph.evaluation.alignment import BitextAnnotator
from docgraph.evaluation.document_measures import DocumentMeasures
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import (
    METRICS,
    Measurement,
    Scorer,
    Statistics,
    format_signature,
    measure,
    ratio_scores,
)
from docgraph.evaluation.significance import Significance, compare
from docgraph.research.results import SCORES, ResultFolder
from docgraph.research.tables import TranslatedSet


def score_outputs(one: TranslatedSet, name: str, folders: Sequence[ResultFolder], languages: BitextAnnotator) -> None:
    """Count a measure on the translations of a set in every folder, and write it there."""
    data = read_texts(one, folders)
    counted = _counted(name, data, languages)
    for folder in folders:
        scores, digest = folder.read(SCORES).get(one.name, {}), folder.digest(one.name)
        kept = scores if scores.get("output") == digest else {}
        sizes = {"output": digest, "sentences": len(data.reference), "documents": data.num_documents}
        folder.add(SCORES, **{one.name: {**kept, **sizes, name: counted[str(folder.path)]}})


def read_texts(one: TranslatedSet, folders: Sequence[ResultFolder]) -> EvaluationSet:
    """The set and the translations in each folder, named by its path."""
    documents = list(read(DataEntry(one.source, one.target or None), Problems(skip=True)))
    sizes = [len(document) for document in documents]
    return EvaluationSet(
        [text for document in documents for text in document.target],
        {str(folder.path): folder.read_output(one.name, sizes) for folder in folders},
        np.cumsum([0, *sizes]),
        [text for document in documents for text in document.source],
    )


def _counted(name: str, data: EvaluationSet, languages: BitextAnnotator) -> dict[str, dict[str, Any]]:
    """By system: value, signature, and statistics by document."""
    if name == "ltcr":
        measures = DocumentMeasures(data, languages, None)
        for system in data.systems:
            measures.add(system, [])
        measured = measures.ratios(consistency=True)[0].measurement()
    else:
        measured = measure(name, data)
    signature = format_signature(measured.signature, data, measured.unit)
    return {
        system: {
            "value": value,
            "signature": f"{measured.name}|{signature}",
            "statistics": by_document(measured, data, system),
        }
        for system, value in measured.values.items()
    }


def by_document(measured: Measurement, data: EvaluationSet, system: str) -> list[list[float]]:
    """[D, statistics]."""
    rows = measured.statistics[system]
    if measured.unit == "sentence":
        rows = np.add.reduceat(rows, data.documents[:-1], axis=0)
    return [[int(value) if value == int(value) else value for value in row] for row in rows.tolist()]


@dataclass(frozen=True)
class Pooled:
    """The statistics of a measure by document, [D, statistics], summed over the seeds of a row."""

    statistics: Statistics
    name: str

    @classmethod
    def of(cls, name: str, one: str, scores: Sequence[Mapping[str, Any]]) -> Pooled | None:
        """From the score files of some seeds; None where there is none."""
        found = [seed[one][name]["statistics"] for seed in scores if name in seed.get(one, {})]
        if not found:
            return None
        if len({len(rows) for rows in found}) > 1:
            raise DocgraphError(f"the seeds of a row have other documents in '{one}'; score them on the same files")
        return cls(np.sum(np.array(found, dtype=np.float64), axis=0), name)

    @property
    def scorer(self) -> Scorer:
        return ratio_scores if self.name == "ltcr" else METRICS[self.name][3]

    @property
    def value(self) -> float:
        return float(self.scorer(self.statistics.sum(axis=0)))

    def p_value(self, other: Pooled) -> float | None:
        """Of the difference to another system: paired bootstrap over documents."""
        systems = {"other": other.statistics, "this": self.statistics}
        if len(self.statistics) != len(other.statistics):
            return None
        return compare(systems, self.scorer, Significance("other", unit="document"))["this"].p_value
