"""Data of another language pair, or without what a system needs: one sentence, exit code 2."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from cli.refusals import refusal
from docgraph.cli import main
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig
from docgraph.corpus.prepare import prepare
from model.parallel_texts import TEXTS
from translation.translator_examples import model_folder

TRAIN = """
data: prepared
stage: context
model:
  transformer: {dimension: 16, feed_forward: 16, heads: 2, encoder_layers: 1, decoder_layers: 1}
  context: {encoder: ENCODER, heads: 2}
  freeze: none
steps: 1
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two languages of one text."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCGRAPH_CACHE", str(tmp_path / "cache"))
    for language in ("en", "zh"):
        Path(f"train.{language}").write_text(TEXTS[language] + "\n", encoding="utf-8")
    return tmp_path


def data_config(source: str, target: str) -> PrepareConfig:
    entry = DataEntry("train.zh", "train.en")
    subwords = SubwordsConfig(size=400)
    return PrepareConfig(DataConfig((entry,), (entry,)), LanguagesConfig(source, target), subwords, out="prepared")


def test_a_chinese_file_given_as_english_is_not_prepared(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("data.yaml").write_text(
        "languages: {source: en, target: zh}\nannotator: words:en\nout: prepared\n"
        "data: {train: {source: train.zh, target: train.en}}\n"
    )
    line = refusal(monkeypatch, capsys, "prepare", "data.yaml", "--jobs", 1)
    assert line == (
        "docgraph: train.zh: the source side of 'train' looks like Chinese or Japanese script, but 'languages.source' "
        "is 'en'; swap the files, or correct the language"
    )
    line = refusal(monkeypatch, capsys, "prepare", "data.yaml", "--jobs", 1, "--set", "languages.source=zh")
    assert "train.en: the target side of 'train' looks like English, but 'languages.target' is 'zh'" in line
    assert not Path("prepared/manifest.json").exists()


def test_a_store_without_heads_is_refused_for_a_graph_with_dependencies(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("jieba")
    prepare(data_config("zh", "en"))  # no Chinese parser: words alone
    Path("train.yaml").write_text(TRAIN.replace("ENCODER", "docgraph"))
    expected = (
        "docgraph: prepared: the store has no heads and coreference, which the relation 'dependency' of the model "
        "needs; prepare it with another 'annotator', or set 'model.context.graph.relations' to [adjacency, lexical]"
    )
    for option in ([], ["--dry-run"]):
        assert refusal(monkeypatch, capsys, "train", "train.yaml", *option) == expected
    for settings in (
        ["--set", "model.context.graph.relations=[adjacency, lexical]"],
        ["--set", "model.context.encoder=han"],
    ):
        monkeypatch.setattr(sys, "argv", ["docgraph", "train", "train.yaml", "--dry-run", *settings])
        with pytest.raises(SystemExit) as stopped:
            main()
        assert not stopped.value.code


def test_a_suite_of_another_pair_is_refused(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    model = model_folder(place / "model", context=False)
    item = {"source": "It is low.", "candidates": ["Она низкая.", "Он низкий."], "correct": 0}
    header = {"suite": "gender", "languages": ["en", "ru"]}
    Path("suite.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in (header, item)), encoding="utf-8")
    line = refusal(monkeypatch, capsys, "probe", "suite.jsonl", "--model", model, "--device", "cpu")
    assert line == (
        f"docgraph: {model}: this model translates en-fr and the suite 'gender' is en-ru; choose a model of that pair"
    )
