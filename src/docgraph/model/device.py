"""Devices, and moving nested dataclasses of tensors between them, and between processes as one buffer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from docgraph.errors import DocgraphError

T = TypeVar("T")
ALIGNMENT = 64
"""Bytes; vectorised kernels read from such addresses."""


def to_device(value: T, device: torch.device | str) -> T:
    """A copy of `value` with every tensor in it, however deep, on `device`."""
    return _mapped(value, Tensor, lambda tensor: tensor.to(device, non_blocking=True))


def tensors_of(value: Any) -> list[Tensor]:
    """Every tensor in `value`, however deep, in the order of its fields."""
    found: list[Tensor] = []
    _mapped(value, Tensor, found.append)
    return found


def _mapped(value: T, kind: type, function: Callable[[Any], Any]) -> T:
    """A copy of `value` with everything of a kind in it, however deep, replaced by what the function makes of it."""
    made: Any = value
    if isinstance(value, kind):
        made = function(value)
    elif is_dataclass(value) and not isinstance(value, type):
        parts = {field.name: _mapped(getattr(value, field.name), kind, function) for field in fields(value)}
        made = replace(value, **parts)
    elif isinstance(value, tuple):
        made = tuple(_mapped(part, kind, function) for part in value)
    return made


@dataclass(frozen=True)
class _Place:
    """Where a tensor stands in a buffer."""

    offset: int
    shape: torch.Size
    stride: tuple[int, ...]
    dtype: torch.dtype

    def read(self, buffer: Tensor) -> Tensor:
        """The tensor, on the memory of the buffer; no view for autograd or a compiler, which would track its base."""
        start = self.offset // self.dtype.itemsize
        return torch.empty(0, dtype=self.dtype).set_(buffer.untyped_storage(), start, self.shape, self.stride)


@dataclass(frozen=True, eq=False)
class Parcel:
    """A nested dataclass whose tensors lie in one buffer: it reaches another process as a single piece of memory."""

    buffer: Tensor
    """[bytes] uint8."""
    content: Any
    """The value, with the place of each tensor in its stead."""

    @classmethod
    def of(cls, value: Any) -> Parcel:
        tensors: list[tuple[Tensor, _Place]] = []
        size = 0

        def place(tensor: Tensor) -> _Place:
            nonlocal size
            found = _Place(size, tensor.shape, tensor.contiguous().stride(), tensor.dtype)
            tensors.append((tensor, found))
            size += -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT
            return found

        content = _mapped(value, Tensor, place)
        buffer = torch.empty(size, dtype=torch.uint8)
        for tensor, where in tensors:
            where.read(buffer).copy_(tensor)
        return cls(buffer, content)

    def open(self, pin: bool = False) -> Any:
        """The value, its tensors on the memory of the buffer, or of a page-locked copy, which a GPU reads by itself."""
        buffer = self.buffer.pin_memory() if pin else self.buffer
        return _mapped(self.content, _Place, lambda place: place.read(buffer))


def find_device(name: str | None) -> torch.device:
    """The device of this name; a GPU where there is one, and none is named."""
    if name is None:
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(name)
    except RuntimeError:
        raise DocgraphError(f"there is no device '{name}'; choose cpu or cuda") from None
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DocgraphError("there is no GPU here that torch can use; take --device cpu")
    return device
