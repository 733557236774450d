"""Half-precision training: the model computes in bf16, the optimizer keeps single-precision masters of its weights.

Casting every weight in every forward pass, as autocast does, costs some three hundred small kernels a step; here a step
casts gradients up and weights down in a handful.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn


class MasterWeights:
    """Single-precision copies of the trainable parameters of a bf16 model: give `parameters` to the optimizer."""

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.model = [parameter for parameter in parameters if parameter.requires_grad]
        self.parameters = [nn.Parameter(parameter.detach().float()) for parameter in self.model]

    @torch.no_grad()
    def take_gradients(self) -> None:
        """Move the model's gradients to the masters; a parameter that got none keeps none."""
        up, down = [], []
        for master, parameter in zip(self.parameters, self.model, strict=True):
            if parameter.grad is None:
                master.grad = None
                continue
            if master.grad is None:
                master.grad = torch.empty_like(master)
            up.append(master.grad)
            down.append(parameter.grad)
            parameter.grad = None
        if up:
            torch._foreach_copy_(up, down)

    @torch.no_grad()
    def give_weights(self) -> None:
        """Round the masters into the model."""
        torch._foreach_copy_(list(self.model), list(self.parameters))
