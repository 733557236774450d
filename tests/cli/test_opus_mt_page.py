"""The commands of docs/opus-mt.md run, on folders with the files of OPUS-MT models."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("transformers")

from docgraph.cli import app
from docgraph.model.checkpoint import load
from docgraph.model.model_folder import ModelFolder
from model.opus_mt_folders import MODELS, sentences, write_corpus, write_opus_mt

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/opus-mt.md").read_text("utf-8")
SMALL = [
    *("--set", "steps=4", "--set", "validation.every=2", "--set", "schedule.peak=0.01", "--set", "schedule.warmup=1"),
    *("--set", "precision=fp32", "--set", "compile=false", "--set", "workers=0"),
]
"""Settings that the test adds: four updates on a CPU."""


def commands(mention: str) -> list[list[str]]:
    """The commands of the only block of the page with this text."""
    [block] = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if mention in block]
    return [shlex.split(line, comments=True)[1:] for line in block.replace("\\\n", " ").splitlines()]


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: configs as in a clone, and a cache of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    return tmp_path


@pytest.mark.parametrize("name", ["en-de", "zh-en", "en-ru"])
def test_a_trained_model_translates_with_context(place: Path, name: str) -> None:
    model = MODELS[name]
    write_opus_mt(place / "Helsinki-NLP" / model.name, model)
    write_corpus(place / "corpora", model)
    page = commands(f"docgraph train configs/train/opus-mt.yaml --run runs/opus-mt-{name}")
    assert [each[0] for each in page] == ["import", "prepare", "train"]
    for each in page:
        run(*each, *(SMALL if each[0] == "train" else ()))
    base, trained = ModelFolder(f"models/opus-mt-{name}"), ModelFolder(f"runs/opus-mt-{name}/best")
    assert trained.languages == base.languages == (model.source, model.target)
    assert trained.config.context is not None
    before, after = load(base).state_dict(), load(trained).state_dict()
    assert all((before[key] == after[key]).all() for key in before), "the base is frozen"
    text = "\n".join(sentences(model.source)[:6])
    Path("report.txt").write_text(text + "\n", encoding="utf-8")
    for folder in (base.path, f"runs/opus-mt-{name}"):
        options = ["--format", "lines", "--device", "cpu", "--explain", "page.html"]
        run("translate", "report.txt", "-o", "out.txt", "--model", folder, *options)
        found = Path("out.txt").read_text("utf-8").splitlines()
        right = [line == expected for line, expected in zip(found, sentences(model.target), strict=False)]
        assert len(found) == 6
        assert sum(right) >= 4
    assert "context" in Path("page.html").read_text("utf-8")


def test_the_page_translates_with_the_trained_model(place: Path) -> None:
    [command] = commands("--model runs/opus-mt-en-de")
    assert command[:2] == ["translate", "report.txt"]
    assert command[-1] == "runs/opus-mt-en-de"


def test_recall_without_training(place: Path) -> None:
    model = MODELS["en-de"]
    write_opus_mt(place / "Helsinki-NLP" / model.name, model)
    Path("report.txt").write_text("\n".join(sentences("en")[:6]) + "\n", encoding="utf-8")
    Path("corrected.txt").write_text("Der Hafenmeister sperrte den alten Hafen im März.\n" + "\n" * 5, encoding="utf-8")
    page = commands("models/recall-en-de")
    assert [each[0] for each in page] == ["import", "recall", "translate"]
    for each in page:
        run(*each, *(["--format", "lines", "--device", "cpu"] if each[0] == "translate" else ()))
    found = Path("report.de.txt").read_text("utf-8").splitlines()
    assert found[0] == "Der Hafenmeister sperrte den alten Hafen im März."
    assert found[2] == sentences("de")[2]


def test_the_tag_is_named_once(place: Path) -> None:
    model = MODELS["en-zh"]
    write_opus_mt(place / model.name, model)
    write_corpus(place / "corpora", model)
    data = ["--set", "languages.target=zh", "--set", "data.train.target=corpora/train.zh"]
    data += ["--set", "data.dev.target=corpora/dev.zh", "--set", "subwords.folder=models/opus-mt-en-zh"]
    run("import", "marian", model.name, "models/opus-mt-en-zh")
    refused = CliRunner().invoke(app, ["prepare", "configs/data/opus-mt_en-de.yaml", *data])
    assert "set 'subwords.tag' to one of >>cmn_Hans<<, >>cmn_Hant<<, >>yue_Hant<<" in str(refused.exception)
    run("import", "marian", model.name, "models/opus-mt-en-zh", "--tag", ">>cmn_Hans<<")
    run("prepare", "configs/data/opus-mt_en-de.yaml", *data)
    train = ["train", "configs/train/opus-mt.yaml", "--set", "base=models/opus-mt-en-zh", "--run", "runs/zh", *SMALL]
    run(*train)
    run("recall", "models/opus-mt-en-zh", "models/recall")
    for folder in ("models/opus-mt-en-zh", "runs/zh/best", "models/recall"):
        assert ModelFolder(folder).tag == ">>cmn_Hans<<"
    Path("report.txt").write_text("\n".join(sentences("en")[:3]) + "\n", encoding="utf-8")
    run("translate", "report.txt", "-o", "out.txt", "--model", "runs/zh", "--format", "lines", "--device", "cpu")
    assert Path("out.txt").read_text("utf-8").splitlines() == sentences("zh")[:3]
