"""Where chunks are worked on: in this process, in processes of this machine, or on a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

from docgraph.corpus.chunks import Chunk, Shard, Task, Worker
from docgraph.errors import DocgraphError
from docgraph.workers import run_in_processes

EngineName = Literal["local", "ray"]
Engine = Callable[[Task, Iterable[Chunk], int], Iterator[Shard]]
"""(task, chunks, jobs) -> shards in the order they are finished; only a few chunks are taken ahead."""

_worker: Worker | None = None


def run_local(task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
    """In `jobs` processes; in this one where that is 1."""
    if jobs <= 1:
        worker: Worker | None = None
        for chunk in chunks:
            worker = worker or Worker(task)  # loading takes seconds, and there may be nothing to do
            yield worker(chunk)
    else:
        yield from run_in_processes(_work, chunks, jobs, _start_worker, (task,))


def _start_worker(task: Task) -> None:
    global _worker
    _worker = Worker(task)


def _work(chunk: Chunk) -> Shard:
    assert _worker is not None
    return _worker(chunk)


def run_ray(task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
    """On the cluster that $RAY_ADDRESS names, or on a Ray of `jobs` processes started here; docgraph is installed on
    every machine of it."""
    ray = _connect(jobs)
    slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote, shared = ray.remote(_work_remotely), ray.put(task)
    waiting, running = iter(chunks), list[Any]()
    try:
        while True:
            while len(running) < 2 * slots and (chunk := next(waiting, None)) is not None:
                running.append(remote.remote(shared, chunk))
            if not running:
                return
            finished, running = ray.wait(running)
            for reference in finished:
                yield _result(ray, reference)
    finally:
        for reference in running:
            ray.cancel(reference)


def _connect(jobs: int) -> Any:
    try:
        import importlib

        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise DocgraphError("--engine ray needs Ray; install it with: pip install 'docgraph[ray]'") from None
    if not ray.is_initialized():
        started = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level="error", **started)
    return ray


def _work_remotely(task: Task, chunk: Chunk) -> Shard:
    """A Ray worker serves many chunks of one task: it loads the annotator once."""
    global _worker
    if _worker is None or not _worker.serves(task):
        _worker = Worker(task)
    return _worker(chunk)


def _result(ray: Any, reference: Any) -> Shard:
    try:
        shard: Shard = ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, DocgraphError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise DocgraphError(f"a Ray worker was lost ({reason}); run the same command again, it goes on") from None
    return shard


ENGINES: dict[EngineName, Engine] = {"local": run_local, "ray": run_ray}
