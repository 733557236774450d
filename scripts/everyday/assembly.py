"""Assembly of the corpus: drops repeated pairs and sentences of other test sets, holds documents out, writes files."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from corpus_folders import write_documents
from docgraph.corpus.readers.text_files import open_bytes
from docgraph.errors import DocgraphError
from everyday.cleaning import sentence_pairs
from everyday.documents import Document, Pair
from everyday.filtering import is_sentence
from everyday.sources import Source

HELD_OUT = Path(__file__).with_name("held_out.tsv")
"""The held-out documents: their split, and the maximum number of sentences of each."""
MAX_TRANSLATIONS = 3
"""Maximum number of translations of the same English sentence."""
MIN_AVOIDED_WORDS = 5
"""Shorter sentences of other test sets are too common to be avoided."""


@dataclass(frozen=True)
class SourcedDocument:
    """A document and the name of its source."""

    source: str
    document: Document


def read_avoided(paths: Iterable[Path]) -> set[str]:
    """Return the sentences of text files (one per line, plain or compressed), normalized for comparison."""
    avoided: set[str] = set()
    for path in paths:
        with open_bytes(path) as file:
            avoided.update(line.decode("utf-8", "replace").strip().lower() for line in file)
    return {line for line in avoided if len(line.split()) >= MIN_AVOIDED_WORDS}


def clean_documents(sources: Iterable[Source], folder: Path, avoided: set[str]) -> Iterator[SourcedDocument]:
    """Yield the documents of the sources, each without pairs that occurred before or are avoided."""
    seen: set[Pair] = set()
    translations: Counter[str] = Counter()
    for source in sources:
        for document in source.read(folder):
            kept = []
            for pair in _pairs(source, document):
                english = pair[0]
                if pair not in seen and translations[english] < MAX_TRANSLATIONS and english.lower() not in avoided:
                    seen.add(pair)
                    translations[english] += 1
                    kept.append(pair)
            if kept:
                yield SourcedDocument(source.name, Document(document.name, kept))


def _pairs(source: Source, document: Document) -> Iterator[Pair]:
    for english, french in document.pairs:
        yield from sentence_pairs(source.strip(english), source.strip(french))


def split_documents(documents: Iterable[SourcedDocument]) -> dict[str, list[SourcedDocument]]:
    """Split into train, dev and test; held-out documents keep full sentences, no English sentence is in two splits."""
    by_name = {item.document.name: item for item in documents}
    parts: dict[str, list[SourcedDocument]] = {"test": [], "dev": [], "train": []}
    with HELD_OUT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["document"]
            if name not in by_name:
                raise DocgraphError(f"there is no held-out document {name}; fetch the versions that --list prints")
            item = by_name.pop(name)
            pairs = [pair for pair in item.document.pairs if is_sentence(pair[0])]
            parts[row["part"]].append(SourcedDocument(item.source, Document(name, pairs[: int(row["most"])])))
    parts["train"] += by_name.values()
    used: set[str] = set()
    for part, items in parts.items():
        parts[part] = [kept for item in items if (kept := _without_sentences(item, used)).document.pairs]
        used |= {english.lower() for item in items for english, _ in item.document.pairs}
    return {part: parts[part] for part in ("train", "dev", "test")}


def _without_sentences(item: SourcedDocument, sentences: set[str]) -> SourcedDocument:
    pairs = [pair for pair in item.document.pairs if pair[0].lower() not in sentences]
    return SourcedDocument(item.source, Document(item.document.name, pairs))


def write_corpus(parts: dict[str, list[SourcedDocument]], sources: Iterable[Source], folder: Path) -> None:
    """Write the text files, the table of documents and the table of sources."""
    rows = ["part\tsource\tdocument\tpairs"]
    for part, items in parts.items():
        write_documents(folder, (item.document.pairs for item in items), part)
        rows += [f"{part}\t{item.source}\t{item.document.name}\t{len(item.document.pairs)}" for item in items]
    (folder / "documents.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    (folder / "SOURCES.md").write_text(_sources_page(parts, sources), encoding="utf-8")


def _sources_page(parts: dict[str, list[SourcedDocument]], sources: Iterable[Source]) -> str:
    documents, pairs = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for part, items in parts.items():
        for item in items:
            for name in (item.source, "all"):
                documents[part, name] += 1
                pairs[part, name] += len(item.document.pairs)
    lines = [
        "# Sources of the everyday corpus",
        "",
        "Made by scripts/make_everyday.py of docgraph; `documents.tsv` has the documents in the order of the files.",
        "",
        "| source | version | licence | documents | pairs | pairs, dev | pairs, test |",
        "|---|---|---|---:|---:|---:|---:|",
    ]
    rows = [(source.name, source.version, source.licence) for source in sources]
    for name, version, licence in [*rows, ("all", "", "")]:
        held_out = " | ".join(f"{pairs[part, name]:,}" for part in ("dev", "test"))
        counts = f"{documents['train', name]:,} | {pairs['train', name]:,} | {held_out}"
        lines.append(f"| {name} | {version} | {licence} | {counts} |")
    return "\n".join(lines) + "\n"
