"""Packed sequences: round trips, positions and blocks."""

from __future__ import annotations

from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.packing import Blocks, Packing, split_by_size


@settings(max_examples=50)
@given(lengths=st.lists(st.integers(0, 6), max_size=8))
def test_padding_and_packing_are_inverse(lengths: list[int]) -> None:
    packing = Packing.of(lengths)
    packed = torch.randn(sum(lengths), 3)
    padded = packing.pad(packed)
    assert padded.shape == (len(lengths), max([1, *lengths]), 3)
    assert torch.equal(packing.pack(padded), packed)
    start = 0
    for row, length in zip(padded, lengths, strict=True):
        assert torch.equal(row[:length], packed[start : start + length])
        start += length


@settings(max_examples=50)
@given(lengths=st.lists(st.integers(0, 6), max_size=8))
def test_each_token_knows_its_sequence_and_position(lengths: list[int]) -> None:
    packing = Packing.of(lengths)
    assert packing.num_sequences == len(lengths)
    assert packing.num_tokens == sum(lengths)
    assert packing.sequence_of.tolist() == [b for b, length in enumerate(lengths) for _ in range(length)]
    assert packing.positions.tolist() == [t for length in lengths for t in range(length)]
    assert packing.boundaries.diff().tolist() == lengths
    assert packing.mask.sum(1).tolist() == lengths


@given(sizes=st.lists(st.integers(1, 6), max_size=8), room=st.integers(1, 12))
def test_items_are_split_by_size(sizes: list[int], room: int) -> None:
    parts = [[*part] for part in split_by_size(sizes, room, int)]
    assert [size for part in parts for size in part] == sizes
    assert all(sum(part) <= room or len(part) == 1 for part in parts)
    assert all(sum(part) + following[0] > room for part, following in pairwise(parts))


def test_padding_passes_no_gradient_to_the_token_it_points_at() -> None:
    packing = Packing.of([2, 5])
    packed = torch.randn(7, 3, requires_grad=True)
    packing.pack(packing.pad(packed)).sum().backward()
    assert packed.grad is not None
    assert torch.equal(packed.grad, torch.ones(7, 3))


@settings(max_examples=100)
@given(lengths=st.lists(st.integers(0, 9), max_size=6), width=st.integers(1, 4), spare=st.integers(0, 2))
def test_blocks_hold_every_row_once_and_of_one_group(lengths: list[int], width: int, spare: int) -> None:
    needed = Blocks(Packing.of(lengths)).count(width)
    assert Blocks.of(torch.tensor(lengths, dtype=torch.int64), width, needed - 1) is None
    blocks = Blocks.of(torch.tensor(lengths, dtype=torch.int64), width, needed + spare)
    assert blocks is not None
    assert blocks.owner is not None
    assert blocks.rows.index.shape == (needed + spare, width)
    assert blocks.count(width) == needed + spare
    group = torch.arange(len(lengths)).repeat_interleave(torch.tensor(lengths, dtype=torch.int64))
    rows = blocks.rows.index[blocks.rows.mask]
    assert rows.tolist() == list(range(sum(lengths)))
    assert torch.equal(blocks.owner[:, None].expand(-1, width)[blocks.rows.mask], group)
    assert blocks.rows.mask[:needed].any(1).all()
    assert torch.equal(blocks.boundaries, Packing.of(lengths).boundaries)
