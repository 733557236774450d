"""A metric by buckets of the test set, with confidence intervals: by document length, by distance of linked context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from docgraph.annotation import Annotation
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Measurement, format_signature
from docgraph.evaluation.significance import SEED, confidence_interval, resample
from docgraph.graph import RelationOptions, build_graph
from docgraph.graph.links import Edges, Integers, LongArray

SAMPLES = 1000
DISTANCES = (1, 2, 3, 5, 10, 20)
LENGTH_BUCKETS = 5
LinkRelation = Literal["lexical", "coreference"]


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One metric by B buckets; lists of B values for every system."""

    name: str
    """length, distance, consistency, pronouns."""
    metric: str
    axis: str
    """The quantity that the buckets divide."""
    labels: tuple[str, ...]
    values: dict[str, list[float | None]]
    """None for an empty bucket."""
    intervals: dict[str, list[tuple[float, float] | None]]
    """The middle 95% of bootstrap resamples."""
    counts: dict[str, list[int]]
    counted: str
    """What `counts` counts: sentences, pairs, pronouns."""
    signature: str
    digits: tuple[int, int] = (2, 1)
    """Decimals of values and of interval bounds in tables."""

    @property
    def title(self) -> str:
        """The heading of its table."""
        return f"{self.metric} by {self.axis}"

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, unrounded."""
        return asdict(self)


def break_down(
    measurement: Measurement,
    buckets: Integers,
    labels: Sequence[str],
    data: EvaluationSet,
    *,
    name: str,
    axis: str,
    counted: str,
    weigh: bool = False,
) -> Breakdown:
    """Returns the metric over the segments of each bucket; `buckets` [segments] are indices of labels, -1 is none.

    Intervals resample the segments of a bucket. With `weigh`, the counts are sums of the second statistic (the
    denominator of a ratio), not numbers of segments.
    """
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    counts: dict[str, list[int]] = {}
    for system, statistics in measurement.statistics.items():
        parts = [statistics[buckets == bucket] for bucket in range(len(labels))]
        if weigh:
            parts = [part[part[:, 1] > 0] for part in parts]
        counts[system] = [int(part[:, 1].sum()) if weigh else len(part) for part in parts]
        values[system] = [float(measurement.scorer(part.sum(axis=0))) if len(part) else None for part in parts]
        intervals[system] = [
            confidence_interval(resample(part, measurement.scorer, SAMPLES)) if len(part) > 1 else None
            for part in parts
        ]
    items = measurement.signature | {"bs": str(SAMPLES), "seed": str(SEED), "by": name}
    signature = format_signature(items, data, measurement.unit)
    return Breakdown(name, measurement.name, axis, tuple(labels), values, intervals, counts, counted, signature)


def range_labels(edges: Sequence[int]) -> list[str]:
    """Returns labels of integer ranges up to each edge, and beyond the last: (1, 3) makes 1, 2–3, >3."""
    labels, before = [], 0
    for edge in edges:
        labels.append(str(edge) if edge == before + 1 or edge == 0 else f"{before + 1}–{edge}")
        before = edge
    return [*labels, f">{edges[-1]}"]


def bucket_of(values: Integers, edges: Sequence[int]) -> LongArray:
    """Returns [K]: the index of the first edge that is not below the value; len(edges) if all are."""
    return np.searchsorted(np.asarray(edges), values, side="left")


def by_length(measurement: Measurement, data: EvaluationSet, baseline: str | None = None) -> list[Breakdown]:
    """Returns the metric by number of sentences in the document; buckets hold about equally many sentences.

    With a baseline, a second breakdown has the differences to it; its intervals resample whole documents.
    """
    lengths = np.diff(data.documents)
    shares = np.arange(1, LENGTH_BUCKETS + 1) / LENGTH_BUCKETS
    edges = np.unique(np.quantile(np.repeat(lengths, lengths), shares, method="inverted_cdf")).tolist()
    buckets = bucket_of(lengths, edges)
    spans = [sorted({*lengths[buckets == number].tolist()}) for number in range(len(edges))]
    labels = [str(span[0]) if len(span) == 1 else f"{span[0]}–{span[-1]}" for span in spans]
    axis = "sentences in the document"
    whole = break_down(
        measurement, np.repeat(buckets, lengths), labels, data, name="length", axis=axis, counted="sentences"
    )
    if baseline is None:
        return [whole]
    return [whole, _differences(measurement, buckets, labels, data, baseline, axis)]


def _differences(
    measurement: Measurement, buckets: Integers, labels: Sequence[str], data: EvaluationSet, baseline: str, axis: str
) -> Breakdown:
    """Returns differences to the baseline; `buckets` [documents]. Both systems use the same resamples of documents."""
    sums = {name: np.add.reduceat(rows, data.documents[:-1], axis=0) for name, rows in measurement.statistics.items()}
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    for system in (name for name in sums if name != baseline):
        values[system], intervals[system] = [], []
        for bucket in range(len(labels)):
            ours, theirs = (sums[name][buckets == bucket] for name in (system, baseline))
            score, drawn = measurement.scorer, [resample(part, measurement.scorer, SAMPLES) for part in (ours, theirs)]
            values[system].append(float(score(ours.sum(axis=0)) - score(theirs.sum(axis=0))))
            intervals[system].append(confidence_interval(drawn[0] - drawn[1]) if len(ours) > 1 else None)
    counts = {system: [int((buckets == bucket).sum()) for bucket in range(len(labels))] for system in values}
    items = {**measurement.signature, "bs": str(SAMPLES), "seed": str(SEED), "over": "documents", "by": "length"}
    signature = format_signature(items, data, measurement.unit)
    metric = f"{measurement.name} − {baseline}"
    return Breakdown(
        "length-difference", metric, axis, tuple(labels), values, intervals, counts, "documents", signature
    )


def by_distance(measurement: Measurement, data: EvaluationSet, annotations: Sequence[Annotation]) -> Breakdown:
    """Returns the metric by distance from a sentence back to the nearest one linked with it in the document graph."""
    distances = np.concatenate([np.empty(0, np.int64), *(linked_distances(one) for one in annotations)])
    labels = [*range_labels(DISTANCES), "no link"]
    buckets = np.where(distances > 0, bucket_of(distances, DISTANCES), len(labels) - 1)
    axis = "sentences back to the nearest linked one"
    return break_down(measurement, buckets, labels, data, name="distance", axis=axis, counted="sentences")


def linked_distances(annotation: Annotation) -> LongArray:
    """Returns [M]: sentences from each sentence back to the nearest one linked with it, 0 if none is."""
    edges = Edges.join([backward_links(annotation, "lexical"), backward_links(annotation, "coreference")])
    later, earlier = annotation.sentence_of[edges.target], annotation.sentence_of[edges.source]
    nearest = np.full(annotation.num_sentences, annotation.num_sentences, dtype=np.int64)
    np.minimum.at(nearest, later, later - earlier)
    return np.where(nearest < annotation.num_sentences, nearest, 0)


def backward_links(annotation: Annotation, relation: LinkRelation) -> Edges:
    """Returns edges of the document graph from words of earlier sentences to words of later ones.

    Lexical edges join content words only, because function words link everything, and only consecutive occurrences:
    the nearest earlier sentence with the word is the one that holds its previous occurrence.
    """
    graph = build_graph(annotation, relation, RelationOptions(skip_stop_words=True))
    edges = graph.lexical.consecutive() if graph.lexical is not None else graph.edges(relation)
    return edges.where(annotation.sentence_of[edges.target] > annotation.sentence_of[edges.source])
