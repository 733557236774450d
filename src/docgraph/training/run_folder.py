"""The run folder: the files of a training run, complete at any moment.

config.yaml       the config with its overrides
signature.json    versions, seed, device, and digests of the config, the data, the base and the translations
metrics.jsonl     one line per measurement
train.log         the messages of the run
checkpoints/      model folders: the best ones and the last
best, last        links to two of them
translations/     the dev documents as translated by the checkpoint with the best BLEU
state-000012/     the resume state
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from docgraph import __version__
from docgraph.config import to_dict
from docgraph.corpus.store import read_manifest
from docgraph.corpus.target_context import digest
from docgraph.errors import DocgraphError
from docgraph.files import lock, replacing
from docgraph.model.model_folder import ModelFolder
from docgraph.training.config import TrainingConfig

CONFIG, SIGNATURE, METRICS, LOG = "config.yaml", "signature.json", "metrics.jsonl", "train.log"
STATE_PREFIX = "state-"
CHANGEABLE_FIELDS = {
    *("data", "base", "steps", "checkpoints", "log_every", "max_nonfinite", "tensorboard", "workers"),
    *("validation.every", "validation.bleu_every", "validation.patience", "translations.folder"),
}
"""Config fields that may change when a run resumes. Input folders are compared by content, not by path."""


class RunFolder:
    """A run folder, locked by this process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"
        self._lock: IO[str] | None = None

    def open(self, config: TrainingConfig, signature: dict[str, Any]) -> None:
        """Creates and locks the folder, removes temporary files of a killed process, and writes the config.

        Refuses a folder that another process has locked, or that holds a state or checkpoints of a run of another
        config or of other inputs.
        """
        with self.reporting_write_errors():
            self.checkpoints.mkdir(parents=True, exist_ok=True)
            self._lock = lock(self.path)
        if self._lock is None:
            raise DocgraphError(
                "another process is training in this folder; wait for it, or choose another --run", path=self.path
            )
        for leftover in (*self.path.glob(".*.tmp"), *self.checkpoints.glob(".*.tmp")):
            shutil.rmtree(leftover) if leftover.is_dir() and not leftover.is_symlink() else leftover.unlink()
        has_results = any(self.path.glob(f"{STATE_PREFIX}*")) or any(self.checkpoints.iterdir())
        if has_results and (self.path / CONFIG).is_file():
            self._check_unchanged(config, signature)
        with self.reporting_write_errors():
            import yaml

            self._write(SIGNATURE, json.dumps(signature, indent=2) + "\n")
            self._write(CONFIG, yaml.safe_dump(to_dict(config), sort_keys=False, allow_unicode=True))

    def close(self) -> None:
        """Releases the lock."""
        if self._lock is not None:
            self._lock.close()

    def _check_unchanged(self, config: TrainingConfig, signature: dict[str, Any]) -> None:
        """Raises if the run in the folder has another config, other data, another base or other translations."""
        import yaml

        before = yaml.safe_load((self.path / CONFIG).read_text(encoding="utf-8"))
        now = json.loads(json.dumps(to_dict(config)))  # tuples become lists, as on disk
        remedy = "choose another --run, or undo the change"
        for field in differing_fields(before, now, CHANGEABLE_FIELDS):
            raise DocgraphError(f"the run in this folder has another '{field}'; {remedy}", path=self.path)
        old = json.loads((self.path / SIGNATURE).read_bytes())
        inputs = {"data": "the store", "base": "the base model", "translations": "the folder of translations"}
        for name, label in inputs.items():
            if old.get(name) != signature[name]:
                raise DocgraphError(f"{label} has changed since this run started; {remedy}", path=self.path)

    def _write(self, name: str, text: str) -> None:
        with replacing(self.path / name) as path:
            path.write_text(text, encoding="utf-8")

    @contextmanager
    def reporting_write_errors(self) -> Iterator[None]:
        """Turns a full disk or a missing permission into a one-sentence error."""
        try:
            yield
        except OSError as error:
            reason = error.strerror or str(error)
            raise DocgraphError(
                f"the run folder cannot be written ({reason.lower()}); its previous contents are intact: "
                "free some space or grant access, and run the same command again",
                path=self.path,
            ) from error

    def checkpoint(self, step: int) -> Path:
        """Returns the folder of the checkpoint of an update."""
        return self.checkpoints / f"step-{step:08}"

    def link(self, name: str, target: Path) -> None:
        """Points the link `name` (best, last) to a checkpoint."""
        temporary = self.path / f".{name}.link.tmp"
        temporary.unlink(missing_ok=True)
        temporary.symlink_to(os.path.relpath(target, self.path))
        temporary.replace(self.path / name)

    def remove_checkpoints_except(self, steps: set[int]) -> None:
        """Removes the checkpoints of all updates that are not in `steps`."""
        names = {self.checkpoint(step).name for step in steps}
        for folder in self.checkpoints.glob("step-*"):
            if folder.name not in names:
                shutil.rmtree(folder, ignore_errors=True)

    def write_translations(self, name: str, documents: Sequence[Sequence[str]]) -> None:
        """Writes translated documents to translations/`name`."""
        self._write(f"translations/{name}", documents_as_lines(documents))


def documents_as_lines(documents: Sequence[Sequence[str]]) -> str:
    """Returns one sentence per line, with a blank line between documents."""
    return "\n".join("".join(f"{' '.join(sentence.split())}\n" for sentence in document) for document in documents)


def make_signature(config: TrainingConfig, device: str, processes: int) -> dict[str, Any]:
    """Returns the origin of the numbers of a run: versions, device, seed, and digests of config and inputs."""
    import numpy
    import torch

    settings, translations = json.dumps(to_dict(config), sort_keys=True).encode(), config.translations.folder
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
        "base": None if config.base is None else ModelFolder(config.base).fingerprint,
        "translations": None if translations is None else digest(translations, ("train", config.validation.split)),
    }


def differing_fields(before: Any, now: Any, ignored: Collection[str], prefix: str = "") -> Iterator[str]:
    """Yields the dotted names of the config fields that differ, without the `ignored` ones."""
    if isinstance(before, dict) and isinstance(now, dict):
        for name in now:
            field = f"{prefix}.{name}" if prefix else name
            if field not in ignored:
                yield from differing_fields(before.get(name), now[name], ignored, field)
    elif before != now:
        yield prefix
