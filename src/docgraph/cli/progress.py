"""Progress bars on standard error: units done, rate and time left; nothing if it is not a terminal."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self


class ProgressBars:
    """One bar per task, with the number of `unit`s done and their rate."""

    def __init__(self, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

        self.console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn(f"{{task.fields[done]:,}} {unit}, {{task.fields[rate]:,.0f}}/s"),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self._tasks: dict[str, tuple[TaskID, float, int]] = {}

    def __enter__(self) -> Self:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def show(self, task: str, done: int, total: int) -> None:
        """Shows `done` of `total` units of a task."""
        self.update(task, done, done, total)

    def update(self, task: str, done: int, completed: float, total: float | None) -> None:
        """Shows `done` units of a task; the bar is filled to `completed` of `total`."""
        if task not in self._tasks:
            # Units that an interrupted run had done before do not count for the rate.
            number = self._bar.add_task(task, total=total, done=done, rate=0.0)
            self._tasks[task] = number, time.monotonic(), done
        number, begun, before = self._tasks[task]
        rate = (done - before) / max(time.monotonic() - begun, 1e-9)
        self._bar.update(number, completed=completed, done=done, rate=rate)
