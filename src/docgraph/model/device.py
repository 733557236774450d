"""Moving nested dataclasses of tensors between devices."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


def to_device(value: T, device: torch.device | str) -> T:
    """A copy of `value` with every tensor in it, however deep, on `device`."""
    moved: Any = value
    if isinstance(value, Tensor):
        moved = value.to(device, non_blocking=True)
    elif is_dataclass(value) and not isinstance(value, type):
        moved = replace(value, **{field.name: to_device(getattr(value, field.name), device) for field in fields(value)})
    elif isinstance(value, tuple):
        moved = tuple(to_device(part, device) for part in value)
    return moved
