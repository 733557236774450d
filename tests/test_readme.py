"""What the README says works, works."""

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


def test_make_demo_uses_files_that_ship() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    examples = set(re.findall(r"examples/\S+", makefile))
    assert examples
    assert all((ROOT / example).is_file() for example in examples)
