"""docgraph prepare and docgraph debug data, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.cli import app


@pytest.fixture
def config(tmp_path: Path) -> Path:
    lines = ["The house is old.", "A man owns the house.", "", "It rains."]
    (tmp_path / "a.en").write_text("\n".join(lines))
    (tmp_path / "a.fr").write_text("\n".join(["La maison est vieille.", "Un homme a la maison.", "", "Il pleut."]))
    path = tmp_path / "config.yaml"
    path.write_text(
        f"languages: {{source: en, target: fr}}\nannotator: words:qu\nsubwords: {{size: 300}}\nout: {tmp_path}/store\n"
        f"data: {{train: {{source: {tmp_path}/a.en, target: {tmp_path}/a.fr}}}}\n"
    )
    return path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False, env={"COLUMNS": "140"})
    assert result.exit_code == 0
    return result.output


def test_prepare_twice_then_debug_data(config: Path, tmp_path: Path) -> None:
    arguments = ("prepare", str(config), "--jobs", "1", "--cache", str(tmp_path / "cache"))
    output = run(*arguments)
    assert "train" in output
    assert "largest process" in output
    assert "nothing has changed" in run(*arguments)
    report = run("debug", "data", str(config))
    assert "sentences linked to others" in report
    assert f"{tmp_path}/a.en:2" in report.replace("\n", "")
    values = json.loads(run("debug", "data", str(tmp_path / "store"), "--json", "--relations", "lexical"))
    assert values["train"]["sentences"] == 3
    assert values["train"]["edges"]["lexical"] == 2
    assert values["train"]["linked_share"] == pytest.approx(2 / 3)


def test_overrides_and_skip_bad(config: Path, tmp_path: Path) -> None:
    (tmp_path / "a.fr").write_text("La maison.\n" + "x" * 999 + "\n\nIl pleut.\n")
    arguments = (
        "prepare",
        str(config),
        "--jobs",
        "1",
        "--cache",
        str(tmp_path / "cache"),
        "--set",
        "subwords.size=290",
    )
    output = run(*arguments, "--skip-bad")
    assert "train: 1 pairs dropped: lengths differ" in output
    assert "a.en:2" in output.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prepare", "CONFIG", "--set", "subwords.sise=3"), "unknown field 'subwords.sise'; did you mean 'size'?"),
        (("prepare", "CONFIG", "--set", "data.train.source=gone"), "gone: no such file or directory"),
        (("debug", "data", "CONFIG"), "holds no prepared corpus"),
        (("debug", "data", "gone"), "there is no such config or store"),
    ],
)
def test_errors_are_one_sentence(
    arguments: tuple[str, ...],
    message: str,
    config: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = [str(config) if argument == "CONFIG" else argument for argument in arguments]
    assert message in refusal(monkeypatch, capsys, *argv)
