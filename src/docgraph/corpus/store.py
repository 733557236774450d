"""The prepared corpus on disk: memory-mapped Arrow files with one row per document.

A folder holds `manifest.json`, `tokenizer/` and a folder of shards for each split. Annotations are stored; edges are
derived from them. The files are small because sub-words have 16 bits, word indices and heads are stored as differences,
form, lemma and part of speech are one index into the word types of the document, and Zstandard compresses everything.
Reading a document decompresses its record batch, about ten documents; document sizes are read without the rest.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from docgraph.annotation import Annotation, IntArray, Strings
from docgraph.corpus.subwords import EncodedDocument
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.model.batch import DocumentExample
    from docgraph.model.tokenizer import Tokenizer

VERSION = 1
MANIFEST = "manifest.json"
BATCH = 40_000
"""Source sub-words per record batch, the unit that reading a document decompresses."""
LEVEL = 9
"""Zstandard level: takes twice the time of the default level and saves a tenth of the size."""
SIZES = ("sentences", "words", "source_tokens", "target_tokens")
SEPARATOR = "\0"
"""Separates the strings of a document; readers remove it from sentences."""
Integers = npt.NDArray[np.integer]


def schema(source_vocabulary: int, target_vocabulary: int, key: str) -> pa.Schema:
    """Returns the columns of a shard; `key` identifies its inputs."""
    short, integer = pa.list_(pa.int16()), pa.list_(pa.int32())
    source, target = (
        pa.list_(pa.uint16() if size <= 1 << 16 else pa.int32()) for size in (source_vocabulary, target_vocabulary)
    )
    columns = [
        *((name, pa.int32()) for name in SIZES),
        ("id", pa.string()),
        ("path", pa.string()),
        ("lines", integer),
        *(("source", source), ("source_lengths", short), ("source_words", short)),
        *(("target", target), ("target_lengths", short), ("target_words", short)),
        ("word_counts", short),
        *(("types", integer), ("type_forms", integer), ("type_lemmas", integer), ("type_upos", integer)),
        *(("strings", pa.string()), ("forms", pa.int32()), ("lemma_table", integer), ("upos_table", integer)),
        *(("heads", short), ("coreference", integer)),
    ]
    return pa.schema(columns, metadata={b"docgraph.corpus": str(VERSION).encode(), b"docgraph.key": key.encode()})


def to_bytes(documents: Iterable[EncodedDocument], shard_schema: pa.Schema) -> bytes:
    """Serializes documents as a shard, an Arrow file."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=pa.Codec("zstd", compression_level=LEVEL))
    with pa.ipc.new_file(sink, shard_schema, options=options) as writer:
        rows: list[dict[str, Any]] = []
        size = 0
        for document in documents:
            rows.append(_row(document))
            size += len(document.source.ids)
            if size >= BATCH:
                writer.write_batch(_batch(rows, shard_schema))
                rows, size = [], 0
        if rows:
            writer.write_batch(_batch(rows, shard_schema))
    data: bytes = sink.getvalue().to_pybytes()
    return data


def _batch(rows: list[dict[str, Any]], shard_schema: pa.Schema) -> Any:
    return pa.record_batch(
        [pa.array([row[field.name] for row in rows], type=field.type) for field in shard_schema], schema=shard_schema
    )


def _row(document: EncodedDocument) -> dict[str, Any]:
    annotation = document.annotation
    row: dict[str, Any] = {
        "sentences": len(document.lines),
        "words": annotation.num_words,
        "source_tokens": len(document.source.ids),
        "target_tokens": len(document.target.ids),
        "id": document.id,
        "path": document.path,
        "lines": document.lines,
        "word_counts": np.diff(annotation.offsets),
        "heads": None if annotation.heads is None else annotation.heads - np.arange(annotation.num_words),
        "coreference": None if annotation.coreference is None else _link_steps(annotation.coreference),
        **_types(annotation),
    }
    for name, side in (("source", document.source), ("target", document.target)):
        row[name] = side.ids
        row[f"{name}_lengths"] = side.lengths
        row[f"{name}_words"] = np.diff(side.words, prepend=0)
    return row


