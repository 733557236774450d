"""BLEU over sentences and over documents (d-BLEU), chrF and TER through sacreBLEU; COMET if it is installed.

Each metric is a function of summed segment statistics. Segments are counted once; the score of any part of the corpus,
or of a thousand resamples, is then a sum and a few vectorised lines. These lines repeat sacreBLEU's arithmetic
operation by operation, in the dtype of the sums, so that the results are equal to sacreBLEU's and not merely close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from docgraph import __version__
from docgraph.errors import DocgraphError
from docgraph.evaluation.evaluation_set import EvaluationSet

if TYPE_CHECKING:
    from sacrebleu.metrics.base import Metric

COMET_MODEL = "Unbabel/wmt22-comet-da"
BETA = 2
"""Weight of recall in chrF2."""
Unit = Literal["sentence", "document"]
Floats = npt.NDArray[np.floating[Any]]
Statistics = npt.NDArray[np.float64]
"""[segments, ..., statistics]: counts that are summed before a score is computed."""
Scorer = Callable[[Floats], Floats]
"""Scores [...] from summed statistics [..., statistics]."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one system by one metric, with its signature and significance."""

    system: str
    metric: str
    """The name of the column: BLEU, d-BLEU, chrF2, TER, COMET, LTCR, APT."""
    value: float
    signature: str
    p_value: float | None = None
    """p-value of the difference to the baseline, by sacreBLEU's definition."""
    mean: float | None = None
    """Mean of the bootstrap resamples."""
    interval: float | None = None
    """Half the width of the 95% bootstrap interval around `mean`."""
    lower_is_better: bool = False
    p_value_two_sided: float | None = None
    """p-value of the same difference by the two-sided paired bootstrap; None with other tests."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """One metric over all systems of a set: segment statistics, and how their sums become a score."""

    name: str
    unit: Unit
    """A segment is a sentence or a document."""
    statistics: dict[str, Statistics]
    """Segment statistics by system."""
    scorer: Scorer
    values: dict[str, float]
    """Scores by system, as sacreBLEU computes them."""
    signature: dict[str, str]
    """The signature of the metric's library, key by key."""
    lower_is_better: bool = False


@dataclass(frozen=True, slots=True)
class MetricOptions:
    """Text normalisation before counting."""

    lowercase: bool | None = None
    """None follows sacreBLEU: BLEU and chrF cased, TER lower-cased."""
    tokenize: str | None = None
    """Name of a sacreBLEU tokenizer for BLEU; None is 13a."""


def format_signature(items: dict[str, str], data: EvaluationSet, unit: Unit) -> str:
    """Returns a signature: the library's items, the unit, the number of documents, and the version of this package."""
    ours = {"unit": unit, "documents": str(data.num_documents), "docgraph": __version__}
    return "|".join(f"{key}:{value}" for key, value in (items | ours).items())


def measure(name: str, data: EvaluationSet, options: MetricOptions = MetricOptions()) -> Measurement:
    """Counts the segment statistics of all systems for the metric `name`, one of `METRICS`."""
    if name not in METRICS:
        raise DocgraphError(f"there is no metric '{name}'; choose from {', '.join([*METRICS, 'comet'])}")
    column, unit, create, scorer = METRICS[name]

    def segments(sentences: Sequence[str]) -> list[str]:
        return list(sentences) if unit == "sentence" else [" ".join(texts) for texts in data.split(sentences)]

    metric = create(options, [segments(data.reference)])
    # Private methods: sacreBLEU's own significance tests use them, and there is no public access to the statistics.
    counts = {
        system: metric._extract_corpus_statistics(segments(texts), None) for system, texts in data.systems.items()
    }
    values = {system: float(metric._aggregate_and_compute(rows).score) for system, rows in counts.items()}
    signature = dict(part.split(":", 1) for part in metric.get_signature().format().split("|"))
    statistics = {system: np.array(rows, dtype=np.float64) for system, rows in counts.items()}
    return Measurement(column, unit, statistics, scorer, values, signature, lower_is_better=name == "ter")


