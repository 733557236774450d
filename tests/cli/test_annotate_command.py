"""The command docgraph annotate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from docgraph.annotate import arrow, conllu
from docgraph.cli import main


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    paths = [tmp_path / "one.txt", tmp_path / "two.txt"]
    paths[0].write_text("Les chats dorment.\nIls mangent.\n", encoding="utf-8")
    paths[1].write_text("Un chien 🐕 court.\n", encoding="utf-8")
    return paths


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process, in the folder of the files; returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "cache"))

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["docgraph", "annotate", *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            main()
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return int(exit.value.code or 0), out, err

    return call


def test_conllu_to_a_file(files: list[Path], tmp_path: Path, run: Run) -> None:
    assert run(*files, "--annotator", "words:qu", "-o", "out.conllu") == (0, "", "")
    documents = conllu.read(tmp_path / "out.conllu")
    assert [document.id for document, _ in documents] == ["one", "two"]
    assert documents[1][1].forms.to_list() == ["Un", "chien", "🐕", "court", "."]


def test_arrow_and_standard_output_have_the_same_annotations(files: list[Path], tmp_path: Path, run: Run) -> None:
    assert run(*files, "--annotator", "words:qu", "-o", "out.arrow")[0] == 0
    _, out, _ = run(*files, "--annotator", "words:qu", "-o", "-")
    printed = list(conllu.parse((line.encode() for line in out.splitlines(keepends=True)), "stdout"))
    stored = arrow.read(tmp_path / "out.arrow")
    assert [annotation.forms.to_list() for _, annotation in printed] == [a.forms.to_list() for _, a in stored]
    assert [document.texts for document, _ in printed] == [document.texts for document, _ in stored]


def test_as_a_program_with_two_processes(files: list[Path], tmp_path: Path) -> None:
    arguments = [*files, "--annotator", "words:qu", "-o", "out.conllu", "--jobs", "2", "--cache", "kept"]
    command = [sys.executable, "-m", "docgraph", "annotate", *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=tmp_path, timeout=120, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert len(conllu.read(tmp_path / "out.conllu")) == 2
    assert list((tmp_path / "kept").rglob("*.arrow"))


def test_a_language_without_parser_is_noted_once(files: list[Path], run: Run) -> None:
    code, _, err = run(*files, "--lang", "qu", "-o", "out.conllu")
    assert code == 0
    (line,) = err.splitlines()
    assert line.startswith("docgraph: note: no parser for 'qu'")
    assert "docgraph[stanza]" in line


def test_annotations_of_another_tool_are_used(files: list[Path], tmp_path: Path, run: Run) -> None:
    run(files[0], "--annotator", "words:qu", "-o", "made.conllu")
    parsed = (tmp_path / "made.conllu").read_text(encoding="utf-8").replace("\tchats\t_\t_", "\tchats\tchat\tNOUN")
    (tmp_path / "made.conllu").write_text(parsed.replace("words\n", "words lemmas upos\n"), encoding="utf-8")
    _, out, _ = run(files[0], "--annotator", "conllu:made.conllu", "-o", "-")
    assert "\tchats\tchat\tNOUN\t" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing.txt", "-o", "x"], "missing.txt"),
        (["one.txt", "-o", "x", "--annotator", "nosuch"], "there is no annotator 'nosuch'"),
        (["one.txt", "-o", "-", "--to", "arrow"], "cannot write Arrow to standard output"),
        (["one.txt", "-o", "."], "this is a folder; name an output file"),
        (["one.txt", "-o", "x", "--annotator", "conllu:one.txt"], "one.txt:1: 1 column instead of the 10"),
    ],
)
@pytest.mark.usefixtures("files")
def test_errors_are_one_sentence(tmp_path: Path, run: Run, arguments: list[str], message: str) -> None:
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    (line,) = err.splitlines()
    assert message in line
    assert not (tmp_path / "x").exists()


def test_help_teaches_by_example(run: Run) -> None:
    code, out, _ = run("--help")
    assert code == 0
    assert "docgraph annotate report.docx -o report.conllu" in out
