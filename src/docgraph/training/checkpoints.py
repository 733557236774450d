"""The files that a run keeps on disk: the resume state, the best checkpoints, the last one, and an average of the best.

A resume state is one folder: counters as JSON, tensors as safetensors. A new state is written under a new name, and
only then the previous one is removed, so the newest folder is complete whenever the process dies. Dropout and the order
of the data follow from the seed and the counters, so no generator state is stored.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.files import new_folder
from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.training.build import language_tag, languages, tokenizer_files
from docgraph.training.config import TrainingConfig
from docgraph.training.distributed import World
from docgraph.training.metrics import Record, ranking_value
from docgraph.training.optimizer import MasterWeights, UpdateSums
from docgraph.training.run_folder import STATE_PREFIX, RunFolder

COUNTERS, TENSORS = "counters.json", "tensors.safetensors"


class RankedCheckpoint(NamedTuple):
    """A checkpoint on disk and the dev value that ranks it (lower is better)."""

    value: float
    step: int


@dataclass
class Progress:
    """The counters of a run."""

    step: int = 0
    """Updates done."""
    epoch: int = 0
    """Epoch of the next batch."""
    batch: int = 0
    """Number of the next batch in its epoch."""
    tokens: int = 0
    """Target tokens trained on, in all processes."""
    seconds: float = 0.0
    """Training time, without validation and writing."""
    window_seconds: float = 0.0
    """Training time since the last metrics line."""
    window_flops: float = 0.0
    """FLOPs of this process since the last metrics line."""
    skipped: int = 0
    """Updates skipped because the loss or the gradient was not finite."""
    validated: int = -1
    """The update of the last validation."""
    kept: list[RankedCheckpoint] = field(default_factory=list)
    """The best checkpoints, best first."""
    stale: int = 0
    """Validations since the last improvement."""
    ended: int = -1
    """The last update, once the run has ended."""

    def best_steps(self, count: int) -> list[int]:
        """Returns the updates of the best checkpoints, at most `count`."""
        return [entry.step for entry in self.kept[:count]]


def save_state(run: Path, progress: Progress, tensors: dict[str, Tensor]) -> None:
    """Writes a resume state under the next number, then removes the earlier ones."""
    previous = _state_folders(run)
    number = int(previous[-1].name.removeprefix(STATE_PREFIX)) + 1 if previous else 0
    with new_folder(run / f"{STATE_PREFIX}{number:06}") as folder:
        checkpoint.write_tensors({name: tensor.contiguous() for name, tensor in tensors.items()}, folder / TENSORS)
        (folder / COUNTERS).write_text(json.dumps(asdict(progress), indent=2) + "\n", encoding="utf-8")
    for old in previous:
        shutil.rmtree(old, ignore_errors=True)


def load_state(run: Path, device: torch.device) -> tuple[Progress, dict[str, Tensor]] | None:
    """Returns the newest resume state of a run folder; None if there is none."""
    if not (states := _state_folders(run)):
        return None
    try:
        values = json.loads((states[-1] / COUNTERS).read_bytes())
        values["kept"] = [RankedCheckpoint(*entry) for entry in values["kept"]]
        return Progress(**values), load_file(states[-1] / TENSORS, device=str(device))
    except (OSError, ValueError, TypeError, KeyError, SafetensorError):
        raise DocgraphError(
            "this resume state is damaged or of another version; start again with another --run", path=states[-1]
        ) from None


def _state_folders(run: Path) -> list[Path]:
    return sorted(run.glob(f"{STATE_PREFIX}*"))


def pack_state(masters: MasterWeights, optimizer: torch.optim.Optimizer, sums: UpdateSums) -> dict[str, Tensor]:
    """Returns the tensors of a resume state: master weights, optimizer state and sums for the next metrics line."""
    tensors = {"sums": sums.values}
    moments = optimizer.state_dict()["state"]
    for index, master in enumerate(masters.parameters):
        tensors[f"{index}.master"] = master.detach()
        tensors.update({f"{index}.{name}": value for name, value in moments.get(index, {}).items()})
    return tensors


def unpack_state(
    tensors: dict[str, Tensor], masters: MasterWeights, optimizer: torch.optim.Optimizer, sums: UpdateSums
) -> None:
    """Restores the state that `pack_state` packed."""
    parts: dict[int, dict[str, Tensor]] = {index: {} for index in range(len(masters.parameters))}
    for name, tensor in tensors.items():
        index_text, _, part = name.partition(".")
        if part:
            parts[int(index_text)][part] = tensor
    with torch.no_grad():
        sums.values.copy_(tensors["sums"])
        for index, master in enumerate(masters.parameters):
            master.copy_(parts[index].pop("master"))
    moments = {index: part for index, part in parts.items() if part}
    optimizer.load_state_dict({"state": moments, "param_groups": optimizer.state_dict()["param_groups"]})
    masters.update_model()


@torch.no_grad()
def average_checkpoints(folders: Sequence[str | Path]) -> DocumentTransformer:
    """Returns the model with the mean weights of some model folders (Vaswani et al. 2017, section 6.1), fp32 on CPU."""
    model = checkpoint.load(folders[0])
    total = {name: tensor.double() for name, tensor in model.state_dict().items()}
    for folder in folders[1:]:
        for name, tensor in checkpoint.load(folder).state_dict().items():
            total[name] += tensor
    model.load_state_dict({name: tensor / len(folders) for name, tensor in total.items()})
    return model


class CheckpointKeeper:
    """Ranks checkpoints by validation and keeps the best; all processes rank, the main process writes."""

    def __init__(
        self,
        config: TrainingConfig,
        folder: RunFolder,
        world: World,
        snapshot: DocumentTransformer,
        masters: MasterWeights,
        progress: Progress,
    ) -> None:
        """`snapshot` is a whole fp32 model on the CPU, into which the master weights are copied before it is saved."""
        self.config, self.folder, self.world, self.progress = config, folder, world, progress
        self.snapshot, self.masters = snapshot, masters

    def restore(self) -> None:
        """Resets `best` and the checkpoints to the resume state; a killed process may have written later ones."""
        progress = self.progress
        if not self.world.is_main or progress.ended == progress.step:
            return
        with self.folder.reporting_write_errors():
            if progress.kept:
                self.folder.link("best", self.folder.checkpoint(progress.kept[0].step))
            else:
                (self.folder.path / "best").unlink(missing_ok=True)
            self.prune()

    def add(self, validation: Record, translations: list[list[str]] | None) -> None:
        """Ranks the current model by its validation record, and keeps it if it is among the best."""
        progress = self.progress
        if (value := ranking_value(validation, self.config.validation.best)) is None:
            return
        entry = RankedCheckpoint(value, progress.step)
        progress.kept = sorted([*progress.kept, entry])[: self.config.checkpoints.best]
        is_best = progress.kept[0] == entry
        progress.stale = 0 if is_best else progress.stale + 1
        if entry in progress.kept:
            self._save(self.folder.checkpoint(progress.step))
        if is_best:
            self._link_best(self.folder.checkpoint(progress.step), translations)

    def add_last(self) -> None:
        """Writes the current model as `last`; it is also `best` if no model was ever ranked."""
        last = self.folder.checkpoint(self.progress.step)
        if all(entry.step != self.progress.step for entry in self.progress.kept):
            self._save(last)
        if self.world.is_main:
            with self.folder.reporting_write_errors():
                self.folder.link("last", last)
        if not self.progress.kept:
            self._link_best(last, None)

    def average(self, steps: Sequence[int]) -> DocumentTransformer:
        """Returns the average of the checkpoints of some updates."""
        self.world.barrier()  # the main process may still be writing them
        return average_checkpoints([self.folder.checkpoint(step) for step in steps])

    def add_average(self, model: DocumentTransformer, validation: Record, translations: list[list[str]] | None) -> None:
        """Makes an average `best` if its validation is better than that of every checkpoint."""
        value = ranking_value(validation, self.config.validation.best)
        if value is not None and value < self.progress.kept[0].value:
            self._save(self.folder.checkpoints / "average", model)
            self._link_best(self.folder.checkpoints / "average", translations)

    def prune(self) -> None:
        """Removes the checkpoints that the current counters do not refer to."""
        self.folder.remove_checkpoints_except({entry.step for entry in self.progress.kept} | {self.progress.ended})

    def _save(self, folder: Path, model: DocumentTransformer | None = None) -> None:
        """Writes a model folder; without `model`, of the current weights."""
        if not self.world.is_main:
            return
        if model is None:
            model = self.snapshot
            self.masters.copy_to(model.parameters())
        config = self.config
        with self.folder.reporting_write_errors():
            precision, codes = config.checkpoints.precision, languages(config)
            files, length = tokenizer_files(config), config.batches.max_length
            tag = language_tag(config)
            checkpoint.save(model, folder, files, precision, languages=codes, trained_length=length, tag=tag)

    def _link_best(self, folder: Path, translations: list[list[str]] | None) -> None:
        if self.world.is_main:
            with self.folder.reporting_write_errors():
                self.folder.link("best", folder)
                if translations is not None:
                    self.folder.write_translations(f"{self.config.validation.split}.txt", translations)
