"""An experiment of two rows: its steps run once, and its table is rendered from the results."""

from __future__ import annotations

import json
import lzma
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from experiment_examples import toy_experiment

from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.model.checkpoint import load
from docgraph.research.analysis_inputs import Documents
from docgraph.research.context_use import token_losses
from docgraph.research.experiment import Experiment
from docgraph.research.parallel_runs import run_in_parallel
from docgraph.research.rendered_table import RenderedTable
from docgraph.research.run_results import METRICS, SCORES, SIGNATURE, SUITES, ResultFolder, read_outputs
from docgraph.research.table_config import SeedRun, find_table


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Experiment:
    """The table, run; it is read-only to the tests."""
    folder = tmp_path_factory.mktemp("experiment")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCGRAPH_CACHE", str(folder / "cache"))
        table = find_table(str(toy_experiment(folder)))
        experiment = Experiment(table, folder / "runs", folder / "results", annotator="words:en", log=lambda line: None)
        experiment.run()
    return experiment


def copied(done: Experiment, tmp_path: Path, **changes: Any) -> Experiment:
    """The same results elsewhere, without the runs."""
    shutil.copytree(done.result_root, tmp_path / "results")
    said: list[str] = []
    return Experiment(done.table, tmp_path / "runs", tmp_path / "results", log=said.append, **changes)


def test_all_steps_run_and_all_results_are_stored(done: Experiment) -> None:
    runs = list(done.table.runs())
    assert [str(run.path) for run in runs] == ["toy/base/seed1", "toy/base/seed2", "toy/graph/seed1"]
    for run in runs:
        assert done.missing_steps(run) == []
        folder = done.folder(run)
        assert {path.name for path in folder.path.iterdir()} == {SIGNATURE, METRICS, SCORES, SUITES, "test.txt"}
        signature = folder.read(SIGNATURE)
        assert signature["seed"] == signature["settings"]["seed"] == run.seed
        assert signature["updates"] == 6
        assert signature["translated"]["test"]["precision"] == "fp32"
        records = [json.loads(line) for line in lzma.decompress((folder.path / METRICS).read_bytes()).splitlines()]
        assert {record["kind"] for record in records} == {"train", "validation"}


def test_translations_are_lines_with_blank_lines_between_documents(done: Experiment) -> None:
    sizes = PreparedCorpus.open(done.table.config.data, "test").sizes.sentences.tolist()
    folder = done.folder(next(done.table.runs()))
    lines = folder.output("test").read_text(encoding="utf-8").split("\n")
    assert len(lines) - 1 == sum(sizes) + len(sizes) - 1
    assert lines[sizes[0]] == ""
    assert len(folder.read_output("test", sizes)) == sum(sizes)


def test_the_context_system_starts_from_the_base_of_the_table(done: Experiment) -> None:
    *_, graph = done.table.runs()
    base = json.loads((done.run_root / "toy/base/seed1/signature.json").read_bytes())
    assert done.folder(graph).read(SIGNATURE)["settings"]["base"].endswith("toy/base/seed1/best")
    assert base["base"] is None
    assert done.folder(graph).read(SIGNATURE)["added"] > 0


