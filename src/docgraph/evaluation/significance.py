"""Is one system better than another: paired bootstrap and approximate randomisation, over sentences or documents.

Both draw the numbers sacreBLEU draws for the same seed and follow its definitions, so that p-values over sentences are
its own; over documents the statistics of the sentences of a document are summed first, and the rest is the same. A
resample is a row of a matrix product with the statistics, in place of a gather.

- bootstrap (Koehn 2004): resample the test set with replacement; p is the share of resamples whose difference, less
  the mean of the differences, exceeds the difference seen.
- randomisation (Riezler and Maxwell 2005): swap the two outputs of each segment with probability 1/2; p is the share
  of swaps whose difference exceeds the difference seen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.metrics import Floats, Measured, Score, Scorer, Statistics, Unit, signed

Test = Literal["bootstrap", "randomisation"]
SAMPLES: dict[Test, int] = {"bootstrap": 1000, "randomisation": 10_000}
"""sacreBLEU's own defaults."""
SEED = 12345
BLOCK = 1 << 22
"""Numbers drawn at once."""


@dataclass(frozen=True, slots=True)
class Significance:
    """How systems are compared with the baseline."""

    baseline: str
    test: Test = "bootstrap"
    unit: Unit = "sentence"
    samples: int = SAMPLES["bootstrap"]
    seed: int = SEED

    def items(self, unit: Unit) -> dict[str, str]:
        """Its part of a signature, the first two as sacreBLEU writes them."""
        kind = "bs" if self.test == "bootstrap" else "ar"
        return {kind: str(self.samples), "seed": str(self.seed), "over": f"{unit}s"}


def scores(measured: Measured, data: EvaluationSet, significance: Significance | None = None) -> list[Score]:
    """A score a system, in order, compared with the baseline where there is one."""
    items = dict(measured.signature)
    compared: dict[str, Comparison] = {}
    if significance is not None:
        unit: Unit = "document" if measured.unit == "document" else significance.unit
        items |= significance.items(unit)
        compared = _compare(measured, data, significance, unit)
    signature = signed(items, data, measured.unit)
    found = []
    for system, value in measured.values.items():
        more = compared.get(system, Comparison())
        found.append(
            Score(system, measured.name, value, signature, more.p, more.mean, more.interval, measured.lower_is_better)
        )
    return found


@dataclass(frozen=True, slots=True)
class Comparison:
    """What resampling says of a system."""

    p: float | None = None
    mean: float | None = None
    interval: float | None = None


def _compare(measured: Measured, data: EvaluationSet, significance: Significance, unit: Unit) -> dict[str, Comparison]:
    statistics = measured.statistics
    if unit == "document" and measured.unit == "sentence":
        statistics = {name: np.add.reduceat(rows, data.documents[:-1], axis=0) for name, rows in statistics.items()}
    return compare(statistics, measured.scorer, significance)


def compare(statistics: Mapping[str, Statistics], scorer: Scorer, significance: Significance) -> dict[str, Comparison]:
    """Systems by what resampling draws of them, [units, statistics] each, compared with the baseline among them."""
    baseline = statistics[significance.baseline]
    if len(baseline) < 2:
        return dict.fromkeys(statistics, Comparison())  # every resample of one unit is that unit: chance is unknown
    test = _bootstrap if significance.test == "bootstrap" else _randomisation
    compared = {name: test(baseline, rows, scorer, significance) for name, rows in statistics.items()}
    # Against itself there is nothing to test.
    own = compared[significance.baseline]
    return compared | {significance.baseline: Comparison(None, own.mean, own.interval)}


def _bootstrap(baseline: Statistics, system: Statistics, scorer: Scorer, how: Significance) -> Comparison:
    both = np.concatenate([baseline, system], axis=1)
    sums = np.concatenate([counts @ both for counts in _draws_with_replacement(len(both), how.samples, how.seed)])
    # In single precision, as sacreBLEU does: a difference that lies on the border falls on the same side.
    first, second = (scorer(part) for part in np.split(sums.astype(np.float32), 2, axis=1))
    distances = np.abs(second - first)
    p = _p_value(distances - distances.mean(), _difference(baseline, system, scorer))
    return Comparison(p, *_interval(second))


def _randomisation(baseline: Statistics, system: Statistics, scorer: Scorer, how: Significance) -> Comparison:
    total = baseline.sum(axis=0) + system.sum(axis=0)
    kept, gain = system.sum(axis=0), baseline - system
    first = np.concatenate([kept + swaps @ gain for swaps in _draws_of_swaps(len(gain), how.samples, how.seed)])
    distances = np.abs(scorer(first) - scorer(total - first))
    return Comparison(_p_value(distances, _difference(baseline, system, scorer)))


def _difference(baseline: Statistics, system: Statistics, scorer: Scorer) -> float:
    first, second = scorer(np.stack([baseline.sum(axis=0), system.sum(axis=0)]))
    return abs(float(first) - float(second))


def _p_value(sampled: Floats, seen: float) -> float:
    return (int((sampled > seen).sum()) + 1) / (len(sampled) + 1)


def _interval(sampled: Floats) -> tuple[float, float]:
    """(mean, half the width of the middle 95%) of resampled scores."""
    low, high = middle(sampled)
    return float(np.sort(sampled).mean()), 0.5 * (high - low)


def middle(sampled: Floats) -> tuple[float, float]:
    """Where the middle 95% of resampled scores begin and end."""
    ordered, outside = np.sort(sampled), len(sampled) // 40
    return float(ordered[outside]), float(ordered[len(ordered) - outside - 1])


def resample(statistics: Statistics, scorer: Scorer, samples: int) -> Floats:
    """[samples]: scores of bootstrap resamples of segments [segments, statistics]."""
    draws = _draws_with_replacement(len(statistics), samples, SEED)
    return scorer(np.concatenate([counts @ statistics for counts in draws]).astype(np.float32))


def _draws_with_replacement(segments: int, samples: int, seed: int) -> Iterator[Statistics]:
    """[rows, segments] at a time: how often each segment is in each resample."""
    generator = np.random.default_rng(seed)
    for rows in _blocks(samples, segments):
        drawn = generator.choice(segments, size=(rows, segments), replace=True)
        drawn += np.arange(rows)[:, None] * segments
        yield np.bincount(drawn.ravel(), minlength=rows * segments).reshape(rows, segments).astype(np.float64)


def _draws_of_swaps(segments: int, samples: int, seed: int) -> Iterator[npt.NDArray[np.float64]]:
    """[rows, segments] at a time: 1 where the first system keeps its own output."""
    generator = np.random.default_rng(seed)
    for rows in _blocks(samples, segments):
        yield generator.integers(2, size=(rows, segments), dtype=bool).astype(np.float64)


def _blocks(samples: int, segments: int) -> Iterator[int]:
    """Rows at a time; a multiple of 32, as NumPy draws 32 booleans at once: the blocks continue one stream."""
    rows = max(BLOCK // max(segments, 1) // 32, 1) * 32
    for begin in range(0, samples, rows):
        yield min(rows, samples - begin)
