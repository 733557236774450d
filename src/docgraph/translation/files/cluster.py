"""Translation on a Ray cluster: each file is translated by one worker, with the same result as in this process.

This process sends the files of the model to the workers, reads all inputs and writes all outputs. So `--resume` works
as without a cluster: finished files are skipped. A file whose worker dies is translated by another worker.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from docgraph.document import Document
from docgraph.model.model_folder import CONFIG, ModelFolder
from docgraph.translation.files.translate import FileOptions
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import Translation
from docgraph.translation.translator import SETTINGS, Translator
from docgraph.workers import run_on_ray


@dataclass(frozen=True, eq=False)
class TranslationTask:
    """Everything that a worker on any machine needs."""

    model: tuple[tuple[str, bytes], ...] = field(repr=False)
    """The files of the model folder, which other machines do not have."""
    options: FileOptions
    loaded_with: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of `Translator.load`."""
    settings: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """The values of the translator's attributes `SETTINGS`."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Unique; a worker loads the translator once for each task."""

    @classmethod
    def of(
        cls, folder: ModelFolder, translator: Translator, options: FileOptions, **loaded_with: str | None
    ) -> TranslationTask:
        """Returns the task for workers that translate as `translator` does, which was `loaded_with` these arguments."""
        names = (CONFIG, folder.weights.name, *(path.name for path in folder.tokenizer_files()))
        files = tuple((name, (folder.path / name).read_bytes()) for name in names)
        settings = {name: getattr(translator, name) for name in SETTINGS}
        return cls(files, options, loaded_with, settings)

    def load(self) -> Translator:
        """Loads the translator on a worker."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self.model:
                Path(folder, name).write_bytes(content)
            translator = Translator.load(folder, threads=1, **self.loaded_with)
        for name, value in self.settings.items():
            setattr(translator, name, value)
        return translator


_File = tuple[int, list[tuple[Document, Sequence[str | None]]]]
"""The number of a file in this process, and its documents with their known translations."""


class RayEngine:
    """An `Engine` that translates files on the cluster of $RAY_ADDRESS, or on a local Ray."""

    def __init__(self, task: TranslationTask, jobs: int) -> None:
        self.task, self.jobs = task, jobs

    def __call__(self, files: Iterator[list[TranslationRequest]]) -> Iterator[tuple[TranslationRequest, Translation]]:
        """Yields the documents of a file as soon as the file is translated."""
        requests: dict[int, list[TranslationRequest]] = {}

        def send() -> Iterator[_File]:
            for number, file in enumerate(files):
                if file:
                    requests[number] = file
                    yield number, [(request.document, request.known) for request in file]

        for number, translations in run_on_ray(_translate, self.task, send(), self.jobs):
            yield from zip(requests.pop(number), translations, strict=True)


_loaded: tuple[str, Translator] | None = None
"""The task and the translator of this process; a Ray process serves many files of a task."""


def _translate(task: TranslationTask, file: _File) -> tuple[int, list[Translation]]:
    global _loaded
    if _loaded is None or _loaded[0] != task.id:
        _loaded = task.id, task.load()
    number, documents = file
    options, requests = task.options, [TranslationRequest(*each) for each in documents]
    translations = _loaded[1].translate_requests(
        requests, options.search, options.mode, explain=options.explain, tokens=options.tokens
    )
    return number, [translation for _, translation in translations]
