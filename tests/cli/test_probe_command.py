"""docgraph probe, from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.refusals import refusal
from docgraph.cli import app
from docgraph.evaluation.suites import Contrast, Suite, read_suite, write_suite
from docgraph.model.checkpoint import save
from model.examples import small_config, small_model
from model.subword_examples import joint_files

SUITE = Suite(
    "pronouns",
    (
        Contrast("it is old", ("elle est", "il est"), ("the house",), ("la maison",), 0, {"pronoun": "it"}, 1, "1"),
        Contrast("it is old", ("il est", "elle est"), ("the dog",), ("le chien",), 0, {"pronoun": "it"}, 1, "1"),
    ),
    ("en", "fr"),
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    write_suite(SUITE, tmp_path / "pronouns.jsonl")
    return tmp_path / "pronouns.jsonl"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    joint_files(tmp_path)
    sizes = {"source_vocabulary": 120, "target_vocabulary": 120}
    config = small_config(transformer=sizes, context=False)
    save(small_model(config), tmp_path / "model", [tmp_path / "joint.spm"], languages=("en", "fr"))
    return tmp_path / "model"


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    return result.output


def test_a_model_is_probed_and_its_scores_can_be_read_back(suite: Path, model: Path, tmp_path: Path) -> None:
    arguments = ("probe", suite, "--model", model, "--cache", tmp_path / "cache", "--device", "cpu")
    output = run(*arguments, "--save-scores", tmp_path / "scores")
    assert "50.0" in output
    assert "2 candidates scored" in output
    assert "/s" in output
    assert "suite:pronouns." in output
    assert "the scores were cached" in run(*arguments)
    lines = [float(line) for line in (tmp_path / "scores").read_text().splitlines()]
    assert len(lines) == 4
    assert min(lines) > 0
    [values] = json.loads(run("probe", suite, "--scores", tmp_path / "scores", "--format", "json"))
    assert (values["accuracy"], values["right"], values["total"]) == (50.0, 1, 2)
    assert values["by"]["distance"]["1"] == values["by"]["pronoun"]["it"]
    assert values["blocks"] == {"accuracy": 0.0, "right": 0, "total": 1}
    assert "better:lower" in values["signature"].split("|")


def test_several_suites_and_other_formats(suite: Path, model: Path, tmp_path: Path) -> None:
    arguments = ("probe", suite, suite, "--model", model, "--cache", tmp_path, "--device", "cpu", "--format")
    assert len(json.loads(run(*arguments, "json"))) == 2
    rows = [line.split() for line in run(*arguments, "markdown").splitlines() if line.startswith("|")]
    assert ["|", "distance", "|", "1", "|", "1", "|", "2", "|", "50.0", "|"] in rows


def test_scores_where_higher_is_better(suite: Path, tmp_path: Path) -> None:
    (tmp_path / "scores").write_text("2\n1\n2\n1\n")
    for flags, accuracy in (((), 0.0), (("--maximise",), 100.0)):
        output = run("probe", suite, "--scores", tmp_path / "scores", "--format", "json", *flags)
        assert json.loads(output)[0]["accuracy"] == accuracy


def test_a_suite_is_exported(tmp_path: Path) -> None:
    blocks = {"1": {"src": ["A", "B"], "trg": [{"correct": ["a", "b"], "incorrect": ["a", "c"], "type": "m.sg"}]}}
    (tmp_path / "anaphora.json").write_text(json.dumps(blocks))
    run("probe", tmp_path / "anaphora.json", "--export", tmp_path / "mine.jsonl")
    assert read_suite(tmp_path / "mine.jsonl") == read_suite(tmp_path / "anaphora.json")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("SUITE",), "pass one of --model (probe a model), --scores (count scores)"),
        (("SUITE", "SUITE", "--scores", "scores"), "one file holds one suite, and 2 are given"),
        (("broken.jsonl", "--model", "MODEL"), "broken.jsonl:2: this record is broken: 'candidates' is missing"),
        (("SUITE", "--scores", "scores"), "scores: there are 3 scores, and 'pronouns' has 4 candidates"),
        (("russian.jsonl", "--model", "MODEL"), "this model translates en-fr and the suite 'pronouns' is en-ru"),
        (("SUITE", "--model", "gone"), "gone: there is no such model folder"),
        (("gone.json", "--model", "MODEL"), "gone.json: no such file or directory"),
    ],
)
def test_errors_are_one_sentence(
    arguments: tuple[str, ...],
    message: str,
    suite: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("broken.jsonl").write_text('{"suite": "x"}\n{"source": "S"}\n')
    Path("russian.jsonl").write_text(suite.read_text().replace('"fr"', '"ru"'))
    Path("scores").write_text("1\n2\n3\n")
    names = {"SUITE": str(suite), "MODEL": str(model)}
    given = (names.get(argument, argument) for argument in arguments)
    assert message in refusal(monkeypatch, capsys, "probe", *given)
