"""For tests of Triton kernels, which need a GPU, or TRITON_INTERPRET=1 and Triton, which then runs them on a CPU."""

from __future__ import annotations

import importlib.util
import os

import pytest
import torch

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1" and importlib.util.find_spec("triton") is not None
needs_kernels = pytest.mark.skipif(
    not torch.cuda.is_available() and not INTERPRETED, reason="needs a GPU, or Triton's interpreter"
)
DEVICE = "cpu" if INTERPRETED else "cuda"
HALF = torch.float16 if INTERPRETED else torch.bfloat16  # the interpreter multiplies no matrices of bfloat16
