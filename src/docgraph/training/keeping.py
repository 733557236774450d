"""Which checkpoints stay: the best, the last, and the average of the best where it is better still."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.training import plan
from docgraph.training.averaging import average
from docgraph.training.config import TrainingConfig
from docgraph.training.folder import RunFolder
from docgraph.training.metrics import Record
from docgraph.training.precision import MasterWeights
from docgraph.training.state import Kept, Progress
from docgraph.training.world import World

Texts = list[list[str]]
"""Translated documents, sentence by sentence."""


class Keeper:
    """Ranks checkpoints and writes those worth it; all processes rank, the first writes."""

    def __init__(
        self,
        config: TrainingConfig,
        folder: RunFolder,
        world: World,
        snapshot: DocumentTransformer,
        masters: MasterWeights,
        progress: Progress,
    ) -> None:
        """`snapshot` is the model as it goes to disk: fp32 on the CPU, what is frozen included."""
        self.config, self.folder, self.world, self.progress = config, folder, world, progress
        self.snapshot, self.masters = snapshot, masters

    def restore(self) -> None:
        """Make the folder what the resume state says: what a killed process wrote after it comes again."""
        progress = self.progress
        if not self.world.first or progress.ended == progress.step:
            return
        with self.folder.writing():
            if progress.kept:
                self.folder.point("best", self.folder.checkpoint(progress.kept[0].step))
            else:
                (self.folder.path / "best").unlink(missing_ok=True)
            self.prune()

    def consider(self, record: Record, texts: Texts | None) -> None:
        """Rank the model of this update by a validation, and keep it if it is among the best."""
        progress = self.progress
        if (value := self._value(record)) is None:
            return
        entry = Kept(value, progress.step)
        progress.kept = sorted([*progress.kept, entry])[: self.config.checkpoints.best]
        best = progress.kept[0] == entry
        progress.stale = 0 if best else progress.stale + 1
        if entry in progress.kept:
            self._write(self.folder.checkpoint(progress.step))
        if best:
            self._crown(self.folder.checkpoint(progress.step), texts)

    def keep_last(self) -> None:
        """Write the model of this update whatever its rank; it is the best where nothing was ever ranked."""
        last = self.folder.checkpoint(self.progress.step)
        if all(entry.step != self.progress.step for entry in self.progress.kept):
            self._write(last)
        if self.world.first:
            with self.folder.writing():
                self.folder.point("last", last)
        if not self.progress.kept:
            self._crown(last, None)

    def average(self, steps: Sequence[int]) -> DocumentTransformer:
        """The average of some kept checkpoints."""
        self.world.wait()  # the first process writes them
        return average([self.folder.checkpoint(step) for step in steps])

    def consider_average(self, model: DocumentTransformer, record: Record, texts: Texts | None) -> None:
        """Make an average the best if it is."""
        value = self._value(record)
        if value is not None and value < self.progress.kept[0].value:
            self._write(self.folder.checkpoints / "average", model)
            self._crown(self.folder.checkpoints / "average", texts)

    def prune(self) -> None:
        """Remove the checkpoints that the resume state on disk does not speak of."""
        self.folder.prune({entry.step for entry in self.progress.kept} | {self.progress.ended})

    def _value(self, record: Record) -> float | None:
        """What a checkpoint is ranked by, lower is better; None where this validation does not tell."""
        if self.config.validation.best == "loss":
            return float(record["own_context_nll" if "own_context_nll" in record else "nll"])
        return -record["bleu"] if "bleu" in record else None

    def _write(self, folder: Path, model: DocumentTransformer | None = None) -> None:
        """Write a model folder: of the masters, or of another model."""
        if not self.world.first:
            return
        if model is None:
            model = self.snapshot
            self.masters.copy_to(model.parameters())
        with self.folder.writing():
            checkpoint.save(
                model,
                folder,
                plan.tokenizer_files(self.config),
                self.config.checkpoints.precision,
                languages=plan.languages(self.config),
            )

    def _crown(self, folder: Path, texts: Texts | None) -> None:
        """Make a checkpoint the best."""
        if self.world.first:
            with self.folder.writing():
                self.folder.point("best", folder)
                if texts is not None:
                    self.folder.write_translations(f"{self.config.validation.split}.txt", texts)
