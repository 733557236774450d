"""What a run says while it runs: metrics.jsonl, TensorBoard, train.log, and one live line on a terminal."""

from __future__ import annotations

import json
import lzma
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.files import replacing

Record = dict[str, Any]
"""One measurement: `kind` (train, validation), `step`, and numbers, some of them in lists and mappings."""


class Metrics:
    """Writes records to metrics.jsonl and, where wished, to TensorBoard."""

    def __init__(self, path: Path, tensorboard: bool, step: int, validated: int) -> None:
        """Records beyond `step` (`validated` for those of the dev split) are of a killed process and come again."""
        if path.is_file():
            limit = {"train": step, "validation": validated}
            kept = [record for record in read(path) if record["step"] <= limit[record["kind"]]]
            with replacing(path) as place:
                place.write_text("".join(f"{json.dumps(record)}\n" for record in kept), encoding="utf-8")
        self._file = path.open("a", encoding="utf-8")
        self._board = _board(path.parent / "tensorboard", step) if tensorboard else None

    def write(self, record: Record) -> None:
        self._file.write(json.dumps(record) + "\n")
        self._file.flush()
        if self._board is not None:
            for name, value in _scalars(record, record["kind"]):
                self._board.add_scalar(name, value, record["step"])

    def close(self) -> None:
        self._file.close()
        if self._board is not None:
            self._board.close()


def read(path: str | Path) -> list[Record]:
    """The records of a metrics.jsonl (.xz too); a last line that a dying process left half written is passed over."""
    with (lzma.open if Path(path).suffix == ".xz" else open)(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def _board(folder: Path, step: int) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise DocgraphError(
            "'tensorboard: true' needs a package; pip install tensorboard, or set it to false"
        ) from None
    return SummaryWriter(str(folder), purge_step=step + 1)


def _scalars(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Every number in a record, under the path that leads to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _scalars(inner, f"{name}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _scalars(inner, f"{name}/{index}")
    elif isinstance(value, int | float) and not name.endswith("/step"):
        yield name, value


class Narrator:
    """Tells people how the run goes: a line in train.log each time, and on the terminal a live one.

    Where the standard error is no terminal, the lines go there as well; only the first process speaks.
    """

    def __init__(self, log: Path | None, steps: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self._log = log.open("a", encoding="utf-8") if log is not None else None
        self._console = Console(file=sys.stderr)
        self._live = log is not None and self._console.is_terminal
        columns = (BarColumn(bar_width=20), MofNCompleteColumn(), TextColumn("{task.description}"))
        self._bar = Progress(*columns, console=self._console, disable=not self._live)
        self._task = self._bar.add_task("", total=steps)
        self._bar.start()

    def step(self, step: int, line: str) -> None:
        """The state of training after a step."""
        self._write(f"step {step:,}: {line}")
        if self._live:
            self._bar.update(self._task, completed=step, description=line)
        elif self._log is not None:
            print(f"step {step:,}: {line}", file=sys.stderr, flush=True)

    def say(self, line: str) -> None:
        """Something worth a line of its own."""
        self._write(line)
        if self._live:
            self._bar.console.print(line, highlight=False, markup=False, soft_wrap=True)
        elif self._log is not None:
            print(line, file=sys.stderr, flush=True)

    def _write(self, line: str) -> None:
        if self._log is not None:
            print(time.strftime("%Y-%m-%d %H:%M:%S"), line, file=self._log, flush=True)

    def close(self) -> None:
        self._bar.stop()
        if self._log is not None:
            self._log.close()


def line_of(record: Record, remaining: float) -> str:
    """A train record for people: tokens are target tokens, padding not among them."""
    parts = [f"loss {record['loss']:.4f}", f"{record['tokens_per_second']:,.0f} tokens/s"]
    if record["mfu"] is not None:
        parts.append(f"MFU {record['mfu']:.1%}")
    if record["memory_gb"] is not None:
        parts.append(f"{record['memory_gb']:.1f} GB")
    if record["skipped"]:
        parts.append(f"{record['skipped']} skipped")
    hours, minutes, seconds = int(remaining) // 3600, int(remaining) // 60 % 60, int(remaining) % 60
    return ", ".join([*parts, f"{hours}:{minutes:02}:{seconds:02} left"])


def sentence_of(record: Record) -> str:
    """A validation record for people."""
    parts = [f"loss {record['nll']:.4f}"]
    if "wrong_context_nll" in record:
        parts.append(f"{record['wrong_context_nll']:.4f} with another document's context")
    if "own_context_nll" in record:
        parts.append(f"{record['own_context_nll']:.4f} with translations as context")
    if record.get("gates"):
        parts += [
            f"{stack} gates {' '.join(f'{gate:.2f}' for gate in gates)}" for stack, gates in record["gates"].items()
        ]
    if "bleu" in record:
        parts.append(f"BLEU {record['bleu']:.2f}")
    return ", ".join([*parts, f"in {record['took']:.1f} s"])
