"""A computation on batches of one size, captured once as a CUDA graph: one launch in place of a thousand.

Plain function: the `compute` that `CapturedStep` is made with. Test: tests/model/gpu/test_cuda_graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.device import tensors_of, to_device
from docgraph.model.padding import Sizes, sizes_of

WARM_UP = 3
"""Runs before the capture, in which code is compiled and libraries select their kernels."""
Compute = Callable[[DocumentBatch], Tensor]


class CapturedStep:
    """Replays `compute` for batches of the sizes `room`; runs it uncompiled for batches of other sizes.

    `compute` must write its results in place, because a replay repeats its kernels and not its Python code. `reset`
    undoes what the runs before the capture wrote. Random numbers follow the generator's state at the replay.
    """

    def __init__(self, compute: Compute, room: Sizes, reset: Callable[[], object], device: torch.device) -> None:
        self.compute, self.room, self.reset, self.device = compute, room, reset, device
        self.missed = 0
        """Number of batches of other sizes."""
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: DocumentBatch) -> Tensor:
        """Returns compute(batch); a replay always returns the same tensor, so read it before the next call."""
        if sizes_of(batch) != self.room:
            self.missed += 1
            with torch.compiler.set_stance("force_eager"):
                return self.compute(batch.to(self.device))
        if self._graph is None:
            self._capture(batch)
        assert self._graph is not None
        torch._foreach_copy_(self._inputs, tensors_of(batch), non_blocking=True)
        self._graph.replay()
        return self._output

    def _capture(self, first: DocumentBatch) -> None:
        seed = torch.cuda.get_rng_state(self.device)
        own = to_device(first, self.device)
        self._inputs = tensors_of(own)
        side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM_UP):
                self.compute(own)
        torch.cuda.current_stream().wait_stream(side)
        self._graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self._graph):
            self._output = self.compute(own)
        self.reset()
        torch.cuda.set_rng_state(seed, self.device)
