"""Threads that share the work of a model on a CPU.

PyTorch splits single operations between its threads. In a decoding step most operations are too small for that: with
two threads a search is no faster than with one. Independent parts of the work, such as groups of sentences, scale
better. They run here, each in a thread whose operations are not split.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")

_pools: dict[int, ThreadPoolExecutor] = {}
_lock = threading.Lock()


def split_no_operations() -> None:
    """Makes the current thread compute each operation by itself; other threads do not change."""
    with _lock:
        number = torch.get_num_threads()
        torch.set_num_threads(1)
    # PyTorch also takes the number for threads that start later; theirs must stay as it was.
    restoring = threading.Thread(target=torch.set_num_threads, args=(number,))
    restoring.start()
    restoring.join()


def map_in_threads(function: Callable[[T], R], items: Sequence[T]) -> Iterator[R]:
    """Yields function(item) of all items, in order, computed without gradients by `torch.get_num_threads()` threads.

    In a thread that splits no operations, this is `map`.
    """
    workers = torch.get_num_threads()
    if workers == 1:
        yield from map(function, items)
        return
    with _lock:
        if workers not in _pools:
            _pools[workers] = ThreadPoolExecutor(workers, "docgraph-model", split_no_operations)

    def compute(item: T) -> R:
        with torch.inference_mode():
            return function(item)

    yield from _pools[workers].map(compute, items)
