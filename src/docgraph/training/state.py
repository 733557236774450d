"""What a run needs to go on exactly where it stopped: counters as JSON, tensors as safetensors, in one folder.

A state is written beside its place under a new name and renamed; the one before it is removed only then. Whenever the
process dies, the newest folder is whole. Dropout and the order of the data follow from the seed and the counters, so no
state of a random generator is kept.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.files import new_folder
from docgraph.training.precision import MasterWeights

PREFIX, COUNTERS, TENSORS = "state-", "counters.json", "tensors.safetensors"


class Kept(NamedTuple):
    """A checkpoint on disk and the dev value it is ranked by (lower is better)."""

    value: float
    step: int


@dataclass
class Progress:
    """How far a run is."""

    step: int = 0
    """Updates done."""
    epoch: int = 0
    batch: int = 0
    """The next batch: `batch` of `epoch`."""
    tokens: int = 0
    """Target tokens trained on, in all processes."""
    seconds: float = 0.0
    """Of training, without validation and writing."""
    window_seconds: float = 0.0
    """Those since the last line of metrics."""
    window_flops: float = 0.0
    skipped: int = 0
    """Updates without a finite gradient."""
    validated: int = -1
    """The last update after which the dev split was looked at."""
    kept: list[Kept] = field(default_factory=list)
    """Checkpoints, the best first."""
    stale: int = 0
    """Validations since the last better one."""
    ended: int = -1
    """The last update of a run that is over."""

    def best_steps(self, count: int) -> list[int]:
        """The updates of the best checkpoints, at most so many."""
        return [entry.step for entry in self.kept[:count]]


def save(folder: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Write a state under a new number, then remove those before it."""
    before = _states(folder)
    number = int(before[-1].name.removeprefix(PREFIX)) + 1 if before else 0
    with new_folder(folder / f"{PREFIX}{number:06}") as place:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, place / TENSORS)
        (place / COUNTERS).write_text(json.dumps(asdict(progress), indent=2) + "\n", encoding="utf-8")
    for old in before:
        shutil.rmtree(old, ignore_errors=True)


def _states(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"{PREFIX}*"))


def load(folder: Path, device: torch.device) -> tuple[Progress, dict[str, Tensor]] | None:
    """The newest state of a run folder, or None where there is none."""
    if not (states := _states(folder)):
        return None
    try:
        values = json.loads((states[-1] / COUNTERS).read_bytes())
        values["kept"] = [Kept(*entry) for entry in values["kept"]]
        return Progress(**values), load_file(states[-1] / TENSORS, device=str(device))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError):
        raise DocgraphError(
            "this resume state is damaged or of another version; start again with another --run", path=states[-1]
        ) from None


def pack(masters: MasterWeights, optimizer: torch.optim.Optimizer, sums: Tensor) -> dict[str, Tensor]:
    """The tensors of a state: masters, the optimizer's moments and count, and sums since the last line of metrics."""
    tensors = {"sums": sums}
    moments = optimizer.state_dict()["state"]
    for index, master in enumerate(masters.parameters):
        tensors[f"{index}.master"] = master.detach()
        tensors.update({f"{index}.{name}": value for name, value in moments.get(index, {}).items()})
    return tensors


def unpack(tensors: dict[str, Tensor], masters: MasterWeights, optimizer: torch.optim.Optimizer, sums: Tensor) -> None:
    """Put the tensors of a state back where they came from."""
    parts: dict[int, dict[str, Tensor]] = {index: {} for index in range(len(masters.parameters))}
    for name, tensor in tensors.items():
        place, _, part = name.partition(".")
        if part:
            parts[int(place)][part] = tensor
    with torch.no_grad():
        sums.copy_(tensors["sums"])
        for index, master in enumerate(masters.parameters):
            master.copy_(parts[index].pop("master"))
    moments = {index: part for index, part in parts.items() if part}
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    masters.give_weights()
