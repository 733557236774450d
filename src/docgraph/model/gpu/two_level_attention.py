"""GPU kernels for sparse attention over the sentences of a document and the words of each sentence, with gradients.

Plain function: the two-level attention of docgraph.model.systems.selective with `sparsemax`. Test:
tests/model/gpu/test_two_level_attention.py.

The plain function computes a weight of every word of a document for every row and head; most are zero. Here the words
of a sentence are read only for rows that give the sentence a weight. Quantities that need all scores of a sentence (the
threshold of sparsemax, the mean of its gradient) are computed sentence by sentence for the gathered rows. Sums over
sentences (the output, the gradient of the queries) are computed in tiles of consecutive rows, which skip sentences that
none of them reads. Each kernel recomputes the scores. Nothing uses atomics, so results are repeatable.
"""
# No `from __future__ import annotations`: torch.library reads the types of an operator's arguments.

from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from docgraph.model.gpu.short_attention import _places, _rows
from docgraph.model.memory import SlotLayout
from docgraph.model.systems.selective import STEPS

WORDS = 32
"""Words of a tile of scores; most sentences fill one or two tiles."""
ROWS = 64, 4
"""Consecutive rows of a tile, and warps. Fewer rows would skip more sentences but read the others more often."""
GATHERED = 64, 4
"""Rows and warps of a tile of gathered rows."""
TILES = 16
"""Sentences whose weights a tile of rows checks at a time."""


