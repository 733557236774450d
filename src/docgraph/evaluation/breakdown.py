"""A metric by buckets: the scores of parts of the test set, with intervals, for every system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.metrics import Measured, signed
from docgraph.evaluation.significance import SEED, middle, resample
from docgraph.graph.links import Integers, LongArray

SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Breakdown:
    """One metric by B buckets; lists of B values for every system."""

    name: str
    """length, distance, consistency, pronouns."""
    metric: str
    axis: str
    """What the buckets are of."""
    labels: tuple[str, ...]
    values: dict[str, list[float | None]]
    """None where a bucket is empty."""
    intervals: dict[str, list[tuple[float, float] | None]]
    """The middle 95% of bootstrap resamples."""
    counts: dict[str, list[int]]
    counted: str
    """What is counted: sentences, pairs, pronouns."""
    signature: str
    digits: tuple[int, int] = (2, 1)
    """Decimals that tables show of values and of the ends of intervals."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def break_down(
    measured: Measured,
    buckets: Integers,
    labels: Sequence[str],
    data: EvaluationSet,
    *,
    name: str,
    axis: str,
    counted: str,
    weigh: bool = False,
) -> Breakdown:
    """The metric over the segments of each bucket; `buckets` [segments] are numbers of labels, -1 is none.

    The interval resamples the segments of a bucket. With `weigh`, what is counted is the second statistic (the
    denominator of a ratio) and not the segments.
    """
    values: dict[str, list[float | None]] = {}
    intervals: dict[str, list[tuple[float, float] | None]] = {}
    counts: dict[str, list[int]] = {}
    for system, statistics in measured.statistics.items():
        parts = [statistics[buckets == bucket] for bucket in range(len(labels))]
        if weigh:
            parts = [part[part[:, 1] > 0] for part in parts]
        counts[system] = [int(part[:, 1].sum()) if weigh else len(part) for part in parts]
        values[system] = [float(measured.scorer(part.sum(axis=0))) if len(part) else None for part in parts]
        intervals[system] = [
            middle(resample(part, measured.scorer, SAMPLES)) if len(part) > 1 else None for part in parts
        ]
    signature = signed(measured.signature | {"bs": str(SAMPLES), "seed": str(SEED), "by": name}, data, measured.unit)
    return Breakdown(name, measured.name, axis, tuple(labels), values, intervals, counts, counted, signature)


def ranges(edges: Sequence[int]) -> list[str]:
    """Labels of whole numbers up to each edge and, at the end, beyond the last: (1, 3) from 1 is 1, 2-3, >3."""
    labels, before = [], 0
    for edge in edges:
        labels.append(str(edge) if edge == before + 1 or edge == 0 else f"{before + 1}–{edge}")
        before = edge
    return [*labels, f">{edges[-1]}"]


def bucket_of(values: Integers, edges: Sequence[int]) -> LongArray:
    """[K]: the number of the first edge that is not below the value; one more than there are where none is."""
    return np.searchsorted(np.asarray(edges), values, side="left")
