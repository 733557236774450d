"""One corpus of the documents of all sources: no pair twice, nothing of other test sets, some documents held out."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docgraph.corpus.readers.text_files import open_bytes
from docgraph.errors import DocgraphError
from everyday.cleaning import sentence_pairs
from everyday.documents import Document, Pair
from everyday.filtering import is_sentence
from everyday.sources import Source

HELD_OUT = Path(__file__).with_name("held_out.tsv")
"""The documents held out: the part they are for, and the most sentences taken of each."""
TRANSLATIONS = 3
"""The most translations of one English sentence."""
COMMON = 5
"""Words: a shorter sentence of another test set is too common to be kept out of this corpus."""


@dataclass(frozen=True)
class Sourced:
    """A document and the source it is from."""

    source: str
    document: Document


def read_avoided(paths: Iterable[Path]) -> set[str]:
    """The sentences of text files, plain or compressed, a sentence a line, as `clean` compares them."""
    avoided: set[str] = set()
    for path in paths:
        with open_bytes(path) as file:
            avoided.update(line.decode("utf-8", "replace").strip().lower() for line in file)
    return {line for line in avoided if len(line.split()) >= COMMON}


def clean(sources: Iterable[Source], folder: Path, avoided: set[str]) -> Iterator[Sourced]:
    """The documents of the sources with sentence pairs that no document before them has."""
    seen: set[Pair] = set()
    translations: Counter[str] = Counter()
    for source in sources:
        for document in source.read(folder):
            kept = []
            for pair in _pairs(source, document):
                english = pair[0]
                if pair not in seen and translations[english] < TRANSLATIONS and english.lower() not in avoided:
                    seen.add(pair)
                    translations[english] += 1
                    kept.append(pair)
            if kept:
                yield Sourced(source.name, Document(document.name, kept))


def _pairs(source: Source, document: Document) -> Iterator[Pair]:
    for english, french in document.pairs:
        yield from sentence_pairs(source.strip(english), source.strip(french))


def split(documents: Iterable[Sourced]) -> dict[str, list[Sourced]]:
    """Train, dev and test. Held-out documents keep their whole sentences; no English sentence is in two parts."""
    by_name = {item.document.name: item for item in documents}
    parts: dict[str, list[Sourced]] = {"test": [], "dev": [], "train": []}
    with HELD_OUT.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            name = row["document"]
            if name not in by_name:
                raise DocgraphError(f"no document {name}, which is held out; get the versions of --list")
            item = by_name.pop(name)
            pairs = [pair for pair in item.document.pairs if is_sentence(pair[0])]
            parts[row["part"]].append(Sourced(item.source, Document(name, pairs[: int(row["most"])])))
    parts["train"] += by_name.values()
    taken: set[str] = set()
    for part, items in parts.items():
        parts[part] = [kept for item in items if (kept := _without(item, taken)).document.pairs]
        taken |= {english.lower() for item in items for english, _ in item.document.pairs}
    return {part: parts[part] for part in ("train", "dev", "test")}


def _without(item: Sourced, taken: set[str]) -> Sourced:
    pairs = [pair for pair in item.document.pairs if pair[0].lower() not in taken]
    return Sourced(item.source, Document(item.document.name, pairs))