@triton.jit
def _readers(weights, readers, counts, rows, slots, tokens, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Lists the rows that give a sentence a weight, by position in the document, ascending, and counts them."""
    place, head = tl.program_id(0), tl.program_id(1)
    begin = tl.load(rows + place // slots)
    length = tl.load(rows + place // slots + 1) - begin
    here = (head.to(tl.int64) * slots + place % slots) * tokens + begin
    number = tl.zeros([], tl.int32)
    for row in range(0, length, BLOCK):
        order = row + tl.arange(0, BLOCK)
        reads = tl.load(weights + here + order, mask=order < length, other=0.0) > 0
        one = reads.to(tl.int32)
        tl.store(readers + here + number + tl.cumsum(one, 0) - 1, order, mask=reads)
        number += tl.sum(one, 0)
    tl.store(counts + head * tl.num_programs(0) + place, number)


@triton.jit
def _sentence(rows, begins, lengths, counts, slots, tokens):  # type: ignore[no-untyped-def]
    """For this program's sentence and head: the offset of the document's first row in a table [h, M, N], that row,
    the first word, the number of words and the number of readers."""
    place, head = tl.program_id(0), tl.program_id(1)
    begin = tl.load(rows + place // slots)
    line = (head.to(tl.int64) * slots + place % slots) * tokens + begin
    count = tl.load(counts + head * tl.num_programs(0) + place)
    return line, begin.to(tl.int64), tl.load(begins + place).to(tl.int64), tl.load(lengths + place), count


@triton.jit
def _gathered(readers, start, count, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns a tile of the rows that read a sentence, by position in the document, and a mask of the valid ones."""
    place = start + tl.arange(0, ROWS)
    return tl.load(readers + place, mask=place < count, other=0), place < count


@triton.jit
def _gather(x, order, inside, stride, E: tl.constexpr, WIDTH: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    columns = tl.arange(0, WIDTH)
    places = order[:, None] * stride + columns[None, :]
    return tl.load(x + places, mask=inside[:, None] & (columns < E)[None, :], other=0.0)


@triton.jit
def _scores(query, key, column, length, scale, WORDS: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Scores [ROWS, WORDS] of the tile that starts at word `column` of a sentence; -inf past its end."""
    scores = tl.dot(query, tl.trans(key), input_precision="ieee") * scale
    return tl.where((column + tl.arange(0, WORDS))[None, :] < length, scores, float("-inf"))


@triton.jit
def _step(over):  # type: ignore[no-untyped-def]
    """Returns the sum and number of positive entries of each row; `over` [ROWS, WORDS] is scores minus threshold."""
    over = tl.maximum(over, 0.0)
    return tl.sum(over, 1), tl.sum((over > 0).to(tl.float32), 1)


@triton.jit
def _find_thresholds(  # type: ignore[no-untyped-def]
    q, k, thresholds, readers, count, length, q_row, k_row, scale, E: tl.constexpr, WIDTH: tl.constexpr,  # noqa: N803
    ROWS: tl.constexpr, WORDS: tl.constexpr, STEPS: tl.constexpr, WHOLE: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes `selective.threshold`. A WHOLE sentence fits a tile; for others, each step recomputes the scores."""
    beginning = _rows(k, 0, length, k_row, E, WIDTH, WORDS)
    for start in range(0, count, ROWS):
        order, inside = _gathered(readers, start, count, ROWS)
        query = _gather(q, order, inside, q_row, E, WIDTH)
        scores = _scores(query, beginning, 0, length, scale, WORDS)
        top = tl.max(scores, 1)
        if not WHOLE:
            for column in range(WORDS, length, WORDS):
                key = _rows(k, column, length, k_row, E, WIDTH, WORDS)
                top = tl.maximum(top, tl.max(_scores(query, key, column, length, scale, WORDS), 1))
        threshold = top - 1
        for _ in range(STEPS):
            total, above = _step(scores - threshold[:, None])
            if not WHOLE:
                for column in range(WORDS, length, WORDS):
                    key = _rows(k, column, length, k_row, E, WIDTH, WORDS)
                    more = _step(_scores(query, key, column, length, scale, WORDS) - threshold[:, None])
                    total += more[0]
                    above += more[1]
            threshold += tl.maximum((total - 1) / tl.maximum(above, 1.0), 0.0)
        tl.store(thresholds + order, threshold, mask=inside)


@triton.jit
def _thresholds(  # type: ignore[no-untyped-def]
    q, k, v, thresholds, readers, counts, rows, begins, lengths, slots,
    q_row, q_head, k_row, k_head, v_row, v_head, tokens, scale,
    HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr,  # noqa: N803
    STEPS: tl.constexpr, LONG: tl.constexpr,  # noqa: N803
):  # fmt: skip
    line, begin, word, length, count = _sentence(rows, begins, lengths, counts, slots, tokens)
    head = tl.program_id(1)
    q += begin * q_row + head * q_head
    k += word * k_row + head * k_head
    thresholds += line
    readers += line
    # fmt: off
    if length <= WORDS:
        _find_thresholds(q, k, thresholds, readers, count, length, q_row, k_row, scale,
                         E, WIDTH, ROWS, WORDS, STEPS, True)
    elif length <= 2 * WORDS:
        _find_thresholds(q, k, thresholds, readers, count, length, q_row, k_row, scale,
                         E, WIDTH, ROWS, 2 * WORDS, STEPS, True)
    elif LONG:
        _find_thresholds(q, k, thresholds, readers, count, length, q_row, k_row, scale,
                         E, WIDTH, ROWS, 2 * WORDS, STEPS, False)
    # fmt: on


@triton.jit
def _chosen(weights, slot, slots, order, inside, tokens, TILES: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """Returns a bit mask of the sentences that a tile of rows reads: bit i for sentence slot + i."""
    steps = tl.arange(0, TILES)
    there = ((slot + steps) < slots)[:, None] & inside[None, :]
    found = tl.load(weights + (slot + steps)[:, None] * tokens + order[None, :], mask=there, other=0.0)
    return tl.sum(tl.where(tl.max(found.to(tl.float32), 1) > 0, 1 << steps, 0), 0)


@triton.jit
def _sum_over_sentences(  # type: ignore[no-untyped-def]
    q, k, v, grad, weights, thresholds, means, out, owner, begins, lengths, slots,
    q_row, q_head, k_row, k_head, v_row, v_head, tokens, scale,
    HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr,  # noqa: N803
    TILES: tl.constexpr, BACKWARD: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes the output or, if BACKWARD, the gradient of the queries; only BACKWARD reads `grad` and `means`."""
    row, head = tl.program_id(0) * ROWS, tl.program_id(1)
    order, table = row + tl.arange(0, ROWS), head.to(tl.int64) * slots * tokens
    documents = tl.load(owner + order, mask=order < tokens, other=-1)
    query = _rows(q + head * q_head, row, tokens, q_row, E, WIDTH, ROWS)
    if BACKWARD:
        d_out = _rows(grad + head * E, row, tokens, HEADS * E, E, WIDTH, ROWS)
    total = tl.zeros([ROWS, WIDTH], tl.float32)
    for document in range(tl.load(owner + row), tl.load(owner + tl.minimum(row + ROWS, tokens) - 1) + 1):
        inside = documents == document
        for first in range(0, slots, TILES):
            bits = _chosen(weights + table, first, slots, order, inside, tokens, TILES)
            for i in range(TILES):
                if (bits >> i) & 1:
                    place, line = document * slots + first + i, table + (first + i) * tokens
                    word, length = tl.load(begins + place).to(tl.int64), tl.load(lengths + place)
                    weight = tl.load(weights + line + order, mask=inside, other=0.0).to(tl.float32)
                    threshold = tl.load(thresholds + line + order, mask=inside, other=0.0)
                    threshold = tl.where(weight > 0, threshold, float("inf"))
                    if BACKWARD:  # gradient of the scores before scaling
                        mean = tl.load(means + line + order, mask=inside, other=0.0) * scale
                        weight *= scale
                    for column in range(0, length, WORDS):
                        key = _rows(k + word * k_row + head * k_head, column, length, k_row, E, WIDTH, WORDS)
                        value = _rows(v + word * v_row + head * v_head, column, length, v_row, E, WIDTH, WORDS)
                        over = _scores(query, key, column, length, scale, WORDS) - threshold[:, None]
                        if BACKWARD:
                            d_shares = tl.dot(d_out, tl.trans(value), input_precision="ieee") * weight[:, None]
                            d_scores = tl.where(over > 0, d_shares - mean[:, None], 0.0)
                            total = tl.dot(d_scores.to(key.dtype), key, total, input_precision="ieee")
                        else:
                            shares = tl.maximum(over, 0.0) * weight[:, None]
                            total = tl.dot(shares.to(value.dtype), value, total, input_precision="ieee")
    places, there = _places(row, tokens, HEADS * E, E, WIDTH, ROWS)
    tl.store(out + head * E + places, total.to(query.dtype), mask=there)


@triton.jit
def _sentence_gradients(  # type: ignore[no-untyped-def]
    q, k, v, grad, weights, thresholds, means, d_weights, readers, counts, rows, begins, lengths, slots,
    q_row, q_head, k_row, k_head, v_row, v_head, tokens, scale,
    HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes the gradient of a row's weight for a sentence, and the mean gradient of its nonzero word shares."""
    line, begin, word, length, count = _sentence(rows, begins, lengths, counts, slots, tokens)
    head = tl.program_id(1)
    for start in range(0, count, ROWS):
        order, inside = _gathered(readers + line, start, count, ROWS)
        query = _gather(q + begin * q_row + head * q_head, order, inside, q_row, E, WIDTH)
        d_out = _gather(grad + (begin * HEADS + head) * E, order, inside, HEADS * E, E, WIDTH)
        threshold = tl.load(thresholds + line + order, mask=inside, other=0.0)
        weight = tl.load(weights + line + order, mask=inside, other=0.0).to(tl.float32)
        d_weight = tl.zeros([ROWS], tl.float32)
        total = tl.zeros([ROWS], tl.float32)
        above = tl.zeros([ROWS], tl.float32)
        for column in range(0, length, WORDS):
            key = _rows(k + word * k_row + head * k_head, column, length, k_row, E, WIDTH, WORDS)
            value = _rows(v + word * v_row + head * v_head, column, length, v_row, E, WIDTH, WORDS)
            over = _scores(query, key, column, length, scale, WORDS) - threshold[:, None]
            d_shares = tl.dot(d_out, tl.trans(value), input_precision="ieee")
            d_weight += tl.sum(tl.maximum(over, 0.0) * d_shares, 1)
            total += tl.sum(tl.where(over > 0, d_shares, 0.0), 1)
            above += tl.sum((over > 0).to(tl.float32), 1)
        tl.store(means + line + order, weight * total / tl.maximum(above, 1.0), mask=inside)
        tl.store(d_weights + line + order, d_weight.to(d_weights.dtype.element_ty), mask=inside)


@triton.jit
def _word_gradients(  # type: ignore[no-untyped-def]
    q, k, v, grad, weights, thresholds, means, dk, dv, readers, counts, rows, begins, lengths, slots,
    q_row, q_head, k_row, k_head, v_row, v_head, tokens, scale,
    HEADS: tl.constexpr, E: tl.constexpr, WIDTH: tl.constexpr, ROWS: tl.constexpr, WORDS: tl.constexpr,  # noqa: N803
):  # fmt: skip
    """Computes the gradients of the keys and values of a tile of words."""
    line, begin, word, length, count = _sentence(rows, begins, lengths, counts, slots, tokens)
    head, column = tl.program_id(1), tl.program_id(2) * WORDS
    if (column < length) & (count > 0):
        key = _rows(k + word * k_row + head * k_head, column, length, k_row, E, WIDTH, WORDS)
        value = _rows(v + word * v_row + head * v_head, column, length, v_row, E, WIDTH, WORDS)
        d_key = tl.zeros([WORDS, WIDTH], tl.float32)
        d_value = tl.zeros([WORDS, WIDTH], tl.float32)
        for start in range(0, count, ROWS):
            order, inside = _gathered(readers + line, start, count, ROWS)
            query = _gather(q + begin * q_row + head * q_head, order, inside, q_row, E, WIDTH)
            d_out = _gather(grad + (begin * HEADS + head) * E, order, inside, HEADS * E, E, WIDTH)
            weight = tl.load(weights + line + order, mask=inside, other=0.0).to(tl.float32)
            threshold = tl.load(thresholds + line + order, mask=inside, other=float("inf"))
            mean = tl.load(means + line + order, mask=inside, other=0.0)
            # Words by rows, unlike the other kernels: the products then need no transposed shares. Words past the end
            # have keys of zero, and their gradients are not stored below.
            over = tl.dot(key, tl.trans(query), input_precision="ieee") * scale - threshold[None, :]
            shares = tl.maximum(over, 0.0) * weight[None, :]
            d_shares = tl.dot(value, tl.trans(d_out), input_precision="ieee") * weight[None, :]
            d_scores = tl.where(over > 0, d_shares - mean[None, :], 0.0)
            d_value = tl.dot(shares.to(key.dtype), d_out, d_value, input_precision="ieee")
            d_key = tl.dot(d_scores.to(key.dtype), query, d_key, input_precision="ieee")
        places, there = _places(column, length, HEADS * E, E, WIDTH, WORDS)
        here = (word * HEADS + head) * E
        tl.store(dk + here + places, (d_key * scale).to(key.dtype), mask=there)
        tl.store(dv + here + places, d_value.to(key.dtype), mask=there)


def _launch(
    kernel: Any, grid: tuple[int, ...], tile: tuple[int, int], tensors: tuple[Tensor, ...], slots: int, **constants: int
) -> None:
    """Launches a kernel for every head; the first three tensors are query, key and value."""
    (tokens, heads, size), (rows, warps) = tensors[0].shape, tile
    strides = [x.stride(dimension) for x in tensors[:3] for dimension in (0, 1)]
    constants |= {"HEADS": heads, "E": size, "WIDTH": max(triton.next_power_of_2(size), 16), "ROWS": rows}
    kernel[grid[0], heads, *grid[1:]](
        *tensors, slots, *strides, tokens, size**-0.5, WORDS=WORDS, **constants, num_warps=warps, num_stages=1
    )


@torch.library.custom_op("docgraph::two_level_attention", mutates_args=())
def _attention(
    query: Tensor, key: Tensor, value: Tensor, weights: Tensor,
    owner: Tensor, rows: Tensor, begins: Tensor, lengths: Tensor, longest: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Returns the attended values [N, h, e], and three tables for `_gradient`, given weights [h, M, N].

    The tables are the thresholds [h, M, N] of the rows that read a sentence; these rows, packed from each document's
    first row on, [h, M, N] int32; and their number, [h, D * M] int32.
    """
    found = _attention_shapes(query, key, value, weights, owner, rows, begins, lengths, longest)
    (out, thresholds, readers, counts), (tokens, heads, _), slots = found, query.shape, weights.shape[1]
    if tokens:
        with torch.cuda.device_of(query):  # type: ignore[no-untyped-call]
            _readers[len(begins), heads](weights, readers, counts, rows, slots, tokens, BLOCK=1024, num_warps=4)
            by_sentence = query, key, value, thresholds, readers, counts, rows, begins, lengths
            _launch(_thresholds, (len(begins),), GATHERED, by_sentence, slots, STEPS=STEPS, LONG=longest > 2 * WORDS)
            by_row = query, key, value, out, weights, thresholds, thresholds, out, owner, begins, lengths
            tiles = (triton.cdiv(tokens, ROWS[0]),)
            _launch(_sum_over_sentences, tiles, ROWS, by_row, slots, TILES=TILES, BACKWARD=False)
    return found


@_attention.register_fake
def _attention_shapes(
    query: Tensor, key: Tensor, value: Tensor, weights: Tensor,
    owner: Tensor, rows: Tensor, begins: Tensor, *_: object,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    thresholds = weights.new_empty(weights.shape, dtype=torch.float32)
    readers = weights.new_empty(weights.shape, dtype=torch.int32)
    counts = begins.new_empty(len(weights), len(begins))
    return query.new_empty(query.shape), thresholds, readers, counts


@torch.library.custom_op("docgraph::two_level_attention_gradient", mutates_args=())
def _gradient(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor,
    thresholds: Tensor, readers: Tensor, counts: Tensor,
    owner: Tensor, rows: Tensor, begins: Tensor, lengths: Tensor, longest: int,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Returns the gradients of query, key, value and weights; zero weights, which sparsemax skips, get zero."""
    grad, means, slots = grad.contiguous(), torch.empty_like(thresholds), weights.shape[1]
    d_query = query.new_empty(query.shape)
    # Words that no row reads are handled by no program, so their gradients must start as zero.
    d_key, d_value, d_weights = (x.new_zeros(x.shape) for x in (key, value, weights))
    given = query, key, value, grad, weights, thresholds, means
    of_rows, of_sentences = (d_query, owner, begins, lengths), (readers, counts, rows, begins, lengths)
    if len(query):
        tiles, places = triton.cdiv(len(query), ROWS[0]), (len(begins), triton.cdiv(longest, WORDS))
        with torch.cuda.device_of(query):  # type: ignore[no-untyped-call]
            _launch(_sentence_gradients, places[:1], GATHERED, (*given, d_weights, *of_sentences), slots)
            _launch(_sum_over_sentences, (tiles,), ROWS, (*given, *of_rows), slots, TILES=TILES, BACKWARD=True)
            _launch(_word_gradients, places, GATHERED, (*given, d_key, d_value, *of_sentences), slots)
    return d_query, d_key, d_value, d_weights


@_gradient.register_fake
def _gradient_shapes(
    grad: Tensor, query: Tensor, key: Tensor, value: Tensor, weights: Tensor, *_: object
) -> tuple[Tensor, ...]:
    return tuple(x.new_empty(x.shape) for x in (query, key, value, weights))


def _keep(ctx, inputs, output):  # type: ignore[no-untyped-def]
    *tensors, ctx.longest = inputs
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(*tensors[:4], *output[1:], *tensors[4:])


def _differentiate(ctx, grad, *_):  # type: ignore[no-untyped-def]
    return *_gradient(grad, *ctx.saved_tensors, ctx.longest), *[None] * 5


_attention.register_autograd(_differentiate, setup_context=_keep)


@dataclass(frozen=True, eq=False)
class TwoLevelLayout:
    """N rows of D documents that read the words of the up to M sentences of their document in place."""

    sentences: SlotLayout
    """The rows and the sentences they read."""
    some: Tensor
    """[N, 1] bool: the row sees at least one sentence."""
    owner: Tensor
    """[N] int32: the document of each row."""
    rows: Tensor
    """[D+1] int32: the rows of document d are rows[d] .. rows[d+1]-1."""
    begins: Tensor
    """[D * M] int32: the first word of each sentence."""
    lengths: Tensor
    """[D * M] int32: the number of words of each sentence; 0 in an unused slot."""
    longest: int
    """Maximum number of words of a sentence."""

    @classmethod
    def of(cls, sentences: SlotLayout, rows: Tensor, begins: Tensor, lengths: Tensor, longest: int) -> "TwoLevelLayout":
        """`begins` and `lengths` of the sentences are [D, M]. Makes no GPU synchronisation."""
        order = torch.arange(len(sentences.some), device=rows.device)
        owner = (order[:, None] >= rows[1:]).sum(1)
        owner, begins, lengths = (table.flatten().to(torch.int32) for table in (owner, begins, lengths))
        return cls(sentences, sentences.some, owner, rows, begins, lengths, longest)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, weights: Tensor) -> Tensor:
        """Computes attention of query [N, h, e] over key and value [R, h, e] of the words -> [N, h, e].

        `weights` [B, h, L, M] are those of the sentences. The result is zero for rows that see no sentence.
        """
        weights = torch.where(self.some[:, None], self.sentences.rows.pack(weights.transpose(1, 2)), 0)
        query, key, value = (x if x.stride(-1) == 1 else x.contiguous() for x in (query, key, value))
        tables = self.owner, self.rows, self.begins, self.lengths
        return _attention(query, key, value, weights.permute(1, 2, 0).contiguous(), *tables, self.longest)[0]
