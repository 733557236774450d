"""The examples of the README work, and its files exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docgraph.cli import app

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_python_example_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    expected = code.rsplit("# ", 1)[1].strip()
    exec(compile(code, "README.md", "exec"), {})
    assert capsys.readouterr().out.strip() == expected


def test_every_command_has_help_with_an_example() -> None:
    commands = [line for block in blocks("sh") for line in block.splitlines() if line.startswith("docgraph ")]
    assert commands
    for line in commands:
        verb = shlex.split(line, comments=True)[1]
        result = CliRunner().invoke(app, [verb, "--help"])
        assert result.exit_code == 0, line
        assert "docgraph" in result.output, line


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_training_example_uses_files_that_ship() -> None:
    from docgraph.config import read_config
    from docgraph.corpus.config import PrepareConfig
    from docgraph.training.config import TrainingConfig

    [example] = [block for block in blocks("sh") if "docgraph train" in block]
    commands = [shlex.split(line, comments=True)[1:3] for line in example.splitlines()]
    [data] = [path for verb, path in commands if verb == "prepare"]
    prepared = read_config(PrepareConfig, ROOT / data)
    for entries in (prepared.data.train, prepared.data.dev):
        assert all((ROOT / path).is_file() for entry in entries for path in (entry.source, entry.target))
    base, context = [read_config(TrainingConfig, ROOT / path) for verb, path in commands if verb == "train"]
    assert base.data == context.data == prepared.out
    assert (base.stage, context.stage, context.base) == ("base", "context", "runs/own_base/best")


def test_make_demo_uses_files_that_ship() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    examples = set(re.findall(r"examples/\S+", makefile))
    assert examples
    assert all((ROOT / example).is_file() for example in examples)
