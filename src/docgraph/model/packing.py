"""Packed sequences: the tokens of many sentences end to end, [N, ...], without a padding token between them.

Token-wise work (projections, norms, feed-forward) runs on the packed tokens. Only attention needs to know where a
sentence ends: on a GPU the variable-length kernel reads `boundaries`, elsewhere `index` lays the tokens out padded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.device import to_device

VECTOR = 16
"""Numbers in the longest vectors of a CPU; what is left of a row beside whole ones is rounded otherwise."""


@dataclass(frozen=True, eq=False)
class Packing:
    """Where each of B sequences lies among N packed tokens."""

    boundaries: Tensor
    """[B+1] int32: sequence b is tokens boundaries[b] .. boundaries[b+1]-1."""
    index: Tensor
    """[B, T] int64: the token at each padded place; padding points at token 0 and is masked."""
    mask: Tensor
    """[B, T] bool: True at real tokens."""
    place: Tensor
    """[N] int64: the padded place (b * T + t) of each token."""
    max_length: int
    """T, the longest sequence, at least 1."""
    kernel_length: int
    """T rounded up to a power of two: what kernels are told, so that few compiled variants serve all batches."""

    @classmethod
    def of(
        cls, lengths: Sequence[int] | Tensor, device: torch.device | str = "cpu", width: int | None = None
    ) -> Packing:
        """Packing of sequences of these lengths; the longest counts as `width`, where that is given."""
        sizes = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
        longest = width or max(int(sizes.max()) if len(sizes) else 0, 1)
        boundaries = torch.zeros(len(sizes) + 1, dtype=torch.int64)
        boundaries[1:] = sizes.cumsum(0)
        steps = torch.arange(longest)
        mask = steps[None, :] < sizes[:, None]
        index = torch.where(mask, boundaries[:-1, None] + steps[None, :], 0)
        place = mask.flatten().nonzero().flatten()
        kernel_length = max(1 << (longest - 1).bit_length(), 32)
        return to_device(cls(boundaries.to(torch.int32), index, mask, place, longest, kernel_length), device)

    @classmethod
    def of_sentences(cls, lengths: Sequence[int] | Tensor, device: torch.device | str = "cpu") -> Packing:
        """Packing whose padding does not change a number: sums over the keys of attention fill the vectors of a CPU."""
        sizes = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
        return cls.of(sizes, device, width=whole_vectors(max(int(sizes.max()) if len(sizes) else 0, 1)))

    @classmethod
    def covering(cls, ends: Tensor, tokens: int, longest: int, kernel_length: int) -> Packing:
        """Sequences that end at these tokens [B], ascending, and as many more as may be needed for all `tokens`.

        None of them has more than `longest` tokens. Nothing is read back from a GPU.
        """
        steps = torch.arange(1, -(-tokens // longest) + 1, device=ends.device)
        last = F.pad(ends, (1, 0))[-1:]
        stops = torch.cat([ends, (last + steps * longest).clamp(max=tokens)])
        bounds, order = F.pad(stops, (1, 0)), torch.arange(tokens, device=ends.device)
        # Not bounds[1:]: compiled for a GPU, PyTorch before 2.13 fails to search a slice, or searches what it is of.
        sequence = torch.searchsorted(stops, order, right=True)
        mask = torch.arange(longest, device=ends.device) < bounds.diff()[:, None]
        index = torch.where(mask, bounds[:-1, None] + torch.arange(longest, device=ends.device), 0)
        place = sequence * longest + order - bounds[sequence]
        return cls(bounds.to(torch.int32), index, mask, place, longest, kernel_length)

    def with_empty(self, count: int) -> Packing:
        """The same, with sequences of no token after the others, `count` in all."""
        more = count - self.num_sequences
        boundaries = torch.cat([self.boundaries, self.boundaries[-1:].expand(more)])
        index, mask = (F.pad(table, (0, 0, 0, more)) for table in (self.index, self.mask))
        return replace(self, boundaries=boundaries, index=index, mask=mask)

    @property
    def num_sequences(self) -> int:
        return len(self.boundaries) - 1

    @property
    def num_tokens(self) -> int:
        return len(self.place)

    @property
    def positions(self) -> Tensor:
        """[N]: the position of each token in its sequence."""
        return self.place % self.max_length

    @property
    def sequence_of(self) -> Tensor:
        """[N]: the sequence of each token."""
        return self.place // self.max_length

    def tokens_of(self, sequences: Tensor) -> Tensor:
        """The tokens of these sequences [B'], one sequence after the other: [N']."""
        return self.index[sequences][self.mask[sequences]]

    def pad(self, packed: Tensor) -> Tensor:
        """[N, ...] -> [B, T, ...]; what stands at padding is arbitrary, must be masked, and gets no gradient."""
        return lay_out(packed, self.index, self.place)

    def pack(self, padded: Tensor) -> Tensor:
        """[B, T, ...] -> [N, ...]."""
        return _Pack.apply(padded, self.index, self.mask, self.place)  # type: ignore[no-untyped-call]


def whole_vectors(length: int) -> int:
    """`length`, or a little more: a multiple of what any CPU adds up at once."""
    return -(-length // VECTOR) * VECTOR


@dataclass(frozen=True, eq=False)
class Blocks:
    """Rows of G groups, packed, in B blocks of consecutive rows of one group each, every row in one of them."""

    rows: Packing
    """The rows of each block."""
    owner: Tensor | None = None
    """[B] int64: the group of each block; None where block g is the whole of group g."""
    groups: Tensor | None = None
    """[G+1] int32: where the rows of each group begin and the last one's end; None likewise."""

    @classmethod
    def of(cls, lengths: Tensor, width: int, count: int) -> Blocks | None:
        """Groups of these lengths [G] in blocks of at most `width` rows, `count` in all; None where these are too few.

        Blocks left over are empty and count as the first group's.
        """
        needed = _blocks_of(lengths, width)
        missing = count - int(needed.sum())
        if missing < 0:
            return None
        owner = torch.arange(len(lengths)).repeat_interleave(needed)
        before = torch.arange(len(owner)) - (needed.cumsum(0) - needed)[owner]
        rows = Packing.of((lengths[owner] - before * width).clamp(max=width), width=width)
        groups = F.pad(lengths.cumsum(0), (1, 0)).to(torch.int32)
        return cls(rows.with_empty(count), F.pad(owner, (0, missing)), groups)

    @property
    def boundaries(self) -> Tensor:
        """[G+1] int32: group g is rows boundaries[g] .. boundaries[g+1]-1."""
        return self.rows.boundaries if self.groups is None else self.groups

    def count(self, width: int) -> int:
        """The blocks there are or, of whole groups, how many of at most `width` rows they would make."""
        return int(_blocks_of(self.rows.boundaries.diff(), width).sum()) if self.owner is None else len(self.owner)


