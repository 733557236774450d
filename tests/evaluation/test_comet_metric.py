"""COMET: resampled like the other metrics, and skipped with a clear note if it is missing."""

from __future__ import annotations

import importlib.metadata
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from evaluation_examples import make_set

from docgraph.errors import DocgraphError
from docgraph.evaluation.metrics import measure_comet
from docgraph.evaluation.report import EvaluationRequest, evaluate
from docgraph.evaluation.significance import Significance, score_systems

PLAIN = make_set(["ein Haus", "ein Hund"], [1, 1], a=["ein Haus", "Hund"], b=["Haus", "ein Hund"])
DATA = type(PLAIN)(PLAIN.reference, PLAIN.systems, PLAIN.documents, ["a house", "a dog"])


def fake_comet(monkeypatch: pytest.MonkeyPatch, present: bool) -> None:
    """Install a fake COMET that scores 1 if the output equals the reference, else 0.5."""

    def download(model: str, local_files_only: bool) -> str:
        if not present:
            raise FileNotFoundError(model)
        return model

    def predict(rows: list[dict[str, str]], **options: Any) -> Any:
        assert set(rows[0]) == {"src", "mt", "ref"}
        return SimpleNamespace(scores=[1.0 if row["mt"] == row["ref"] else 0.5 for row in rows])

    package = SimpleNamespace(
        download_model=download, load_from_checkpoint=lambda path: SimpleNamespace(predict=predict)
    )
    monkeypatch.setitem(sys.modules, "comet", package)  # type: ignore[arg-type]
    version = importlib.metadata.version
    monkeypatch.setattr(
        "docgraph.evaluation.metrics.version", lambda name: "2.2.6" if name == "unbabel-comet" else version(name)
    )


def test_scores_are_means_of_segments_with_significance(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_comet(monkeypatch, present=True)
    first, second = score_systems(measure_comet(DATA), DATA, Significance("a", samples=50))
    assert (first.value, second.value) == (75, 75)
    assert second.p_value is not None
    assert first.signature.startswith("model:wmt22-comet-da|scale:100|version:2.2.6|bs:50|")


@pytest.mark.parametrize(
    ("data", "missing", "message"),
    [
        (PLAIN, "source", "COMET was skipped: it needs the source text"),
        (DATA, "package", "COMET was skipped: it is not installed; run pip install unbabel-comet"),
        (DATA, "model", "COMET was skipped: its model Unbabel/wmt22-comet-da is not on this machine"),
    ],
    ids=["source", "package", "model"],
)
def test_a_missing_part_is_noted_and_the_rest_is_scored(
    data: Any, missing: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_comet(monkeypatch, present=missing != "model")
    if missing == "package":
        monkeypatch.setitem(sys.modules, "comet", None)  # type: ignore[arg-type]
    report = evaluate(data, EvaluationRequest(metrics=("chrf", "comet")))
    assert [score.metric for score in report.scores] == ["chrF2", "chrF2"]
    assert report.notes[0].startswith(message)
    with pytest.raises(DocgraphError, match="COMET was skipped"):
        evaluate(data, EvaluationRequest(metrics=("comet",)))