def test_a_second_run_does_nothing(done: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise AssertionError("ran again")

    before = {path: path.stat().st_mtime_ns for path in done.result_root.rglob("*")}
    monkeypatch.setattr("docgraph.training.loop.train", fail)
    monkeypatch.setattr("docgraph.research.experiment.score_outputs", fail)
    done.run()
    assert {path: path.stat().st_mtime_ns for path in done.result_root.rglob("*")} == before


def test_the_table_is_rendered_from_results_alone(done: Experiment, tmp_path: Path) -> None:
    rendered = RenderedTable(copied(done, tmp_path))
    head, base, graph = rendered.grid()
    assert head[:6] == ["system", "BLEU", "paper", "Δ BLEU", "paper", "chrF2"]
    assert base[0] == "Base"
    assert "±" in base[1]
    assert base[2] == "36.93"
    assert base[head.index("p vs Base")] == "-"
    assert graph[4] == "+1.86"
    values = dict(zip(head, graph, strict=True))
    for name in ("BLEU", "p vs Base", "LTCR", "coreference", "added, M", "speed", "dev NLL", "dev NLL, wrong context"):
        assert float(values[name]) >= 0, name
    assert values["seeds"] == "1"
    markdown = rendered.markdown()
    assert "test: 14 sentences in 4 documents" in markdown
    assert "paired bootstrap over documents" in markdown
    assert "`BLEU|nrefs:1|" in markdown
    assert rendered.to_json()["rows"]["graph"]["values"]["bleu:test"]["paper"] == 38.79


def test_the_update_of_the_translated_checkpoint_and_notes_are_shown(done: Experiment, tmp_path: Path) -> None:
    now = copied(done, tmp_path)
    values = yaml.safe_load(now.table.path.read_text())
    values |= {"columns": ["bleu:test", "update"], "configs": str(now.table.path.parents[1] / "train")}
    values["rows"][1]["note"] = "measured before a fix"
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(values))
    now.table = find_table(str(tmp_path / "toy.yaml"))
    for run in now.table.runs():
        best = (done.run_root / run.path / "best").resolve().name
        assert best == f"step-{now.folder(run).translated_update():08}"
    rendered = RenderedTable(now)
    head, base, graph = rendered.grid()
    assert set(base[head.index("update")].split(", ")) <= {"3", "6"}
    assert graph[0] == "graph †"
    assert "† graph: measured before a fix" in rendered.notes()


def test_rows_are_compared_over_the_seeds_that_both_have(done: Experiment, tmp_path: Path) -> None:
    now = copied(done, tmp_path)
    usual = RenderedTable(now).grid()[2]
    second = ResultFolder(now.result_root / "toy" / "base" / "seed2")
    scores = second.read(SCORES)
    scores["test"]["bleu"] |= {"value": 99.0, "statistics": [[0] * 10] * 4}
    second.write(SCORES, scores)
    rendered = RenderedTable(now)
    head, _, graph = rendered.grid()
    first, row = (rendered.results[name].score("bleu", "test")[0] for name in ("base", "graph"))
    assert graph[head.index("Δ BLEU")] == f"{row - first:+.2f}"
    assert graph == usual, "the second seed of Base is another Base than the one beneath the row"


def test_a_missing_value_is_a_dash(done: Experiment, tmp_path: Path) -> None:
    partial = copied(done, tmp_path)
    shutil.rmtree(partial.result_root / "toy" / "graph")
    _, base, graph = RenderedTable(partial).grid()
    assert base[1] != "-"
    assert graph[1:4] == ["-", "38.79", "-"]
    assert graph[-1] == "-"


def test_impossible_steps_are_reported_once_and_run_elsewhere(done: Experiment, tmp_path: Path) -> None:
    elsewhere = copied(done, tmp_path, annotator="words:en")
    for name in (SCORES, SUITES):
        for path in elsewhere.result_root.rglob(name):
            path.unlink()
    elsewhere.run()
    # The models stayed where they were trained: scores need none, suites do.
    assert all(elsewhere.missing_steps(run) == ["probe coreference"] for run in elsewhere.table.runs())
    for run in elsewhere.table.runs():
        assert elsewhere.folder(run).read(SCORES) == done.folder(run).read(SCORES)
    said = elsewhere.log.__self__  # type: ignore[attr-defined]
    assert all(line.startswith("skipped on this machine: probe coreference (") for line in said)
    assert len(said) == len(set(said))


def test_other_translations_are_scored_again(done: Experiment, tmp_path: Path) -> None:
    changed = copied(done, tmp_path, annotator="words:en")
    run = next(changed.table.runs())
    folder = changed.folder(run)
    sizes = PreparedCorpus.open(changed.table.config.data, "test").sizes.sentences.tolist()
    texts = iter(Path(changed.table.config.sets[0].target[0]).read_text().replace("\n\n", "\n").splitlines())
    folder.write_output("test", [[next(texts) for _ in range(size)] for size in sizes])
    assert changed.missing_steps(run) == ["score test"]
    changed.run()
    assert changed.missing_steps(run) == []
    assert folder.read(SCORES)["test"]["bleu"]["value"] == pytest.approx(100)


