"""Tiny parallel corpora in every format, and how to read and prepare them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docgraph.corpus.config import DataEntry, PrepareConfig
from docgraph.corpus.parallel import ParallelDocument
from docgraph.corpus.readers import Limits, Problems, read
from docgraph.model.config import from_dict

SOURCE = [["The cat sat.", "It slept & dreamt."], ["A dog barked.", "The dog ran.", "It was gone."]]
TARGET = [["Le chat s'assit.", "Il dormit & rêva."], ["Un chien aboya.", "Le chien courut.", "Il était parti."]]


def write(folder: Path, **files: str | bytes) -> dict[str, str]:
    """Files by name; a dot is written as two underscores."""
    paths = {}
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths[name] = str(path)
    return paths


def blank_lines(documents: list[list[str]]) -> str:
    return "\n".join("".join(f"{line}\n" for line in document) for document in documents)


def texts(documents: list[ParallelDocument]) -> tuple[list[list[str]], list[list[str]]]:
    return [list(document.source) for document in documents], [list(document.target) for document in documents]


def read_documents(
    problems: Problems | None = None, limits: Limits = Limits(), **fields: Any
) -> list[ParallelDocument]:
    return list(read(from_dict(DataEntry, fields), problems or Problems(), limits))


def synthetic(documents: int, sentences: int = 4) -> tuple[list[list[str]], list[list[str]]]:
    """Documents of distinct sentences."""
    nouns = ["house", "river", "Müller", "stone", "bird", "market"]
    source, target = [], []
    for d in range(documents):
        pairs = [(f"The {nouns[(d + s) % 6]} number {d} saw it {s} times.", s) for s in range(sentences)]
        source.append([text for text, _ in pairs])
        target.append([f"Le {nouns[(d + s) % 6]} numéro {d} l'a vu {s} fois." for _, s in pairs])
    return source, target


def corpus_config(folder: Path, documents: int = 12, **changes: Any) -> PrepareConfig:
    """A config of a synthetic corpus, which is written into the folder; words by rule, no parser."""
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
    return from_dict(PrepareConfig, values)
