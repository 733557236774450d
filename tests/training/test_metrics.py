"""metrics.jsonl after a killed run, and the progress lines for people."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from docgraph.training.metrics import MetricsWriter, ProgressLog, describe_training, read_metrics

TRAIN = {
    "kind": "train",
    "step": 2,
    "loss": 1.5,
    "tokens_per_second": 1234.5,
    "mfu": 0.25,
    "memory_gb": 3.0,
    "skipped": 1,
}


def test_records_of_a_killed_process_beyond_its_state_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    lines = ['{"kind": "train", "step": 2}', '{"kind": "validation", "step": 2}', '{"kind": "train", "step": 4}']
    path.write_text("\n".join([*lines, '{"kind": "tra']))
    assert len(read_metrics(path)) == 3
    metrics = MetricsWriter(path, False, step=2, validated=0, ended=-1)
    metrics.write({"kind": "train", "step": 3})
    metrics.close()
    assert [(record["kind"], record["step"]) for record in read_metrics(path)] == [("train", 2), ("train", 3)]


@pytest.mark.parametrize("ended", [-1, 4])
def test_the_record_of_an_average_belongs_to_the_end_of_a_run(tmp_path: Path, ended: int) -> None:
    """The end comes after the average: a process killed between the two measures the average again."""
    path = tmp_path / "metrics.jsonl"
    records = [{"kind": "validation", "step": 4}, {"kind": "validation", "step": 4, "average": [2, 4]}]
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records))
    MetricsWriter(path, False, step=4, validated=4, ended=ended).close()
    assert read_metrics(path) == (records if ended == 4 else records[:1])


def test_a_missing_tensorboard_is_reported_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with pytest.raises(DocgraphError, match="pip install tensorboard"):
        MetricsWriter(tmp_path / "metrics.jsonl", True, 0, 0, -1)


def test_a_progress_line_has_the_main_numbers() -> None:
    line = describe_training(TRAIN, 3723)
    assert line == "loss 1.5000, 1,234 tokens/s, MFU 25.0%, 3.0 GB, 1 skipped, 1:02:03 left"


def test_piped_output_is_lines_and_other_processes_are_silent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (tmp_path / "train.log", None):
        log = ProgressLog(path, 10)
        log.update(2, "loss 1")
        log.message("done")
        log.close()
    assert capsys.readouterr().err == "step 2: loss 1\ndone\n"
    assert [line[20:] for line in (tmp_path / "train.log").read_text().splitlines()] == ["step 2: loss 1", "done"]


def test_a_terminal_shows_one_progress_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    log = ProgressLog(tmp_path / "train.log", 10)
    log.update(2, "loss 1.25")
    log.message("done")
    log.close()
    assert "loss 1.25" in terminal.getvalue()
    assert "2/10" in terminal.getvalue()
