"""Learning rates: the rate of a step, as a plain function of its number."""

from __future__ import annotations

import math

from docgraph.training.config import ScheduleConfig


def learning_rate(config: ScheduleConfig, step: int, steps: int) -> float:
    """The rate of update `step` (from 1) of `steps`: a linear warm-up to the peak, then as `kind` says.

    inverse_sqrt: peak * sqrt(warmup / step) (Vaswani et al. 2017, equation 3, its peak given outright); cosine: half a
    cosine down to `floor` at the last step; constant: the peak.
    """
    if step < config.warmup:
        return config.peak * step / config.warmup
    if config.kind == "inverse_sqrt":
        return max(config.peak * math.sqrt(max(config.warmup, 1) / step), config.floor)
    if config.kind == "cosine":
        done = min(1.0, (step - config.warmup) / max(1, steps - config.warmup))
        return config.floor + (config.peak - config.floor) * (1 + math.cos(math.pi * done)) / 2
    return config.peak
