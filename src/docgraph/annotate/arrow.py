"""Annotations on disk as Arrow: one row a document, columns of integers and string tables, read memory-mapped.

Every column of an annotation becomes a list column; a column of strings becomes two, the distinct strings and their
indices, as it is in memory. A layer an annotation does not have is null. Buffers are compressed with Zstandard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from docgraph.annotate.base import lines_document
from docgraph.annotation import Annotation, IntArray, Strings
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing

STRING_COLUMNS = ("forms", "lemmas", "upos", "feats", "deprels")
INTEGER_COLUMNS = ("offsets", "starts", "ends", "heads")
VERSION = b"1"
SCHEMA = pa.schema(
    [
        pa.field("id", pa.string(), nullable=False),
        pa.field("texts", pa.list_(pa.string())),
        pa.field("speakers", pa.list_(pa.string())),
        pa.field("paragraphs", pa.list_(pa.int32())),
        *(pa.field(name, pa.list_(pa.int32())) for name in (*INTEGER_COLUMNS, "coreference")),
        *(pa.field(name, pa.list_(pa.int32())) for name in STRING_COLUMNS),
        *(pa.field(f"{name}_table", pa.list_(pa.string())) for name in STRING_COLUMNS),
        pa.field("notes", pa.list_(pa.string())),
    ],
    metadata={b"docgraph.annotations": VERSION},
)
Row = tuple[str, Document | None, Annotation]
"""(id, the document where its text is to be kept, annotation)."""
BATCH = 64


def write(path: str | Path, documents: Iterable[tuple[Document, Annotation]]) -> None:
    """Documents with their annotations, whole or not at all, a batch in memory at a time."""
    write_rows(path, ((document.id, document, annotation) for document, annotation in documents))


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Rows into a file, whole or not at all."""
    rows = iter(rows)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with replacing(path) as temporary, pa.ipc.new_file(str(temporary), SCHEMA, options=options) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_batch(_to_batch(batch))


class ArrowReader:
    """The rows of a file, any of them at any time; only the batch last used is decompressed."""

    def __init__(self, path: str | Path) -> None:
        self._file = _open(path)
        self._held: tuple[int, Any] | None = None
        by_batch = read_ids(path)
        self.ids = [identifier for ids in by_batch for identifier in ids]
        self._places = [(index, row) for index, ids in enumerate(by_batch) for row in range(len(ids))]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[Document, Annotation]:
        """A document, one sentence a line, and its annotation."""
        batch, row = self._places[index]
        return _document(self._batch(batch), row), _annotation(self._batch(batch), row)

    def __iter__(self) -> Iterator[tuple[Document, Annotation]]:
        return (self[index] for index in range(len(self)))

    def annotation(self, index: int) -> Annotation:
        """An annotation alone, from a file that may have no texts."""
        batch, row = self._places[index]
        return _annotation(self._batch(batch), row)

    def _batch(self, index: int) -> Any:
        if self._held is None or self._held[0] != index:
            self._held = index, self._file.get_batch(index)
        return self._held[1]


def read_ids(path: str | Path) -> list[list[str]]:
    """The ids of the rows of each batch; nothing else of the file is read."""
    file = _open(path, pa.ipc.IpcReadOptions(included_fields=[0]))
    return [file.get_batch(index).column("id").to_pylist() for index in range(file.num_record_batches)]


def _open(path: str | Path, options: Any = None) -> Any:
    try:
        file = pa.ipc.open_file(pa.memory_map(str(path)), options=options)
    except pa.ArrowInvalid:
        raise DocgraphError(
            "this is no Arrow file; write one with: docgraph annotate -o FILE.arrow", path=path
        ) from None
    if (file.schema.metadata or {}).get(b"docgraph.annotations") != VERSION:
        raise DocgraphError(
            "this Arrow file holds no annotations of this version; write it again with docgraph annotate", path=path
        )
    return file


def read(path: str | Path) -> list[tuple[Document, Annotation]]:
    """All documents of a file."""
    return list(ArrowReader(path))


def _to_batch(rows: list[Row]) -> Any:
    columns: dict[str, list[Any]] = {name: [] for name in SCHEMA.names}
    for identifier, document, annotation in rows:
        columns["id"].append(identifier)
        columns["texts"].append(None if document is None else document.texts)
        columns["speakers"].append(None if document is None else [sentence.speaker for sentence in document])
        columns["paragraphs"].append(None if document is None else [sentence.paragraph for sentence in document])
        for name in INTEGER_COLUMNS:
            columns[name].append(getattr(annotation, name))
        links = annotation.coreference
        columns["coreference"].append(None if links is None else links.reshape(-1))
        for name in STRING_COLUMNS:
            strings: Strings | None = getattr(annotation, name)
            columns[name].append(None if strings is None else strings.ids)
            columns[f"{name}_table"].append(None if strings is None else list(strings.table))
        columns["notes"].append(list(annotation.notes))
    arrays = [pa.array(columns[field.name], type=field.type) for field in SCHEMA]
    return pa.record_batch(arrays, schema=SCHEMA)


def _integers(batch: Any, name: str, row: int) -> IntArray | None:
    """int32 [N] of a list column, or None for a null; shares the memory of the batch."""
    value = batch.column(name)[row].values
    return None if value is None else np.asarray(value.to_numpy(zero_copy_only=False), dtype=np.int32)


def _annotation(batch: Any, row: int) -> Annotation:
    integers = {name: _integers(batch, name, row) for name in (*INTEGER_COLUMNS, "coreference", *STRING_COLUMNS)}
    columns: dict[str, Any] = {name: integers[name] for name in INTEGER_COLUMNS}
    links = integers["coreference"]
    columns["coreference"] = None if links is None else links.reshape(-1, 2)
    for name in STRING_COLUMNS:
        ids = integers[name]
        table = batch.column(f"{name}_table")[row].as_py()
        columns[name] = None if ids is None else Strings(ids, tuple(table))
    return Annotation(**columns, notes=tuple(batch.column("notes")[row].as_py()))


def _document(batch: Any, row: int) -> Document:
    texts, speakers, paragraphs = (batch.column(name)[row].as_py() for name in ("texts", "speakers", "paragraphs"))
    if texts is None:
        raise DocgraphError("this file holds annotations without their texts")
    return lines_document(texts, batch.column("id")[row].as_py(), speakers, paragraphs)
