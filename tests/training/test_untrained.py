"""Runs with `steps: 0`: the initial model is validated and saved like that of any other run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from typer.testing import CliRunner

from docgraph.cli import app
from docgraph.config import parse
from docgraph.corpus.batches import BatchLoader
from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.training.build import build_model, resolve_model_config
from docgraph.training.config import TrainingConfig
from docgraph.training.loop import train
from docgraph.training.metrics import read_metrics

Config = Callable[..., TrainingConfig]
POINTER = {"encoder": "pointer", "integration": "post", "sides": "target", "heads": 2}


@pytest.fixture
def untrained(config: Config, tmp_path: Path) -> Config:
    """A pointer on a Base of few updates."""
    train(config(steps=2, validation={"every": 0, "bleu_every": 0}), tmp_path / "base")
    start = {"stage": "context", "base": str(tmp_path / "base" / "best"), "model": {"context": POINTER}}
    return lambda **changes: config(**{**start, "steps": 0, **changes})


def forbid(patch: pytest.MonkeyPatch, *places: tuple[Any, str]) -> None:
    def fail(*arguments: object, **options: object) -> None:
        raise AssertionError("not for a model that does not train")

    for place, name in places:
        patch.setattr(place, name, fail)


def test_the_initial_model_is_validated_and_saved(
    untrained: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    forbid(monkeypatch, (DocumentTransformer, "compile_parts"), (BatchLoader, "_jobs"))
    run, settings = tmp_path / "run", untrained(compile=True, workers=2)
    progress = train(settings, run)
    assert (progress.step, progress.ended, progress.tokens) == (0, 0, 0)
    [record] = read_metrics(run / "metrics.jsonl")
    assert (record["kind"], record["step"]) == ("validation", 0)
    assert 0 < record["nll"] != record["wrong_context_nll"] > 0
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-00000000"]
    assert (run / "best").resolve() == (run / "last").resolve()
    assert (run / "signature.json").is_file()
    start = build_model(settings, resolve_model_config(settings)).state_dict()
    kept = checkpoint.load(run / "best").state_dict()
    assert all(torch.equal(kept[name], tensor) for name, tensor in start.items())
    assert "0 trainable" in capsys.readouterr().err
    before = {path: path.stat().st_mtime_ns for path in (run / "checkpoints").rglob("*")}
    assert train(settings, run).ended == 0
    assert read_metrics(run / "metrics.jsonl") == [record]
    assert {path: path.stat().st_mtime_ns for path in (run / "checkpoints").rglob("*")} == before
    assert "this run ended after update 0; raise 'steps' to continue training" in capsys.readouterr().err


def test_training_continued_from_it_equals_training_from_the_start(untrained: Config, tmp_path: Path) -> None:
    train(untrained(), tmp_path / "run")
    for name in ("run", "whole"):
        train(untrained(steps=4), tmp_path / name)
    one, other = (
        [r for r in read_metrics(tmp_path / name / "metrics.jsonl") if r["step"]] for name in ("run", "whole")
    )
    assert [(r["kind"], r["step"], r["nll"]) for r in one] == [(r["kind"], r["step"], r["nll"]) for r in other]
    assert [r["step"] for r in read_metrics(tmp_path / "whole" / "metrics.jsonl")] == [2, 4, 4], (
        "others are not measured at 0"
    )


def test_the_initial_model_is_saved_without_a_dev_split(untrained: Config, tmp_path: Path) -> None:
    train(untrained(validation={"every": 0, "bleu_every": 0}), tmp_path / "run")
    assert read_metrics(tmp_path / "run" / "metrics.jsonl") == []
    assert checkpoint.load(tmp_path / "run" / "best").config.context is not None


def test_a_dry_run_reports_zero_updates(values: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(values(steps=0)))
    result = CliRunner().invoke(app, ["train", str(path), "--dry-run"], catch_exceptions=False)
    assert "none: the initial model is validated and stored" in result.output
    assert "rate" not in result.output


def test_the_pointer_ships_untrained_and_trained() -> None:
    folder = Path(__file__).resolve().parents[2] / "configs" / "train"
    from docgraph.config import read_values

    found = {
        name: parse(TrainingConfig, read_values(folder / f"{name}.yaml"))
        for name in ("pointer", "pointer_trained", "pointer_own")
    }
    assert [one.steps for one in found.values()] == [0, 1200, 1200]
    contexts = [one.model.context for one in found.values()]
    assert [context.linked.own_weight for context in contexts if context is not None] == [0.0, 1.0, 1.0]
