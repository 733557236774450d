"""Annotate many documents in parallel, through an on-disk cache.

Documents that the cache lacks are grouped into chunks; one process annotates and stores each chunk. The annotations
are then read from the cache in document order. After Ctrl-C or `kill -9`, the next run therefore resumes with the
missing chunks.

The cache has one folder per pipeline version and one file per chunk. Files are created by renaming and never change,
so an interrupted process leaves a valid cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path

from docgraph.annotate import arrow
from docgraph.annotate.pipeline import Pipeline
from docgraph.annotate.registry import load_pipeline
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.workers import run_in_processes

CHUNK_CHARACTERS = 60_000
"""Size of a chunk: about one second of parsing, which is the most that a killed process loses."""
MAX_OPEN_FILES = 16


def default_cache_folder() -> Path:
    """Returns $DOCGRAPH_CACHE, or `docgraph` in the user's cache folder."""
    if folder := os.environ.get("DOCGRAPH_CACHE"):
        return Path(folder)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docgraph"


def content_key(document: Document) -> str:
    """Returns a digest of everything in a document that an annotation may depend on: sentences and speakers."""
    content = json.dumps([[sentence.text, sentence.speaker] for sentence in document])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class AnnotationCache:
    """Stored annotations by content key, for one version of a pipeline."""

    def __init__(self, folder: str | Path, version: str) -> None:
        self.folder = Path(folder) / "annotations" / version
        self._rows: dict[str, tuple[Path, int]] = {}
        self._reader_of = lru_cache(MAX_OPEN_FILES)(arrow.ArrowReader)
        for path in sorted(self.folder.glob("*.arrow")):
            try:
                self.add_file(path)
            except DocgraphError:  # damaged or of another version: its documents are annotated again
                path.unlink(missing_ok=True)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def __getitem__(self, key: str) -> Annotation:
        path, row = self._rows[key]
        return self._reader_of(path).annotation(row)

    def add_file(self, path: Path) -> None:
        """Adds the annotations of a stored file to the index."""
        for row, key in enumerate(chain.from_iterable(arrow.read_ids(path))):
            self._rows.setdefault(key, (path, row))


def store(folder: Path, keys: Sequence[str], annotations: Sequence[Annotation]) -> Path:
    """Writes annotations to a new file in the folder of a cache and returns its path. Safe in any process."""
    name = hashlib.blake2b("\n".join(keys).encode(), digest_size=16).hexdigest()
    path = folder / f"{name}.arrow"
    try:
        arrow.write_rows(path, ((key, None, annotation) for key, annotation in zip(keys, annotations, strict=True)))
    except PermissionError:
        message = "the cache is not writable; choose another folder with --cache or $DOCGRAPH_CACHE"
        raise DocgraphError(message, path=folder) from None
    return path


Chunk = dict[str, Document]
"""Documents that are annotated and stored together, by their content keys."""


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """The file of a finished chunk, and how many documents and words it has."""

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
    on_done: Callable[[StoredChunk], None] | None = None,
) -> Iterator[Annotation]:
    """Annotates the documents that the cache lacks, then yields all annotations in order, one in memory at a time.

    `jobs` is the number of processes. `cache` is a folder, an open cache of this pipeline, or None for a temporary
    folder. `on_start` receives the number of documents to annotate, `on_done` each stored chunk.
    """
    pipeline = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline
    temporary = tempfile.TemporaryDirectory(prefix="docgraph-") if cache is None else None
    if not isinstance(cache, AnnotationCache):
        cache = AnnotationCache(temporary.name if temporary else Path(cache or ""), pipeline.version)
    keys = [content_key(document) for document in documents]
    missing = {key: document for key, document in zip(keys, documents, strict=True) if key not in cache}
    if on_start is not None:
        on_start(len(missing))
    chunks = list(_chunks(missing))
    for stored in _annotate_chunks(chunks, pipeline, cache.folder, min(jobs, len(chunks))):
        cache.add_file(stored.path)
        if on_done is not None:
            on_done(stored)
    return _read_in_order(cache, keys, temporary)


def _read_in_order(
    cache: AnnotationCache, keys: Sequence[str], temporary: tempfile.TemporaryDirectory[str] | None
) -> Iterator[Annotation]:
    try:
        for key in keys:
            yield cache[key]
    finally:
        if temporary is not None:
            temporary.cleanup()


def _chunks(missing: dict[str, Document]) -> Iterator[Chunk]:
    chunk: Chunk = {}
    size = 0
    for key, document in missing.items():
        chunk[key] = replace(document, container=None)
        size += sum(len(text) for text in document.texts)
        if size >= CHUNK_CHARACTERS:
            yield chunk
            chunk, size = {}, 0
    if chunk:
        yield chunk


def _annotate_chunks(chunks: Sequence[Chunk], pipeline: Pipeline, folder: Path, jobs: int) -> Iterator[StoredChunk]:
    """Annotates and stores the chunks: in this process if `jobs` is 1, else in workers that load the pipeline anew."""
    if jobs <= 1:
        for chunk in chunks:
            yield _annotate_chunk(chunk, pipeline, folder)
        return
    yield from run_in_processes(_work, chunks, jobs, _start_worker, (pipeline.spec or pipeline, folder))


def _annotate_chunk(chunk: Chunk, pipeline: Pipeline, folder: Path) -> StoredChunk:
    """Annotates the documents of a chunk and stores them in the folder of a cache."""
    annotations = [pipeline(document) for document in chunk.values()]
    path = store(folder, list(chunk), annotations)
    return StoredChunk(path, len(annotations), sum(annotation.num_words for annotation in annotations))


_worker: tuple[Pipeline, Path] | None = None
"""The pipeline and cache folder of this worker process."""


def _start_worker(pipeline: Pipeline | str, folder: Path) -> None:
    global _worker
    _worker = load_pipeline(pipeline) if isinstance(pipeline, str) else pipeline, folder


def _work(chunk: Chunk) -> StoredChunk:
    assert _worker is not None
    return _annotate_chunk(chunk, *_worker)
