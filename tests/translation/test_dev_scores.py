"""scripts/dev_scores.py: scores of models on the dev splits of corpora."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from corpus_folders import write_documents
from dev_scores import first_documents, rows, scores
from translation.translator_examples import model_folder

DOCUMENTS = [[("the dog met a fox", "le chien"), ("it jumps", "il saute")], [("a test", "un test")], [("hello", "non")]]


def test_whole_documents_are_taken_until_there_are_enough_pairs(tmp_path: Path) -> None:
    write_documents(tmp_path, DOCUMENTS, "dev")
    assert first_documents(tmp_path, 1) == DOCUMENTS[:1]
    assert first_documents(tmp_path, 3) == DOCUMENTS[:2]
    assert first_documents(tmp_path, 9) == DOCUMENTS


def test_apostrophes_count_as_equal() -> None:
    assert scores(["C’est l’heure de partir."], ["C'est l'heure de partir."]) == (pytest.approx(100), 100)


def test_translations_are_kept_and_scored_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_documents(tmp_path / "small", DOCUMENTS, "dev")
    model = str(model_folder(tmp_path / "model", context=False))
    arguments = argparse.Namespace(models=[model], corpora=[tmp_path / "small"], pairs=3, out=tmp_path / "out")
    first = [*rows(arguments)]
    [kept] = (tmp_path / "out").rglob("small.3.txt")
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 3
    kept.write_text("le chien\nil saute\nun test\n", encoding="utf-8")
    [(_, [(_, chrf)])] = rows(arguments)
    assert [name for name, _ in first] == [model]
    assert chrf == pytest.approx(100)
