"""A GPU kernel for sums over sparse rows; `docgraph.model.sparse` falls back to PyTorch's own without Triton.

The library's bag kernel reads half-precision rows one number a thread; this one reads them whole: 38 against 135
microseconds on an H200 for 80,000 edges among 15,000 nodes of dimension 512.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor


@triton.jit
def _row_sums(x, columns, offsets, out, width, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = place < width
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for entry in range(tl.load(offsets + row), tl.load(offsets + row + 1)):
        column = tl.load(columns + entry)
        total += tl.load(x + column * width + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + place, total, mask=inside)


def row_sums(x: Tensor, columns: Tensor, offsets: Tensor) -> Tensor:
    """out[i] = sum of x[c] over columns[offsets[i]:offsets[i+1]]: x [C, d] contiguous -> [rows, d]."""
    rows, width = len(offsets) - 1, x.shape[1]
    out = x.new_empty(rows, width)
    block = min(triton.next_power_of_2(width), 1024)
    if rows:
        with torch.cuda.device(x.device):
            _row_sums[rows, triton.cdiv(width, block)](x, columns, offsets, out, width, BLOCK=block, num_warps=2)
    return out
