"""A computation on batches of one size, recorded once as a CUDA graph: one launch in place of a thousand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.device import tensors_of, to_device
from docgraph.model.padding import Sizes, sizes_of

WARM_UP = 3
"""Runs before the capture: compilers compile, libraries choose their kernels."""
Compute = Callable[[DocumentBatch], Tensor]


class CapturedStep:
    """`compute` of batches as they come: of those of the common sizes by replay, of others as it is, uncompiled.

    Whatever `compute` writes besides what it returns must be written in place, for a replay repeats its kernels, not
    its Python; `reset` undoes what the runs before the capture wrote. Random draws follow the generator's seed at the
    time of a replay.
    """

    def __init__(self, compute: Compute, room: Sizes, reset: Callable[[], object], device: torch.device) -> None:
        self.compute, self.room, self.reset, self.device = compute, room, reset, device
        self.missed = 0
        """Batches that did not have the common sizes."""
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, batch: DocumentBatch) -> Tensor:
        """What `compute` returns; a replay returns the same tensor every time, so read it before the next."""
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