def test_translations_of_other_documents_are_refused(done: Experiment) -> None:
    folder: ResultFolder = done.folder(next(done.table.runs()))
    with pytest.raises(DocgraphError, match=r"has 17 lines and the set 'test' has 4 \(3 sentences\)"):
        folder.read_output("test", [1, 2])


def test_running_one_row_also_runs_its_base(done: Experiment, tmp_path: Path) -> None:
    fresh = Experiment(done.table, tmp_path / "runs", tmp_path / "results", log=lambda line: None)
    found = fresh._with_bases([fresh.table.row("graph")])
    assert [str(run.path) for run in found] == ["toy/base/seed1", "toy/graph/seed1"]


def test_runs_side_by_side_have_the_results_of_runs_one_after_the_other(done: Experiment, tmp_path: Path) -> None:
    said: list[str] = []
    runs, results = tmp_path / "runs", tmp_path / "results"
    Experiment(done.table, runs, results, annotator="words:en", log=said.append).run(parallel=3)
    sizes = PreparedCorpus.open(done.table.config.data, "test").sizes.sentences.tolist()
    for run in done.table.runs():
        expected, found = done.folder(run), ResultFolder(results / run.path)
        assert found.read_output("test", sizes) == expected.read_output("test", sizes)
        assert found.read(SCORES) == expected.read(SCORES)
        assert set(found.read(SUITES)) == set(expected.read(SUITES))
        assert "training" in (runs / run.path).with_suffix(".log").read_text(encoding="utf-8")
    started = [line.split(":")[0] for line in said if "started" in line]
    assert started.index("toy/base/seed1") < started.index("toy/graph/seed1")


def test_runs_wait_for_free_memory_of_a_gpu(done: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: (10, 140))
    table = replace(done.table, config=replace(done.table.config, data=str(tmp_path / "none")))
    experiment = Experiment(table, tmp_path / "runs", tmp_path / "results", log=said.append)
    with pytest.raises(DocgraphError, match="2 of 2 runs failed"):
        experiment.run([done.table.row("base")], parallel=2)
    assert ["started" in line for line in said[:4]] == [True, False, True, False]


def interrupt(run: SeedRun) -> None:
    raise KeyboardInterrupt


def test_the_log_of_an_interrupted_run_has_no_traceback(done: Experiment, tmp_path: Path) -> None:
    runs, log = list(done.table.runs())[:1], tmp_path / "run.log"
    assert run_in_parallel(runs, interrupt, 1, lambda run: True, lambda run: log, lambda line: None) == runs
    assert log.read_text() == ""


def test_a_failed_run_keeps_those_that_start_from_it_from_starting(done: Experiment, tmp_path: Path) -> None:
    said: list[str] = []
    table = replace(done.table, config=replace(done.table.config, data=str(tmp_path / "none")))
    experiment = Experiment(table, tmp_path / "runs", tmp_path / "results", log=said.append)
    with pytest.raises(DocgraphError, match="3 of 3 runs failed"):
        experiment.run(parallel=2)
    assert any(line.startswith("not started, because") and "toy/graph/seed1" in line for line in said)


def test_a_run_that_cannot_start_is_reported_and_the_table_still_prints(done: Experiment, tmp_path: Path) -> None:
    without = copied(done, tmp_path, overrides=[f"data={tmp_path / 'nowhere'}"])
    shutil.rmtree(without.result_root / "toy" / "graph")
    without.run()
    said = without.log.__self__  # type: ignore[attr-defined]
    assert said[0] == "toy/graph/seed1: training"
    assert said[1].startswith(
        f"skipped on this machine: train toy/graph/seed1 ({tmp_path}/nowhere: this folder holds no prepared"
    )
    assert RenderedTable(without).grid()[1] == RenderedTable(done).grid()[1]


def test_a_config_that_changed_after_its_run_is_reported(done: Experiment, tmp_path: Path) -> None:
    assert [done.describe_config_change(run) for run in done.table.runs()] == [None] * 3
    assert "another config" not in RenderedTable(done).markdown()
    now = copied(done, tmp_path, overrides=["steps=7", "schedule.peak=0.02", "workers=2"])
    line = now.describe_config_change(next(now.table.runs()))
    assert line is not None
    assert line.startswith("toy/base/seed1 was run with another config than its row has now (steps, schedule.peak): ")
    assert f"or remove {tmp_path}/results/toy/base/seed1 and {tmp_path}/runs/toy/base/seed1" in line
    now.run()
    assert line in now.log.__self__  # type: ignore[attr-defined]
    assert line in RenderedTable(now).notes()


