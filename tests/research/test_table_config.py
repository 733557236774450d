"""Shipped tables, and error messages for mistakes in a table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from docgraph.errors import DocgraphError
from docgraph.evaluation.report import markdown_table
from docgraph.evaluation.suites import read_suite
from docgraph.model.checkpoint import blank
from docgraph.research.experiment import Experiment
from docgraph.research.rendered_table import RenderedTable
from docgraph.research.run_results import read_outputs
from docgraph.research.table_config import Column, Table, read_table
from shared_data import SHARED, needs_data

FOLDER = Path(__file__).resolve().parents[2] / "configs" / "experiments"
PAIRS = ("en-de", "en-ru", "zh-en")
TABLES = sorted(path.stem for path in FOLDER.glob("*.yaml") if "rows:" in path.read_text())


@pytest.fixture(autouse=True)
def _at_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])


def shipped(name: str) -> Table:
    return read_table(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("name", TABLES)
def test_the_config_of_every_row_makes_a_model(name: str) -> None:
    pair = name in PAIRS
    for run in shipped(name).runs():
        config = run.read_config(Path("runs"))
        assert config.seed == run.seed
        assert config.data.startswith(f"prepared/{name if pair else 'europarl_en-fr'}")
        model = blank(config.model, "meta")
        assert (model.config.context is None) == (config.stage == "base")
        if config.base is not None:
            table = name if pair else "main"
            assert config.base == f"runs/{table}/{run.origin.base or 'base'}/seed{run.seed}/best"


@pytest.mark.parametrize("name", TABLES)
def test_stored_results_were_run_with_the_config_of_their_row(name: str) -> None:
    experiment = Experiment(shipped(name), overrides=["data=no/store"])  # a store here may be of another corpus
    assert list(filter(None, map(experiment.describe_config_change, experiment.table.runs()))) == []


def test_the_main_table_has_the_rows_of_the_paper_and_the_control() -> None:
    table = shipped("main")
    assert [row.name for row in table.rows_of_role("base") + table.rows_of_role("control")] == [
        "base",
        "base_continued",
    ]
    baselines = {row.config for row in table.rows_of_role("baseline")}
    assert {"noise_hyb_both", "ctx", "han", "hm_gdc", "selective", "unified", "concatenation_2_1"} <= baselines
    ours = {row.config for row in table.rows_of_role("ours")}
    assert {f"docgraph_{place}_{sides}" for place in ("hyb", "post", "pre") for sides in ("source", "both")} <= ours
    assert table.row("docgraph_pre_both").paper.test == 38.99


def test_the_docs_name_every_table() -> None:
    page = (FOLDER.parents[1] / "docs" / "experiments.md").read_text(encoding="utf-8")
    assert [name for name in TABLES if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize(
    ("name", "page_name"),
    [("main", "README.md"), ("tfidf", "paper.md"), *((pair, "language-pairs.md") for pair in PAIRS)],
)
def test_the_results_page_shows_the_rendered_rows(name: str, page_name: str) -> None:
    page = (FOLDER.parents[1] / "docs" / "results" / page_name).read_text(encoding="utf-8")
    rendered = markdown_table(RenderedTable(Experiment(shipped(name))).grid())[2:]
    measured = [line for line in rendered if not line.endswith("| - |")]
    assert measured
    assert [line for line in measured if line not in page] == []


@needs_data
def test_the_files_of_sets_and_suites_exist_and_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SHARED)
    table = shipped("main")
    sizes = {
        one.name: (len(data.reference), data.num_documents)
        for one in table.config.sets
        if (data := read_outputs(one, []))
    }
    assert sizes == {"dev": (2009, 21), "test": (4106, 41), "test_known": (4106, 41), "ted": (1664, 11)}
    assert {suite.name: len(read_suite(suite.path).contrasts) for suite in table.suites} == {
        "coreference": 200,
        "coherence": 200,
    }


@needs_data
@pytest.mark.parametrize(
    ("pair", "expected"),
    [
        ("en-de", {"dev": (2066, 20), "test": (4011, 40), "ted": (4698, 42), "ntrex": (1997, 123)}),
        ("en-ru", {"dev": (3987, 94), "test": (8295, 190), "ntrex": (1997, 123)}),
        ("zh-en", {"dev": (4034, 79), "test": (7625, 158), "ted": (1156, 13), "ntrex": (1997, 123)}),
    ],
)
def test_the_sets_of_the_pairs_are_complete(
    pair: str, expected: dict[str, tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(SHARED)
    data = {one.name: read_outputs(one, []) for one in shipped(pair).config.sets}
    assert {name: (len(one.reference), one.num_documents) for name, one in data.items()} == expected


def test_a_row_of_another_table_is_run_there() -> None:
    [base] = shipped("relations").rows_of_role("base")
    places = {n: [str(run.path) for run in shipped("relations").runs([replace(base, seeds=n)])] for n in (1, 2, 3)}
    assert base.seeds == 1
    assert places[1] == ["main/base/seed1"]
    assert places[2] == places[3] == ["main/base/seed1", "main/base/seed2"]


def toy(tmp_path: Path, **changes: object) -> Table:
    path = tmp_path / "tables" / "toy.yaml"
    path.parent.mkdir(exist_ok=True)
    values = {"sets": [{"name": "test"}], "columns": ["bleu:test"], "rows": [{"config": "a", "role": "base"}, "b"]}
    path.write_text(yaml.safe_dump(values | changes))
    return read_table(path)


def test_a_row_is_the_name_of_a_config(tmp_path: Path) -> None:
    table = toy(tmp_path)
    assert [(row.name, row.label, row.seeds) for row in table.config.rows] == [("a", "a", 1), ("b", "b", 1)]
    assert [str(run.config_path) for run in table.runs()][1] == f"{tmp_path}/train/b.yaml"
    assert table.columns == [Column("bleu", "test")]


def test_a_row_may_change_its_config(tmp_path: Path) -> None:
    rows = [{"config": "a", "role": "base"}, {"config": "a", "name": "b", "set": ["data=prepared/b", "steps=3"]}]
    table = toy(tmp_path, configs=".", data="prepared/a", rows=rows)
    table.path.with_name("a.yaml").write_text("data: prepared/c\nsteps: 2\n")
    configs = [run.read_config(tmp_path) for run in table.runs()]
    assert [(config.data, config.steps) for config in configs] == [("prepared/a", 2), ("prepared/b", 3)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"columns": ["blue:test"]}, "there is no measure 'blue'"),
        ({"columns": ["bleu:tset"]}, "'bleu:tset' names none of test"),
        ({"columns": ["p:test:best"]}, "'p:test:best' must end in one of base, control, baseline"),
        ({"rows": ["a", "b"]}, "one row of the role 'base'"),
        ({"rows": [{"config": "a", "role": "base"}, "a"]}, "two rows are named 'a'"),
        (
            {"rows": [{"config": "a", "role": "base"}, {"config": "b", "base": "c"}]},
            "'b' starts from 'c', which is not a row above it",
        ),
        ({"rows": [{"label": "x", "role": "base"}]}, "either 'config' or 'same'; correct 'x'"),
        ({"rows": [{"config": "a", "papers": {}}]}, "did you mean 'paper'?"),
    ],
    ids=["measure", "set", "role", "base", "twice", "start", "neither", "field"],
)
def test_mistakes_name_the_file(changes: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=r"toy\.yaml: ") as caught:
        toy(tmp_path, **changes)
    assert message in str(caught.value)
