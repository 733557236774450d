"""Paired significance tests against a baseline, over sentences or documents: bootstrap and approximate randomisation.

Both tests draw the random numbers that sacreBLEU draws for the same seed and follow its definitions, so p-values over
sentences equal sacreBLEU's. Over documents, the statistics of the sentences of a document are summed first. A resample
is a row of a matrix product with the statistics, not a gather.

- bootstrap (Koehn 2004): resample the test set with replacement. sacreBLEU's p-value is the share of resamples in which
  |difference| - mean(|difference|) exceeds the observed |difference|. The two-sided p-value, reported beside it, is
  twice the smaller of the shares of resamples in which the difference is at most 0 and at least 0.
- randomisation (Riezler and Maxwell 2005): swap the two outputs of each segment with probability 1/2. The p-value is
  the share of swaps in which |difference| exceeds the observed one; this test is two-sided.

All shares are (count + 1) / (samples + 1).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import Floats, Measurement, Score, Scorer, Statistics, Unit, format_signature

Test = Literal["bootstrap", "randomisation"]
SAMPLES: dict[Test, int] = {"bootstrap": 1000, "randomisation": 10_000}
"""sacreBLEU's defaults."""
SEED = 12345
BLOCK = 1 << 22
"""Random numbers drawn at once."""


@dataclass(frozen=True, slots=True)
class Significance:
    """How systems are compared with the baseline."""

    baseline: str
    test: Test = "bootstrap"
    unit: Unit = "sentence"
    """What is resampled."""
    samples: int = SAMPLES["bootstrap"]
    seed: int = SEED

    def items(self, unit: Unit) -> dict[str, str]:
        """Returns the signature of the test; the first two items are sacreBLEU's."""
        kind = "bs" if self.test == "bootstrap" else "ar"
        return {kind: str(self.samples), "seed": str(self.seed), "over": f"{unit}s"}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a test of one system; see `Score` for the fields."""

    p_value: float | None = None
    mean: float | None = None
    interval: float | None = None
    p_value_two_sided: float | None = None


def score_systems(
    measurement: Measurement, data: EvaluationSet, significance: Significance | None = None
) -> list[Score]:
    """Returns one score per system, in order, compared with the baseline if `significance` is given."""
    items = dict(measurement.signature)
    comparisons: dict[str, Comparison] = {}
    if significance is not None:
        statistics = measurement.statistics
        unit: Unit = "document" if measurement.unit == "document" else significance.unit
        if unit == "document" and measurement.unit == "sentence":
            statistics = {name: np.add.reduceat(rows, data.documents[:-1], axis=0) for name, rows in statistics.items()}
        items |= significance.items(unit)
        comparisons = compare(statistics, measurement.scorer, significance)
    signature = format_signature(items, data, measurement.unit)
    name, lower = measurement.name, measurement.lower_is_better
    return [
        Score(system, name, value, signature, lower_is_better=lower, **asdict(comparisons.get(system, Comparison())))
        for system, value in measurement.values.items()
    ]


def compare(statistics: Mapping[str, Statistics], scorer: Scorer, significance: Significance) -> dict[str, Comparison]:
    """Compares every system with the baseline, from the statistics of what is resampled, [units, statistics] each."""
    baseline = statistics[significance.baseline]
    if len(baseline) < 2:
        return dict.fromkeys(statistics, Comparison())  # every resample of a single unit is the same
    test = _bootstrap if significance.test == "bootstrap" else _randomisation
    comparisons = {name: test(baseline, rows, scorer, significance) for name, rows in statistics.items()}
    own = comparisons[significance.baseline]
    return comparisons | {significance.baseline: Comparison(mean=own.mean, interval=own.interval)}


def _bootstrap(baseline: Statistics, system: Statistics, scorer: Scorer, settings: Significance) -> Comparison:
    both = np.concatenate([baseline, system], axis=1)
    draws = _draw_with_replacement(len(both), settings.samples, settings.seed)
    sums = np.concatenate([counts @ both for counts in draws])
    # In single precision, like sacreBLEU: borderline differences then fall on the same side.
    first, second = (scorer(part) for part in np.split(sums.astype(np.float32), 2, axis=1))
    differences = second - first
    distances = np.abs(differences)
    p_value = _share(distances - distances.mean() > _observed_distance(baseline, system, scorer))
    two_sided = min(1.0, 2 * min(_share(differences <= 0), _share(differences >= 0)))
    low, high = confidence_interval(second)
    return Comparison(p_value, float(np.sort(second).mean()), 0.5 * (high - low), two_sided)


def _randomisation(baseline: Statistics, system: Statistics, scorer: Scorer, settings: Significance) -> Comparison:
    total = baseline.sum(axis=0) + system.sum(axis=0)
    own, gain = system.sum(axis=0), baseline - system
    draws = _draw_swaps(len(gain), settings.samples, settings.seed)
    first = np.concatenate([own + swaps @ gain for swaps in draws])
    distances = np.abs(scorer(first) - scorer(total - first))
    return Comparison(_share(distances > _observed_distance(baseline, system, scorer)))


def _observed_distance(baseline: Statistics, system: Statistics, scorer: Scorer) -> float:
    first, second = scorer(np.stack([baseline.sum(axis=0), system.sum(axis=0)]))
    return abs(float(first) - float(second))


def _share(hits: npt.NDArray[np.bool_]) -> float:
    return (int(hits.sum()) + 1) / (len(hits) + 1)


def confidence_interval(resampled: Floats) -> tuple[float, float]:
    """Returns the bounds of the middle 95% of resampled scores."""
    ordered, outside = np.sort(resampled), len(resampled) // 40
    return float(ordered[outside]), float(ordered[len(ordered) - outside - 1])


def resample(statistics: Statistics, scorer: Scorer, samples: int) -> Floats:
    """Returns [samples]: scores of bootstrap resamples of segments [segments, statistics]."""
    draws = _draw_with_replacement(len(statistics), samples, SEED)
    return scorer(np.concatenate([counts @ statistics for counts in draws]).astype(np.float32))


def _draw_with_replacement(segments: int, samples: int, seed: int) -> Iterator[Statistics]:
    """Yields blocks [rows, segments]: how often each segment occurs in each resample."""
    generator = np.random.default_rng(seed)
    for rows in _block_sizes(samples, segments):
        drawn = generator.choice(segments, size=(rows, segments), replace=True)
        drawn += np.arange(rows)[:, None] * segments
        yield np.bincount(drawn.ravel(), minlength=rows * segments).reshape(rows, segments).astype(np.float64)


def _draw_swaps(segments: int, samples: int, seed: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yields blocks [rows, segments]: 1 where the first system keeps its own output."""
    generator = np.random.default_rng(seed)
    for rows in _block_sizes(samples, segments):
        yield generator.integers(2, size=(rows, segments), dtype=bool).astype(np.float64)


def _block_sizes(samples: int, segments: int) -> Iterator[int]:
    """Yields rows per block, multiples of 32: NumPy draws 32 booleans at once, so blocks continue the same stream."""
    rows = max(BLOCK // max(segments, 1) // 32, 1) * 32
    for begin in range(0, samples, rows):
        yield min(rows, samples - begin)
