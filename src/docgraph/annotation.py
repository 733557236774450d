"""Annotation: the words of a document with their lemmas, tags, heads and coreference links, as columns.

A document has M sentences and W words. Each column is an array over the words in document order, so graphs, stores and
batches are built without Python loops. A column that no annotator assigned is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from docgraph.document import Document

IntArray = npt.NDArray[np.int32]
BoolArray = npt.NDArray[np.bool_]
Layer = Literal["words", "lemmas", "tags", "heads", "coreference"]
LAYERS: tuple[Layer, ...] = ("words", "lemmas", "tags", "heads", "coreference")
STRING_COLUMNS = ("forms", "lemmas", "upos", "feats", "deprels")


def int_array(values: Iterable[int] | npt.NDArray[np.integer]) -> IntArray:
    """Returns an int32 array [N]."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int32, copy=False)
    return np.fromiter(values, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Strings:
    """A dictionary-encoded column of strings: entry i is `table[ids[i]]`."""

    ids: IntArray
    table: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> Strings:
        """Encodes the values; the table is in order of first occurrence."""
        index: dict[str, int] = {}
        ids = np.fromiter((index.setdefault(value, len(index)) for value in values), dtype=np.int32)
        return cls(ids, tuple(index))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> str:
        return self.table[int(self.ids[index])]

    def to_list(self) -> list[str]:
        """Returns the entries as plain strings."""
        return [self.table[i] for i in self.ids.tolist()]


@dataclass(frozen=True, eq=False)
class Annotation:
    """Columns over the W words of a document with M sentences."""

    offsets: IntArray
    """[M+1]: sentence m has the words offsets[m] .. offsets[m+1]-1."""
    starts: IntArray
    """[W]: first character of the word in the text of its sentence."""
    ends: IntArray
    """[W]: character after the last one of the word."""
    forms: Strings
    lemmas: Strings | None = None
    upos: Strings | None = None
    """Universal parts of speech."""
    feats: Strings | None = None
    """Universal features, such as `Number=Plur|Person=3`."""
    heads: IntArray | None = None
    """[W]: index in the document of the word's head; a root is its own head."""
    deprels: Strings | None = None
    """Dependency relations to the heads."""
    coreference: IntArray | None = None
    """[C, 2]: head words of (antecedent, mention); the antecedent comes first in the document."""
    notes: tuple[str, ...] = field(default=())
    """Messages for the user about missing layers and how to install them, one line each."""

    @property
    def num_words(self) -> int:
        """W."""
        return len(self.starts)

    @property
    def num_sentences(self) -> int:
        """M."""
        return len(self.offsets) - 1

    @cached_property
    def sentence_of(self) -> IntArray:
        """[W]: sentence index of each word."""
        return np.repeat(np.arange(self.num_sentences, dtype=np.int32), np.diff(self.offsets))

    @property
    def layers(self) -> frozenset[Layer]:
        """The layers that are present."""
        columns = {"lemmas": self.lemmas, "tags": self.upos, "heads": self.heads, "coreference": self.coreference}
        return frozenset(layer for layer in LAYERS if layer == "words" or columns[layer] is not None)

    def with_notes(self, *notes: str) -> Annotation:
        """Returns a copy with more notes; repeated notes are dropped."""
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    def part(self, sentences: range) -> Annotation:
        """Returns the annotation of consecutive sentences, with the coreference links among them."""
        begin, end = int(self.offsets[sentences.start]), int(self.offsets[sentences.stop])
        words = slice(begin, end)
        strings: dict[str, Any] = {
            name: Strings(column.ids[words], column.table)
            for name in STRING_COLUMNS
            if (column := getattr(self, name)) is not None
        }
        links = self.coreference
        if links is not None:
            links = links[(links[:, 0] >= begin) & (links[:, 1] < end)] - begin
        return replace(
            self,
            offsets=self.offsets[sentences.start : sentences.stop + 1] - begin,
            starts=self.starts[words],
            ends=self.ends[words],
            heads=None if self.heads is None else self.heads[words] - begin,
            coreference=links,
            **strings,
        )

    def check(self, document: Document) -> None:
        """Raises ValueError if the columns do not fit each other or the document."""
        count = self.num_words
        if self.num_sentences != len(document) or self.offsets[0] != 0 or self.offsets[-1] != count:
            raise ValueError("the annotation and the document have different sentences")
        columns = (self.ends, self.forms, self.lemmas, self.upos, self.feats, self.heads, self.deprels)
        if any(column is not None and len(column) != count for column in columns):
            raise ValueError("the columns of the annotation differ in length")
        lengths = int_array(len(text) for text in document.texts)
        if ((self.starts < 0) | (self.starts > self.ends) | (self.ends > lengths[self.sentence_of])).any():
            raise ValueError("a word lies outside its sentence")
        if self.heads is not None and count and (self.sentence_of[self.heads] != self.sentence_of).any():
            raise ValueError("a head lies outside its sentence")
        links = self.coreference
        if links is not None and not ((links[:, 0] >= 0) & (links[:, 0] < links[:, 1]) & (links[:, 1] < count)).all():
            raise ValueError("a coreference link does not go from an earlier word to a later one")


def from_spans(spans: Sequence[Sequence[tuple[int, int]]], document: Document) -> Annotation:
    """Returns an annotation of words only, from the character spans (start, end) of each sentence's words."""
    flat = np.array([span for sentence in spans for span in sentence], dtype=np.int32).reshape(-1, 2)
    forms = Strings.of(text[a:b] for text, sentence in zip(document.texts, spans, strict=True) for a, b in sentence)
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in spans], dtype=np.int64)]).astype(np.int32)
    return Annotation(offsets, flat[:, 0].copy(), flat[:, 1].copy(), forms)


def chains(annotation: Annotation) -> list[list[int]]:
    """Returns the coreference chains of an annotation, each a list of head words. See `link_chains`."""
    links = annotation.coreference
    return [] if links is None else link_chains(links.tolist())


def link_chains(links: Iterable[Sequence[int]]) -> list[list[int]]:
    """Returns the words connected by links, in order. Longest chain first; ties in document order."""
    parent: dict[int, int] = {}

    def root(word: int) -> int:
        while parent.setdefault(word, word) != word:
            parent[word] = parent[parent[word]]
            word = parent[word]
        return word

    for antecedent, mention in links:
        parent[root(mention)] = root(antecedent)
    groups: dict[int, list[int]] = {}
    for word in sorted(parent):
        groups.setdefault(root(word), []).append(word)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0]))
