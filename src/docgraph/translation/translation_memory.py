"""A translation memory: sentences and their translations from elsewhere, found by the words they share with a text.

What a model may read of it are the translations of the few entries that each sentence is linked with. As inside a
document (docgraph.graph.selection), the link is lexical consistency, and a word counts by how rare it is:

    shared(q, e) = sum of log(N / N_w) over the words w in both
    likeness(q, e) = shared(q, e) / sqrt(number of words in e)

with N entries, N_w of which hold w. An entry with little of what the text says, shared(q, e) < 0.15 shared(q, q), is
not like it at all: of a memory of other things nothing is read. (A word that is in no entry counts as if in one.) Where
there are few entries, rarity says little, and one word is enough.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docgraph.annotate.rule_based import unicode_words
from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Problems, read
from docgraph.corpus.readers.text_files import read_lines
from docgraph.errors import DocgraphError

ENTRIES = 8
"""Looked up for a sentence: as many as sentences of the document itself; each costs time (docs/results.md)."""
MOST = 2_000_000
"""Entries of a memory."""
FEW = 1_000
"""Up to so many entries, neither of these counts."""
COMMON = 0.1
"""A word in more than this share of the entries finds nothing."""
LEAST = 0.15
"""The share of a text that an entry must hold. Of the eight likest verses of a Bible, nine in ten do to another verse,
a quarter to a sentence of parliament."""
SHORTEST = 4
"""Words that an entry of fewer counts as: else every single word would be the likest of all."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TranslationMemory:
    """N entries, each once."""

    sources: Sequence[str]
    targets: Sequence[str]
    words: dict[str, int] = field(repr=False)
    """The number of each word."""
    bounds: Integers = field(repr=False)
    """[W+1]: where the entries of each word begin in `entries`."""
    entries: Integers = field(repr=False)
    """Entries by word, ascending."""
    lengths: Integers = field(repr=False)
    """[N]: words of each entry."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> TranslationMemory:
        """The memory of pairs of sentences; of pairs that are the same, one."""
        unique = list(dict.fromkeys((" ".join(source.split()), target.strip()) for source, target in pairs))
        words = dict[str, int]()
        rows = [[words.setdefault(word, len(words)) for word in _words(source)] for source, _ in unique]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        numbers = np.fromiter((word for row in rows for word in row), np.int64, int(lengths.sum()))
        order = np.argsort(numbers, kind="stable")
        bounds = np.concatenate([[0], np.cumsum(np.bincount(numbers, minlength=len(words)))])
        sources, targets = ([pair[side] for pair in unique] for side in (0, 1))
        return cls(sources, targets, words, bounds, np.repeat(np.arange(len(rows)), lengths)[order], lengths)

    @classmethod
    def read(cls, files: Sequence[str], languages: tuple[str, str] | None = None) -> TranslationMemory:
        """From files: each a .tmx, a .tsv with source and target, or two files of the same lines, SOURCE,TARGET."""
        entries = [_entry(text, languages) for text in files]
        documents = (document for entry in entries for document in read(entry, Problems(skip=True)))
        pairs = (pair for document in documents for pair in zip(document.source, document.target, strict=True))
        found = list(islice(pairs, MOST + 1))
        if len(found) > MOST:
            raise DocgraphError(f"a translation memory holds at most {MOST:,} pairs; give the part that matters")
        return cls.of(found)

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def digest(self) -> str:
        """Of all entries."""
        found = hashlib.sha256()
        for pair in zip(self.sources, self.targets, strict=True):
            found.update("\t".join((*pair, "\n")).encode())
        return found.hexdigest()

    @cached_property
    def _exact(self) -> dict[str, str | None]:
        """The translation of each source; None where there are several."""
        found = dict[str, str | None]()
        for source, target in zip(self.sources, self.targets, strict=True):
            found[source] = None if source in found else target
        return found

    def exact(self, text: str) -> str | None:
        """The translation of a sentence that is there word for word, if there is one and no other."""
        return self._exact.get(" ".join(text.split()))

    def shown(self, texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """The entries that are context of some texts."""
        found = dict.fromkeys(entry for text in texts for entry in self.nearest(text))
        return tuple((self.sources[entry], self.targets[entry]) for entry in found)

    def nearest(self, text: str, count: int = ENTRIES) -> list[int]:
        """At most so many entries that are like a text, the likest first; of equals, the later."""
        size = len(self)
        common, least = (COMMON * size, LEAST) if size > FEW else (size, 0.0)
        shared, total = np.zeros(size), 0.0
        for word in _words(text):
            found = self._holding(word)
            if len(found) <= common:
                rarity = math.log(max(size, 1) / max(len(found), 1))
                shared[found] += rarity
                total += rarity
        likeness = shared / np.sqrt(np.maximum(self.lengths, SHORTEST))
        likeness[shared < least * total] = 0.0
        best = np.argpartition(-likeness, count)[:count] if count < size else np.arange(size)
        best = best[likeness[best] > 0]
        order = np.lexsort((-best, -likeness[best]))
        return [int(entry) for entry in best[order]]

    def _holding(self, word: str) -> Integers:
        """The entries with a word."""
        number = self.words.get(word)
        return self.entries[:0] if number is None else self.entries[self.bounds[number] : self.bounds[number + 1]]


def _words(text: str) -> list[str]:
    """Each word of a text once, as it is compared; signs are none."""
    found = (text[start:end].casefold() for start, end in unicode_words(text))
    return list(dict.fromkeys(word for word in found if any(map(str.isalnum, word))))


def _entry(text: str, languages: tuple[str, str] | None) -> DataEntry:
    """What the readers of corpora are told of a file, or of two."""
    if Path(text).exists() or "," not in text:
        name = Path(text).name.lower().removesuffix(".gz").removesuffix(".xz")
        if name.endswith(".tmx"):
            return DataEntry(text, languages=languages)
        if name.endswith(".tsv"):
            return DataEntry(text, columns=_columns(text))
        raise DocgraphError("a memory is a .tmx or .tsv file, or two text files: SOURCE,TARGET", path=text)
    source, _, target = text.partition(",")
    return DataEntry(source, target)


def _columns(path: str) -> tuple[str, ...]:
    """The columns of a table: source and target, and any number that are passed over."""
    first = next(read_lines(path, Problems(), tabs=True), None) or ""
    return ("source", "target", *(f"column {number}" for number in range(3, first.count("\t") + 2)))