def _types(annotation: Annotation) -> dict[str, Any]:
    """Returns the words as types, with the strings of forms, lemmas and parts of speech in one table, forms first."""
    columns = [annotation.forms, annotation.lemmas, annotation.upos]
    sizes = [1 if column is None else max(1, len(column.table)) for column in columns]
    joint = np.zeros(annotation.num_words, dtype=np.int64)
    for column, size in zip(columns, sizes, strict=True):
        joint = joint * size + (0 if column is None else column.ids)
    kinds, types = np.unique(joint, return_inverse=True)
    rest, upos = np.divmod(kinds, sizes[2])
    forms, lemmas = np.divmod(rest, sizes[1])
    strings = list(annotation.forms.table)
    places = {text: index for index, text in enumerate(strings)}
    tables: list[list[int] | None] = []
    for column in columns[1:]:
        for text in column.table if column is not None else ():
            if text not in places:
                places[text] = len(strings)
                strings.append(text)
        tables.append(None if column is None else [places[text] for text in column.table])
    return {
        "types": types,
        "type_forms": forms,
        "type_lemmas": None if annotation.lemmas is None else lemmas,
        "type_upos": None if annotation.upos is None else upos,
        "strings": SEPARATOR.join(strings),
        "forms": len(annotation.forms.table),
        "lemma_table": tables[0],
        "upos_table": tables[1],
    }


def _link_steps(links: IntArray) -> Integers:
    """Encodes links [C, 2] as [2C] small numbers: steps from mention to mention, then distances to the antecedents."""
    return np.concatenate([np.diff(links[:, 1], prepend=0), links[:, 1] - links[:, 0]])


