"""A translation memory: sentence pairs from other documents, found by the words they share with a text.

A model reads the translations of the few entries that each sentence is linked with. As inside a document
(docgraph.graph.selection), the link is lexical consistency, and rare words weigh more:

    shared(q, e) = sum of log(N / N_w) over the words w in both
    similarity(q, e) = shared(q, e) / sqrt(number of words in e)

for N entries, N_w of which contain w (a word in no entry counts as if it were in one). An entry that shares too little,
shared(q, e) < 0.15 shared(q, q), is not used, so that an unrelated memory changes nothing. In a small memory, frequency
says little, and one shared word is enough.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docgraph.annotate.rule_based import unicode_words
from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers import Problems, read
from docgraph.corpus.readers.text_files import read_blocks, read_lines
from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentExample
from docgraph.model.tokenizer import Ids, Tokenizer

ENTRIES = 8
"""Maximum number of entries that a sentence reads. Each costs time (docs/results)."""
MAX_ENTRIES = 2_000_000
"""Maximum size of a memory."""
MAX_BYTES = 1 << 30
"""Maximum size of a file of a memory, unpacked."""
_USE_LESS = "use only the relevant part"
SMALL = 1_000
"""A memory of up to this many entries applies neither COMMON nor MIN_SHARED."""
COMMON = 0.1
"""A word in more than this share of the entries is ignored."""
MIN_SHARED = 0.15
"""Share of a text's weight that an entry must contain. Of the eight nearest Bible verses, nine in ten pass for another
verse, and one in four for a sentence of parliament."""
MIN_WORDS = 4
"""Shorter entries count as this long; otherwise entries of one word would be the most similar."""
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TranslationMemory:
    """N unique entries, indexed by word."""

    sources: Sequence[str]
    targets: Sequence[str]
    words: dict[str, int] = field(repr=False)
    """The index of each word."""
    bounds: Integers = field(repr=False)
    """[W+1]: offsets of the entries of each word in `entries`."""
    entries: Integers = field(repr=False)
    """The entries that contain each word, ascending."""
    lengths: Integers = field(repr=False)
    """[N]: number of words of each entry."""

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> TranslationMemory:
        """Returns a memory of these sentence pairs; duplicates are dropped."""
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
        """Reads files: each is a .tmx, a .tsv with source and target, or SOURCE,TARGET, two parallel text files."""
        entries = [_entry(text, languages) for text in files]
        for path in (path for entry in entries for path in entry.paths):
            _check_size(path)
        documents = (document for entry in entries for document in read(entry, Problems(skip=True)))
        pairs = (pair for document in documents for pair in zip(document.source, document.target, strict=True))
        limited = list(islice(pairs, MAX_ENTRIES + 1))
        if len(limited) > MAX_ENTRIES:
            raise DocgraphError(f"a translation memory holds at most {MAX_ENTRIES:,} pairs; {_USE_LESS}")
        return cls.of(limited)

    def __len__(self) -> int:
        return len(self.sources)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of all entries."""
        digest = hashlib.sha256()
        for pair in zip(self.sources, self.targets, strict=True):
            digest.update("\t".join((*pair, "\n")).encode())
        return digest.hexdigest()

    @cached_property
    def _exact(self) -> dict[str, str | None]:
        """The translation of each source; None if there are several."""
        targets = dict[str, str | None]()
        for source, target in zip(self.sources, self.targets, strict=True):
            targets[source] = None if source in targets else target
        return targets

    def exact(self, text: str) -> str | None:
        """Returns the translation of a sentence; None if the memory lacks it or has several."""
        return self._exact.get(" ".join(text.split()))

    def nearest_pairs(self, texts: Iterable[str]) -> tuple[tuple[str, str], ...]:
        """Returns the (source, translation) pairs nearest to some texts."""
        entries = dict.fromkeys(entry for text in texts for entry in self.nearest(text))
        return tuple((self.sources[entry], self.targets[entry]) for entry in entries)

    def nearest(self, text: str, count: int = ENTRIES) -> list[int]:
        """Returns at most `count` entries similar to a text, most similar first; ties go to the later entry."""
        size = len(self)
        max_count, min_shared = (COMMON * size, MIN_SHARED) if size > SMALL else (size, 0.0)
        shared, total = np.zeros(size), 0.0
        for word in _words(text):
            entries = self._containing(word)
            if len(entries) <= max_count:
                rarity = math.log(max(size, 1) / max(len(entries), 1))
                shared[entries] += rarity
                total += rarity
        similarity = shared / np.sqrt(np.maximum(self.lengths, MIN_WORDS))
        similarity[shared < min_shared * total] = 0.0
        best = np.argpartition(-similarity, count)[:count] if count < size else np.arange(size)
        best = best[similarity[best] > 0]
        order = np.lexsort((-best, -similarity[best]))
        return [int(entry) for entry in best[order]]

    def append_entries(
        self,
        example: DocumentExample,
        texts: Sequence[str],
        known: Container[int],
        tokenizer: Tokenizer,
        max_length: int,
        tag: str | None = None,
    ) -> tuple[DocumentExample, dict[int, Ids]]:
        """Appends the nearest entries of each text to the model input of these texts, as read-only sentences.

        Texts whose index is in `known` need no entries. Sources are cut to `max_length` sub-words. Also returns the
        sub-words of the entries' translations, by their positions in the example.
        """
        nearest = [[] if index in known else self.nearest(text) for index, text in enumerate(texts)]
        unique = sorted({entry for row in nearest for entry in row})
        positions = {entry: len(texts) + rank for rank, entry in enumerate(unique)}
        table = np.full((len(texts) + len(unique), ENTRIES), -1)
        for row, entries in zip(table, nearest, strict=False):
            row[: len(entries)] = [positions[entry] for entry in entries]
        ids = [tokenizer.source.encode(self.sources[entry], tag)[0] for entry in unique]
        ids = [np.append(each[: max_length - 1], each[-1]) if len(each) > max_length else each for each in ids]
        targets = tokenizer.target.ids([self.targets[entry] for entry in unique])
        words = [*example.source_words, *(np.full(len(each), -1) for each in ids)] if example.source_words else ()
        example = replace(
            example,
            source=[*example.source, *ids],
            source_words=words,
            window=range(len(texts)),
            memory_sentences=table,
        )
        return example, dict(zip(positions.values(), targets, strict=True))

    def _containing(self, word: str) -> Integers:
        """Returns the entries that contain a word."""
        index = self.words.get(word)
        return self.entries[:0] if index is None else self.entries[self.bounds[index] : self.bounds[index + 1]]