def test_a_changed_store_is_reported_and_a_moved_one_is_not(done: Experiment, tmp_path: Path) -> None:
    store = tmp_path / "store"
    now = copied(done, tmp_path, overrides=[f"data={store}"])
    run = next(now.table.runs())
    assert now.describe_config_change(run) is None
    store.mkdir()
    manifest = json.loads((Path(done.table.config.data) / "manifest.json").read_bytes())
    (store / "manifest.json").write_text(json.dumps(manifest | {"fingerprint": "another"}))
    assert "(data)" in (now.describe_config_change(run) or "")


def test_a_row_of_role_ours_is_compared_with_every_role(done: Experiment, tmp_path: Path) -> None:
    now = copied(done, tmp_path)
    for name in ("control", "weak", "strong", "better"):
        shutil.copytree(now.result_root / "toy" / "graph", now.result_root / "toy" / name)
    strong = ResultFolder(now.result_root / "toy" / "strong" / "seed1")
    scores = strong.read(SCORES)
    scores["test"]["bleu"]["value"] = 99.0
    strong.write(SCORES, scores)
    better = ResultFolder(now.result_root / "toy" / "better" / "seed1")
    scores = better.read(SCORES)
    documents = len(scores["test"]["bleu"]["statistics"])
    scores["test"]["bleu"]["statistics"] = [[10, 10, 9, 8, 7, 6, 10, 9, 8, 7]] * documents
    better.write(SCORES, scores)
    values = yaml.safe_load(now.table.path.read_text())
    values["columns"] = ["bleu:test", "p:test:base", "p:test:control", "p:test:baseline", "speed", "minutes"]
    values["configs"] = str(now.table.path.parents[1] / "train")
    for name, role in (("control", "control"), ("weak", "baseline"), ("strong", "baseline")):
        values["rows"].append({"config": "graph", "name": name, "role": role})
    values["rows"].append({"config": "graph", "name": "better", "base": "control"})
    path = tmp_path / "toy.yaml"
    path.write_text(yaml.safe_dump(values))
    now.table = find_table(str(path))
    rendered = RenderedTable(now)
    head, *rows = rendered.grid()
    cells = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    for name in ("p vs Base", "p vs control", "p vs best baseline (strong)"):
        assert 0 < float(cells["better"][name]) <= 1
    assert cells["strong"]["p vs best baseline (strong)"] == cells["control"]["p vs control"] == "-"
    assert cells["weak"]["p vs control"] == "-"  # the same translations
    assert float(cells["better"]["minutes"]) >= 0
    assert len(rendered.values["base"][0].seeds) == 2
    assert str(next(now.table.runs([now.table.row("better")])).base().path) == "toy/control/seed1"


def test_speed_is_compared_on_the_same_hardware(done: Experiment, tmp_path: Path) -> None:
    now = copied(done, tmp_path)
    ResultFolder(now.result_root / "toy" / "graph" / "seed1").update(SIGNATURE, hardware="another")
    head, base, graph = RenderedTable(now).grid()
    assert float(base[head.index("speed")]) == pytest.approx(1, abs=0.01)
    assert graph[head.index("speed")] == "-"


def test_an_analysis_finds_the_losses_that_training_logged(done: Experiment) -> None:
    *_, graph = done.table.runs()
    logged = done.folder(graph).read(SIGNATURE)
    documents = Documents.from_store(done.table.config.data, "dev")
    own, wrong = token_losses(load(done.run_root / graph.path / "best"), documents)
    assert own.mean() == pytest.approx(logged["nll"], rel=1e-5)
    assert wrong is not None
    assert wrong.mean() == pytest.approx(logged["wrong_context_nll"], rel=1e-5)


