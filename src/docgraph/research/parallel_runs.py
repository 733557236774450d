"""Runs of a table side by side, each in a process of its own.

A training of a small model leaves most of a GPU idle, so several of them end sooner together than one after the other.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import torch

from docgraph.research.table_config import SeedRun
from docgraph.workers import end_with_parent

Work = Callable[[SeedRun], None]
POLL_SECONDS = 1.0
"""How often it is looked whether a run has trained the model that others start from."""
GPU_SHARE = 1 / 6
"""Share of the memory of a GPU that must be free before another run starts on it."""
GPU_SECONDS = 10.0
"""Time between two starts on a GPU: a run takes its memory some seconds after it starts."""


def run_in_parallel(
    runs: Iterable[SeedRun],
    work: Work,
    limit: int,
    can_start: Callable[[SeedRun], bool],
    log_path: Callable[[SeedRun], Path],
    log: Callable[[str], None],
) -> list[SeedRun]:
    """Calls `work`, which is pickled, for every run, at most `limit` at a time; returns the runs that failed.

    A run waits until `can_start`; if nothing that is running can change that, it has failed. On a GPU it also waits for
    free memory, unless nothing is running. What a run prints goes to its log file. Ctrl-C reaches every process; this
    function waits for all of them to stop.
    """
    waiting, failed = list(runs), list[SeedRun]()
    running: dict[SeedRun, tuple[BaseProcess, float]] = {}
    try:
        while waiting or running:
            for run in [run for run in waiting if can_start(run)][: limit - len(running)]:
                if running and not _has_room(time.monotonic() - max(begin for _, begin in running.values())):
                    break
                waiting.remove(run)
                running[run] = _start(run, work, log_path(run)), time.monotonic()
                log(f"{run.path}: started, logs to {log_path(run)}")
            if not running:
                log("not started, because the runs they start from failed: " + ", ".join(str(r.path) for r in waiting))
                return [*failed, *waiting]
            wait([process.sentinel for process, _ in running.values()], POLL_SECONDS)
            for run, (process, begin) in [*running.items()]:
                if process.exitcode is not None:
                    del running[run]
                    failed += [run] if process.exitcode else []
                    result = f"failed, see {log_path(run)}" if process.exitcode else "done"
                    log(f"{run.path}: {result} ({time.monotonic() - begin:.0f} s)")
    finally:
        for process, _ in running.values():
            process.join()
    return failed


def _has_room(seconds: float) -> bool:
    """Returns whether the GPU, if there is one, has memory for another run, `seconds` after the last start."""
    if not torch.cuda.is_available():
        return True
    free, total = torch.cuda.mem_get_info()
    return seconds >= GPU_SECONDS and free >= GPU_SHARE * total


def _start(run: SeedRun, work: Work, path: Path) -> BaseProcess:
    path.parent.mkdir(parents=True, exist_ok=True)
    process = get_context("spawn").Process(target=_run, args=(run, work, path))
    process.start()
    return process


def _run(run: SeedRun, work: Work, path: Path) -> None:
    """Runs the work of one process."""
    end_with_parent()
    with path.open("a", buffering=1, encoding="utf-8") as output:
        os.dup2(output.fileno(), sys.stdout.fileno())
        os.dup2(output.fileno(), sys.stderr.fileno())
        try:
            work(run)
        except KeyboardInterrupt:
            raise SystemExit(130) from None  # the log says that the run has stopped; a traceback adds nothing
