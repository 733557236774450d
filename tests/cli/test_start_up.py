"""`import docgraph` and `docgraph --help` are fast: heavy packages are imported on first use."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import docgraph
from docgraph.cli import COMMANDS, _unwrap, app, main

HEAVY = ("torch", "spacy", "numpy", "pyarrow", "matplotlib", "networkx", "transformers", "sentencepiece", "accelerate")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom typer.testing import CliRunner\nfrom docgraph.cli import app\n"
        "result = CliRunner().invoke(app, ['--help'])\nassert result.exit_code == 0 and 'graph' in result.output\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def imported_by(statement: str) -> set[str]:
    """The packages outside the standard library, and the modules of docgraph, that a statement imports."""
    code = (
        f"import sys; before = {{*sys.modules}}; {statement}; found = {{*sys.modules}} - before\n"
        "outside = {name.partition('.')[0] for name in found} - {*sys.stdlib_module_names}\n"
        "print(*outside, *(name for name in found if name.startswith('docgraph.')))"
    )
    return {*subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()}


def test_importing_the_package_imports_no_other() -> None:
    assert imported_by("import docgraph; dir(docgraph)") == {"docgraph"}


def test_importing_the_commands_imports_typer_only() -> None:
    found = imported_by("import docgraph.cli") - imported_by("import typer")
    assert {name for name in found if not name.startswith("docgraph.cli")} == {
        "docgraph",
        "docgraph.errors",
        "docgraph.files",
    }


def test_only_the_format_of_a_file_is_imported(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Hello there.\n", encoding="utf-8")
    code = (
        f"import sys\nfrom docgraph.formats import read, render\nassert render(read({str(tmp_path / 'a.txt')!r}))\n"
        "print(sorted(name for name in sys.modules if name.startswith('docgraph.formats.')))\n"
        "print([name for name in ('yaml', 'markdown_it', 'lxml', 'zipfile', 'csv', 'xml') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules, packages = done.stdout.splitlines()
    shared = ("atoms", "base", "cue_breaks", "markup_alignment", "markup_in_words", "markup_positions")
    shared += ("markup_transfer", "paragraph", "plain_text", "registry", "sentences")
    assert modules == str([f"docgraph.formats.{name}" for name in shared])
    assert packages == "[]"


def test_the_names_of_the_package_are_those_of_its_modules() -> None:
    from docgraph.document import Document
    from docgraph.translation.translator import Translator

    assert docgraph.Document is Document
    assert docgraph.Translator is Translator
    assert all(callable(getattr(docgraph, name)) for name in docgraph.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = docgraph.nothing


def test_every_command_has_one_short_line_and_an_example() -> None:
    for commands in COMMANDS.values():
        for name, (_, summary) in commands.items():
            assert len(summary) <= 60
            assert summary[0].isupper()
            assert not summary.endswith(".")
            output = CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output
            assert f"docgraph {name} " in output.partition("Example")[2], name


def test_help_is_wrapped_by_the_terminal() -> None:
    wrapped = (
        f"{'a word ' * 14}that ends\nhere; a list:\n\nname: of {'something ' * 10}thing\n[bold]other[/bold]: thing"
    )
    assert _unwrap(wrapped).split("\n") == [
        f"{'a word ' * 14}that ends here; a list:",
        "",
        f"name: of {'something ' * 10}thing",
        "[bold]other[/bold]: thing",
    ]


def test_ctrl_c_says_how_to_continue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("docgraph.config.read_config", interrupt)
    monkeypatch.setattr(sys, "argv", ["docgraph", "prepare", "corpus.yaml"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "docgraph: interrupted; run the same command again to continue\n"
