"""Metrics through sacreBLEU: BLEU over sentences and over documents (d-BLEU), chrF, TER.

Each is a function of sums of statistics of segments. So segments are counted once, and a score of any part of the
corpus, or of a thousand resamples of it, is a sum and a few vectorised lines. Those lines follow sacreBLEU's arithmetic
operation by operation, in the type of the sums, so that what is compared with sacreBLEU is equal and not merely close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from docgraph import __version__
from docgraph.errors import DocgraphError
from docgraph.evaluation.dataset import EvaluationSet

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

Unit = Literal["sentence", "document"]
Floats = npt.NDArray[np.floating[Any]]
Statistics = npt.NDArray[np.float64]
"""[segments, ..., statistics]: what is summed before a score is computed."""
Scorer = Callable[[Floats], Floats]
"""Scores [...] from summed statistics [..., statistics]."""


@dataclass(frozen=True, slots=True)
class Score:
    """A number and all it needs to be trusted."""

    system: str
    metric: str
    """The name of the column: BLEU, d-BLEU, chrF2, TER, COMET, LTC, APT."""
    value: float
    signature: str
    p_value: float | None = None
    """Of the difference to the baseline."""
    mean: float | None = None
    interval: float | None = None
    """Half the width of the 95% bootstrap interval around `mean`."""
    lower_is_better: bool = False


@dataclass(frozen=True, eq=False)
class Measured:
    """One metric over all systems of a set: statistics of segments, and how their sums become a score."""

    name: str
    unit: Unit
    """What a segment is."""
    statistics: dict[str, Statistics]
    """By system."""
    scorer: Scorer
    values: dict[str, float]
    """By system, as sacreBLEU computes them."""
    signature: dict[str, str]
    """The library's part of the signature, key by key, without the version of this package."""
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """How text becomes what is counted."""

    lowercase: bool | None = None
    """None is sacreBLEU's own choice: BLEU and chrF cased, TER lower-cased."""
    tokenize: str | None = None
    """BLEU's tokenizer by sacreBLEU's name; 13a where None."""


def signed(items: dict[str, str], data: EvaluationSet, unit: Unit) -> str:
    """A signature: the items of the library, what a segment was, how many documents, the version of this package."""
    ours = {"unit": unit, "documents": str(data.num_documents), "docgraph": __version__}
    return "|".join(f"{key}:{value}" for key, value in (items | ours).items())


def measure(name: str, data: EvaluationSet, options: Options = Options()) -> Measured:
    """Count the segments of all systems; `name` is one of `METRICS`."""
    if name not in METRICS:
        raise DocgraphError(f"there is no metric '{name}'; choose among {', '.join([*METRICS, 'comet'])}")
    label, unit, create, scorer = METRICS[name]

    def segments(sentences: Sequence[str]) -> list[str]:
        return list(sentences) if unit == "sentence" else [" ".join(texts) for texts in data.split(sentences)]

    metric = create(options, [segments(data.reference)])
    # What sacreBLEU's own significance tests are built on: there is no public way to the statistics.
    counts = {
        system: metric._extract_corpus_statistics(segments(texts), None) for system, texts in data.systems.items()
    }
    values = {system: float(metric._aggregate_and_compute(rows).score) for system, rows in counts.items()}
    signature = dict(part.split(":", 1) for part in metric.get_signature().format().split("|"))
    statistics = {system: np.array(rows, dtype=np.float64) for system, rows in counts.items()}
    return Measured(label, unit, statistics, scorer, values, signature, label == "TER")


def _bleu(options: Options, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize is not None and options.tokenize not in BLEU.TOKENIZERS:
        raise DocgraphError(
            f"sacreBLEU has no tokenizer '{options.tokenize}'; choose among {', '.join(BLEU.TOKENIZERS)}"
        )
    return BLEU(lowercase=bool(options.lowercase), tokenize=options.tokenize, force=True, references=references)


def _chrf(options: Options, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(lowercase=bool(options.lowercase), references=references)


def _ter(options: Options, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.ter import TER

    return TER(case_sensitive=options.lowercase is False, references=references)


def bleu_scores(sums: Floats) -> Floats:
    """BLEU [...] from (hypothesis length, reference length, correct 1..4, total 1..4) [..., 10], smoothed (exp)."""
    length, reference = sums[..., 0].astype(np.float64), sums[..., 1].astype(np.float64)
    correct, total = sums[..., 2:6], sums[..., 6:10]
    missing = (correct == 0) & (total > 0)
    halvings = (2.0 ** np.cumsum(missing, axis=-1)).astype(sums.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(missing, 100.0 / (halvings * total), 100 * correct / total)
        # sacreBLEU's logarithm of nothing.
        logs = np.where(precisions > 0, np.log(precisions.astype(np.float64)), -9999999999.0)
        penalty = np.where(length < reference, np.exp(1 - reference / length), 1.0)
    scores = penalty * np.exp(sum(logs[..., order] for order in range(4)) / 4)
    return np.where(correct.any(axis=-1), scores, 0.0)


def chrf_scores(sums: Floats, beta: int = 2) -> Floats:
    """chrF [...] from (hypothesis, reference, matching) n-grams of each order [..., 18], effective order."""
    counts = sums.reshape(*sums.shape[:-1], -1, 3)
    hypothesis, reference, matching = counts[..., 0], counts[..., 1], counts[..., 2]
    known = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(known.sum(axis=-1), 1).astype(sums.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision, recall = (_ordered_sum(np.where(known, matching / n, 0)) / orders for n in (hypothesis, reference))
        scores = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
    return np.where(precision + recall > 0, 100 * scores, 0)


def _ordered_sum(values: Floats) -> Floats:
    """Over the last axis, one after another."""
    total: Floats = np.zeros(values.shape[:-1], values.dtype)
    for index in range(values.shape[-1]):
        total = total + values[..., index]
    return total


def ratio_scores(sums: Floats, scale: int = 100) -> Floats:
    """Edits over reference length [...] from both [..., 2]: TER."""
    edits, length = sums[..., 0], sums[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return scale * np.where(length > 0, edits / length, (edits > 0).astype(sums.dtype))


METRICS: dict[str, tuple[str, Unit, Callable[[Options, Sequence[Sequence[str]]], Metric], Scorer]] = {
    "bleu": ("BLEU", "sentence", _bleu, bleu_scores),
    "d-bleu": ("d-BLEU", "document", _bleu, bleu_scores),
    "chrf": ("chrF2", "sentence", _chrf, chrf_scores),
    "ter": ("TER", "sentence", _ter, ratio_scores),
}
"""By the name on the command line: column, segment, sacreBLEU metric, and its score of sums."""
