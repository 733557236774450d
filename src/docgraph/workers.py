"""Worker processes, the cores they may use, and the memory that this process keeps."""

from __future__ import annotations

import ctypes
import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Any, TypeVar

from docgraph.errors import DocgraphError

S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")

RELEASE_SECONDS = 10
"""How often freed memory is returned to the system."""
TRIM_THRESHOLD, MMAP_THRESHOLD, ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt(3)."""


def keep_freed_memory() -> None:
    """Makes glibc keep freed blocks of up to 2 GB; a no-op with another C library.

    By default glibc returns every block above 32 MB to the kernel, so each operation on a long document pays for fresh,
    zeroed pages: two to three times the time per word at 64,000 words. Commands that run the model call this before
    they load it; a program that uses docgraph as a library may do so too.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, (1 << 31) - 1)
    mallopt(TRIM_THRESHOLD, -1)  # never


def bound_kept_memory() -> None:
    """Bounds the memory that a process of many threads keeps; call it before PyTorch is used.

    Each thread of a server would keep its freed blocks in an arena of its own, where others cannot use them. oneDNN
    keeps compiled code for each shape of a batch, by default for 1024 shapes: some hundred megabytes.
    """
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "128")
    try:
        ctypes.CDLL(None).mallopt(ARENA_MAX, 1)
    except (OSError, AttributeError, TypeError):
        return


def release_freed_memory() -> None:
    """Returns the freed memory that glibc keeps to the system; a no-op with another C library.

    The blocks of a server's batches differ in size, so that kept memory is fragmented and grows with time.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError, TypeError):
        return


def release_memory_regularly() -> None:
    """Returns freed memory to the system every few seconds, until the process ends."""
    while True:
        time.sleep(RELEASE_SECONDS)
        release_freed_memory()


def let_idle_threads_sleep() -> None:
    """Keeps idle threads from spinning; call it before NumPy and PyTorch are imported.

    Spinning threads take the cores from threads with work, of this process and of other programs. OpenMP can be told to
    let them sleep. OpenBLAS cannot, and splits even the small products of an annotation pipeline, so it gets one
    thread.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def available_cores() -> int:
    """Returns the number of CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_in_processes(
    work: Callable[[T], R],
    items: Iterable[T],
    jobs: int,
    start: Callable[..., None],
    arguments: tuple[Any, ...],
    ordered: bool = False,
) -> Iterator[R]:
    """Yields work(item) for all items, computed in `jobs` processes, each of which calls start(*arguments) first.

    Results are in the order in which they finish or, with `ordered`, in the order of the items.
    """
    with _single_threaded():
        executor = ProcessPoolExecutor(
            jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(start, arguments)
        )
        try:
            yield from _collect(executor, work, items, 2 * jobs, ordered)
        except BrokenProcessPool:
            raise DocgraphError(
                "a worker process died, most often for lack of memory; run the same command again with fewer --jobs "
                "or 'workers' to continue"
            ) from None
        finally:
            executor.shutdown(wait=True, cancel_futures=True)


def run_on_ray(work: Callable[[S, T], R], shared: S, items: Iterable[T], jobs: int) -> Iterator[R]:
    """Yields work(shared, item) for all items, computed on the cluster of $RAY_ADDRESS, or on a local Ray of `jobs`
    processes. Results are in the order in which they finish; items of a process that dies are computed again.

    docgraph must be installed on every machine of the cluster. `shared` is copied to each machine once.
    """
    ray = _connect_to_ray(jobs)
    slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
    remote, shared_reference = ray.remote(work), ray.put(shared)
    waiting, running = iter(items), list[Any]()
    try:
        while True:
            running += [remote.remote(shared_reference, item) for item in islice(waiting, 2 * slots - len(running))]
            if not running:
                return
            finished, running = ray.wait(running)
            for reference in finished:
                yield _ray_result(ray, reference)
    finally:
        for reference in running:
            ray.cancel(reference)


def _connect_to_ray(jobs: int) -> Any:
    try:
        ray: Any = importlib.import_module("ray")
    except ImportError:
        raise DocgraphError("--engine ray needs Ray; install it with: pip install 'docgraph[ray]'") from None
    if not ray.is_initialized():
        options = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": jobs, "include_dashboard": False}
        ray.init(log_to_driver=False, logging_level="error", **options)
    return ray


def _ray_result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, DocgraphError):
            raise error.cause from None
        raise
    except ray.exceptions.RayError as error:
        reason = str(error).strip().splitlines()[0]
        raise DocgraphError(f"a Ray worker was lost ({reason}); run the same command again to continue") from None


def _collect(
    executor: ProcessPoolExecutor, work: Callable[[T], R], items: Iterable[T], window: int, ordered: bool
) -> Iterator[R]:
    """Keeps at most `window` items submitted, because submitted items are copied."""
    waiting = iter(items)
    running: list[Future[R]] = []
    while True:
        running += [executor.submit(work, item) for item in islice(waiting, window - len(running))]
        if not running:
            return
        finished = {running[0]} if ordered else wait(running, return_when=FIRST_COMPLETED).done
        running = [future for future in running if future not in finished]
        for future in finished:
            yield future.result()


def _start(start: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    """Leaves Ctrl-C to the parent process, and ends when the parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
    start(*arguments)


def end_with_parent() -> None:
    """Makes this process end when its parent process ends, however that happens."""
    threading.Thread(target=_die_with_parent, daemon=True).start()


def _die_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Gives each worker one thread, because there are as many workers as cores."""
    before = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
