"""How a command refuses: exit code 2 and one line that says why."""

from __future__ import annotations

import sys

import pytest

from docgraph.cli import main


def refusal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object, may_print: bool = False
) -> str:
    """Runs a command that fails, and returns its error; nothing else is printed, unless it `may_print` results."""
    monkeypatch.setattr(sys, "argv", ["docgraph", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    output = capsys.readouterr()
    assert may_print or output.out == ""
    [line] = output.err.splitlines()
    return line
