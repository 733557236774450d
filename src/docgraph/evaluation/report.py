"""A whole evaluation: scores of all systems, breakdowns, and what to say beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from docgraph.errors import DocgraphError
from docgraph.evaluation.alignment import Languages, Pairs
from docgraph.evaluation.breakdown import Breakdown
from docgraph.evaluation.buckets import by_distance, by_length
from docgraph.evaluation.comet_ import MODEL, measure_comet
from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.document_measures import REFERENCE, DocumentMeasures
from docgraph.evaluation.metrics import Options, Score, measure
from docgraph.evaluation.significance import Significance, scores

By = Literal["length", "distance"]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be measured."""

    metrics: tuple[str, ...] = ("bleu", "d-bleu", "chrf", "ter")
    options: Options = field(default_factory=Options)
    comet_model: str = MODEL
    significance: Significance | None = None
    by: tuple[By, ...] = ()
    consistency: bool = False
    pronouns: str | None = None
    """The language pair whose pronoun table is used; None is no pronouns."""
    languages: Languages = field(default_factory=lambda: Languages("en", "fr"))
    align_corpus: Pairs = field(default_factory=list)

    @property
    def needs_source(self) -> bool:
        return self.consistency or self.pronouns is not None or "distance" in self.by


@dataclass(frozen=True, slots=True)
class Report:
    """What was measured."""

    sentences: int
    documents: int
    scores: tuple[Score, ...]
    breakdowns: tuple[Breakdown, ...] = ()
    significance: Significance | None = None
    notes: tuple[str, ...] = ()
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name and system: shares of aligned words, cases of pronouns."""

    def to_json(self) -> dict[str, Any]:
        """Everything, numbers unrounded."""
        return asdict(self)


def evaluate(data: EvaluationSet, request: Request, progress: Progress = lambda stage: None) -> Report:
    """Measure all systems of a set; `progress` hears what is being done."""
    if request.needs_source and data.source is None:
        raise DocgraphError("consistency, pronouns and distance are measured from the source; name it with --source")
    notes: list[str] = []
    details: dict[str, dict[str, Any]] = {}
    found: list[Score] = []
    breakdowns: list[Breakdown] = []
    for name in request.metrics:
        progress(name)
        try:
            measured = (
                measure_comet(data, request.comet_model) if name == "comet" else measure(name, data, request.options)
            )
        except DocgraphError as error:
            if name != "comet" or len(request.metrics) == 1:
                raise
            notes.append(str(error))
            continue
        found += scores(measured, data, request.significance)
    if request.by:
        progress("buckets")
        breakdowns += _buckets(data, request)
    if request.consistency or request.pronouns is not None:
        progress("annotating the source")
        measures = DocumentMeasures(data, request.languages, request.pronouns)
        for system in (*data.systems, *((REFERENCE,) if request.consistency else ())):
            progress(f"aligning {system}")
            measures.add(system, request.align_corpus)
        for grouped in measures.ratios(consistency=request.consistency):
            found += scores(grouped.measured(), data, request.significance)
            breakdowns += grouped.breakdown(data)
        details = measures.details
    sizes = len(data.reference), data.num_documents
    return Report(*sizes, tuple(found), tuple(breakdowns), request.significance, tuple(notes), details)


def _buckets(data: EvaluationSet, request: Request) -> list[Breakdown]:
    measured = measure("bleu", data, request.options)
    made = []
    if "length" in request.by:
        made.append(by_length(measured, data))
    if "distance" in request.by:
        assert data.source is not None
        annotations = request.languages.annotate(data.split_documents(data.source))
        made.append(by_distance(measured, data, annotations))
    return made
