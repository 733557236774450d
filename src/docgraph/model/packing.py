"""Packed sequences: the tokens of many sentences end to end, [N, ...], without padding.

Token-wise layers (projections, norms, feed-forward) run on the packed tokens. Only attention needs the ends of
sentences: on a GPU the variable-length kernel reads `boundaries`; otherwise `index` makes a padded copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model.device import to_device

T = TypeVar("T")

VECTOR = 16
"""fp32 numbers in the widest CPU vector. Sums over a row whose length is a multiple of it do not depend on padding."""


@dataclass(frozen=True, eq=False)
class Packing:
    """The layout of B sequences among N packed tokens."""

    boundaries: Tensor
    """[B+1] int32: sequence b is tokens boundaries[b] .. boundaries[b+1]-1."""
    index: Tensor
    """[B, T] int64: the token at each padded position; padding points at token 0 and is masked."""
    mask: Tensor
    """[B, T] bool: True for tokens, False for padding."""
    place: Tensor
    """[N] int64: the padded position (b * T + t) of each token."""
    max_length: int
    """T, the longest sequence, at least 1."""
    kernel_length: int
    """T rounded up to a power of two, for kernels: few compiled variants then serve all batches."""

    @classmethod
    def of(
        cls, lengths: Sequence[int] | Tensor, device: torch.device | str = "cpu", width: int | None = None
    ) -> Packing:
        """Packs sequences of these lengths, padded to `width` (default: the longest)."""
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
        """Packs sentences padded to whole CPU vectors: results do not depend on the other sentences of a batch."""
        sizes = torch.as_tensor(lengths, dtype=torch.int64, device="cpu")
        return cls.of(sizes, device, width=round_up_to_vectors(max(int(sizes.max()) if len(sizes) else 0, 1)))

    @classmethod
    def covering(cls, ends: Tensor, tokens: int, longest: int, kernel_length: int) -> Packing:
        """Packs sequences that end at the tokens ends [B], ascending, and adds sequences to cover all `tokens`.

        No sequence has more than `longest` tokens. Makes no GPU synchronisation.
        """
        steps = torch.arange(1, -(-tokens // longest) + 1, device=ends.device)
        last = F.pad(ends, (1, 0))[-1:]
        stops = torch.cat([ends, (last + steps * longest).clamp(max=tokens)])
        bounds, order = F.pad(stops, (1, 0)), torch.arange(tokens, device=ends.device)
        # Not bounds[1:]: searchsorted of a slice fails to compile, or searches the base, in PyTorch before 2.13.
        sequence = torch.searchsorted(stops, order, right=True)
        mask = torch.arange(longest, device=ends.device) < bounds.diff()[:, None]
        index = torch.where(mask, bounds[:-1, None] + torch.arange(longest, device=ends.device), 0)
        place = sequence * longest + order - bounds[sequence]
        return cls(bounds.to(torch.int32), index, mask, place, longest, kernel_length)

    def with_empty(self, count: int) -> Packing:
        """Returns the same packing with empty sequences appended, `count` sequences in total."""
        more = count - self.num_sequences
        boundaries = torch.cat([self.boundaries, self.boundaries[-1:].expand(more)])
        index, mask = (F.pad(table, (0, 0, 0, more)) for table in (self.index, self.mask))
        return replace(self, boundaries=boundaries, index=index, mask=mask)

    @property
    def num_sequences(self) -> int:
        """B."""
        return len(self.boundaries) - 1

    @property
    def num_tokens(self) -> int:
        """N."""
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
        """Returns [N']: the indices of the tokens of these sequences [B'], in their order."""
        return self.index[sequences][self.mask[sequences]]

    def pad(self, packed: Tensor) -> Tensor:
        """Pads the sequences: [N, ...] -> [B, T, ...]. Mask values at padding: they are arbitrary, without gradient."""
        return pad_rows(packed, self.index, self.place)

    def pack(self, padded: Tensor) -> Tensor:
        """Removes the padding: [B, T, ...] -> [N, ...]."""
        return _Pack.apply(padded, self.index, self.mask, self.place)  # type: ignore[no-untyped-call]


def round_up_to_vectors(length: int) -> int:
    """Returns `length` rounded up to a multiple of `VECTOR`."""
    return -(-length // VECTOR) * VECTOR


@dataclass(frozen=True, eq=False)
class Blocks:
    """Packed rows of G groups, cut into B blocks; a block holds consecutive rows of one group."""

    rows: Packing
    """The rows of each block."""
    owner: Tensor | None = None
    """[B] int64: the group of each block; None: block g is all of group g."""
    groups: Tensor | None = None
    """[G+1] int32: the first row of each group, and the number of rows; None if `owner` is None."""

    @classmethod
    def of(cls, lengths: Tensor, width: int, count: int) -> Blocks | None:
        """Cuts groups of these lengths [G] into `count` blocks of at most `width` rows; None if more are needed.

        Surplus blocks are empty and belong to group 0.
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
        """Returns the number of blocks; if the blocks are whole groups, the number of blocks of `width` rows needed."""
        return int(_blocks_of(self.rows.boundaries.diff(), width).sum()) if self.owner is None else len(self.owner)


def _blocks_of(lengths: Tensor, width: int) -> Tensor:
    """Returns [G] int64: the number of blocks of at most `width` rows for groups of these lengths [G]."""
    return (lengths.long() + width - 1) // width


def pad_rows(packed: Tensor, index: Tensor, place: Tensor) -> Tensor:
    """Returns packed[index]: [N, ...] -> [B, T, ...]; row n has exactly one real position, place[n], among B * T."""
    if not len(packed):
        return packed.new_zeros(*index.shape, *packed.shape[1:])
    return _Pad.apply(packed, index, place)  # type: ignore[no-untyped-call]


class _Pad(torch.autograd.Function):
    """Padding whose gradient is a gather, not a scatter with sums, because every row has one real position."""

    @staticmethod
    def forward(ctx: Any, packed: Tensor, index: Tensor, place: Tensor) -> Tensor:
        ctx.save_for_backward(place)
        return packed[index]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (place,) = ctx.saved_tensors
        return grads[0].flatten(0, 1)[place], None, None


class _Pack(torch.autograd.Function):
    """The inverse of `_Pad`."""

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
    """Splits the sentences from `begin` on into windows of at most `room` sub-words, or of a single sentence."""
    size = 0
    for place, length in enumerate(lengths[begin:], start=begin):
        if place > begin and size + length > room:
            yield range(begin, place)
            begin, size = place, 0
        size += length
    yield range(begin, len(lengths))


def split_by_size(items: Sequence[T], room: int, size: Callable[[T], int]) -> Iterator[Sequence[T]]:
    """Splits items into parts of together at most `room`, or of a single item; yields nothing for no items."""
    for part in windows([size(item) for item in items], room) if items else ():
        yield items[part.start : part.stop]
