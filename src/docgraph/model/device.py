"""Choosing a device, and moving nested dataclasses of tensors between devices and processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from docgraph.errors import DocgraphError

T = TypeVar("T")
ALIGNMENT = 64
"""Bytes; vectorised kernels need aligned addresses."""


def to_device(value: T, device: torch.device | str) -> T:
    """Returns a copy of `value` with all its tensors, at any depth, on `device`."""
    return _map_nested(value, Tensor, lambda tensor: tensor.to(device, non_blocking=True))


def tensors_of(value: Any) -> list[Tensor]:
    """Returns all tensors in `value`, at any depth, in the order of its fields."""
    found: list[Tensor] = []
    _map_nested(value, Tensor, found.append)
    return found


def _map_nested(value: T, kind: type, function: Callable[[Any], Any]) -> T:
    """Returns a copy of `value` in which `function` replaced every object of type `kind`, at any depth."""
    made: Any = value
    if isinstance(value, kind):
        made = function(value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _map_nested(getattr(value, field.name), kind, function) for field in fields(value)}
        made = replace(value, **parts)
    elif isinstance(value, tuple):
        made = tuple(_map_nested(part, kind, function) for part in value)
    return made


@dataclass(frozen=True)
class _Slice:
    """The position and layout of a tensor in a buffer."""

    offset: int
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype

    def read(self, buffer: Tensor) -> Tensor:
        """Returns the tensor in the buffer's memory. It is not a view: autograd and compilers would track all of it."""
        start = self.offset // self.dtype.itemsize
        return torch.empty(0, dtype=self.dtype).set_(buffer.untyped_storage(), start, self.shape, self.stride)


@dataclass(frozen=True, eq=False)
class TensorBundle:
    """A nested dataclass whose tensors share one buffer, so that another process receives a single block of memory."""

    buffer: Tensor
    """[B] uint8."""
    content: Any
    """The value, with every tensor replaced by its `_Slice`."""

    @classmethod
    def of(cls, value: Any) -> TensorBundle:
        """Copies all tensors of `value` into one buffer."""
        tensors: list[tuple[Tensor, _Slice]] = []
        size = 0

        def reserve(tensor: Tensor) -> _Slice:
            nonlocal size
            part = _Slice(size, tensor.shape, tensor.contiguous().stride(), tensor.dtype)
            tensors.append((tensor, part))
            size += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
            return part

        content = _map_nested(value, Tensor, reserve)
        buffer = torch.empty(size, dtype=torch.uint8)
        for tensor, part in tensors:
            part.read(buffer).copy_(tensor)
        return cls(buffer, content)

    def unpack(self, pin: bool = False) -> Any:
        """Returns the value, with its tensors in the buffer's memory; `pin` first copies that to page-locked memory."""
        buffer = self.buffer.pin_memory() if pin else self.buffer
        return _map_nested(self.content, _Slice, lambda part: part.read(buffer))


def find_device(name: str | None) -> torch.device:
    """Returns the device called `name`; None: a GPU if there is one, else the CPU."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DocgraphError(f"there is no device '{name}'; choose cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DocgraphError("torch finds no GPU; use --device cpu")
    return device
