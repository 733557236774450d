"""GPU kernels for sums over the edges of a graph.

Plain functions: `CsrMatrix.sum` and `neighbour_sums` of docgraph.model.sparse without Triton. Test:
tests/model/gpu/test_edge_sums.py.

PyTorch's embedding-bag kernel reads half-precision rows one number per thread; these kernels read several whole rows at
a time. Prefix sums inside cliques take two kernels: first the totals that each block of members passes to the next
block, then the sums, as products with triangular matrices.
"""
# No `from __future__ import annotations`: torch.library reads the types of an operator's arguments.

import torch
import triton
import triton.language as tl
from torch import Tensor

MEMBERS = 64
"""Clique members that one program sums with tensor cores; half as many in fp32, which has none."""
WIDTH = 64
"""Columns that one program sums."""
ENTRIES = 8
"""Rows read at a time."""


@triton.jit
def _rows(x, row, weights, inside, place, width):  # type: ignore[no-untyped-def]
    """Returns rows of x [*, width] in fp32, each multiplied by its weight; zero if not `inside`."""
    mask = inside[:, None] & (place < width)[None, :]
    values = tl.load(x + row.to(tl.int64)[:, None] * width + place[None, :], mask=mask, other=0.0)
    return values.to(tl.float32) * weights[:, None]