def _words(text: str) -> list[str]:
    """Returns the unique words of a text, case-folded, without punctuation."""
    words = (text[start:end].casefold() for start, end in unicode_words(text))
    return list(dict.fromkeys(word for word in words if any(map(str.isalnum, word))))


def _entry(text: str, languages: tuple[str, str] | None) -> DataEntry:
    """Returns the corpus entry of a memory file, or of two parallel files."""
    if Path(text).exists() or "," not in text:
        if _extension(text) == ".tmx":
            return DataEntry(text, languages=languages)
        if _extension(text) == ".tsv":
            return DataEntry(text, columns=_columns(text))
        raise DocgraphError(
            "a translation memory must be a .tmx or .tsv file, or two text files SOURCE,TARGET", path=text
        )
    source, _, target = text.partition(",")
    return DataEntry(source, target)


def _extension(path: str) -> str:
    """Returns the extension of a file name, without that of a compression."""
    return Path(Path(path).name.lower().removesuffix(".gz").removesuffix(".xz")).suffix


def _check_size(path: str) -> None:
    """Refuses a file that is too large when unpacked, in one pass over its blocks."""
    size = lines = 0
    for block in read_blocks(path):
        size, lines = size + len(block), lines + block.count(b"\n")
        if size > MAX_BYTES:
            raise DocgraphError(f"a translation memory has at most {MAX_BYTES >> 20:,} MiB; {_USE_LESS}", path=path)
        if lines > MAX_ENTRIES and _extension(path) != ".tmx":
            raise DocgraphError(f"a translation memory has at most {MAX_ENTRIES:,} lines; {_USE_LESS}", path=path)


def _columns(path: str) -> tuple[str, ...]:
    """Returns the column names of a table: source, target, and any number of ignored columns."""
    first = next(read_lines(path, Problems(), tabs=True), None) or ""
    return ("source", "target", *(f"column {number}" for number in range(3, first.count("\t") + 2)))
