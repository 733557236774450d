"""What one worker does with a chunk of documents: annotate them through the cache, encode them, make a shard."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import AnnotationCache, annotate_all
from docgraph.corpus import store
from docgraph.corpus.encoding import encode
from docgraph.corpus.subwords import unpack
from docgraph.document import ParallelDocument
from docgraph.model.config import TransformerConfig

CHUNK = 500_000
"""Source characters a chunk, and so a shard: some four thousand sentences, ten seconds of parsing."""


@dataclass(frozen=True)
class Chunk:
    """Documents that become shard `index` of a split."""

    split: str
    index: int
    documents: tuple[ParallelDocument, ...]

    @property
    def sentences(self) -> int:
        return sum(len(document) for document in self.documents)

    def key(self, settings: str) -> str:
        """A digest of all the shard depends on; `settings` is that of annotator, sub-words and store."""
        total = hashlib.blake2b(settings.encode(), digest_size=16)
        for document in self.documents:
            parts = (document.id, document.path, document.lines, document.speakers, document.source, document.target)
            total.update(json.dumps(parts).encode())
        return total.hexdigest()


def chunks(split: str, documents: Iterable[ParallelDocument]) -> Iterator[Chunk]:
    """The documents of a split in order, some at a time."""
    index, size = 0, 0
    gathered: list[ParallelDocument] = []
    for document in documents:
        gathered.append(document)
        size += sum(len(text) for text in document.source)
        if size >= CHUNK:
            yield Chunk(split, index, tuple(gathered))
            index, size, gathered = index + 1, 0, []
    if gathered:
        yield Chunk(split, index, tuple(gathered))


@dataclass(frozen=True)
class Task:
    """All that a worker must know, wherever it runs."""

    annotator: str
    tokenizer: tuple[tuple[str, bytes], ...]
    """The files of the tokenizer: another machine does not have the folder."""
    config: TransformerConfig
    tag: str | None
    cache: str
    """The folder of finished annotations on the worker's machine."""
    settings: str


@dataclass(frozen=True)
class Shard:
    """A finished chunk."""

    split: str
    index: int
    sentences: int
    data: bytes
    notes: tuple[str, ...]
    """What the annotator left out, for the user."""


class Worker:
    """A task with its annotator, tokenizer and cache loaded."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self._pipeline = load_pipeline(task.annotator)
        self._tokenizer = unpack(task.tokenizer, task.config)
        self._cache = AnnotationCache(task.cache, self._pipeline.version)

    def serves(self, task: Task) -> bool:
        """Whether this worker was made for the task."""
        return task.settings == self._task.settings

    def __call__(self, chunk: Chunk) -> Shard:
        task, notes = self._task, dict[str, None]()
        documents = [document.document for document in chunk.documents]
        annotations = annotate_all(documents, self._pipeline, cache=self._cache)
        encoded = []
        for document, annotation in zip(chunk.documents, annotations, strict=True):
            notes.update(dict.fromkeys(annotation.notes))
            encoded.append(encode(document, annotation, self._tokenizer, task.tag))
        form = store.schema(task.config.source_vocabulary, task.config.target_vocabulary, chunk.key(task.settings))
        return Shard(chunk.split, chunk.index, chunk.sentences, store.to_bytes(encoded, form), tuple(notes))
