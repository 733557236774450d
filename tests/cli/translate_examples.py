"""A text, and how tests run `docgraph translate`."""

from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner, Result

from docgraph.cli import app

LINES = "The quick fox jumps.\nIt told him that.\n\n\nShe had met the dog.\nHello world.\nThis is a test.\n"


def run(model: Path, *arguments: object, code: int = 0, text: str | None = None) -> Result:
    """Runs `docgraph translate`."""
    # Everything that a random model says is doubtful.
    options = ["--device", "cpu", "--beam", "1", "--no-repair"]
    command = ["translate", "--model", str(model), *options, *map(str, arguments)]
    result = CliRunner().invoke(app, command, input=text, catch_exceptions=code == 2, env={"COLUMNS": "200"})
    assert result.exit_code == code, result.output
    return result
