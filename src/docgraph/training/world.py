"""The processes of a run: one, or as many as torchrun started, set up by Accelerate."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from docgraph.errors import DocgraphError

T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """This process among `size`, and the device it computes on."""

    rank: int
    size: int
    device: torch.device

    @classmethod
    def join(cls) -> World:
        """The world torchrun describes in the environment; a world of one without it."""
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
    def first(self) -> bool:
        """Whether this is the process that writes."""
        return self.rank == 0

    def sum(self, tensor: Tensor) -> None:
        """Sum a tensor over all processes, in place."""
        if self.size > 1:
            dist.all_reduce(tensor)

    def gather(self, values: list[T]) -> list[T]:
        """The lists of all processes, one after the other."""
        if self.size == 1:
            return values
        lists: list[list[T]] = [[] for _ in range(self.size)]
        dist.all_gather_object(lists, values)
        return [value for part in lists for value in part]

    def wait(self) -> None:
        """Until all processes are here."""
        if self.size > 1:
            dist.barrier()

    def leave(self) -> None:
        if dist.is_initialized():
            dist.destroy_process_group()
