"""Annotate many documents: on all cores, through the cache, in order.

Documents the cache lacks are cut into chunks; each chunk is annotated and stored by one process. The results are then
read from the cache in the order of the documents, so that a run after `kill -9` or Ctrl-C goes on where the last one
stopped, and no document can be lost or come twice.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from docgraph.annotate.base import Pipeline
from docgraph.annotate.cache import AnnotationCache, content_key, store
from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.workers import run_in_processes

CHUNK = 60_000
"""Characters a chunk: about a second of parsing, the most a killed process loses."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Documents annotated and stored together, with their content keys."""

    keys: tuple[str, ...]
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Done:
    """What a finished chunk reports."""

    path: Path
    documents: int
    words: int


def annotate_all(
    documents: Sequence[Document],
    pipeline: Pipeline | str,
    *,
    jobs: int = 1,
    cache: str | Path | AnnotationCache | None = None,
    on_start: Callable[[int], None] | None = None,
    on_done: Callable[[Done], None] | None = None,
) -> Iterator[Annotation]:
    """Annotate what the cache lacks, then hand out the annotations of the documents, in order, one in memory at a time.

    `jobs` processes work at once; `cache` is a folder that outlives this call (a temporary one where None), or the open
    cache of this pipeline. `on_start` hears how many documents are to be annotated, `on_done` of each stored chunk.
    """
    loaded = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    temporary = tempfile.TemporaryDirectory(prefix="docgraph-") if cache is None else None
    if isinstance(cache, AnnotationCache):
        stored = cache
    else:
        stored = AnnotationCache(temporary.name if temporary else Path(cache or ""), loaded.version)
    keys = [content_key(document) for document in documents]
    missing = {key: document for key, document in zip(keys, documents, strict=True) if key not in stored}
    if on_start is not None:
        on_start(len(missing))
    chunks = list(_chunks(missing))
    for done in _run(chunks, loaded, stored.folder, min(jobs, len(chunks))):
        stored.take(done.path)
        if on_done is not None:
            on_done(done)
    return _in_order(stored, keys, temporary)


def _in_order(
    stored: AnnotationCache, keys: Sequence[str], temporary: tempfile.TemporaryDirectory[str] | None
) -> Iterator[Annotation]:
    try:
        for key in keys:
            yield stored[key]
    finally:
        if temporary is not None:
            temporary.cleanup()


def _chunks(missing: dict[str, Document]) -> Iterator[Chunk]:
    keys: list[str] = []
    documents: list[Document] = []
    size = 0
    for key, document in missing.items():
        keys.append(key)
        documents.append(replace(document, container=None))
        size += sum(len(text) for text in document.texts)
        if size >= CHUNK:
            yield Chunk(tuple(keys), tuple(documents))
            keys, documents, size = [], [], 0
    if keys:
        yield Chunk(tuple(keys), tuple(documents))


def _run(chunks: Sequence[Chunk], pipeline: Pipeline, folder: Path, jobs: int) -> Iterator[Done]:
    """Annotate and store the chunks; here when one process is enough, else in workers that load the pipeline anew."""
    if jobs <= 1:
        for chunk in chunks:
            yield annotate_chunk(chunk, pipeline, folder)
        return
    yield from run_in_processes(_work, chunks, jobs, _start_worker, (pipeline.spec or pipeline, folder))


def annotate_chunk(chunk: Chunk, pipeline: Pipeline, folder: Path) -> Done:
    """Annotate the documents of a chunk and store them in the cache folder."""
    annotations = [pipeline(document) for document in chunk.documents]
    path = store(folder, chunk.keys, annotations)
    return Done(path, len(annotations), sum(annotation.num_words for annotation in annotations))


_worker: tuple[Pipeline, Path] | None = None


def _start_worker(pipeline: Pipeline | str, folder: Path) -> None:
    """Load the pipeline once a worker."""
    global _worker
    _worker = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline, folder


def _work(chunk: Chunk) -> Done:
    assert _worker is not None
    return annotate_chunk(chunk, *_worker)