def test_a_set_may_be_translated_with_the_references_before_each_sentence(
    done: Experiment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    translate, asked = Documents.translate, []
    monkeypatch.setattr(Documents, "translate", lambda *a, **b: asked.append(b["known"]) or translate(*a, **b))
    now = copied(done, tmp_path, annotator="words:en")
    now.run_root = done.run_root
    values = yaml.safe_load(now.table.path.read_text())
    known = {**values["sets"][0], "name": "test_known", "label": "test, earlier sentences known", "known": True}
    values |= {"sets": [*values["sets"], known], "columns": ["bleu:test", "bleu:test_known"], "suites": []}
    values["configs"] = str(now.table.path.parents[1] / "train")
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(values))
    now.table = find_table(str(tmp_path / "toy.yaml"))
    now.run()
    assert asked == [True] * 3
    base, _, graph = now.table.runs()
    assert now.folder(base).digest("test_known") == now.folder(base).digest("test"), "it reads no translations"
    documents = Documents.from_store(done.table.config.data, "test")
    search = now._config(graph).validation.search
    expected = documents.translate(load(now.run_root / graph.path / "best"), search, known=True)
    sizes = [len(document) for document in documents.documents]
    found = now.folder(graph).read_output("test_known", sizes)
    assert found == [text for document in expected for text in document]
    assert float(dict(zip(*RenderedTable(now).grid()[:3:2], strict=True))["BLEU test, earlier sentences known"]) >= 0


def test_a_row_may_have_zero_updates(done: Experiment, tmp_path: Path) -> None:
    now = copied(done, tmp_path, annotator="words:en")
    now.run_root = tmp_path / "runs"
    shutil.copytree(done.run_root / "toy" / "base", now.run_root / "toy" / "base", symlinks=True)
    values = yaml.safe_load(now.table.path.read_text())
    shutil.copytree(now.table.path.parents[1] / "train", tmp_path / "train")
    start = {"extends": "graph.yaml", "steps": 0, "model": {"context": {"encoder": "pointer", "sides": "target"}}}
    (tmp_path / "train" / "start.yaml").write_text(yaml.safe_dump(start))
    values |= {"configs": "train", "columns": ["bleu:test", "parameters", "speed", "minutes", "nll", "wrong-nll"]}
    values["rows"].append({"config": "start"})
    (tmp_path / "toy.yaml").write_text(yaml.safe_dump(values))
    now.table = find_table(str(tmp_path / "toy.yaml"))
    now.run()
    *_, run = now.table.runs()
    assert now.missing_steps(run) == []
    signature = now.folder(run).read(SIGNATURE)
    assert (signature["updates"], signature["trained"], signature["tokens_per_second"]) == (0, 0, None)
    head, *_, row = RenderedTable(now).grid()
    found = dict(zip(head, row, strict=True))
    assert found["dev NLL"] == f"{signature['nll']:.4f}"
    assert found["speed"] == "-"
    assert float(found["added, M"]) >= 0
    assert float(found["BLEU"]) >= 0


def test_one_seed_of_a_row_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "cache"))
    table = find_table(str(toy_experiment(tmp_path)))
    plan = Experiment(table, tmp_path / "runs", tmp_path / "results", seeds=(2,), log=lambda line: None)
    plan.run([table.row("base")])
    assert [path.name for path in (tmp_path / "results" / "toy" / "base").iterdir()] == ["seed2"]


def test_a_set_of_several_files_is_scored_in_their_order(done: Experiment, tmp_path: Path) -> None:
    whole = done.table.config.sets[0]
    parts: dict[str, tuple[str, ...]] = {}
    for side in ("source", "target"):
        documents = Path(getattr(whole, side)[0]).read_text(encoding="utf-8").split("\n\n")
        for number, text in enumerate(("\n\n".join(documents[:1]), "\n\n".join(documents[1:]))):
            path = tmp_path / f"{side}{number}"
            path.write_text(text.rstrip("\n") + "\n", encoding="utf-8")
            parts[side] = (*parts.get(side, ()), str(path))
    divided = read_outputs(replace(whole, source=parts["source"], target=parts["target"]), [])
    together = read_outputs(whole, [])
    assert divided.reference == together.reference
    assert divided.documents.tolist() == together.documents.tolist()
