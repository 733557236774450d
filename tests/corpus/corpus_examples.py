"""Tiny parallel corpora in every format, and how to read and prepare them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from docgraph.annotation import Annotation, Strings, int_array
from docgraph.config import parse
from docgraph.corpus.config import DataEntry, PrepareConfig
from docgraph.corpus.readers import Limits, Problems, read
from docgraph.corpus.store import MANIFEST, VERSION, PreparedCorpus, schema, shard_path, to_bytes
from docgraph.corpus.subwords import EncodedDocument, EncodedSide
from docgraph.document import ParallelDocument

SOURCE = [["The cat sat.", "It slept & dreamt."], ["A dog barked.", "The dog ran.", "It was gone."]]
TARGET = [["Le chat s'assit.", "Il dormit & rêva."], ["Un chien aboya.", "Le chien courut.", "Il était parti."]]


def write(folder: Path, **files: str | bytes) -> dict[str, str]:
    """Write files by name, with two underscores for a dot; return their paths."""
    paths = {}
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths[name] = str(path)
    return paths


def blank_lines(documents: list[list[str]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in document) for document in documents)


def tmx(units: Iterable[tuple[str, Mapping[str, str]]], srclang: str = "en-US") -> str:
    """Return a translation memory of units: (document or "", texts by language)."""
    lines = ['<?xml version="1.0"?>', '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', '<tmx version="1.4">']
    lines.append(f'<header srclang="{srclang}" segtype="sentence"/><body>')
    for document, segments in units:
        lines.append("<tu>" + (f'<prop type="x-document">{document}</prop>' if document else ""))
        lines += [f'<tuv xml:lang="{tag}"><seg>{escape(text)}</seg></tuv>' for tag, text in segments.items()]
        lines.append("</tu>")
    return "\n".join([*lines, "</body></tmx>\n"])


def texts(documents: list[ParallelDocument]) -> tuple[list[list[str]], list[list[str]]]:
    return [list(document.source) for document in documents], [list(document.target) for document in documents]


def read_documents(
    problems: Problems | None = None, limits: Limits = Limits(), **fields: Any
) -> list[ParallelDocument]:
    return list(read(parse(DataEntry, fields), problems or Problems(), limits))


def synthetic(documents: int, sentences: int = 4) -> tuple[list[list[str]], list[list[str]]]:
    """Return source and target documents of distinct sentences."""
    nouns = ["house", "river", "Müller", "stone", "bird", "market"]
    source, target = [], []
    for d in range(documents):
        pairs = [(f"The {nouns[(d + s) % 6]} number {d} saw it {s} times.", s) for s in range(sentences)]
        source.append([text for text, _ in pairs])
        target.append([f"Le {nouns[(d + s) % 6]} numéro {d} l'a vu {s} fois." for _, s in pairs])
    return source, target


def corpus_config(folder: Path, documents: int = 12, **changes: Any) -> PrepareConfig:
    """Write a synthetic corpus into the folder and return its config, with a rule-based word splitter."""
    source, target = synthetic(documents)
    paths = write(folder, train__en=blank_lines(source), train__fr=blank_lines(target))
    dev = write(folder, dev__en=blank_lines(source[:2]), dev__fr=blank_lines(target[:2]))
    values: Mapping[str, Any] = {
        "languages": {"source": "en", "target": "fr"},
        "data": {
            "train": {"source": paths["train__en"], "target": paths["train__fr"]},
            "dev": {"source": dev["dev__en"], "target": dev["dev__fr"]},
        },
        "subwords": {"size": 340},
        "annotator": "words:qu",
        "out": str(folder / "store"),
        **changes,
    }
    return parse(PrepareConfig, values)


def stored_corpus(
    folder: Path, lengths: Sequence[Sequence[tuple[int, int]]], seed: int = 0, vocabulary: int = 50
) -> PreparedCorpus:
    """Write a store of random documents with the given (source, target) lengths of sentences, ends included."""
    rng = np.random.default_rng(seed)
    documents = []
    for number, sizes in enumerate(lengths):
        sides = [_random_side(rng, [pair[side] for pair in sizes], vocabulary) for side in range(2)]
        counts = [pair[0] - 1 for pair in sizes]
        zeros = np.zeros(sum(counts), dtype=np.int32)
        forms = Strings.of(f"w{word}" for word in rng.integers(0, 9, sum(counts)))
        annotation = Annotation(int_array([0, *np.cumsum(counts).tolist()]), zeros, zeros, forms)
        documents.append(EncodedDocument(f"d{number}", "f", int_array(range(len(sizes))), *sides, annotation))
    path = shard_path(folder, "train", 0)
    path.parent.mkdir(parents=True)
    path.write_bytes(to_bytes(documents, schema(vocabulary, vocabulary, "key")))
    (folder / MANIFEST).write_text(json.dumps({"version": VERSION, "splits": {"train": {"shards": 1}}}))
    return PreparedCorpus.open(folder)


def _random_side(rng: np.random.Generator, lengths: list[int], vocabulary: int) -> EncodedSide:
    """Return random sub-words, each a word of its own, except the end of sentence (2)."""
    ends = np.cumsum(lengths)
    ids, words = rng.integers(3, vocabulary, ends[-1]), np.concatenate([np.arange(length) for length in lengths])
    ids[ends - 1], words[ends - 1] = 2, -1
    return EncodedSide(ids, int_array(lengths), words)
