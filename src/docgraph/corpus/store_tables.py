"""Tables made from a prepared corpus: Arrow files with one row per document, such as its hints or translations of it.

The metadata of a table holds the fingerprint of its store, so that it is never read beside another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from docgraph.corpus.store import PreparedCorpus, read_manifest
from docgraph.errors import DocgraphError
from docgraph.files import replacing

STORE = b"docgraph.store"
"""The fingerprint of the store, in the metadata of a table."""


def write_table(
    path: Path, schema: pa.Schema, corpus: PreparedCorpus, parts: Iterable[Sequence[Sequence[Any]]]
) -> Path:
    """Writes the table of a split and returns its path; each part holds the columns of some documents, in order."""
    schema = schema.with_metadata({**(schema.metadata or {}), STORE: read_manifest(corpus.folder)["fingerprint"]})
    with (
        replacing(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer,
    ):
        for columns in parts:
            arrays = [pa.array(rows, field.type) for rows, field in zip(columns, schema, strict=True)]
            writer.write_batch(pa.record_batch(arrays, schema=schema))
    return path


def read_table(path: Path, store: str | Path, content: str, remedy: str) -> pa.Table:
    """Returns a table; raises DocgraphError, which names its `content`, unless it exists and belongs to this store."""
    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
    except (pa.ArrowInvalid, FileNotFoundError):
        raise DocgraphError(f"there are no {content} here; {remedy}", path=path) from None
    if (table.schema.metadata or {}).get(STORE) != read_manifest(store)["fingerprint"].encode():
        raise DocgraphError(f"these {content} do not belong to the present {store}; {remedy}", path=path)
    return table
