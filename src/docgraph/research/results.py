"""What a run leaves behind for tables: small files that need neither the model nor the machine it ran on.

signature.json      config, seed, versions, hardware, wall time, parameters, tokens a second, the best dev losses
metrics.jsonl.xz    the run's metrics
SET.txt             its translations, one sentence a line, a blank line between documents
scores.json         what was counted on them, document by document
suites.json         accuracies on contrastive suites
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docgraph.errors import DocgraphError
from docgraph.files import replacing

if TYPE_CHECKING:
    from docgraph.training.config import TrainingConfig

SIGNATURE, METRICS, SCORES, SUITES = "signature.json", "metrics.jsonl.xz", "scores.json", "suites.json"


@dataclass(frozen=True)
class ResultFolder:
    """The results of one run."""

    path: Path

    def output(self, name: str) -> Path:
        """The translations of a set."""
        return self.path / f"{name}.txt"

    def read(self, name: str) -> dict[str, Any]:
        """One of the JSON files; empty where it is not there yet."""
        path = self.path / name
        try:
            values: dict[str, Any] = json.loads(path.read_bytes())
        except FileNotFoundError:
            return {}
        except ValueError:
            raise DocgraphError("this is no whole JSON; remove it, and it is made again", path=path) from None
        return values

    def write(self, name: str, values: dict[str, Any]) -> None:
        indent = None if name == SCORES else 1  # statistics by document are numbers by the hundred
        with replacing(self.path / name) as temporary:
            temporary.write_text(json.dumps(values, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")

    def add(self, name: str, **values: Any) -> None:
        """Put some fields into one of the JSON files, and leave the others as they are."""
        self.write(name, self.read(name) | values)

    def write_output(self, name: str, documents: Sequence[Sequence[str]]) -> None:
        text = "\n".join("".join(f"{' '.join(line.split())}\n" for line in lines) for lines in documents)
        with replacing(self.output(name)) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def read_output(self, name: str, sizes: Sequence[int]) -> list[str]:
        """The sentences of a set whose documents have so many each."""
        path = self.output(name)
        lines = path.read_text(encoding="utf-8").split("\n")[:-1]
        if len(lines) != sum(sizes) + len(sizes) - 1:
            have = f"{len(lines):,} lines, and the set has {sum(sizes):,} sentences in {len(sizes):,} documents"
            raise DocgraphError(f"these translations have {have}; check the files of the set '{name}'", path=path)
        found: list[str] = []
        begin = 0
        for size in sizes:
            found += lines[begin : begin + size]
            begin += size + 1
        return found

    def digest(self, name: str) -> str:
        """Of the translations of a set; scores of others are out of date."""
        return hashlib.sha256(self.output(name).read_bytes()).hexdigest()

    def keep_run(self, run: Path, config: TrainingConfig) -> None:
        """Take from a run folder what tables need of it."""
        from docgraph.config import to_dict
        from docgraph.model import checkpoint
        from docgraph.model.model_folder import ModelFolder
        from docgraph.training.metrics import read_metrics
        from docgraph.training.run_folder import METRICS as RUN_METRICS
        from docgraph.training.run_folder import SIGNATURE as RUN_SIGNATURE

        model = checkpoint.blank(ModelFolder(run / "best").config, "meta")
        model.freeze(config.model.freeze if config.stage == "context" else "none")
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
            **_summary(records),
            "settings": to_dict(config),
        }
        self.write(SIGNATURE, signature)


def _summary(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Wall time, speed (the median, so that what runs but once counts for nothing) and the best dev losses."""
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
    """The machine in words."""
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"CPU ({platform.machine()}, {os.cpu_count()} cores)"
