"""The results folder of a run: small files from which tables are rendered without the model or its machine.

signature.json      config, seed, versions, hardware, training time, parameters, tokens per second, the best dev losses
metrics.jsonl.xz    the metrics of the run
SET.txt             its translations of a set, one sentence per line, a blank line between documents
scores.json         scores of the translations, with statistics by document, so that significance tests need no text
suites.json         accuracies on contrastive suites
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from docgraph.errors import DocgraphError
from docgraph.evaluation.metrics import METRICS as TEXT_METRICS
from docgraph.evaluation.metrics import Scorer, Statistics, format_signature, measure, ratio_scores
from docgraph.evaluation.significance import Significance, compare
from docgraph.files import replacing
from docgraph.training.metrics import Record, ranking_value, read_metrics

if TYPE_CHECKING:
    from docgraph.evaluation.alignment import BitextAnnotator
    from docgraph.evaluation.evaluation_set import EvaluationSet
    from docgraph.research.table_config import TranslatedSet
    from docgraph.training.config import TrainingConfig

SIGNATURE, METRICS, SCORES, SUITES = "signature.json", "metrics.jsonl.xz", "scores.json", "suites.json"


@dataclass(frozen=True)
class ResultFolder:
    """The results of one run."""

    path: Path

    def output(self, name: str) -> Path:
        """Returns the path of the translations of a set."""
        return self.path / f"{name}.txt"

    def read(self, name: str) -> dict[str, Any]:
        """Returns the contents of a JSON file; empty if the file does not exist."""
        path = self.path / name
        try:
            values: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise DocgraphError("this is not valid JSON; delete it and run the experiment again", path=path) from None
        return values

    def write(self, name: str, values: dict[str, Any]) -> None:
        """Writes a JSON file."""
        indent = None if name == SCORES else 1  # scores hold hundreds of numbers by document
        with replacing(self.path / name) as temporary:
            temporary.write_text(json.dumps(values, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")

    def update(self, name: str, **values: Any) -> None:
        """Sets some fields of a JSON file and keeps the others."""
        self.write(name, self.read(name) | values)

    def write_output(self, name: str, documents: Sequence[Sequence[str]]) -> None:
        """Writes the translations of a set."""
        from docgraph.training.run_folder import documents_as_lines

        with replacing(self.output(name)) as temporary:
            temporary.write_text(documents_as_lines(documents), encoding="utf-8")

    def read_output(self, name: str, sizes: Sequence[int]) -> list[str]:
        """Returns the translated sentences of a set whose documents have `sizes` sentences."""
        from docgraph.evaluation.evaluation_set import read_output

        return read_output(self.output(name), sizes, f"the set '{name}'")

    def digest(self, name: str) -> str:
        """Returns the digest of the translations of a set; scores with another digest are out of date."""
        return hashlib.sha256(self.output(name).read_bytes()).hexdigest()

    def translated_update(self) -> int | None:
        """Returns the update of the checkpoint that was translated, the best one; None without metrics or validation.

        It is found in the metrics as training finds it: by the validation that ranks checkpoints.
        """
        path = self.path / METRICS
        validations = [r for r in read_metrics(path) if r["kind"] == "validation"] if path.is_file() else []
        best = self.read(SIGNATURE).get("settings", {}).get("validation", {}).get("best", "loss")
        values = ((ranking_value(record, best), record["step"]) for record in validations)
        ranked = [(value, step) for value, step in values if value is not None]
        return min(ranked)[1] if ranked else None

    def store_run(self, run: Path, config: TrainingConfig) -> None:
        """Copies the files that tables need from a run folder."""
        from docgraph.config import to_dict
        from docgraph.model import checkpoint
        from docgraph.model.model_folder import ModelFolder
        from docgraph.training.build import freeze
        from docgraph.training.run_folder import METRICS as RUN_METRICS
        from docgraph.training.run_folder import SIGNATURE as RUN_SIGNATURE

        model = checkpoint.blank(ModelFolder(run / "best").config, "meta")
        freeze(model, config)
        trained = [p for p in model.parameters() if p.requires_grad and config.steps]
        records = read_metrics(run / RUN_METRICS)
        with replacing(self.path / METRICS) as temporary:
            temporary.write_bytes(lzma.compress((run / RUN_METRICS).read_bytes(), preset=9))
        signature = {
            **json.loads((run / RUN_SIGNATURE).read_bytes()),
            "system": checkpoint.system_name(model.config),
            "hardware": hardware(),
            "parameters": sum(parameter.numel() for parameter in model.parameters()),
            "added": model.added_parameters(),
            "trained": sum(parameter.numel() for parameter in trained),
            **_summarise(records),
            "settings": to_dict(config),
        }
        self.write(SIGNATURE, signature)


def _summarise(records: Sequence[Record]) -> dict[str, Any]:
    """Returns updates, training time, speed and the best dev losses.

    The speed is the median over the metrics lines, so that one-off costs such as compilation do not count.
    """
    trained = [record for record in records if record["kind"] == "train"]
    validated = [record for record in records if record["kind"] == "validation"]
    best = min(validated, key=lambda record: float(record["nll"]), default={})
    return {
        "updates": trained[-1]["step"] if trained else 0,
        "seconds": trained[-1]["seconds"] if trained else 0.0,
        "tokens_per_second": statistics.median(r["tokens_per_second"] for r in trained) if trained else None,
        "nll": best.get("nll"),
        "wrong_context_nll": best.get("wrong_context_nll"),
    }


def hardware() -> str:
    """Returns the name of the GPU, or the kind and number of CPU cores."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"


