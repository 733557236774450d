"""Translations of a prepared corpus: what a model made of its sentences, for training to show as target context.

A folder holds an Arrow file a split, one row a document: the sub-words of its translations, each with its end, and how
many they are. The file says of which store they are and who made them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from docgraph.corpus.store import PreparedCorpus, read_manifest
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.model.tokenizer import Ids

STORE, MADE = b"docgraph.store", b"docgraph.made"


def file_of(folder: str | Path, split: str) -> Path:
    """Where the translations of a split are."""
    return Path(folder) / f"{split}.arrow"


def digest(folder: str | Path, splits: Iterable[str]) -> str:
    """A digest of the translations that a folder holds of some splits."""
    total = hashlib.sha256()
    for path in (file_of(folder, split) for split in splits):
        total.update(path.read_bytes() if path.is_file() else b"")
    return total.hexdigest()


def write(
    folder: str | Path,
    corpus: PreparedCorpus,
    parts: Iterable[Sequence[Sequence[Sequence[int]]]],
    made: Mapping[str, Any],
) -> Path:
    """Write the translations of a split, some documents a part, all in order; `made` says by what they were."""
    token = pa.uint16() if corpus.tokenizer.target.size <= 1 << 16 else pa.int32()
    said = {STORE: read_manifest(corpus.folder)["fingerprint"], MADE: json.dumps(made)}
    form = pa.schema([("tokens", pa.list_(token)), ("lengths", pa.list_(pa.int16()))], metadata=said)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    path = file_of(folder, corpus.split)
    with (
        replacing(path) as place,
        pa.OSFile(str(place), "wb") as sink,
        pa.ipc.new_file(sink, form, options=options) as writer,
    ):
        for documents in parts:
            tokens = [[token for sentence in document for token in sentence] for document in documents]
            lengths = [[len(sentence) for sentence in document] for document in documents]
            columns = [pa.array(rows, kind.type) for rows, kind in zip((tokens, lengths), form, strict=True)]
            writer.write_batch(pa.record_batch(columns, schema=form))
    return path


class Translations:
    """The translations of a split, of which a share of the documents is drawn every epoch."""

    def __init__(
        self, folder: str | Path, store: str | Path, split: str = "train", share: float = 1.0, seed: int = 0
    ) -> None:
        """Read them, after checking that they are of this store."""
        self._arguments = folder, store, split, share, seed
        self.share, self.seed, path = share, seed, file_of(folder, split)
        remedy = f"make them with docgraph pretranslate {store} --split {split} -o {folder}"
        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        except (pa.ArrowInvalid, FileNotFoundError):
            raise DocgraphError(f"there are no translations here; {remedy}", path=path) from None
        if (table.schema.metadata or {}).get(STORE) != read_manifest(store)["fingerprint"].encode():
            raise DocgraphError(f"these are not translations of {store} as it is now; {remedy}", path=path)
        self._columns = [table.column(name).combine_chunks() for name in ("tokens", "lengths")]

    def __reduce__(self) -> tuple[Any, ...]:
        return Translations, self._arguments  # a worker process reads the file anew

    def of(self, document: int) -> list[Ids]:
        """The sub-words of each sentence of a document, each with its end."""
        tokens, lengths = (column[document].values.to_numpy().astype(np.int64) for column in self._columns)
        return [tokens[begin:end] for begin, end in pairwise([0, *np.cumsum(lengths).tolist()])]

    def drawn(self, document: int, epoch: int) -> list[Ids] | None:
        """The same, or None where the document is not in the share, which depends on seed and epoch alone."""
        draw = np.random.PCG64(np.random.SeedSequence([self.seed, epoch, document])).random_raw()
        return self.of(document) if draw < self.share * 2.0**64 else None
