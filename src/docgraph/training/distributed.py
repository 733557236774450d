"""The processes of a training run: device, rank, collectives and stop signals."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Self, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from docgraph.errors import DocgraphError

T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """The rank and device of this process, and the number of processes.

    Without torchrun there is one process, and the collectives are no-ops.
    """

    rank: int
    size: int
    device: torch.device

    @classmethod
    def join(cls) -> World:
        """Joins the process group that torchrun describes in the environment, if there is one."""
        if "LOCAL_RANK" not in os.environ:
            return cls(0, 1, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
        from accelerate import PartialState  # type: ignore[import-untyped]

        processes, devices = int(os.environ.get("LOCAL_WORLD_SIZE", "1")), torch.cuda.device_count()
        if 0 < devices < processes:
            raise DocgraphError(
                f"torchrun started {processes} processes and this machine has {devices} GPU{'s'[: devices - 1]}; "
                f"start it with --nproc-per-node={devices}"
            )
        state = PartialState(cpu=not torch.cuda.is_available())
        return cls(state.process_index, state.num_processes, state.device)

    @property
    def is_main(self) -> bool:
        """True for the process of rank 0, the only one that writes files."""
        return self.rank == 0

    def all_reduce(self, tensor: Tensor) -> None:
        """Sums a tensor over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)

    def all_gather(self, values: list[T]) -> list[T]:
        """Returns the concatenated lists of all processes, in the order of their ranks."""
        if self.size == 1:
            return values
        lists: list[list[T]] = [[] for _ in range(self.size)]
        dist.all_gather_object(lists, values)
        return [value for part in lists for value in part]

    def barrier(self) -> None:
        """Blocks until every process has called this."""
        if self.size > 1:
            dist.barrier()

    def leave(self) -> None:
        """Destroys the process group."""
        if dist.is_initialized():
            dist.destroy_process_group()


class StopRequested(Exception):  # noqa: N818  (not an error)
    """Raised in the middle of work that a resumed run repeats."""


class StopSignal:
    """Context manager that turns the first SIGINT or SIGTERM into a request; a second one raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.requested = False
        self._previous_handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._previous_handlers[number] = signal.signal(number, self._request)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous_handlers.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True

    def check(self) -> None:
        """Raises StopRequested after a signal."""
        if self.requested:
            raise StopRequested
