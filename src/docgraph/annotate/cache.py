"""Annotations kept on disk by the content of the document and the version of the pipeline.

A folder a pipeline version, a file a chunk of documents. Files appear whole, by renaming, and are never changed:
a process killed at any moment leaves a cache that holds what it had finished.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

from docgraph.annotate import arrow
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError

OPEN_FILES = 16


def default_folder() -> Path:
    """$DOCGRAPH_CACHE, or `docgraph` in the user's cache folder."""
    named = os.environ.get("DOCGRAPH_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "docgraph"


def content_key(document: Document) -> str:
    """A digest of all an annotation may depend on in a document: its sentences and who speaks them."""
    content = json.dumps([[sentence.text, sentence.speaker] for sentence in document])
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


class AnnotationCache:
    """Annotations by content key, for one version of a pipeline."""

    def __init__(self, folder: str | Path, version: str) -> None:
        self.folder = Path(folder) / "annotations" / version
        self._places: dict[str, tuple[Path, int]] = {}
        self._readers: OrderedDict[Path, arrow.ArrowReader] = OrderedDict()
        for path in sorted(self.folder.glob("*.arrow")):
            try:
                self.take(path)
            except DocgraphError:  # not of this version, or damaged: its documents are annotated again
                path.unlink(missing_ok=True)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __getitem__(self, key: str) -> Annotation:
        path, row = self._places[key]
        reader = self._readers.pop(path, None) or arrow.ArrowReader(path)
        self._readers[path] = reader
        if len(self._readers) > OPEN_FILES:
            self._readers.popitem(last=False)
        return reader.annotation(row)

    def take(self, path: Path) -> None:
        """Know the annotations of a file that was just stored."""
        keys = [key for batch in arrow.read_ids(path) for key in batch]
        for row, key in enumerate(keys):
            self._places.setdefault(key, (path, row))


def store(folder: Path, keys: Sequence[str], annotations: Sequence[Annotation]) -> Path:
    """Write a file of annotations into the folder of a cache; any process may."""
    name = hashlib.blake2b("\n".join(keys).encode(), digest_size=16).hexdigest()
    path = folder / f"{name}.arrow"
    try:
        arrow.write_rows(path, ((key, None, annotation) for key, annotation in zip(keys, annotations, strict=True)))
    except PermissionError:
        message = "the cache cannot be written; name another folder with --cache or $DOCGRAPH_CACHE"
        raise DocgraphError(message, path=folder) from None
    return path
