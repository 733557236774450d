"""GPU kernels for attention over the first slots of a document's memory, with gradients.

Plain function: `docgraph.model.attention.memory_attention` on a `docgraph.model.memory.SlotLayout` with a prefix mask.
Test: tests/model/gpu/test_prefix_attention.py.

The plain function writes every score to memory and copies keys and values for every block of rows. Here scores stay in
a tile of rows by slots, and keys and values are read in place. The rows of a document are cut into parts. Each part
computes its contribution to the gradients of keys and values; the contributions are then added in order, without
atomics, so results are repeatable. Softmax is as in `short_attention`.
"""
# No `from __future__ import annotations`: torch.library reads the types of an operator's arguments.

import math
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from docgraph.model.gpu.short_attention import _places, _rows

ROWS = 64
"""Rows of a tile of scores; a tile has 64 slots, or 32 if no document has more."""
PART = 512
"""Rows of a document that one program sums into the gradients of keys and values; fewer rows mean more sums to add."""
WARPS = 4


@triton.jit
def _part(rows, owner, parts, part, PART: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns the document, the first row and the length of a part; the length of an unused part is 0 or less."""
    document = tl.load(owner + part)
    begin = tl.load(rows + document) + (part - tl.load(parts + document)) * PART
    return document, begin.to(tl.int64), tl.minimum(tl.load(rows + document + 1) - begin, PART)


@triton.jit
def _scores(query, key, limit, column, scale, SLOTS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns base-2 scores [ROWS, SLOTS] of the tile that starts at slot `column`; -inf from each row's limit on."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    return tl.where((column + tl.arange(0, SLOTS))[None, :] < limit[:, None], scores, float("-inf"))


@triton.jit
def _forward(  # type: ignore[no-untyped-def]
    q, k, v, out, norms, limits, rows, owner, parts, first, count, q_row, q_head, k_row, k_head, v_row, v_head,
    tokens, scale, HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,  # noqa: N803
    SLOTS: tl.constexpr, PART: tl.constexpr,  # noqa: N803
):  # fmt: skip
    part, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    document, begin, length = _part(rows, owner, parts, part, PART)
    row = tl.program_id(1) * ROWS
    if row < length:
        slots, offset = tl.load(count + document), tl.load(first + document).to(tl.int64)
        k += offset * k_row + head * k_head
        v += offset * v_row + head * v_head
        order = row + tl.arange(0, ROWS)
        limit = tl.load(limits + begin + order, mask=order < length, other=0)
        query = _rows(q + begin * q_row + head * q_head, row, length, q_row, E, WIDTH, ROWS)
        total = tl.zeros([ROWS, WIDTH], tl.float32)
        mass = tl.zeros([ROWS], tl.float32)
        # Finite, so that a row without visible slots gets weights of zero, not inf - inf.
        top = tl.full([ROWS], -1e30, tl.float32)
        for column in range(0, tl.max(limit, 0), SLOTS):
            key = _rows(k, column, slots, k_row, E, WIDTH, SLOTS)
            value = _rows(v, column, slots, v_row, E, WIDTH, SLOTS)
            scores = _scores(query, key, limit, column, scale, SLOTS)
            higher = tl.maximum(top, tl.max(scores, 1))
            weights = tl.exp2(scores - higher[:, None])
            fade = tl.exp2(top - higher)
            mass = mass * fade + tl.sum(weights, 1)
            total = tl.dot(weights.to(value.dtype), value, total * fade[:, None], input_precision="ieee")
            top = higher
        # Without visible slots the output is zero, and any finite normaliser makes all weights of the gradient zero.
        read = tl.where(mass > 0, mass, 1.0)
        places, inside = _places(row, length, HEADS * E, E, WIDTH, ROWS)
        tl.store(out + (begin * HEADS + head) * E + places, (total / read[:, None]).to(query.dtype), mask=inside)
        norm = tl.where(mass > 0, top, 0.0) + tl.log2(read)
        tl.store(norms + head.to(tl.int64) * tokens + begin + order, norm, mask=order < length)


@triton.jit
def _query_gradient(  # type: ignore[no-untyped-def]
    q, k, v, out, grad, norms, products, dq, limits, rows, owner, parts, first, count,
    q_row, q_head, k_row, k_head, v_row, v_head,
    tokens, scale, HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr,  # noqa: N803
    SLOTS: tl.constexpr, PART: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes the gradient of the queries, and the sums of output times output gradient for `_slot_gradients`."""
    part, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    document, begin, length = _part(rows, owner, parts, part, PART)
    row = tl.program_id(1) * ROWS
    if row < length:
        slots, offset = tl.load(count + document), tl.load(first + document).to(tl.int64)
        k += offset * k_row + head * k_head
        v += offset * v_row + head * v_head
        here = (begin * HEADS + head) * E
        order = row + tl.arange(0, ROWS)
        column_of = head.to(tl.int64) * tokens + begin + order
        limit = tl.load(limits + begin + order, mask=order < length, other=0)
        query = _rows(q + begin * q_row + head * q_head, row, length, q_row, E, WIDTH, ROWS)
        d_out = _rows(grad + here, row, length, HEADS * E, E, WIDTH, ROWS)
        attended = _rows(out + here, row, length, HEADS * E, E, WIDTH, ROWS)
        product = tl.sum(d_out.to(tl.float32) * attended.to(tl.float32), 1)
        tl.store(products + column_of, product, mask=order < length)
        norm = tl.load(norms + column_of, mask=order < length, other=0.0)
        d_query = tl.zeros([ROWS, WIDTH], tl.float32)
        for column in range(0, tl.max(limit, 0), SLOTS):
            key = _rows(k, column, slots, k_row, E, WIDTH, SLOTS)
            value = _rows(v, column, slots, v_row, E, WIDTH, SLOTS)
            weights = tl.exp2(_scores(query, key, limit, column, scale, SLOTS) - norm[:, None])
            d_weights = tl.dot(d_out, tl.trans(value), input_precision="ieee")
            d_scores = (weights * (d_weights - product[:, None])).to(key.dtype)
            d_query = tl.dot(d_scores, key, d_query, input_precision="ieee")
        places, inside = _places(row, length, HEADS * E, E, WIDTH, ROWS)
        plain = scale * 0.6931471805599453  # the scale without the change of base
        tl.store(dq + here + places, (d_query * plain).to(query.dtype), mask=inside)


@triton.jit
def _slot_gradients(  # type: ignore[no-untyped-def]
    q, k, v, grad, norms, products, sums, limits, rows, owner, parts, first, count,
    q_row, q_head, k_row, k_head, v_row, v_head,
    tokens, scale, states, width, half, HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr, SLOTS: tl.constexpr, PART: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes the contribution of one part to the gradients of its document's keys and values."""
    part, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    document, begin, length = _part(rows, owner, parts, part, PART)
    slots, offset = tl.load(count + document), tl.load(first + document).to(tl.int64)
    column = tl.program_id(1) * SLOTS
    if column < slots:
        q += begin * q_row + head * q_head
        grad += (begin * HEADS + head) * E
        key = _rows(k + offset * k_row + head * k_head, column, slots, k_row, E, WIDTH, SLOTS)
        value = _rows(v + offset * v_row + head * v_head, column, slots, v_row, E, WIDTH, SLOTS)
        d_key = tl.zeros([SLOTS, WIDTH], tl.float32)
        d_value = tl.zeros([SLOTS, WIDTH], tl.float32)
        # Skips the rows before the first one that sees these slots; with past-only context, early rows see few slots.
        everyone = tl.arange(0, PART)
        limit_of = tl.load(limits + begin + everyone, mask=everyone < length, other=0)
        start = tl.min(tl.where(limit_of > column, everyone, PART), 0)
        for row in range(start // ROWS * ROWS, length, ROWS):
            order = row + tl.arange(0, ROWS)
            limit = tl.load(limits + begin + order, mask=order < length, other=0)
            column_of = head.to(tl.int64) * tokens + begin + order
            norm = tl.load(norms + column_of, mask=order < length, other=0.0)
            product = tl.load(products + column_of, mask=order < length, other=0.0)
            query = _rows(q, row, length, q_row, E, WIDTH, ROWS)
            d_out = _rows(grad, row, length, HEADS * E, E, WIDTH, ROWS)
            # Slots by rows, unlike the other kernels: the products then need no transposed weights.
            scores = tl.dot(key, tl.trans(query), input_precision="ieee") * scale
            seen = (column + tl.arange(0, SLOTS))[:, None] < limit[None, :]
            weights = tl.exp2(tl.where(seen, scores, float("-inf")) - norm[None, :])
            d_weights = tl.dot(value, tl.trans(d_out), input_precision="ieee")
            d_scores = (weights * (d_weights - product[None, :])).to(key.dtype)
            d_value = tl.dot(weights.to(key.dtype), d_out, d_value, input_precision="ieee")
            d_key = tl.dot(d_scores, query, d_key, input_precision="ieee")
        # The first part of a document writes to the places of its states, each later part to `width` places after them.
        later = part > tl.load(parts + document)
        place = tl.where(later, states + (part - document - 1).to(tl.int64) * width, offset)
        sums += (place * HEADS + head) * E
        places, inside = _places(column, slots, HEADS * E, E, WIDTH, SLOTS)
        tl.store(sums + places, d_key * (scale * 0.6931471805599453), mask=inside)
        tl.store(sums + half + places, d_value, mask=inside)


@triton.jit
def _add_parts(  # type: ignore[no-untyped-def]
    sums, dk, dv, parts, first, count, states, width, half,
    HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, SLOTS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    document, head = tl.program_id(0) // HEADS, tl.program_id(0) % HEADS
    slots, offset = tl.load(count + document), tl.load(first + document).to(tl.int64)
    column = tl.program_id(1) * SLOTS
    if column < slots:
        places, inside = _places(column, slots, HEADS * E, E, WIDTH, SLOTS)
        here = (offset * HEADS + head) * E + places
        d_key = tl.load(sums + here, mask=inside, other=0.0)
        d_value = tl.load(sums + half + here, mask=inside, other=0.0)
        for part in range(tl.load(parts + document), tl.load(parts + document + 1) - 1):
            there = ((states + (part - document).to(tl.int64) * width) * HEADS + head) * E + places
            d_key += tl.load(sums + there, mask=inside, other=0.0)
            d_value += tl.load(sums + half + there, mask=inside, other=0.0)
        tl.store(dk + here, d_key.to(dk.dtype.element_ty), mask=inside)
        tl.store(dv + here, d_value.to(dv.dtype.element_ty), mask=inside)


def _constants(heads: int, size: int, slots: int) -> dict[str, Any]:
    width = max(triton.next_power_of_2(size), 16)
    options = {"HEADS": heads, "E": size, "WIDTH": width, "SLOTS": 64 if slots > 32 else 32}
    return {**options, "num_warps": WARPS, "num_stages": 2}


def _launch(kernel: Any, steps: int, tensors: tuple[Tensor, ...], tables: tuple[Tensor, ...], *numbers: int) -> None:
    """Launches a kernel for every head of every part; the first three tensors are query, key and value."""
    (tokens, heads, size), slots = tensors[0].shape, numbers[-1]
    strides = [x.stride(dimension) for x in tensors[:3] for dimension in (0, 1)]
    constants = {**_constants(heads, size, slots), "ROWS": ROWS, "PART": PART}
    scale = size**-0.5 / math.log(2)
    kernel[len(tables[2]) * heads, steps](*tensors, *tables, *strides, tokens, scale, *numbers[:-1], **constants)


@torch.library.custom_op("docgraph::prefix_attention", mutates_args=())
def _attention(
    query: Tensor, key: Tensor, value: Tensor,
    limits: Tensor, rows: Tensor, owner: Tensor, parts: Tensor, first: Tensor, count: Tensor, slots: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Returns the attended values [N, h, e], and the base-2 logarithms of the softmax normalisers [h, N]."""
    tables = limits, rows, owner, parts, first, count
    out, norms = _attention_shapes(query, key, value, *tables, slots)
    with torch.cuda.device_of(query):  # type: ignore[no-untyped-call]
        _launch(_forward, PART // ROWS, (query, key, value, out, norms), tables, slots)
    return out, norms


@_attention.register_fake
def _attention_shapes(query: Tensor, key: Tensor, value: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    tokens, heads, _e = query.shape
    return query.new_empty(query.shape), query.new_empty(heads, tokens, dtype=torch.float32)


@torch.library.custom_op("docgraph::prefix_attention_gradient", mutates_args=())
def _gradient(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, out: Tensor, norms: Tensor,
    limits: Tensor, rows: Tensor, owner: Tensor, parts: Tensor, first: Tensor, count: Tensor, slots: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    (states, heads, size), tables = key.shape, (limits, rows, owner, parts, first, count)
    grad, products = grad.contiguous(), torch.empty_like(norms)
    d_query = query.new_empty(query.shape)
    # States in no slot are handled by no program, so their gradients must start as zero.
    d_key, d_value = key.new_zeros(key.shape), value.new_zeros(value.shape)
    sums = norms.new_empty(2, states + (len(owner) - len(count)) * slots, heads, size)
    constants = _constants(heads, size, slots)
    steps, places = triton.cdiv(slots, constants["SLOTS"]), (states, slots, sums.stride(0))
    with torch.cuda.device_of(query):  # type: ignore[no-untyped-call]
        tensors = query, key, value, out, grad, norms, products, d_query
        _launch(_query_gradient, PART // ROWS, tensors, tables, slots)
        _launch(_slot_gradients, steps, (query, key, value, grad, norms, products, sums), tables, *places, slots)
        _add_parts[len(count) * heads, steps](sums, d_key, d_value, parts, first, count, *places, **constants)
    return d_query, d_key, d_value


@_gradient.register_fake
def _gradient_shapes(grad: Tensor, query: Tensor, key: Tensor, value: Tensor, *_: object) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in (query, key, value))


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, ctx.slots = inputs
    ctx.save_for_backward(*tensors[:3], *output, *tensors[3:])


def _differentiate(ctx, grad, _):  # type: ignore[no-untyped-def]
    return *_gradient(grad, *ctx.saved_tensors, ctx.slots), *[None] * 7


_attention.register_autograd(_differentiate, setup_context=_keep)


@dataclass(frozen=True, eq=False)
class PrefixLayout:
    """N rows of D documents that read their document's memory: row n sees its first limits[n] slots."""

    limits: Tensor
    """[N] int32."""
    rows: Tensor
    """[D+1] int32: the rows of document d are rows[d] .. rows[d+1]-1."""
    owner: Tensor
    """[P] int32: the document of each part of at most PART rows; surplus parts are empty."""
    parts: Tensor
    """[D+1] int32: the parts of document d are parts[d] .. parts[d+1]-1, at least one."""
    first: Tensor
    """[D] int32: the state in the first slot of a document; the states of its other slots follow."""
    count: Tensor
    """[D] int32: the number of slots of a document."""
    slots: int
    """Maximum number of slots of a document."""
    some: Tensor
    """[N, 1] bool: the row sees at least one slot."""

    @classmethod
    def of(cls, limits: Tensor, rows: Tensor, first: Tensor, count: Tensor, slots: int) -> "PrefixLayout":
        """Makes no GPU synchronisation: the number of parts is an upper bound from N and D."""
        ends = ((rows.diff() + PART - 1) // PART).clamp(min=1).cumsum(0)
        order = torch.arange(len(count) + len(limits) // PART, device=rows.device)
        owner = (order[:, None] >= ends).sum(1).clamp(max=len(count) - 1)
        parts, some = F.pad(ends, (1, 0)), limits[:, None] > 0
        limits, owner, parts, first, count = (table.to(torch.int32) for table in (limits, owner, parts, first, count))
        return cls(limits, rows, owner, parts, first, count, slots, some)

    def attend(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """query [N, h, e] over key and value [R, h, e] -> attended [N, h, e], zero for rows that see no slot."""
        query, key, value = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
        tables = self.limits, self.rows, self.owner, self.parts, self.first, self.count
        return _attention(query, key, value, *tables, self.slots)[0]
