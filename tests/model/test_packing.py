"""Packed sequences: what is packed comes back, and positions count from the start of each sequence."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.packing import Packing


@settings(max_examples=50, deadline=None)
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


@settings(max_examples=50, deadline=None)
@given(lengths=st.lists(st.integers(0, 6), max_size=8))
def test_each_token_knows_its_sequence_and_position(lengths: list[int]) -> None:
    packing = Packing.of(lengths)
    assert packing.num_sequences == len(lengths)
    assert packing.num_tokens == sum(lengths)
    assert packing.sequence_of.tolist() == [b for b, length in enumerate(lengths) for _ in range(length)]
    assert packing.positions.tolist() == [t for length in lengths for t in range(length)]
    assert packing.boundaries.diff().tolist() == lengths
    assert packing.mask.sum(1).tolist() == lengths


def test_padding_passes_no_gradient_to_the_token_it_points_at() -> None:
    packing = Packing.of([2, 5])
    packed = torch.randn(7, 3, requires_grad=True)
    packing.pack(packing.pad(packed)).sum().backward()
    assert packed.grad is not None
    assert torch.equal(packed.grad, torch.ones(7, 3))