def _links(steps: Integers) -> IntArray:
    """Decodes [2C] to links [C, 2]: the inverse of `_link_steps`."""
    mentions = np.cumsum(steps[: len(steps) // 2])
    return np.stack([mentions - steps[len(steps) // 2 :], mentions], axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class Sizes:
    """The sizes of the D documents of a split, [D] each."""

    sentences: IntArray
    words: IntArray
    source_tokens: IntArray
    target_tokens: IntArray
    """Sub-words, including ends of sentences."""


class PreparedCorpus:
    """A split of a prepared corpus: documents by index."""

    def __init__(
        self, folder: str | Path, split: str, shards: Sequence[Path], tokenizer_folder: Path, cache_bytes: int = 0
    ) -> None:
        self.folder, self.split, self.cache_bytes = Path(folder), split, cache_bytes
        self._tokenizer_folder = tokenizer_folder
        self._paths, files = list(shards), [open_shard(path) for path in shards]
        self._batches = [(file, index) for file in files for index in range(file.num_record_batches)]
        self._cached: OrderedDict[int, Any] = OrderedDict()
        self._cached_bytes = 0

    @classmethod
    def open(cls, folder: str | Path, split: str = "train", cache_bytes: int = 0) -> PreparedCorpus:
        """Opens a split of the store; up to `cache_bytes` of decompressed documents stay in memory."""
        manifest = read_manifest(folder)
        if split not in manifest["splits"]:
            known = ", ".join(manifest["splits"])
            raise DocgraphError(f"this store has no split '{split}'; it has {known}", path=folder)
        count = manifest["splits"][split]["shards"]
        shards = [shard_path(folder, split, index) for index in range(count)]
        return cls(folder, split, shards, Path(folder) / "tokenizer", cache_bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return PreparedCorpus.open, (
            self.folder,
            self.split,
            self.cache_bytes,
        )  # a worker process maps the files itself

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The sub-words of both sides."""
        from docgraph.corpus.subwords import load

        return load(self._tokenizer_folder)

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of all documents; no other column is decompressed."""
        options = pa.ipc.IpcReadOptions(included_fields=list(range(len(SIZES))))
        tables = [open_shard(path, options).read_all() for path in self._paths]
        columns = (
            np.concatenate([np.empty(0, np.int32), *(t.column(name).to_numpy() for t in tables)]) for name in SIZES
        )
        return Sizes(*(column.astype(np.int32) for column in columns))

    @cached_property
    def first_sentences(self) -> npt.NDArray[np.int64]:
        """[D]: the first sentence of each document among all sentences of the split."""
        return np.cumsum(self.sizes.sentences, dtype=np.int64) - self.sizes.sentences

    def flat(self, column: str) -> Integers:
        """Returns a list column of all documents, concatenated, such as `source` or `source_lengths`."""
        field = schema(1, 1, "").get_field_index(column)
        options = pa.ipc.IpcReadOptions(included_fields=[field])
        tables = [open_shard(path, options).read_all() for path in self._paths]
        parts = [chunk.flatten().to_numpy() for table in tables for chunk in table.column(column).chunks]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    @cached_property
    def _bounds(self) -> Integers:
        """[B+1]: record batch b holds documents bounds[b] .. bounds[b+1]-1."""
        options = pa.ipc.IpcReadOptions(included_fields=[0])
        files = [open_shard(path, options) for path in self._paths]
        rows = [file.get_batch(index).num_rows for file in files for index in range(file.num_record_batches)]
        return np.cumsum([0, *rows])

    def __len__(self) -> int:
        return int(self._bounds[-1])

    def _row(self, index: int) -> tuple[Any, int]:
        if not 0 <= index < len(self):
            raise IndexError(f"document {index} of {len(self)}")
        batch = int(np.searchsorted(self._bounds, index, side="right")) - 1
        if batch not in self._cached:
            file, number = self._batches[batch]
            self._cached[batch] = file.get_batch(number)
            self._cached_bytes += self._cached[batch].nbytes
            while self._cached_bytes > self.cache_bytes and len(self._cached) > 1:
                self._cached_bytes -= self._cached.popitem(last=False)[1].nbytes
        self._cached.move_to_end(batch)
        return self._cached[batch], index - int(self._bounds[batch])

    def _array(self, index: int, name: str) -> npt.NDArray[Any] | None:
        """Returns a list column of a document, [N], without a copy; None for a null."""
        batch, row = self._row(index)
        values = batch.column(name)[row].values
        return None if values is None else values.to_numpy(zero_copy_only=False)

    def _array_or_empty(self, index: int, name: str) -> npt.NDArray[Any]:
        values = self._array(index, name)
        return np.empty(0, np.int32) if values is None else values

    def location(self, index: int) -> tuple[str, str, IntArray]:
        """Returns (document id, source file, line of each sentence [M])."""
        batch, row = self._row(index)
        return batch.column("id")[row].as_py(), batch.column("path")[row].as_py(), self._array_or_empty(index, "lines")

    def _offsets(self, index: int) -> IntArray:
        """Returns the index of the first word of each sentence, [M+1]."""
        counts = self._array_or_empty(index, "word_counts")
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int32)]).astype(np.int32)

    def annotation(self, index: int) -> Annotation:
        """Returns the annotation of the source; positions in the text are not stored (starts and ends are 0)."""
        batch, row = self._row(index)
        types, strings = self._array_or_empty(index, "types"), batch.column("strings")[row].as_py().split(SEPARATOR)
        zeros = np.zeros(len(types), dtype=np.int32)
        heads, links = self._array(index, "heads"), self._array(index, "coreference")
        lemmas, upos = (
            self._strings(index, types, strings, f"type_{name}", table)
            for name, table in (("lemmas", "lemma_table"), ("upos", "upos_table"))
        )
        return Annotation(
            self._offsets(index),
            zeros,
            zeros,
            Strings(
                self._array_or_empty(index, "type_forms")[types], tuple(strings[: batch.column("forms")[row].as_py()])
            ),
            lemmas=lemmas,
            upos=upos,
            heads=None if heads is None else np.arange(len(types), dtype=np.int32) + heads,
            coreference=None if links is None else _links(links),
        )

    def _strings(self, index: int, types: Integers, strings: list[str], column: str, table: str) -> Strings | None:
        ids = self._array(index, column)
        if ids is None:
            return None
        return Strings(ids[types], tuple(strings[place] for place in self._array_or_empty(index, table).tolist()))

    def sentences(self, index: int, side: str, firsts: Integers | None = None) -> tuple[list[Integers], list[Integers]]:
        """Returns the sub-words of each sentence of a side, and the word index of each sub-word in its sentence, or -1.

        With `firsts` [M], the words of sentence m are counted from firsts[m].
        """
        lengths, ids = self._array_or_empty(index, f"{side}_lengths"), self._array_or_empty(index, side)
        words = np.cumsum(self._array_or_empty(index, f"{side}_words"), dtype=np.int64)
        if firsts is not None:
            words = np.where(words < 0, -1, words + np.repeat(firsts, lengths))
        spans = list(pairwise([0, *np.cumsum(lengths, dtype=np.int64).tolist()]))
        return [ids[begin:end] for begin, end in spans], [words[begin:end] for begin, end in spans]

    def example(
        self, index: int, relations: str | Iterable[str] | None = "all", hints: Sequence[str] = ()
    ) -> DocumentExample:
        """Returns a document, with the graph of its annotation unless `relations` is None, and hints by `hints`.

        Translations of referents are not filled in: decoding does that.
        """
        from docgraph.graph import build_graph
        from docgraph.model.batch import DocumentExample
        from docgraph.model.hints import dictionaries, find_hints, find_lookups

        source, source_words = self.sentences(index, "source", self._offsets(index)[:-1])
        target, target_words = self.sentences(index, "target")
        graph = None if relations is None else build_graph(self.annotation(index), relations)
        example = DocumentExample(source, target, graph, source_words, target_words)
        if not hints:
            return example
        annotation = self.annotation(index)
        found = find_hints(annotation, source, source_words, self.tokenizer, hints)
        lookups = find_lookups(annotation, source_words, self.tokenizer, dictionaries(hints), found)
        return replace(example, hints=found, lookups=lookups)


def shard_path(folder: str | Path, split: str, index: int) -> Path:
    """Returns the file of a shard."""
    return Path(folder) / split / f"{index:05}.arrow"


def open_shard(path: Path, options: Any = None) -> Any:
    """Opens a shard as a memory-mapped Arrow file."""
    try:
        file = pa.ipc.open_file(pa.memory_map(str(path)), options=options)
    except (pa.ArrowInvalid, FileNotFoundError):
        raise DocgraphError(
            "this shard of the store is missing or damaged; run docgraph prepare again", path=path
        ) from None
    if (file.schema.metadata or {}).get(b"docgraph.corpus") != str(VERSION).encode():
        raise DocgraphError("this store has another version; run docgraph prepare again", path=path)
    return file


def shard_key(path: Path) -> str | None:
    """Returns the key of a shard, or None if it is missing, damaged or of another version."""
    try:
        key: bytes = open_shard(path).schema.metadata[b"docgraph.key"]
    except (DocgraphError, KeyError):
        return None
    return key.decode()


def read_manifest(folder: str | Path) -> dict[str, Any]:
    """Returns the manifest of a store; raises an error if the folder has no complete store."""
    try:
        manifest = json.loads((Path(folder) / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise DocgraphError(
            "this folder holds no prepared corpus, or its preparation did not finish; run docgraph prepare CONFIG",
            path=folder,
        ) from None
    except ValueError:
        manifest = None
    if not isinstance(manifest, dict) or manifest.get("version") != VERSION:
        raise DocgraphError("this store has another version; run docgraph prepare again", path=folder)
    return manifest
