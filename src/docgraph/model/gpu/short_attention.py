"""GPU kernels for attention inside each of many short packed sequences, with gradients.

Plain function: `docgraph.model.attention.packed_attention` with padding, as on a CPU. Test:
tests/model/gpu/test_short_attention.py.

PyTorch's variable-length kernel works in tiles of 128 x 128, of which a sentence of 30 sub-words fills 6%. Here a tile
is 32 x 32, and a program handles one head of one sequence, or every other tile row of it. Softmax is online and in
fp32. The gradient recomputes it from the saved normaliser and sums without atomics, so results are repeatable.
"""
# No `from __future__ import annotations`: torch.library reads the types of an operator's arguments.

import math
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 32
"""Rows and columns of a tile of scores."""
WARPS = 2, 4
"""Warps per tile, forward and backward; always four for heads wider than 64."""
SPLIT = 2
"""Programs that share the tile rows of a sequence. With more, most are idle; with fewer, long sequences are slow."""


@triton.jit
def _span(bounds, sequence):  # type: ignore[no-untyped-def]
    """Returns the first row and length of a sequence."""
    begin = tl.load(bounds + sequence)
    return begin.to(tl.int64), tl.load(bounds + sequence + 1) - begin


@triton.jit
def _places(first, length, stride, E: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns offsets [BLOCK, WIDTH] of rows first .. first+BLOCK-1 of a sequence, and a mask of those inside it."""
    rows, columns = first + tl.arange(0, BLOCK), tl.arange(0, WIDTH)
    return rows[:, None] * stride + columns[None, :], (rows < length)[:, None] & (columns < E)[None, :]


@triton.jit
def _rows(x, first, length, stride, E: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    places, inside = _places(first, length, stride, E, WIDTH, BLOCK)
    return tl.load(x + places, mask=inside, other=0.0)


@triton.jit
def _scores(query, key, row, column, k_length, scale, CAUSAL: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns base-2 scores [BLOCK, BLOCK] of the tile at (row, column); -inf for invisible keys.

    Rows past the end see the same keys as others, so that no softmax is empty; their queries and the gradients of their
    outputs are zero.
    """
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    columns = column + tl.arange(0, BLOCK)
    visible = (columns < k_length)[None, :]
    if CAUSAL:
        visible = visible & (columns[None, :] <= (row + tl.arange(0, BLOCK))[:, None])
    return tl.where(visible, scores, float("-inf"))


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    q, k, v, out, norms, q_bounds, k_bounds, q_row, q_head, k_row, k_head, v_row, v_head, tokens, scale,
    HEADS: tl.constexpr, CAUSAL: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    sequence, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    q_begin, q_length = _span(q_bounds, sequence)
    k_begin, k_length = _span(k_bounds, sequence)
    q += q_begin * q_row + head * q_head
    k += k_begin * k_row + head * k_head
    v += k_begin * v_row + head * v_head
    out += (q_begin * HEADS + head) * E
    norms += head.to(tl.int64) * tokens + q_begin
    for row in range(tl.program_id(1) * BLOCK, q_length, tl.num_programs(1) * BLOCK):
        query = _rows(q, row, q_length, q_row, E, WIDTH, BLOCK)
        total = tl.zeros([BLOCK, WIDTH], tl.float32)
        mass = tl.zeros([BLOCK], tl.float32)
        top = tl.full([BLOCK], float("-inf"), tl.float32)
        seen = k_length
        if CAUSAL:
            seen = tl.minimum(k_length, row + BLOCK)
        for column in range(0, seen, BLOCK):
            key = _rows(k, column, k_length, k_row, E, WIDTH, BLOCK)
            value = _rows(v, column, k_length, v_row, E, WIDTH, BLOCK)
            scores = _scores(query, key, row, column, k_length, scale, CAUSAL, BLOCK)
            higher = tl.maximum(top, tl.max(scores, 1))
            weights = tl.exp2(scores - higher[:, None])
            fade = tl.exp2(top - higher)
            mass = mass * fade + tl.sum(weights, 1)
            total = tl.dot(weights.to(value.dtype), value, total * fade[:, None], input_precision="ieee")
            top = higher
        # Without visible keys the output is zero, and any finite normaliser makes all weights of the gradient zero.
        read = tl.where(mass > 0, mass, 1.0)
        places, inside = _places(row, q_length, HEADS * E, E, WIDTH, BLOCK)
        tl.store(out + places, (total / read[:, None]).to(query.dtype), mask=inside)
        rows = row + tl.arange(0, BLOCK)
        tl.store(norms + rows, tl.where(mass > 0, top, 0.0) + tl.log2(read), mask=rows < q_length)


@triton.jit
def _queries(  # type: ignore[no-untyped-def]
    q, out, grad, norms, row, length, q_row, E: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
    HEADS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Returns queries, output gradients, sums of output times output gradient, and normalisers of a tile row."""
    query = _rows(q, row, length, q_row, E, WIDTH, BLOCK)
    d_out = _rows(grad, row, length, HEADS * E, E, WIDTH, BLOCK)
    attended = _rows(out, row, length, HEADS * E, E, WIDTH, BLOCK)
    rows = row + tl.arange(0, BLOCK)
    norm = tl.load(norms + rows, mask=rows < length, other=0.0)
    return query, d_out, tl.sum(d_out.to(tl.float32) * attended.to(tl.float32), 1), norm


@triton.jit
def _backward(  # type: ignore[no-untyped-def]
    q, k, v, out, grad, norms, dq, dk, dv, q_bounds, k_bounds, q_row, q_head, k_row, k_head, v_row, v_head,
    tokens, scale,
    HEADS: tl.constexpr, CAUSAL: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, BLOCK: tl.constexpr,  # noqa: N803
):  # fmt: skip
    sequence, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    q_begin, q_length = _span(q_bounds, sequence)
    k_begin, k_length = _span(k_bounds, sequence)
    q += q_begin * q_row + head * q_head
    k += k_begin * k_row + head * k_head
    v += k_begin * v_row + head * v_head
    out += (q_begin * HEADS + head) * E
    grad += (q_begin * HEADS + head) * E
    dq += (q_begin * HEADS + head) * E
    dk += (k_begin * HEADS + head) * E
    dv += (k_begin * HEADS + head) * E
    norms += head.to(tl.int64) * tokens + q_begin
    first, step = tl.program_id(1) * BLOCK, tl.num_programs(1) * BLOCK
    plain = scale * 0.6931471805599453  # the scale without the change of base
    # At least one iteration, even without keys: it writes zeros to the gradient of the queries.
    for column in range(first, tl.maximum(k_length, 1), step):
        key = _rows(k, column, k_length, k_row, E, WIDTH, BLOCK)
        value = _rows(v, column, k_length, v_row, E, WIDTH, BLOCK)
        d_key = tl.zeros([BLOCK, WIDTH], tl.float32)
        d_value = tl.zeros([BLOCK, WIDTH], tl.float32)
        for row in range(column if CAUSAL else 0, q_length, BLOCK):
            query, d_out, product, norm = _queries(q, out, grad, norms, row, q_length, q_row, E, WIDTH, BLOCK, HEADS)
            scores = _scores(query, key, row, column, k_length, scale, CAUSAL, BLOCK)
            weights = tl.exp2(scores - norm[:, None])
            d_weights = tl.dot(d_out, tl.trans(value), input_precision="ieee")
            d_scores = (weights * (d_weights - product[:, None])).to(key.dtype)
            d_value = tl.dot(tl.trans(weights.to(key.dtype)), d_out, d_value, input_precision="ieee")
            d_key = tl.dot(tl.trans(d_scores), query, d_key, input_precision="ieee")
            if k_length <= BLOCK:
                places, inside = _places(row, q_length, HEADS * E, E, WIDTH, BLOCK)
                d_query = tl.dot(d_scores, key, input_precision="ieee") * plain
                tl.store(dq + places, d_query.to(key.dtype), mask=inside)
        places, inside = _places(column, k_length, HEADS * E, E, WIDTH, BLOCK)
        tl.store(dk + places, (d_key * plain).to(key.dtype), mask=inside)
        tl.store(dv + places, d_value.to(key.dtype), mask=inside)
    if k_length > BLOCK:  # the gradient of a query is a sum over several tiles: a second pass, by queries
        for row in range(first, q_length, step):
            query, d_out, product, norm = _queries(q, out, grad, norms, row, q_length, q_row, E, WIDTH, BLOCK, HEADS)
            d_query = tl.zeros([BLOCK, WIDTH], tl.float32)
            seen = k_length
            if CAUSAL:
                seen = tl.minimum(k_length, row + BLOCK)
            for column in range(0, seen, BLOCK):
                key = _rows(k, column, k_length, k_row, E, WIDTH, BLOCK)
                value = _rows(v, column, k_length, v_row, E, WIDTH, BLOCK)
                scores = _scores(query, key, row, column, k_length, scale, CAUSAL, BLOCK)
                weights = tl.exp2(scores - norm[:, None])
                d_weights = tl.dot(d_out, tl.trans(value), input_precision="ieee")
                d_scores = (weights * (d_weights - product[:, None])).to(key.dtype)
                d_query = tl.dot(d_scores, key, d_query, input_precision="ieee")
            places, inside = _places(row, q_length, HEADS * E, E, WIDTH, BLOCK)
            tl.store(dq + places, (d_query * plain).to(query.dtype), mask=inside)


def _launch(kernel: Any, warps: int, tensors: tuple[Tensor, ...], bounds: tuple[Tensor, Tensor], *options: int) -> None:
    """Launches a kernel for every head of every sequence; the first three tensors are query, key and value."""
    (tokens, heads, size), sequences, (longest, causal) = tensors[0].shape, len(bounds[0]) - 1, options
    width = max(triton.next_power_of_2(size), 16)
    strides = [x.stride(dimension) for x in tensors[:3] for dimension in (0, 1)]
    constants = {"HEADS": heads, "CAUSAL": bool(causal), "E": size, "WIDTH": width, "BLOCK": BLOCK}
    grid = sequences * heads, min(triton.cdiv(longest, BLOCK), SPLIT)
    if sequences:
        with torch.cuda.device_of(tensors[0]):  # type: ignore[no-untyped-call]
            kernel[grid](
                *tensors, *bounds, *strides, tokens, size**-0.5 / math.log(2),
                **constants, num_warps=warps if width <= 64 else 4, num_stages=1,
            )  # fmt: skip


@torch.library.custom_op("docgraph::short_attention", mutates_args=())
def _attention(
    query: Tensor, key: Tensor, value: Tensor, q_bounds: Tensor, k_bounds: Tensor, longest: int, causal: bool
) -> tuple[Tensor, Tensor]:
    """Returns the attended values [Nq, h, e], and the base-2 logarithms of the softmax normalisers [h, Nq]."""
    out, norms = _attention_shapes(query, key, value, q_bounds, k_bounds, longest, causal)
    _launch(_forward, WARPS[0], (query, key, value, out, norms), (q_bounds, k_bounds), longest, causal)
    return out, norms


@_attention.register_fake
def _attention_shapes(
    query: Tensor, key: Tensor, value: Tensor, q_bounds: Tensor, k_bounds: Tensor, longest: int, causal: bool
) -> tuple[Tensor, Tensor]:
    tokens, heads, _ = query.shape
    return query.new_empty(query.shape), query.new_empty(heads, tokens, dtype=torch.float32)


@torch.library.custom_op("docgraph::short_attention_gradient", mutates_args=())
def _gradient(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, norms: Tensor,
    q_bounds: Tensor, k_bounds: Tensor, longest: int, causal: bool,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    grads = tuple(x.new_empty(x.shape) for x in (query, key, value))
    tensors = (query, key, value, out, grad.contiguous(), norms, *grads)
    _launch(_backward, WARPS[1], tensors, (q_bounds, k_bounds), longest, causal)
    return grads  # type: ignore[return-value]


@_gradient.register_fake
def _gradient_shapes(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: object) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in (query, key, value))


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, ctx.longest, ctx.causal = inputs
    ctx.save_for_backward(*tensors[:3], *output, *tensors[3:])


def _differentiate(ctx, grad, _):  # type: ignore[no-untyped-def]
    return *_gradient(grad, *ctx.saved_tensors, ctx.longest, ctx.causal), None, None, None, None


_attention.register_autograd(_differentiate, setup_context=_keep)


def short_attention(
    query: Tensor, key: Tensor, value: Tensor, q_bounds: Tensor, k_bounds: Tensor, longest: int, causal: bool
) -> Tensor:
    """Computes attention inside each of S sequences: query [Nq, h, e], key and value [Nk, h, e] -> [Nq, h, e].

    Sequence s is rows bounds[s] .. bounds[s+1]-1 (int32 [S+1]) of queries and of keys; either may be empty, and every
    row is in a sequence. `longest` is an upper bound of all lengths and only affects the grid. Causal attention needs
    equal bounds of queries and keys.
    """
    query, key, value = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
    return _attention(query, key, value, q_bounds, k_bounds, longest, causal)[0]
