"""Helpers for tests of Triton kernels, which need a GPU, or Triton with TRITON_INTERPRET=1 on a CPU."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton") is not None
needs_kernels = pytest.mark.skipif(
    not torch.cuda.is_available() and not INTERPRETED, reason="needs a GPU, or Triton's interpreter"
)
DEVICE = "cpu" if INTERPRETED else "cuda"
HALF = torch.float16 if INTERPRETED else torch.bfloat16  # the interpreter multiplies no matrices of bfloat16


def assert_replayed(compute: Callable[[], list[Tensor]], change: Callable[[], object]) -> None:
    """Asserts that a captured graph returns what `compute` returns, also after its inputs have changed."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        compute()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = compute()
    with torch.no_grad():
        change()
    graph.replay()
    for ours, direct in zip(captured, compute(), strict=True):
        assert torch.equal(ours, direct)