def _create_bleu(options: MetricOptions, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.bleu import BLEU

    if options.tokenize is not None and options.tokenize not in BLEU.TOKENIZERS:
        raise DocgraphError(
            f"sacreBLEU has no tokenizer '{options.tokenize}'; choose from {', '.join(BLEU.TOKENIZERS)}"
        )
    return BLEU(lowercase=bool(options.lowercase), tokenize=options.tokenize, force=True, references=references)


def _create_chrf(options: MetricOptions, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.chrf import CHRF

    return CHRF(lowercase=bool(options.lowercase), references=references)


def _create_ter(options: MetricOptions, references: Sequence[Sequence[str]]) -> Metric:
    from sacrebleu.metrics.ter import TER

    return TER(case_sensitive=options.lowercase is False, references=references)


def bleu_scores(sums: Floats) -> Floats:
    """Returns BLEU [...] from [..., 10]: hypothesis and reference length, correct 1..4, total 1..4; exp smoothing."""
    length, reference = sums[..., 0].astype(np.float64), sums[..., 1].astype(np.float64)
    correct, total = sums[..., 2:6], sums[..., 6:10]
    missing = (correct == 0) & (total > 0)
    halvings = (2.0 ** np.cumsum(missing, axis=-1)).astype(sums.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.where(missing, 100.0 / (halvings * total), 100 * correct / total)
        # sacreBLEU's value for log(0).
        logs = np.where(precisions > 0, np.log(precisions.astype(np.float64)), -9999999999.0)
        penalty = np.where(length < reference, np.exp(1 - reference / length), 1.0)
    scores = penalty * np.exp(sum(logs[..., order] for order in range(4)) / 4)
    return np.where(correct.any(axis=-1), scores, 0.0)


def chrf_scores(sums: Floats) -> Floats:
    """Returns chrF2 [...] from [..., 18]: hypothesis, reference and matching n-grams of each order; effective order."""
    counts = sums.reshape(*sums.shape[:-1], -1, 3)
    hypothesis, reference, matching = counts[..., 0], counts[..., 1], counts[..., 2]
    known = (hypothesis > 0) & (reference > 0)
    orders = np.maximum(known.sum(axis=-1), 1).astype(sums.dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (np.where(known, matching / counted, 0) for counted in (hypothesis, reference))
        # accumulate adds from left to right like sacreBLEU; np.sum adds pairwise and rounds differently.
        precision, recall = (np.add.accumulate(share, axis=-1)[..., -1] / orders for share in shares)
        scores = (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)
    return np.where(precision + recall > 0, 100 * scores, 0)


def ratio_scores(sums: Floats, scale: int = 100) -> Floats:
    """Returns `scale` times numerator over denominator [...] from [..., 2]; TER is edits over reference length."""
    numerator, denominator = sums[..., 0], sums[..., 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return scale * np.where(denominator > 0, numerator / denominator, (numerator > 0).astype(sums.dtype))


class MetricDefinition(NamedTuple):
    """A metric that sacreBLEU computes."""

    column: str
    """Its name in tables."""
    unit: Unit
    """A segment is a sentence or a document."""
    create: Callable[[MetricOptions, Sequence[Sequence[str]]], Metric]
    """The sacreBLEU metric for options and references."""
    scorer: Scorer


METRICS = {
    "bleu": MetricDefinition("BLEU", "sentence", _create_bleu, bleu_scores),
    "d-bleu": MetricDefinition("d-BLEU", "document", _create_bleu, bleu_scores),
    "chrf": MetricDefinition("chrF2", "sentence", _create_chrf, chrf_scores),
    "ter": MetricDefinition("TER", "sentence", _create_ter, ratio_scores),
}
"""By name on the command line."""


def measure_comet(data: EvaluationSet, model: str = COMET_MODEL) -> Measurement:
    """Returns COMET times 100 of every sentence of every system, as a ratio that can be resampled."""
    if data.source is None:
        raise DocgraphError("COMET was skipped: it needs the source text; pass --source")
    loaded, comet_version = _load_comet(model)
    import torch

    gpus = int(torch.cuda.is_available())
    statistics = {}
    for system, sentences in data.systems.items():
        triples = zip(data.source, sentences, data.reference, strict=True)
        rows = [{"src": source, "mt": output, "ref": reference} for source, output, reference in triples]
        segments = loaded.predict(rows, batch_size=16, gpus=gpus, progress_bar=False).scores
        statistics[system] = np.stack([np.asarray(segments, np.float64), np.ones(len(rows))], axis=1)
    values = {system: float(ratio_scores(rows.sum(axis=0))) for system, rows in statistics.items()}
    signature = {"model": Path(model).name, "scale": "100", "version": comet_version}
    return Measurement("COMET", "sentence", statistics, ratio_scores, values, signature)


def _load_comet(model: str) -> tuple[Any, str]:
    """Returns a COMET model from a checkpoint file or the local cache, and the package's version; downloads nothing."""
    try:
        comet = import_module("comet")
    except ImportError:
        raise DocgraphError("COMET was skipped: it is not installed; run pip install unbabel-comet") from None
    try:
        path = model if Path(model).is_file() else comet.download_model(model, local_files_only=True)
        return comet.load_from_checkpoint(path), version("unbabel-comet")
    except (OSError, KeyError, ValueError) as error:
        raise DocgraphError(
            f"COMET was skipped: its model {model} is not on this machine ({type(error).__name__}); "
            f"download it once with comet-score --model {model}, or pass a checkpoint file with --comet-model"
        ) from None
