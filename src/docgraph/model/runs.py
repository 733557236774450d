"""Runs: the words just before each sentence, copied end to end, so that packed attention can read them.

Runs of neighbouring sentences overlap, which packed sequences must not. All sizes follow from those of the batch, never
from the values of a tensor: nothing waits for the GPU, and one compiled graph serves all batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from docgraph.model.packing import Packing


def places(sentences: range | Tensor) -> slice | Tensor:
    """What picks these sentences of a tensor: of consecutive ones a view, not a copy."""
    return slice(sentences.start, sentences.stop) if isinstance(sentences, range) else sentences


@dataclass(frozen=True, eq=False)
class Runs:
    """For each of S sentences some consecutive ones of R packed tokens, in a copy of P tokens."""

    begins: Tensor
    """[S] int64, ascending: the first token of each run."""
    lengths: Tensor
    """[S] int64; the ends ascend as well."""
    index: Tensor
    """[P] int64: the token at each place of the copy; the places left over at its end are read by nobody."""
    packing: Packing
    """Of the S runs and, so that every place is in a sequence, of what is left over."""
    copies: Tensor
    """[R, K] int64: the places that hold a copy of each token."""
    copied: Tensor
    """[R, K] bool: whether there is a K-th copy."""

    @classmethod
    def of(cls, begins: Tensor, ends: Tensor, tokens: int, times: int, lengths: tuple[int, int]) -> Runs:
        """Runs of `tokens` tokens, each of which is in at most `times`; `lengths` are those of Packing, or bounds."""
        sequences, device = len(begins), begins.device
        sizes = ends - begins
        packing = Packing.covering(sizes.cumsum(0), min(times * tokens, sequences * lengths[0]), *lengths)
        bounds, sequence = packing.boundaries.long(), packing.sequence_of
        index = begins[sequence.clamp(max=sequences - 1)] + packing.positions
        token = torch.arange(tokens, device=device)
        ranks = torch.arange(times if sequences else 0, device=device)
        readers = torch.searchsorted(ends, token, right=True)[:, None] + ranks
        reader = readers.clamp(max=sequences - 1)
        copied = (readers < sequences) & (begins[reader] <= token[:, None])
        copies = torch.where(copied, bounds[reader] + token[:, None] - begins[reader], 0)
        return cls(begins, sizes, index.clamp(max=tokens - 1), packing, copies, copied)

    @classmethod
    def before(cls, words: Packing, own: Tensor, index_of: Tensor, far: int, near: int = 1) -> Runs:
        """The words [R] of the sentences from `far` to `near` places before each of S (0: itself), in its document.

        `words` packs C sentences; `own` [S] is each of the S among them, and `index_of` [S] its place in its document.
        """
        first = own - index_of.clamp(max=far)
        end = torch.maximum(own - near + 1, first)
        bounds, times = words.boundaries.long(), far - near + 1
        lengths = times * words.max_length, times * words.kernel_length
        return cls.of(bounds[first], bounds[end], words.num_tokens, times, lengths)

    def of_sequences(self, sequences: range | Tensor) -> Runs:
        """The runs of some sentences, ascending."""
        part = places(sequences)
        begins, (tokens, times) = self.begins[part], self.copies.shape
        lengths = self.packing.max_length, self.packing.kernel_length
        return Runs.of(begins, begins + self.lengths[part], tokens, times, lengths)

    def take(self, states: Tensor) -> Tensor:
        """What each place of the copy holds: [R, ...] -> [P, ...]."""
        return _Take.apply(states, self.index, self.copies, self.copied)  # type: ignore[no-untyped-call]


class _Take(torch.autograd.Function):
    """Copying; the gradient of a token is the sum of those of its copies, gathered, not scattered with atomic sums."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, index: Tensor, copies: Tensor, copied: Tensor) -> Tensor:
        ctx.save_for_backward(copies, copied)
        return states[index]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        copies, copied = ctx.saved_tensors
        if not len(grads[0]):
            return grads[0].new_zeros(len(copies), *grads[0].shape[1:]), None, None, None
        shaped = copied.reshape(*copied.shape, *[1] * (grads[0].dim() - 1))
        return torch.where(shaped, grads[0][copies], 0).sum(1), None, None, None
