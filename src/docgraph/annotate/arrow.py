"""Read and write annotations as Arrow files: one row per document, compressed with Zstandard, memory-mapped.

Each column of an annotation is a list column. A column of strings is stored as two: the distinct strings and their
indices, as in memory. A missing layer is null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from docgraph.annotate.builder import document_from_lines
from docgraph.annotation import STRING_COLUMNS, Annotation, IntArray, Strings
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing

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
"""(id, the document or None to leave its text out, annotation)."""
BATCH_ROWS = 64


def write(path: str | Path, documents: Iterable[tuple[Document, Annotation]]) -> None:
    """Writes documents with their annotations, one batch in memory at a time. The file is replaced atomically."""
    write_rows(path, ((document.id, document, annotation) for document, annotation in documents))


def write_rows(path: str | Path, rows: Iterable[Row]) -> None:
    """Writes rows to a file, which is replaced atomically."""
    rows = iter(rows)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with replacing(path) as temporary, pa.ipc.new_file(str(temporary), SCHEMA, options=options) as writer:
        while batch := list(islice(rows, BATCH_ROWS)):
            writer.write_batch(pa.RecordBatch.from_pylist([_row(*row) for row in batch], schema=SCHEMA))


def read(path: str | Path) -> list[tuple[Document, Annotation]]:
    """Reads all documents of a file."""
    return list(ArrowReader(path))


class ArrowReader:
    """Random access to the rows of a file. Only the batch used last is decompressed."""

    def __init__(self, path: str | Path) -> None:
        self._file = _open(path)
        self._loaded: tuple[int, Any] | None = None
        """The batch used last, and its index."""
        ids_by_batch = read_ids(path)
        self.ids = [identifier for ids in ids_by_batch for identifier in ids]
        self._locations = [(index, row) for index, ids in enumerate(ids_by_batch) for row in range(len(ids))]

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> tuple[Document, Annotation]:
        """Returns a document, with one sentence per line, and its annotation."""
        return _document(*self._batch_and_row(index)), self.annotation(index)

    def __iter__(self) -> Iterator[tuple[Document, Annotation]]:
        return (self[index] for index in range(len(self)))

    def annotation(self, index: int) -> Annotation:
        """Returns an annotation only; works for files without texts."""
        return _annotation(*self._batch_and_row(index))

    def _batch_and_row(self, index: int) -> tuple[Any, int]:
        batch, row = self._locations[index]
        if self._loaded is None or self._loaded[0] != batch:
            self._loaded = batch, self._file.get_batch(batch)
        return self._loaded[1], row


def read_ids(path: str | Path) -> list[list[str]]:
    """Returns the row ids of each batch, without reading other columns."""
    file = _open(path, pa.ipc.IpcReadOptions(included_fields=[0]))
    return [file.get_batch(index).column("id").to_pylist() for index in range(file.num_record_batches)]


def _open(path: str | Path, options: Any = None) -> Any:
    try:
        file = pa.ipc.open_file(pa.memory_map(str(path)), options=options)
    except pa.ArrowInvalid:
        raise DocgraphError("not an Arrow file; write one with: docgraph annotate -o FILE.arrow", path=path) from None
    if (file.schema.metadata or {}).get(b"docgraph.annotations") != VERSION:
        raise DocgraphError(
            "this Arrow file has no annotations of this version; write it again with docgraph annotate", path=path
        )
    return file


def _row(identifier: str, document: Document | None, annotation: Annotation) -> dict[str, Any]:
    """Returns a row of the file, without the columns that are null."""
    row: dict[str, Any] = {"id": identifier, "notes": annotation.notes}
    if document is not None:
        row["texts"] = document.texts
        row["speakers"] = [sentence.speaker for sentence in document]
        row["paragraphs"] = [sentence.paragraph for sentence in document]
    row |= {name: getattr(annotation, name) for name in INTEGER_COLUMNS}
    if annotation.coreference is not None:
        row["coreference"] = annotation.coreference.reshape(-1)
    for name in STRING_COLUMNS:
        strings: Strings | None = getattr(annotation, name)
        if strings is not None:
            row[name], row[f"{name}_table"] = strings.ids, strings.table
    return row


def _integers(batch: Any, name: str, row: int) -> IntArray | None:
    """Returns a list column's int32 [N], sharing the memory of the batch, or None for a null."""
    value = batch.column(name)[row].values
    return None if value is None else np.asarray(value.to_numpy(zero_copy_only=False), dtype=np.int32)


def _annotation(batch: Any, row: int) -> Annotation:
    columns: dict[str, Any] = {name: _integers(batch, name, row) for name in INTEGER_COLUMNS}
    links = _integers(batch, "coreference", row)
    columns["coreference"] = None if links is None else links.reshape(-1, 2)
    for name in STRING_COLUMNS:
        ids = _integers(batch, name, row)
        columns[name] = None if ids is None else Strings(ids, tuple(batch.column(f"{name}_table")[row].as_py()))
    return Annotation(**columns, notes=tuple(batch.column("notes")[row].as_py()))


def _document(batch: Any, row: int) -> Document:
    texts, speakers, paragraphs = (batch.column(name)[row].as_py() for name in ("texts", "speakers", "paragraphs"))
    if texts is None:
        raise DocgraphError("this file has annotations without their texts; read them with ArrowReader.annotation")
    return document_from_lines(texts, batch.column("id")[row].as_py(), speakers, paragraphs)
