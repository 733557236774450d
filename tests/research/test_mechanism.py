"""The mechanism table: gates, gradients and losses from the metrics of runs."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from docgraph.research.mechanism import mechanism_grid, read_mechanisms

TRAIN = {"kind": "train", "step": 50, "gradient_norms": {"base": 9.0, "context": 0.3, "decoder.0": 0.4}}
DEV = {"kind": "validation", "step": 40, "nll": 1.25, "wrong_context_nll": 1.5, "gates": {"decoder": [0.5, 1.0]}}


def logged(folder: Path, *records: dict[str, object]) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def test_the_last_logged_values_are_read(tmp_path: Path) -> None:
    early = {**DEV, "step": 20, "nll": 9.0, "gates": {"decoder": [0.1, 0.1]}}
    graph = logged(tmp_path / "graph" / "seed1", {**TRAIN, "step": 20}, early, DEV, TRAIN)
    base = logged(tmp_path / "base" / "seed1", {"kind": "validation", "step": 60, "nll": 1.0})
    head, *rows = mechanism_grid(read_mechanisms([str(base), str(graph)]))
    assert head[-1] == "decoder gates"
    assert rows[0] == ["base/seed1", "60", "1.0000", "-", "-", "-", "-"]
    assert rows[1] == ["graph/seed1", "40", "1.2500", "1.5000", "+0.2500", "0.5", "0.500 1.000"]


def test_a_result_folder_gives_the_same_values(tmp_path: Path) -> None:
    run = logged(tmp_path / "run", DEV, TRAIN)
    (tmp_path / "result").mkdir()
    (tmp_path / "result" / "metrics.jsonl.xz").write_bytes(lzma.compress((run / "metrics.jsonl").read_bytes()))
    found = read_mechanisms([f"a={run}", str(tmp_path / "result")])
    assert list(found) == ["a", "result"]
    assert found["a"].to_json() == found["result"].to_json()


def test_a_gradient_that_was_not_finite_is_unknown(tmp_path: Path) -> None:
    run = logged(tmp_path / "run", DEV, {**TRAIN, "gradient_norms": {"context": None, "decoder.0": 0.4}})
    assert read_mechanisms([str(run)])["run"].context_gradient is None


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=r"there is no metrics\.jsonl here"):
        read_mechanisms([str(tmp_path)])
    run = logged(tmp_path / "run", DEV)
    with pytest.raises(DocgraphError, match="the name 'run' is taken"):
        read_mechanisms([str(run), str(run)])