@triton.jit
def _row_sums(  # type: ignore[no-untyped-def]
    x, scale, columns, offsets, sums, signs, others, members, bounds, out, width,
    SCALED: tl.constexpr, CLIQUES: tl.constexpr, LIMITED: tl.constexpr, ENTRIES: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    end = tl.load(offsets + row + 1)
    for first in range(tl.load(offsets + row), end, ENTRIES):
        entry = first + tl.arange(0, ENTRIES)
        inside = entry < end
        column = tl.load(columns + entry, mask=inside, other=0)
        weights = tl.full([ENTRIES], 1.0, tl.float32)
        if SCALED:
            weights = tl.load(scale + column, mask=inside, other=0.0)
        total += tl.sum(_rows(x, column, weights, inside, place, width), 0)
    if CLIQUES:
        end = tl.load(bounds + row + 1)
        for first in range(tl.load(bounds + row), end, 4):
            entry = first + tl.arange(0, 4)
            inside = entry < end
            member = tl.load(members + entry, mask=inside, other=0)
            sign = tl.load(signs + member, mask=inside, other=0.0)
            total += tl.sum(_rows(sums, member, sign, inside, place, width), 0)
            if LIMITED:
                other = tl.load(others + member, mask=inside, other=0)
                total -= tl.sum(_rows(sums, other, sign, inside, place, width), 0)
    if SCALED:
        total *= tl.load(scale + row)
    tl.store(out + row * width + place, total, mask=place < width)


@triton.jit
def _block_totals(  # type: ignore[no-untyped-def]
    x, scale, nodes, ends, totals, count, width,
    AFTER: tl.constexpr, MEMBERS: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Sums the members of a block whose clique continues in the next (AFTER: previous) block."""
    begin = tl.program_id(0) * MEMBERS
    member = begin + tl.arange(0, MEMBERS)
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    if AFTER:
        handed = member < tl.load(ends + begin - 1, mask=begin > 0, other=0)
    else:
        handed = member >= tl.load(ends + begin + MEMBERS, mask=begin + MEMBERS < count, other=count)
    handed = handed & (member < count)
    node = tl.load(nodes + member, mask=handed, other=0)
    weights = tl.load(scale + node, mask=handed, other=0.0)
    total = tl.sum(_rows(x, node, weights, handed, place, width), 0)
    tl.store(totals + tl.program_id(0).to(tl.int64) * width + place, total, mask=place < width)


@triton.jit
def _clique_sums(  # type: ignore[no-untyped-def]
    x, scale, nodes, ends, totals, out, count, width,
    AFTER: tl.constexpr, MEMBERS: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Sums, for each member, the members before (AFTER: after) it in its clique; `ends` bounds the clique there."""
    block = tl.program_id(0)
    steps = tl.arange(0, MEMBERS)
    member = block * MEMBERS + steps
    place = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = member < count
    node = tl.load(nodes + member, mask=inside, other=0)
    weights = tl.load(scale + node, mask=inside, other=0.0)
    values = _rows(x, node, weights, inside, place, width).to(x.dtype.element_ty)
    limit = tl.load(ends + member, mask=inside, other=0)
    if AFTER:
        last = tl.minimum(block * MEMBERS + MEMBERS, count) - 1
        lowest, highest = block + 1, (tl.load(ends + last) - 1) // MEMBERS + 1
        chosen = (steps[None, :] > steps[:, None]) & (member[None, :] < limit[:, None])
        reaches = limit > block * MEMBERS + MEMBERS
    else:
        lowest, highest = tl.load(ends + block * MEMBERS) // MEMBERS, block
        chosen = (steps[None, :] < steps[:, None]) & (member[None, :] >= limit[:, None])
        reaches = limit < block * MEMBERS
    carried = tl.zeros([BLOCK], dtype=tl.float32)
    for other in range(lowest, highest):
        carried += tl.load(totals + other * width + place, mask=place < width, other=0.0)
    sums = tl.dot(chosen.to(values.dtype), values, input_precision="ieee")
    sums += tl.where(reaches[:, None], carried[None, :], 0.0)
    mask = inside[:, None] & (place < width)[None, :]
    tl.store(out + member.to(tl.int64)[:, None] * width + place[None, :], sums, mask=mask)


def _launch_rows(x: Tensor, columns: Tensor, offsets: Tensor, scale: Tensor | None, *cliques: Tensor | None) -> Tensor:
    """Launches `_row_sums`. `cliques`: sums of members, their signs, members to subtract, members by row and bounds."""
    rows, width = len(offsets) - 1, x.shape[1]
    out = x.new_empty(rows, width)
    block = min(triton.next_power_of_2(width), 512)
    given = cliques or (None,) * 5
    constants = {"SCALED": scale is not None, "CLIQUES": given[0] is not None, "LIMITED": given[2] is not None}
    if rows:
        grid = rows, triton.cdiv(width, block)
        arguments = x, scale, columns, offsets, *given, out, width
        # Two warps hold a row of 512 numbers; each thread sums its own columns.
        _row_sums[grid](*arguments, **constants, ENTRIES=ENTRIES, BLOCK=block, num_warps=2)
    return out


@torch.library.custom_op("docgraph::row_sums", mutates_args=())
def row_sums(x: Tensor, columns: Tensor, offsets: Tensor) -> Tensor:
    """out[i] = sum of x[c] over columns[offsets[i]:offsets[i+1]]: x [C, d] contiguous -> [rows, d]."""
    with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
        return _launch_rows(x, columns, offsets, None)


@row_sums.register_fake
def _row_shapes(x: Tensor, columns: Tensor, offsets: Tensor) -> Tensor:
    return x.new_empty(len(offsets) - 1, x.shape[1])


def neighbour_sums(x: Tensor, scale: Tensor, edges: list[Tensor], cliques: list[Tensor], after: bool) -> Tensor:
    """Computes `docgraph.model.sparse.neighbour_sums` without gradient: x [N, d] contiguous -> [N, d]."""
    with torch.cuda.device_of(x):  # type: ignore[no-untyped-call]
        if not cliques:
            return _launch_rows(x, *edges[:2], scale)
        nodes, signs, members, bounds, *ends = cliques
        count, width = len(nodes), x.shape[1]
        block = MEMBERS if x.element_size() == 2 else MEMBERS // 2
        grid = triton.cdiv(count, block), triton.cdiv(width, WIDTH)
        sums, totals = x.new_empty(count, width), x.new_empty(grid[0], width, dtype=torch.float32)
        constants = {"AFTER": after, "MEMBERS": block, "BLOCK": WIDTH}
        _block_totals[grid](x, scale, nodes, ends[after], totals, count, width, **constants)
        _clique_sums[grid](x, scale, nodes, ends[after], totals, sums, count, width, **constants)
        # With a distance limit, the part of the clique beyond the limit is subtracted.
        others = None if len(ends) == 2 else (ends[3] - 1 if after else ends[2])
        return _launch_rows(x, *edges[:2], scale, sums, signs, others, members, bounds)
