"""A computation captured once as a CUDA graph and replayed on batches of the same shape: one launch for a thousand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.device import to_device

WARM_UP = 3
"""Runs before the capture: compilers compile, libraries choose their kernels."""


class Captured:
    """`compute` of a batch, for batches whose tensors have the shapes of the first.

    Whatever `compute` writes (gradients, counters) it must write in place: a replay repeats its kernels, not its Python.
    Random draws follow the generator's seed at the time of the replay.
    """

    def __init__(self, compute: Callable[[DocumentBatch], Tensor], first: DocumentBatch) -> None:
        device = torch.device("cuda", torch.cuda.current_device())
        self._batch = to_device(first, device)
        self._inputs = list(_tensors(self._batch))
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                compute(self._batch)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = compute(self._batch)

    def __call__(self, batch: DocumentBatch) -> Tensor:
        """What `compute` returns; the tensor is the same at every call, so read it before the next."""
        torch._foreach_copy_(self._inputs, list(_tensors(batch)), non_blocking=True)
        self._graph.replay()
        return self._output


def _tensors(value: Any) -> Iterator[Tensor]:
    """Every tensor of a nested dataclass, in the order of its fields."""
    if isinstance(value, Tensor):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _tensors(getattr(value, field.name))
    elif isinstance(value, tuple):
        for part in value:
            yield from _tensors(part)
