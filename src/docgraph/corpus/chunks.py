"""Chunks of documents: how a worker turns a chunk into a shard of the store, and where the workers run.

A worker annotates the documents through the cache, encodes them and serializes the shard. Workers run in this process,
in several processes of this machine, or on a Ray cluster.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from docgraph.annotate.registry import load_pipeline
from docgraph.annotate.runner import AnnotationCache, annotate_all
from docgraph.corpus import store
from docgraph.corpus.subwords import encode, unpack
from docgraph.document import ParallelDocument
from docgraph.model.config import TransformerConfig
from docgraph.workers import run_in_processes, run_on_ray

CHUNK_CHARACTERS = 500_000
"""Source characters per chunk, and so per shard: about 4,000 sentences, or ten seconds of parsing."""


@dataclass(frozen=True)
class Chunk:
    """The documents of shard `index` of a split."""

    split: str
    index: int
    documents: tuple[ParallelDocument, ...]

    @property
    def sentences(self) -> int:
        """The number of sentence pairs."""
        return sum(len(document) for document in self.documents)

    def key(self, settings: str) -> str:
        """Returns a digest of everything the shard depends on; `settings` covers annotator, sub-words and store."""
        total = hashlib.blake2b(settings.encode(), digest_size=16)
        for document in self.documents:
            parts = (document.id, document.path, document.lines, document.speakers, document.source, document.target)
            total.update(json.dumps(parts).encode())
        return total.hexdigest()


def split_into_chunks(split: str, documents: Iterable[ParallelDocument]) -> Iterator[Chunk]:
    """Groups the documents of a split, in order, into chunks of about CHUNK_CHARACTERS."""
    index, size = 0, 0
    pending: list[ParallelDocument] = []
    for document in documents:
        pending.append(document)
        size += sum(len(text) for text in document.source)
        if size >= CHUNK_CHARACTERS:
            yield Chunk(split, index, tuple(pending))
            index, size, pending = index + 1, 0, []
    if pending:
        yield Chunk(split, index, tuple(pending))


@dataclass(frozen=True)
class Task:
    """The inputs of a worker on any machine."""

    annotator: str
    tokenizer: tuple[tuple[str, bytes], ...]
    """The files of the tokenizer: another machine does not have the folder."""
    config: TransformerConfig
    tag: str | None
    cache: str
    """The folder of cached annotations on the worker's machine."""
    settings: str


@dataclass(frozen=True)
class Shard:
    """A finished chunk."""

    split: str
    index: int
    sentences: int
    data: bytes
    notes: tuple[str, ...]
    """Messages for the user about annotations that are missing."""


class Worker:
    """A task with its annotator, tokenizer and cache loaded."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self._pipeline = load_pipeline(task.annotator)
        self._tokenizer = unpack(task.tokenizer, task.config)
        self._cache = AnnotationCache(task.cache, self._pipeline.version)

    def __call__(self, chunk: Chunk) -> Shard:
        """Annotates and encodes a chunk."""
        task, notes = self.task, dict[str, None]()
        documents = [document.document for document in chunk.documents]
        annotations = annotate_all(documents, self._pipeline, cache=self._cache)
        encoded = []
        for document, annotation in zip(chunk.documents, annotations, strict=True):
            notes.update(dict.fromkeys(annotation.notes))
            encoded.append(encode(document, annotation, self._tokenizer, task.tag))
        schema = store.schema(task.config.source_vocabulary, task.config.target_vocabulary, chunk.key(task.settings))
        return Shard(chunk.split, chunk.index, chunk.sentences, store.to_bytes(encoded, schema), tuple(notes))


Engine = Callable[[Task, Iterable[Chunk], int], Iterator[Shard]]
"""(task, chunks, jobs) -> shards in the order they are finished; only a few chunks are read ahead."""
_worker: Worker | None = None
"""The worker of this process; a Ray process serves many chunks of a task and loads the annotator once."""


def _start_worker(task: Task) -> None:
    global _worker
    if _worker is None or _worker.task.settings != task.settings:
        _worker = Worker(task)


def _work(chunk: Chunk) -> Shard:
    assert _worker is not None
    return _worker(chunk)


def _work_on_ray(task: Task, chunk: Chunk) -> Shard:
    _start_worker(task)
    return _work(chunk)


def run_local(task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
    """Works on the chunks in `jobs` processes, or in this process if `jobs` is 1."""
    if jobs <= 1:
        worker: Worker | None = None
        for chunk in chunks:
            worker = worker or Worker(task)  # loading takes seconds, and there may be no chunks
            yield worker(chunk)
    else:
        yield from run_in_processes(_work, chunks, jobs, _start_worker, (task,))


def run_ray(task: Task, chunks: Iterable[Chunk], jobs: int) -> Iterator[Shard]:
    """Works on the cluster of $RAY_ADDRESS, or on a local Ray with `jobs` processes."""
    yield from run_on_ray(_work_on_ray, task, chunks, jobs)


ENGINES: dict[str, Engine] = {"local": run_local, "ray": run_ray}
