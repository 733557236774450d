"""Half-precision training: the model computes in bf16, the optimizer keeps single-precision masters of its weights.

Casting every weight in every forward pass, as autocast does, costs some three hundred small kernels a step; here a step
casts gradients up and weights down in a handful.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class MasterWeights:
    """Single-precision copies of the trainable parameters of a bf16 model: give `parameters` to the optimizer.

    Those of an fp32 model are the model's own. Their gradients are parts of one buffer, so that a norm, a scale or an
    all-reduce is one call; a parameter that got no gradient has zeros there.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.model = _trainable(parameters)
        self.parameters = [nn.Parameter(parameter.detach().float()) for parameter in self.model]
        sizes = [parameter.numel() for parameter in self.parameters]
        device = self.parameters[0].device if self.parameters else None
        self.gradients = torch.zeros(sum(sizes), device=device)
        self.parts: list[Tensor] = []
        """The gradient of each parameter in the buffer."""
        for master, part in zip(self.parameters, torch.split(self.gradients, sizes), strict=True):
            self.parts.append(part.view_as(master))
            master.grad = self.parts[-1]

    @torch.no_grad()
    def take_gradients(self, add: bool = False) -> None:
        """Move the model's gradients to the masters, in place of what they had or added to it."""
        pairs = [(part, parameter.grad) for part, parameter in zip(self.parts, self.model, strict=True)]
        for parameter in self.model:
            parameter.grad = None
        if not add and (none := [part for part, gradient in pairs if gradient is None]):
            torch._foreach_zero_(none)
        found = [(part, gradient) for part, gradient in pairs if gradient is not None]
        if found and add:
            torch._foreach_add_([part for part, _ in found], tuple(gradient for _, gradient in found))
        elif found:
            torch._foreach_copy_([part for part, _ in found], [gradient for _, gradient in found])

    @torch.no_grad()
    def give_weights(self) -> None:
        """Round the masters into the model."""
        torch._foreach_copy_(list(self.model), list(self.parameters))

    @torch.no_grad()
    def copy_from(self, parameters: Iterable[nn.Parameter]) -> None:
        """Take the weights of another copy of the model, which may be on another device."""
        for master, other in zip(self.parameters, _trainable(parameters), strict=True):
            master.copy_(other)
        self.give_weights()

    @torch.no_grad()
    def copy_to(self, parameters: Iterable[nn.Parameter]) -> None:
        """Put the weights into another copy of the model, in its own precision and place."""
        for master, other in zip(self.parameters, _trainable(parameters), strict=True):
            other.copy_(master)


def _trainable(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    return [parameter for parameter in parameters if parameter.requires_grad]
