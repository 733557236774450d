"""Translation on a Ray cluster: each file is translated by one worker, as this process would translate it.

A worker gets the files of the model and keeps them loaded. Files are read and written by this process, so that a run is
resumed as any other: finished files are skipped. A file whose worker dies is translated by another one.
"""

from __future__ import annotations

import tempfile
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from docgraph.document import Document
from docgraph.model.model_folder import CONFIG, ModelFolder
from docgraph.translation.files import FileOptions
from docgraph.translation.formality import FormalityOption
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import Translation
from docgraph.translation.translator import Precision, Translator
from docgraph.workers import run_on_ray

if TYPE_CHECKING:
    from docgraph.translation.glossary_files import Entry
    from docgraph.translation.translation_memory import TranslationMemory


@dataclass(frozen=True, eq=False)
class TranslationTask:
    """Everything that a worker needs, on whichever machine it runs."""

    model: tuple[tuple[str, bytes], ...] = field(repr=False)
    """The files of the model folder: another machine does not have them."""
    options: FileOptions
    device: str | None = None
    precision: Precision | None = None
    annotator: str | None = None
    tag: str | None = None
    repair: bool = True
    names: bool = True
    formality: FormalityOption = "any"
    memory: TranslationMemory | None = field(default=None, repr=False)
    terms: tuple[Entry, ...] | None = field(default=None, repr=False)
    """The entries of the glossary."""
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """Tells tasks apart."""

    @classmethod
    def of(
        cls, folder: ModelFolder, translator: Translator, options: FileOptions, **settings: str | None
    ) -> TranslationTask:
        """Returns the task of translating like a translator; `settings` are those that it was loaded with."""
        names = (CONFIG, folder.weights.name, *(path.name for path in folder.tokenizer_files()))
        files = tuple((name, (folder.path / name).read_bytes()) for name in names)
        terms = None if translator.glossary is None else tuple(translator.glossary.entries)
        used = {name: getattr(translator, name) for name in ("repair", "names", "formality", "memory")}
        return cls(files, options, **used, terms=terms, **settings)  # type: ignore[arg-type]

    def load(self) -> Translator:
        """Loads the translator on a worker."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in self.model:
                Path(folder, name).write_bytes(content)
            translator = Translator.load(folder, self.device, self.precision, 1, self.annotator, self.tag)
        translator.repair, translator.names, translator.memory = self.repair, self.names, self.memory
        translator.formality = self.formality
        if self.terms is not None:
            from docgraph.translation.glossary import Glossary

            translator.glossary = Glossary([*self.terms], translator.languages)
        return translator


@dataclass(frozen=True)
class _File:
    """The documents of a file, and the number that the file has in this process."""

    number: int
    documents: tuple[tuple[Document, Sequence[str | None]], ...]


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
                    yield _File(number, tuple((request.document, request.known) for request in file))

        for number, translations in run_on_ray(_translate, self.task, send(), self.jobs):
            yield from zip(requests.pop(number), translations, strict=True)


_loaded: tuple[str, Translator] | None = None
"""The task and the translator of this process; a Ray process serves many files of a task."""


def _translate(task: TranslationTask, file: _File) -> tuple[int, list[Translation]]:
    global _loaded
    if _loaded is None or _loaded[0] != task.id:
        _loaded = task.id, task.load()
    options, requests = task.options, [TranslationRequest(*each) for each in file.documents]
    translations = _loaded[1].translate_requests(
        requests, options.search, options.mode, explain=options.explain, tokens=options.tokens
    )
    return file.number, [translation for _, translation in translations]