def _blocks_of(lengths: Tensor, width: int) -> Tensor:
    """[G] int64: blocks of at most `width` rows for each group of these lengths [G]."""
    return (lengths.long() + width - 1) // width


def lay_out(packed: Tensor, index: Tensor, place: Tensor) -> Tensor:
    """packed[index]: [N, ...] -> [B, T, ...], where row n of N has the one real place `place`[n] of B * T."""
    if not len(packed):
        return packed.new_zeros(*index.shape, *packed.shape[1:])
    return _Pad.apply(packed, index, place)  # type: ignore[no-untyped-call]


class _Pad(torch.autograd.Function):
    """Laying out; since every row has one real place, the gradient is a gather, not a scatter with sums."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, index: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        return packed[index]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (place,) = ctx.saved_tensors
        return grads[0].flatten(0, 1)[place], None, None


class _Pack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, padded: Tensor, index: Tensor, mask: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(index, mask)
        return padded.flatten(0, 1)[place]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        index, mask = ctx.saved_tensors
        if not len(grads[0]):
            return grads[0].new_zeros(*index.shape, *grads[0].shape[1:]), None, None, None
        shaped = mask.reshape(*mask.shape, *[1] * (grads[0].dim() - 1))
        return torch.where(shaped, grads[0][index], 0), None, None, None


def windows(lengths: Sequence[int], room: int, begin: int = 0) -> Iterator[range]:
    """Consecutive sentences, from `begin` on, of at most `room` sub-words, or one sentence."""
    size = 0
    for place, length in enumerate(lengths[begin:], start=begin):
        if place > begin and size + length > room:
            yield range(begin, place)
            begin, size = place, 0
        size += length
    yield range(begin, len(lengths))
