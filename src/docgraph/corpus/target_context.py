"""Translations of a prepared corpus that training shows as target context instead of the references.

A folder holds one Arrow file per split, with one row per document: the sub-words of its translations, each with its
end-of-sentence, and their lengths. The metadata of the file names the store and the model that made the translations.
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

from docgraph.corpus.store import PreparedCorpus
from docgraph.corpus.store_tables import read_table, write_table
from docgraph.model.tokenizer import Ids

MADE = b"docgraph.made"
"""What made the translations, in the metadata of the file."""


def translations_path(folder: str | Path, split: str) -> Path:
    """Returns the file with the translations of a split."""
    return Path(folder) / f"{split}.arrow"


def digest(folder: str | Path, splits: Iterable[str]) -> str:
    """Returns a digest of the translations of the given splits; a missing file counts as empty."""
    total = hashlib.sha256()
    for path in (translations_path(folder, split) for split in splits):
        total.update(path.read_bytes() if path.is_file() else b"")
    return total.hexdigest()


def write_translations(
    folder: str | Path,
    corpus: PreparedCorpus,
    parts: Iterable[Sequence[Sequence[Sequence[int]]]],
    made: Mapping[str, Any],
) -> Path:
    """Writes the translations of a split, some documents per part, in order; `made` describes their origin."""
    token = pa.uint16() if corpus.tokenizer.target.size <= 1 << 16 else pa.int32()
    columns = [("tokens", pa.list_(token)), ("lengths", pa.list_(pa.int16()))]
    schema = pa.schema(columns, metadata={MADE: json.dumps(made)})
    return write_table(translations_path(folder, corpus.split), schema, corpus, map(_columns, parts))


def _columns(documents: Sequence[Sequence[Sequence[int]]]) -> tuple[list[list[int]], list[list[int]]]:
    """Returns the sub-words of each document, and the lengths of its sentences."""
    tokens = [[token for sentence in document for token in sentence] for document in documents]
    return tokens, [[len(sentence) for sentence in document] for document in documents]


class ContextTranslations:
    """The translations of a split; a random share of the documents uses them in each epoch."""

    def __init__(
        self, folder: str | Path, store: str | Path, split: str = "train", share: float = 1.0, seed: int = 0
    ) -> None:
        """Reads the translations; raises DocgraphError unless they belong to this store."""
        self._arguments = folder, store, split, share, seed
        self.share, self.seed = share, seed
        remedy = f"make them with docgraph pretranslate {store} --split {split} -o {folder}"
        table = read_table(translations_path(folder, split), store, "translations", remedy)
        self._columns = [table.column(name).combine_chunks() for name in ("tokens", "lengths")]

    def __reduce__(self) -> tuple[Any, ...]:
        return ContextTranslations, self._arguments  # a worker process reads the file itself

    def sentences(self, document: int) -> list[Ids]:
        """Returns the sub-words of each sentence of a document, each with its end-of-sentence."""
        tokens, lengths = (column[document].values.to_numpy().astype(np.int64) for column in self._columns)
        return [tokens[begin:end] for begin, end in pairwise([0, *np.cumsum(lengths).tolist()])]

    def sample(self, document: int, epoch: int) -> list[Ids] | None:
        """Returns the sentences, or None if the document is not in the share; depends only on the seed and epoch."""
        draw = np.random.PCG64(np.random.SeedSequence([self.seed, epoch, document])).random_raw()
        return self.sentences(document) if draw < self.share * 2.0**64 else None
