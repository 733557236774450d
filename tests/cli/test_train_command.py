"""docgraph train from the command line: dry runs, help and errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.cli import app
from docgraph.config import read_config
from docgraph.research.parameter_report import report
from docgraph.training.config import TrainingConfig

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "train"


def test_a_dry_run_prints_what_would_run() -> None:
    arguments = ["train", str(CONFIGS / "docgraph_pre_both.yaml"), "--dry-run", "--set", "steps=7"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    lines = dict(line.split("  ", 1) for line in result.output.splitlines())
    assert lines["system"].strip() == "docgraph-pre-both, stage context"
    counted = report(read_config(TrainingConfig, CONFIGS / "docgraph_pre_both.yaml").model)
    assert lines["parameters"].strip() == f"{counted.total:,}, of which {counted.added:,} train"
    assert "not prepared yet" in lines["data"]
    assert "not there yet" in lines["base"].strip()
    assert lines["updates"].strip().startswith("7 of 1 x 16,000 target tokens in documents, bf16")


def test_help_explains_how_to_resume() -> None:
    output = CliRunner().invoke(app, ["train", "--help"], env={"COLUMNS": "200"}).output
    assert "resumes where it stopped" in output
    assert "torchrun" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("base.yaml", "--set", "steeps=3"), "unknown field 'steeps'; did you mean 'steps'?"),
        (("base.yaml", "--set", "schedule.peak=0"), "'schedule.peak' is 0; it must be above 0"),
        (("base.yaml",), "holds no prepared corpus"),
        (("gone.yaml",), "no such file or directory"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refusal(monkeypatch, capsys, "train", CONFIGS / arguments[0], *arguments[1:])
