"""docgraph graph, from the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.annotation import Annotation, from_spans
from docgraph.cli import app
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph import DocumentGraph
from docgraph.graph.export import from_json

CONLLU = """# newdoc id = one
# text = Nick told you.
1\tNick\tNick\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(1-person)
2\ttold\ttell\tVERB\t_\t_\t0\troot\t_\t_
3\tyou\tyou\tPRON\t_\t_\t2\tiobj\t_\tSpaceAfter=No
4\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# text = He did.
1\tHe\the\tPRON\t_\t_\t2\tnsubj\t_\tEntity=(1-person)
2\tdid\tdo\tAUX\t_\t_\t0\troot\t_\tSpaceAfter=No
3\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_

# newdoc id = two
# text = Stop.
1\tStop\tstop\tVERB\t_\t_\t0\troot\t_\tSpaceAfter=No
2\t.\t.\tPUNCT\t_\t_\t1\tpunct\t_\t_

"""


def words(document: Document) -> Annotation:
    """Annotate words separated by spaces, and nothing else."""
    spans = []
    for text in document.texts:
        ends, line = 0, []
        for word in text.split():
            start = text.index(word, ends)
            ends = start + len(word)
            line.append((start, ends))
        spans.append(line)
    return replace(from_spans(spans, document), notes=("no parser here",))


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replace the annotators; return the list of requested specs."""
    asked: list[str] = []

    def load_pipeline(spec: str) -> Callable[[Document], Annotation]:
        asked.append(spec)
        return words

    monkeypatch.setattr("docgraph.annotate.registry.load_pipeline", load_pipeline)
    return asked


@pytest.fixture
def parsed(tmp_path: Path) -> Path:
    (path := tmp_path / "parsed.conllu").write_text(CONLLU)
    return path


def run(*arguments: object, fails: int = 0) -> tuple[str, str]:
    result = CliRunner().invoke(app, ["graph", *map(str, arguments)])
    assert result.exit_code == fails, result.output
    return result.stdout, result.stderr


def fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    return refusal(monkeypatch, capsys, "graph", *arguments, may_print=True)


def test_conllu_brings_its_annotation(parsed: Path) -> None:
    out, _ = run(parsed)
    assert "2 documents" in out
    assert "one: 7 words and 2 sentences" in out
    assert "Nick (1) → He (2)" in out


def test_json_is_alone_on_stdout(parsed: Path) -> None:
    out, error = run(parsed, "--json")
    value = json.loads(out)
    assert value["edges"]["coreference"] == [[0, 4]]
    assert value["lexical"]["form"] == [[3, 6]]
    assert from_json(value).num_words == 7
    assert "one: 7 words" in error
    assert "document 1 of 2; --document N" in error
    assert json.loads(run(parsed, "--json", "--expand")[0])["edges"]["lexical"] == [[3, 6]]


def test_another_document(parsed: Path) -> None:
    out, error = run(parsed, "--document", 2, "--json")
    assert [node["text"] for node in json.loads(out)["nodes"][:2]] == ["Stop", "."]
    assert "two: 2 words" in error
    assert "one" not in error


def test_every_output_is_written(parsed: Path, tmp_path: Path) -> None:
    files = {kind: tmp_path / "made" / f"g.{kind}" for kind in ("html", "svg", "graphml")}
    out, _ = run(parsed, *(part for kind, path in files.items() for part in (f"--{kind}", path)))
    assert "<!DOCTYPE html>" in files["html"].read_text("utf-8")
    for kind in ("svg", "graphml"):
        ElementTree.parse(files[kind])
    assert all(f"wrote {path}" in out.replace("\n", "") for path in files.values())
    assert sorted(path.name for path in (tmp_path / "made").iterdir()) == ["g.graphml", "g.html", "g.svg"]


def test_a_text_goes_through_the_annotator(pipeline: list[str], tmp_path: Path) -> None:
    (path := tmp_path / "talk.txt").write_text("a b a\nb c\n")
    out, _ = run(path, "--lang", "fr", "--relations", "lexical", "--format", "lines")
    assert pipeline == ["fr"]
    assert "talk: 5 words and 2 sentences" in out
    assert "no parser here" in out
    run(path, "--annotator", "words:fr+simplemma:fr")
    assert pipeline[1:] == ["words:fr+simplemma:fr"]


def test_options_reach_the_graph(pipeline: list[str], tmp_path: Path) -> None:
    (path := tmp_path / "talk.txt").write_text("a ,\na ,\na ,\n")
    arguments = (path, "--format", "lines", "--relations", "lexical", "--json", "--expand")
    assert len(json.loads(run(*arguments)[0])["edges"]["lexical"]) == 6
    assert json.loads(run(*arguments, "--max-distance", 1)[0])["edges"]["lexical"] == [[0, 2], [1, 3], [2, 4], [3, 5]]
    out, error = run(*arguments, "--skip-stop-words")
    assert json.loads(out)["edges"]["lexical"] == [[0, 2], [0, 4], [2, 4]]
    assert "only punctuation is left out" in error


def test_errors_are_one_sentence(
    parsed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert "there is no relation 'syntax'" in fails(monkeypatch, capsys, parsed, "--relations", "syntax")
    assert "has 2 documents, so there is no document 3" in fails(monkeypatch, capsys, parsed, "--document", 3)
    assert "no such file" in fails(monkeypatch, capsys, tmp_path / "none.conllu")
    (empty := tmp_path / "empty.conllu").write_text("")
    assert "holds no document" in fails(monkeypatch, capsys, empty)
    (cycle := tmp_path / "cycle.conllu").write_text(
        CONLLU.replace("2\tdid\tdo\tAUX\t_\t_\t0", "2\tdid\tdo\tAUX\t_\t_\t1")
    )
    assert "cycle.conllu:" in fails(monkeypatch, capsys, cycle)


def test_a_failed_drawing_leaves_the_old_file(
    parsed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def fail(graph: DocumentGraph, title: str) -> str:
        raise DocgraphError("this drawing fails")

    (old := tmp_path / "g.svg").write_text("old")
    monkeypatch.setattr("docgraph.graph.drawing.to_svg", fail)
    assert "this drawing fails" in fails(monkeypatch, capsys, parsed, "--svg", old)
    assert old.read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.svg", "parsed.conllu"]


def test_help_has_examples_and_imports_nothing_heavy() -> None:
    out, _ = run("--help")
    assert "docgraph graph letter.docx --html letter.html" in " ".join(out.split())
    heavy = ("numpy", "torch", "spacy", "matplotlib", "networkx")
    code = f"import sys; import docgraph.cli.graph; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
