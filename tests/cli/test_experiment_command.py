"""docgraph experiment and docgraph analyse from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from docgraph.cli import app, main
from research.experiment_examples import toy_experiment

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a toy experiment whose Base is trained and translated."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("toy")
        patch.setenv("DOCGRAPH_CACHE", str(folder / "cache"))
        table = toy_experiment(folder)
        places = ("--runs", str(folder / "runs"), "--results", str(folder / "results"))
        run("experiment", str(table), "--only", "base", "--annotator", "words:en", "--jobs", "1", *places)
    return folder


def test_a_dry_run_lists_every_row_its_config_and_what_is_missing(tmp_path: Path) -> None:
    from docgraph.research.table_config import find_table

    lines = run("experiment", "main", "--dry-run", "--results", str(tmp_path)).splitlines()
    assert [line.split("\t")[0] for line in lines] == [run.row.name for run in find_table("main").runs()]
    name, seed, config, updates, missing = lines[0].split("\t")
    assert (name, seed) == ("base_early", "seed 1")
    assert Path(config).is_file()
    assert updates.endswith(" updates")
    assert missing.split(", ")[:4] == ["train", "translate test", "score test", "translate test_known"]
    assert missing.endswith("translate ted, score ted, probe coreference, probe coherence")


def test_an_empty_table_is_all_dashes_and_the_figures_of_the_paper(tmp_path: Path) -> None:
    markdown = run("experiment", "sides", "--render", "--results", str(tmp_path))
    assert markdown.startswith("**Sides**\n\n| system | BLEU dev | paper | BLEU test | paper |")
    assert "| target graph | - | 30.79 | - | 38.10 | - | +1.17 |" in markdown


def test_formats(toy: Path) -> None:
    arguments = ("experiment", str(toy / "tables" / "toy.yaml"), "--render", "--results", str(toy / "results"))
    values = json.loads(run(*arguments, "--format", "json"))
    assert values["rows"]["base"]["values"]["bleu:test"]["value"] >= 0
    assert values["rows"]["graph"]["values"]["bleu:test"]["value"] is None
    assert "│ Base" in run(*arguments, "--format", "text")


def test_an_analysis_of_a_store_with_its_plot(toy: Path, tmp_path: Path) -> None:
    model, store = str(toy / "runs" / "toy" / "base" / "seed1"), str(toy / "store")
    options = ("--data", store, "--beams", "1", "--points", "0,2", "--plot", str(tmp_path / "a.png"))
    output = run("analyse", "context-size", f"base={model}", *options, "--format", "markdown")
    assert output.startswith("| sentences of context before and after | base | sentences changed |")
    assert [line.split()[1] for line in output.splitlines()[2:5]] == ["0", "2", "all"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        f"a-context-size.{end}" for end in ("csv", "json", "png")
    ]


def test_context_use_with_translations_and_plots(toy: Path, tmp_path: Path) -> None:
    runs, results = toy / "runs" / "toy" / "base", toy / "results" / "toy" / "base"
    models = [f"{name}={runs / seed}" for name, seed in (("a", "seed1"), ("b", "seed2"))]
    texts = [f"--translations={name}={results / seed / 'test.txt'}" for name, seed in (("a", "seed1"), ("b", "seed2"))]
    options = ("--data", str(toy / "store"), *texts, "--plot", str(tmp_path / "a.png"))
    losses, bleu = run("analyse", "context-use", *models, *options, "--format", "markdown").split("\n\n| ")
    assert losses.startswith("| part of the references | a | b | b − a | tokens |")
    assert "| linked |" in losses
    assert bleu.startswith("part of the references | a | b | b − a | sentences |")
    names = {path.name for path in tmp_path.iterdir()}
    parts = ("nll", "nll-differences", "bleu", "bleu-differences")
    assert names == {f"a-context-use-{part}.{end}" for part in parts for end in ("csv", "json", "png")}
    values = json.loads(run("analyse", "context-use", *models, *options[:2], "--documents", "2", "--format", "json"))
    assert [part["name"] for part in values] == ["context-use-nll", "context-use-nll-differences"]


def test_evidence_with_plots(toy: Path, tmp_path: Path) -> None:
    model, output = toy / "runs" / "toy" / "base" / "seed1", toy / "results" / "toy" / "base" / "seed1" / "test.txt"
    options = ("--data", str(toy / "store"), "--beams", "1", "--points", "1,2", "--plot", str(tmp_path / "a.png"))
    given = ("--translations", f"base={output}", "--format", "markdown")
    kinds, choices = run("analyse", "evidence", f"base={model}", *options, *given).split("\n\n| ")
    assert kinds.startswith("| part of the references | base | base calibrated | base + references |")
    assert choices.startswith("earlier references in the cache, in sentences | base, graph | base, nearest |")
    assert [line.split()[1] for line in choices.splitlines()[2:5]] == ["1", "2", "all"]
    parts = ("evidence-nll", "evidence-nll-differences", "evidence-choice")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"a-{part}.{end}" for part in parts for end in ("csv", "json", "png")}


def test_n_best_of_a_store(toy: Path) -> None:
    model, options = str(toy / "runs" / "toy" / "base" / "seed1"), ("--data", str(toy / "store"), "--beams", "6")
    output = run("analyse", "n-best", f"base={model}", *options, "--format", "markdown")
    assert output.startswith("| choice among 6 translations | base | sentences changed |")
    labels = [line.split(" | ")[0].strip("| ") for line in output.splitlines() if line.startswith("| ")]
    assert labels[1:4] == ["beam 4", "beam 6", "oracle"]
    assert labels[4:8] == ["linked words", "linked and function words", "linked words, as elsewhere", "other words"]
    assert labels[8:] == ["more consistent, no oracle"]


def test_the_mechanism_of_runs_is_read_from_runs_and_results(toy: Path) -> None:
    folders = [str(toy / place / "toy" / "base" / "seed1") for place in ("runs", "results")]
    first, second = (json.loads(run("analyse", "mechanism", folder, "--format", "json"))["seed1"] for folder in folders)
    assert first == second
    assert first["update"] == 6
    header, _, *rows = run("analyse", "mechanism", *folders, "--format", "markdown").splitlines()
    assert header.startswith("| run | update | dev NLL |")
    assert [row.split()[1] for row in rows] == ["runs/toy/base/seed1", "results/toy/base/seed1"]


def test_a_dry_run_reports_a_changed_config(toy: Path) -> None:
    table, results = str(toy / "tables" / "toy.yaml"), str(toy / "results")
    result = CliRunner().invoke(app, ["experiment", table, "--dry-run", "--results", results, "--set", "steps=9"])
    assert "toy/base/seed2 was run with another config than its row has now (steps)" in result.stderr


def test_an_analysis_of_text_files(toy: Path) -> None:
    model, files = str(toy / "runs" / "toy" / "base" / "seed1"), [str(toy / f"test.{side}") for side in range(2)]
    output = run("analyse", "document-size", model, "-s", files[0], "-r", files[1], "--points", "1", "--documents", "1")
    assert "seed1" in output
    assert "|documents:1|" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("experiment", "mian", "--dry-run"), "there is no table 'mian'"),
        (("experiment", "main", "--only", "hyp"), "there is no row 'hyp'"),
        (("analyse", "context-size", "{base}"), "name the documents"),
        (("analyse", "context-size", "{base}", "--data", "{store}", "--points", "a"), "is not a list of numbers"),
        (("analyse", "document-size", "{base}", "--data", "{store}", "--points", "0"), "numbers of sentences"),
        (("analyse", "attention-distance", "{base}", "--data", "{store}"), "has no attention over the sentences"),
        (("analyse", "dependency-noise", "{base}", "--data", "{store}"), "no syntactic trees"),
        (("analyse", "context-size", "{base}", "{base}", "--data", "{store}"), "the name 'seed1' is taken"),
        (("analyse", "context-size", "nowhere", "--data", "{store}"), "nowhere: there is no such model folder"),
        (("analyse", "context-use", "{base}", "--data", "{store}", "--translations", "a"), "are NAME=FILE"),
        (
            ("analyse", "context-use", "{base}", "--data", "{store}", "--translations", "a={store}/manifest.json"),
            "so they are not translations of each other line by line",
        ),
        (("analyse", "evidence", "{base}", "--data", "{store}", "--split", "dev"), "fitted on the dev split"),
        (("analyse", "evidence", "{base}", "--data", "{store}", "--points", "0"), "numbers of sentences"),
        (("analyse", "mechanism", "{store}"), "there is no metrics.jsonl here"),
        (
            ("analyse", "context-use", "{base}", "--data", "{store}", "--points", "1"),
            "'--points' is for context-size, document-size, dependency-noise, evidence; remove it",
        ),
        (
            ("analyse", "n-best", "{base}", "--data", "{store}", "--translations", "a=b"),
            "'--translations' is for context-use, evidence; remove it",
        ),
        (("analyse", "mechanism", "{base}", "--plot", "a.png"), "'--plot' is for context-size, document-size, "),
    ],
    ids=[
        *("table", "row", "documents", "points", "size", "attention", "trees", "twice", "model"),
        *("translations", "lines", "dev", "cache", "metrics", "unread points", "unread translations", "unread plot"),
    ],
)
def test_mistakes_are_one_sentence(
    arguments: tuple[str, ...],
    message: str,
    toy: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    places = {"base": str(toy / "runs" / "toy" / "base" / "seed1"), "store": str(toy / "store")}
    monkeypatch.setattr(sys, "argv", ["docgraph", *(argument.format(**places) for argument in arguments)])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("docgraph: ")
    assert message in error
