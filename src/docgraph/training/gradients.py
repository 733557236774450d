"""Gradient norms by part of the model: a context whose gradient dies is told by them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch
from torch import Tensor

from docgraph.training.precision import MasterWeights


def part_of(name: str) -> str:
    """The part a parameter belongs to: `base`, `context`, or the site of a layer, `encoder.0` or `decoder.5`."""
    site = re.match(r"integration\.((?:encoder|decoder)\.\d+)\.", name)
    return site[1] if site else "context" if name.startswith("context.") else "base"


class GradientNorms:
    """The norm of the gradient of each part that trains."""

    def __init__(self, names: Sequence[str], masters: MasterWeights) -> None:
        self.masters, parts = masters, [part_of(name) for name in names]
        self.labels = sorted(set(parts))
        self._part = torch.tensor([self.labels.index(part) for part in parts], device=masters.gradients.device)

    @torch.no_grad()
    def __call__(self, shrink: Tensor) -> dict[str, float | None]:
        """The norms of the last update before `shrink` (clipping) was applied to its gradient."""
        norms = torch.stack(torch._foreach_norm(self.masters.parts))
        squares = norms.new_zeros(len(self.labels)).index_add(0, self._part, norms**2)
        values = (squares.sqrt() / shrink).tolist()
        return {
            label: value if value < float("inf") else None for label, value in zip(self.labels, values, strict=True)
        }
