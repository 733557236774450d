"""The output of a run: metrics.jsonl, TensorBoard, train.log, and a progress bar on a terminal."""

from __future__ import annotations

import json
import lzma
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from docgraph.errors import DocgraphError
from docgraph.files import replacing

Record = dict[str, Any]
"""One measurement: `kind` (train, validation), `step`, and numbers, some of them in lists and mappings."""


class MetricsWriter:
    """Appends records to metrics.jsonl and optionally to TensorBoard."""

    def __init__(self, path: Path, tensorboard: bool, step: int, validated: int, ended: int) -> None:
        """Opens the file at update `step`, last validated at update `validated`; a run ended at update `ended`.

        Removes later records: a killed process wrote them after its last state, and the resumed run writes them again.
        """
        if path.is_file():
            limit = {"train": step, "validation": validated, "average": ended}
            records = [
                record
                for record in read_metrics(path)
                if record["step"] <= limit["average" if "average" in record else record["kind"]]
            ]
            with replacing(path) as temporary:
                temporary.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        self._file = path.open("a", encoding="utf-8")
        self._board = _open_tensorboard(path.parent / "tensorboard", step) if tensorboard else None

    def write(self, record: Record) -> None:
        """Appends a record."""
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in _scalars(record, record["kind"]):
                self._board.add_scalar(name, value, record["step"])

    def close(self) -> None:
        """Closes the files."""
        self._file.close()
        if self._board is not None:
            self._board.close()


def read_metrics(path: str | Path) -> list[Record]:
    """Returns the records of a metrics.jsonl or metrics.jsonl.xz, without a last line that is incomplete."""
    with (lzma.open if Path(path).suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def ranking_value(validation: Record, best: Literal["loss", "bleu"]) -> float | None:
    """Returns the value of a validation that ranks checkpoints, lower is better; None if it was not measured.

    It is the negated BLEU or the dev loss, with translations as context if that was measured.
    """
    if best == "bleu":
        return -validation["bleu"] if "bleu" in validation else None
    return float(validation["own_context_nll" if "own_context_nll" in validation else "nll"])


def _open_tensorboard(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise DocgraphError(
            "'tensorboard: true' needs the tensorboard package; pip install tensorboard, or set it to false"
        ) from None
    return SummaryWriter(str(folder), purge_step=step + 1)


def _scalars(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Yields every number in a record under its path, such as validation/gates/encoder/0."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, f"{name}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars(inner, f"{name}/{index}")
    elif isinstance(value, int | float) and not name.endswith("/step"):
        yield name, value


class ProgressLog:
    """Reports a run to people: lines in train.log, and a progress bar on a terminal or the same lines on stderr."""

    def __init__(self, path: Path | None, steps: int) -> None:
        """Without a path (in every process but the main one), nothing is reported."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._file = path.open("a", encoding="utf-8") if path is not None else None
        console = Console(file=sys.stderr)
        self._live = path is not None and console.is_terminal
        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=console, disable=not self._live)
        self._task = self._bar.add_task("", total=steps)
        self._bar.start()

    def update(self, step: int, status: str) -> None:
        """Reports the status of training after update `step`."""
        self._write(f"step {step:,}: {status}")
        if self._live:
            self._bar.update(self._task, completed=step, description=status)

    def message(self, line: str) -> None:
        """Reports an event."""
        self._write(line)
        if self._live:
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _write(self, line: str) -> None:
        if self._file is not None:
            print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=self._file, flush=True)
            if not self._live:
                print(line, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Removes the progress bar and closes train.log."""
        self._bar.stop()
        if self._file is not None:
            self._file.close()


def describe_training(record: Record, seconds_left: float) -> str:
    """Returns a train record as one line; tokens are target tokens without padding."""
    parts = [f"loss {record['loss']:.4f}", f"{record['tokens_per_second']:,.0f} tokens/s"]
    if record["mfu"] is not None:
        parts.append(f"MFU {record['mfu']:.1%}")
    if record["memory_gb"] is not None:
        parts.append(f"{record['memory_gb']:.1f} GB")
    if record["skipped"]:
        parts.append(f"{record['skipped']} skipped")
    hours, minutes, seconds = int(seconds_left) // 3600, int(seconds_left) // 60 % 60, int(seconds_left) % 60
    return ", ".join([*parts, f"{hours}:{minutes:02}:{seconds:02} left"])


def describe_validation(record: Record) -> str:
    """Returns a validation record as one line."""
    parts = [f"loss {record['nll']:.4f}"]
    if "wrong_context_nll" in record:
        parts.append(f"{record['wrong_context_nll']:.4f} with another document's context")
    if "own_context_nll" in record:
        parts.append(f"{record['own_context_nll']:.4f} with translations as context")
    for stack, gates in (record.get("gates") or {}).items():
        parts.append(f"{stack} gates {' '.join(f'{gate:.2f}' for gate in gates)}")
    if "bleu" in record:
        parts.append(f"BLEU {record['bleu']:.2f}")
    return ", ".join([*parts, f"in {record['took']:.1f} s"])
