"""The run folder: what a run leaves behind, whole at any moment.

config.yaml       the config, overrides put in
signature.json    versions, seed, device, and digests of the config, the data, the base and translations
metrics.jsonl     one line each time something is measured
train.log         what was said
checkpoints/      model folders, the best ones and the last
best, last        links to two of them
translations/     the dev documents as the best checkpoint by BLEU translates them
state-000012/     the resume state
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import platform
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from safetensors import SafetensorError

from docgraph import __version__
from docgraph.corpus.store import read_manifest
from docgraph.corpus.target_context import digest
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.model import checkpoint
from docgraph.model.config import to_dict
from docgraph.training.config import TrainingConfig

CONFIG, SIGNATURE, METRICS, LOG, LOCK = "config.yaml", "signature.json", "metrics.jsonl", "train.log", ".lock"
MAY_CHANGE = {
    *("data", "base", "steps", "checkpoints", "log_every", "max_nonfinite", "tensorboard", "workers"),
    *("validation.every", "validation.bleu_every", "validation.patience", "translations.folder"),
}
"""Fields that a run may go on with changed. Folders of inputs are compared by what they hold, not by their paths."""


class RunFolder:
    """A folder this process alone writes to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self._lock: IO[str] | None = None

    def open(self, config: TrainingConfig, signature: dict[str, Any]) -> None:
        """Make the folder, or check that the run in it is this one; clear away what a killed process left half done."""
        with self.writing():
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self._lock = (self.path / LOCK).open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise DocgraphError(
                "another process is training here; wait for it, or choose another --run", path=self.path
            ) from None
        for half in (*self.path.glob(".*.tmp"), *self.checkpoints.glob(".*.tmp")):
            shutil.rmtree(half) if half.is_dir() and not half.is_symlink() else half.unlink()
        if (self.path / CONFIG).is_file():
            self._check(config, signature)
        with self.writing():
            import yaml

            self._write(SIGNATURE, json.dumps(signature, indent=2) + "\n")
            self._write(CONFIG, yaml.safe_dump(to_dict(config), sort_keys=False, allow_unicode=True))

    def close(self) -> None:
        if self._lock is not None:
            self._lock.close()

    def _check(self, config: TrainingConfig, signature: dict[str, Any]) -> None:
        """Refuse to go on with another config, other data, another base or other translations."""
        import yaml

        before = yaml.safe_load((self.path / CONFIG).read_text(encoding="utf-8"))
        now = json.loads(json.dumps(to_dict(config)))  # tuples as the lists they are on disk
        remedy = "choose another --run, or take the change back"
        for place in differences(before, now, MAY_CHANGE):
            raise DocgraphError(f"the run in this folder has another '{place}'; {remedy}", path=self.path)
        old = json.loads((self.path / SIGNATURE).read_bytes())
        inputs = {"data": "the store", "base": "the base model", "translations": "the folder of translations"}
        for name, what in inputs.items():
            if old.get(name) != signature[name]:
                raise DocgraphError(f"{what} is not what this run began with; {remedy}", path=self.path)

    def _write(self, name: str, text: str) -> None:
        with replacing(self.path / name) as path:
            path.write_text(text, encoding="utf-8")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Tell a full disk or a folder that cannot be written in one sentence."""
        try:
            yield
        except (OSError, SafetensorError) as error:
            reason = (error.strerror if isinstance(error, OSError) else str(error)) or str(error)
            raise DocgraphError(
                f"the run folder cannot be written ({reason.lower()}); what it held before is whole: "
                "make room or give access, and run the same command again",
                path=self.path,
            ) from error

    def checkpoint(self, step: int) -> Path:
        return self.checkpoints / f"step-{step:08}"

    def point(self, name: str, target: Path) -> None:
        """Make the link `name` (best, last) lead to a checkpoint."""
        temporary = self.path / f".{name}.link.tmp"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(target, self.path))
        temporary.replace(self.path / name)

    def prune(self, steps: set[int]) -> None:
        """Remove the checkpoints of all updates but these."""
        names = {self.checkpoint(step).name for step in steps}
        for folder in self.checkpoints.glob("step-*"):
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def write_translations(self, name: str, documents: list[list[str]]) -> None:
        """One sentence a line, a blank line between documents."""
        folder = self.path / "translations"
        folder.mkdir(exist_ok=True)
        text = "\n".join("".join(f"{' '.join(line.split())}\n" for line in lines) for lines in documents)
        with replacing(folder / name) as path:
            path.write_text(text, encoding="utf-8")


def signature_of(config: TrainingConfig, device: str, processes: int) -> dict[str, Any]:
    """What made the numbers of a run."""
    import numpy
    import torch

    settings, shown = json.dumps(to_dict(config), sort_keys=True).encode(), config.translations.folder
    return {
        "docgraph": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "device": device,
        "processes": processes,
        "seed": config.seed,
        "config": hashlib.sha256(settings).hexdigest(),
        "data": read_manifest(config.data)["fingerprint"],
        "base": None if config.base is None else checkpoint.fingerprint(config.base),
        "translations": None if shown is None else digest(shown, ("train", config.validation.split)),
    }


def differences(before: Any, now: Any, free: Collection[str], place: str = "") -> Iterator[str]:
    """The dotted names of the values of a config that differ from those of another, but for the `free` ones."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in now:
            inner = f"{place}.{name}" if place else name
            yield from differences(before.get(name), now[name], free, inner) if inner not in free else ()
    elif before != now:
        yield place
