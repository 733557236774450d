"""From gradients to weights: fp32 master weights, Adam, the learning rate, gradient norms, and sums for the metrics.

A bf16 model computes with bf16 weights; the optimizer updates fp32 master copies of them. Autocast would cast every
weight in every forward pass, about 300 small kernels per step; here a few kernels cast gradients up and weights down.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from docgraph.training.config import OptimizerConfig, ScheduleConfig


def learning_rate(config: ScheduleConfig, step: int, steps: int) -> float:
    """Returns the learning rate of update `step` (from 1) of `steps`: linear warm-up to the peak, then by `kind`.

    inverse_sqrt: peak * sqrt(warmup / step) (Vaswani et al. 2017, equation 3, with an explicit peak); cosine: half a
    cosine that reaches `floor` at the last update; constant: the peak.
    """
    if step < config.warmup:
        return config.peak * step / config.warmup
    if config.kind == "inverse_sqrt":
        return max(config.peak * math.sqrt(max(config.warmup, 1) / step), config.floor)
    if config.kind == "cosine":
        done = min(1.0, (step - config.warmup) / max(1, steps - config.warmup))
        return config.floor + (config.peak - config.floor) * (1 + math.cos(math.pi * done)) / 2
    return config.peak


class MasterWeights:
    """The fp32 copies of the trainable parameters of a model; pass `parameters` to the optimizer.

    For an fp32 model they share memory with the model's parameters. All gradients are views of one buffer, so that a
    norm, a scaling or an all-reduce is one call. A parameter without a gradient has zeros there.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.model_parameters = _trainable(parameters)
        self.parameters = [nn.Parameter(parameter.detach().float()) for parameter in self.model_parameters]
        sizes = [parameter.numel() for parameter in self.parameters]
        device = self.parameters[0].device if self.parameters else None
        self.gradients = torch.zeros(sum(sizes), device=device)
        self.gradient_views: list[Tensor] = []
        """The gradient of each parameter, a view of `gradients`."""
        for master, part in zip(self.parameters, torch.split(self.gradients, sizes), strict=True):
            self.gradient_views.append(part.view_as(master))
            master.grad = self.gradient_views[-1]

    @torch.no_grad()
    def collect_gradients(self, add: bool = False) -> None:
        """Moves the model's gradients to the masters: replaces theirs or, with `add`, adds to them."""
        pairs = [(view, model.grad) for view, model in zip(self.gradient_views, self.model_parameters, strict=True)]
        for parameter in self.model_parameters:
            parameter.grad = None
        if not add and (without := [view for view, gradient in pairs if gradient is None]):
            torch._foreach_zero_(without)
        present = [(view, gradient) for view, gradient in pairs if gradient is not None]
        if present and add:
            torch._foreach_add_([view for view, _ in present], tuple(gradient for _, gradient in present))
        elif present:
            torch._foreach_copy_([view for view, _ in present], [gradient for _, gradient in present])

    @torch.no_grad()
    def update_model(self) -> None:
        """Copies the masters into the model, rounded to its precision."""
        torch._foreach_copy_(list(self.model_parameters), list(self.parameters))

    @torch.no_grad()
    def copy_from(self, parameters: Iterable[nn.Parameter]) -> None:
        """Sets masters and model to the weights of another copy of the model, which may be on another device."""
        for master, other in zip(self.parameters, _trainable(parameters), strict=True):
            master.copy_(other)
        self.update_model()

    @torch.no_grad()
    def copy_to(self, parameters: Iterable[nn.Parameter]) -> None:
        """Copies the masters into another copy of the model, in that copy's precision and on its device."""
        for master, other in zip(self.parameters, _trainable(parameters), strict=True):
            other.copy_(master)


def _trainable(parameters: Iterable[nn.Parameter]) -> list[nn.Parameter]:
    return [parameter for parameter in parameters if parameter.requires_grad]


def make_optimizer(config: OptimizerConfig, masters: MasterWeights) -> torch.optim.Optimizer:
    """Returns Adam or AdamW over the master weights; the learning rate is set before every update."""
    kind = torch.optim.AdamW if config.kind == "adamw" else torch.optim.Adam
    betas = (config.beta1, config.beta2)
    return kind(masters.parameters, betas=betas, eps=config.epsilon, weight_decay=config.weight_decay, fused=True)


class GradientNorms:
    """Measures the gradient norm of each trainable part of the model; a dying context gradient shows here."""

    def __init__(self, names: Sequence[str], masters: MasterWeights) -> None:
        """`names` are those of the trainable parameters, in the order of the masters."""
        self.masters, parts = masters, [part_of(name) for name in names]
        self.labels = sorted(set(parts))
        self._part = torch.tensor([self.labels.index(part) for part in parts], device=masters.gradients.device)

    @torch.no_grad()
    def __call__(self, clip_scale: Tensor) -> dict[str, float | None]:
        """Returns the norms of the last update before clipping, which scaled its gradient by `clip_scale`."""
        norms = torch.stack(torch._foreach_norm(self.masters.gradient_views))
        squares = norms.new_zeros(len(self.labels)).index_add(0, self._part, norms**2)
        values = (squares.sqrt() / clip_scale).tolist()
        return {
            label: value if value < float("inf") else None for label, value in zip(self.labels, values, strict=True)
        }


def part_of(parameter: str) -> str:
    """Returns the part of the model that a parameter belongs to.

    That is `base`, `context`, or a layer with context attention such as `encoder.0` or `decoder.5`.
    """
    site = re.match(r"integration\.((?:encoder|decoder)\.\d+)\.", parameter)
    return site[1] if site else "context" if parameter.startswith("context.") else "base"


class SumsSinceLastLine(NamedTuple):
    """Sums over the updates since the last metrics line."""

    loss: float
    """Label-smoothed loss; it and the next three fields are sums over the applied updates."""
    nll: float
    tokens: float
    gradient_norm: float
    updates: float
    """Applied updates."""
    skipped: float
    """Updates skipped because the loss or the gradient was not finite."""
    skipped_in_a_row: float
    """Length of the current run of skipped updates."""
    longest_skip: float
    """Length of the longest run of skipped updates."""
    stop_requests: float
    """Stop requests of all processes."""


class UpdateSums:
    """Accumulates `SumsSinceLastLine` on the device.

    The host reads them once per metrics line, so that it never waits for the device in an update.
    """

    def __init__(self, device: torch.device) -> None:
        self.values = torch.zeros(len(SumsSinceLastLine._fields), dtype=torch.float64, device=device)
        """[9]: the fields of SumsSinceLastLine, in their order."""

    def add(self, counts: Tensor, norm: Tensor, finite: Tensor) -> None:
        """Adds an update: `counts` [4] are loss, NLL, tokens and stop requests; it was skipped unless `finite`."""
        sums = self.values
        skipped_in_a_row = torch.where(finite, 0.0, sums[6] + 1)
        sums[:3] += torch.where(finite, counts[:3], 0.0)
        sums[3] += torch.where(finite, norm, 0.0)
        sums[4] += finite
        sums[5] += ~finite
        sums[6] = skipped_in_a_row
        sums[7] = torch.maximum(sums[7], skipped_in_a_row)
        sums[8] += counts[3]

    def read_and_reset(self) -> SumsSinceLastLine:
        """Returns the sums and sets them to zero, except for the current run of skipped updates."""
        sums = SumsSinceLastLine(*self.values.tolist())
        self.values.zero_()
        self.values[6] = sums.skipped_in_a_row
        return sums