def score_outputs(
    translated: TranslatedSet, metric: str, folders: Sequence[ResultFolder], languages: BitextAnnotator
) -> None:
    """Scores the translations of a set in every folder with a metric, and writes the scores there."""
    data = read_outputs(translated, folders)
    scores = _score(metric, data, languages)
    for folder in folders:
        previous, digest = folder.read(SCORES).get(translated.name, {}), folder.digest(translated.name)
        valid = previous if previous.get("output") == digest else {}
        sizes = {"output": digest, "sentences": len(data.reference), "documents": data.num_documents}
        folder.update(SCORES, **{translated.name: {**valid, **sizes, metric: scores[str(folder.path)]}})


def read_outputs(translated: TranslatedSet, folders: Sequence[ResultFolder]) -> EvaluationSet:
    """Returns the text of a set and its translations in each folder, by the path of the folder."""
    from docgraph.corpus.config import DataEntry
    from docgraph.corpus.readers import Problems, read_all
    from docgraph.evaluation.evaluation_set import EvaluationSet

    pairs = zip_longest(translated.source, translated.target)
    entries = [DataEntry(source, target) for source, target in pairs]
    documents = list(read_all(entries, Problems(skip=True)))
    sizes = [len(document) for document in documents]
    return EvaluationSet(
        [text for document in documents for text in document.target],
        {str(folder.path): folder.read_output(translated.name, sizes) for folder in folders},
        np.cumsum([0, *sizes]),
        [text for document in documents for text in document.source],
    )


def _score(metric: str, data: EvaluationSet, languages: BitextAnnotator) -> dict[str, dict[str, Any]]:
    """Returns the value, the signature and the statistics by document [D, statistics] of each system."""
    if metric == "ltcr":
        from docgraph.evaluation.document_measures import DocumentMeasures

        measures = DocumentMeasures(data, languages, None)
        for system in data.systems:
            measures.add(system, [])
        measured = measures.ratios(consistency=True)[0].measurement()
    else:
        measured = measure(metric, data)
    signature = format_signature(measured.signature, data, measured.unit)
    scores = {}
    for system, value in measured.values.items():
        rows = measured.statistics[system]
        if measured.unit == "sentence":
            rows = np.add.reduceat(rows, data.documents[:-1], axis=0)
        by_document = [[int(number) if number == int(number) else number for number in row] for row in rows.tolist()]
        scores[system] = {
            "value": value,
            "signature": f"{measured.name}|{signature}",
            "statistics": by_document,
        }
    return scores


@dataclass(frozen=True)
class PooledScore:
    """The statistics of a metric by document, [D, statistics], summed over the seeds of a row."""

    statistics: Statistics
    metric: str

    @classmethod
    def from_scores(cls, metric: str, set_name: str, scores: Sequence[Mapping[str, Any]]) -> PooledScore | None:
        """Sums the statistics of the score files of some seeds; None if none of them has the metric."""
        by_seed = [seed[set_name][metric]["statistics"] for seed in scores if metric in seed.get(set_name, {})]
        if not by_seed:
            return None
        if len({len(rows) for rows in by_seed}) > 1:
            raise DocgraphError(
                f"the seeds of a row have different documents in '{set_name}'; score them on the same files"
            )
        return cls(np.sum(np.array(by_seed, dtype=np.float64), axis=0), metric)

    @property
    def scorer(self) -> Scorer:
        """The function from summed statistics to a score."""
        return ratio_scores if self.metric == "ltcr" else TEXT_METRICS[self.metric].scorer

    def p_value(self, other: PooledScore) -> float | None:
        """Returns the p-value of the difference to another system, by paired bootstrap over documents.

        None if the systems have different documents, or equal scores: sacreBLEU's p-value is then minimal.
        """
        if len(self.statistics) != len(other.statistics) or self._score == other._score:
            return None
        systems = {"other": other.statistics, "this": self.statistics}
        return compare(systems, self.scorer, Significance("other", unit="document"))["this"].p_value

    @property
    def _score(self) -> float:
        return float(self.scorer(self.statistics.sum(axis=0)))
