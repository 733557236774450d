"""Annotation: what is known of the words of a document, in columns.

W words in M sentences. Everything is an array over words in document order, so that a graph, a corpus store and a batch
are made from it without a loop. A part that no annotator assigned is None.
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


def int_array(values: Iterable[int] | npt.NDArray[np.integer]) -> IntArray:
    """int32 [N] from anything countable."""
    if isinstance(values, np.ndarray):
        return values.astype(np.int32, copy=False)
    return np.fromiter(values, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Strings:
    """A column of strings stored once each: `table[ids[i]]` is entry i."""

    ids: IntArray
    table: tuple[str, ...]

    @classmethod
    def of(cls, values: Iterable[str]) -> Strings:
        index: dict[str, int] = {}
        ids = np.fromiter((index.setdefault(value, len(index)) for value in values), dtype=np.int32)
        return cls(ids, tuple(index))

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, index: int) -> str:
        return self.table[int(self.ids[index])]

    def to_list(self) -> list[str]:
        return [self.table[i] for i in self.ids.tolist()]


@dataclass(frozen=True, eq=False)
class Annotation:
    """Columns over the W words of a document of M sentences."""

    offsets: IntArray
    """[M+1]: the words of sentence m are offsets[m] .. offsets[m+1]-1."""
    starts: IntArray
    """[W]: where the word begins in the text of its sentence, in characters."""
    ends: IntArray
    """[W]: where it ends."""
    forms: Strings
    lemmas: Strings | None = None
    upos: Strings | None = None
    """Universal part of speech."""
    feats: Strings | None = None
    """Universal features, `Number=Plur|Person=3`."""
    heads: IntArray | None = None
    """[W]: the word this one depends on, as an index into the document; a root is its own head."""
    deprels: Strings | None = None
    coreference: IntArray | None = None
    """[C, 2]: (antecedent, mention), head words of the two mentions, antecedent before mention."""
    notes: tuple[str, ...] = field(default=())
    """What is missing and how to install it, one line each, for the user."""

    @property
    def num_words(self) -> int:
        return len(self.starts)

    @property
    def num_sentences(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def sentence_of(self) -> IntArray:
        """[W]: the sentence each word stands in."""
        return np.repeat(np.arange(self.num_sentences, dtype=np.int32), np.diff(self.offsets))

    @property
    def layers(self) -> frozenset[Layer]:
        """The layers that are present."""
        parts = {"lemmas": self.lemmas, "tags": self.upos, "heads": self.heads, "coreference": self.coreference}
        present = {layer for layer in LAYERS if layer == "words" or parts[layer] is not None}
        return frozenset(present)

    def with_notes(self, *notes: str) -> Annotation:
        return replace(self, notes=tuple(dict.fromkeys((*self.notes, *notes))))

    def part(self, sentences: range) -> Annotation:
        """The annotation of consecutive sentences: what is said of their words, and the links among them."""
        begin, end = int(self.offsets[sentences.start]), int(self.offsets[sentences.stop])
        words = slice(begin, end)
        strings: dict[str, Any] = {
            name: Strings(column.ids[words], column.table)
            for name in ("forms", "lemmas", "upos", "feats", "deprels")
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
        """Raise ValueError unless every column fits the others and the document."""
        count = self.num_words
        if self.num_sentences != len(document) or self.offsets[0] != 0 or self.offsets[-1] != count:
            raise ValueError("the annotation has other sentences than the document")
        columns = (self.ends, self.forms, self.lemmas, self.upos, self.feats, self.heads, self.deprels)
        if any(column is not None and len(column) != count for column in columns):
            raise ValueError("the columns of the annotation differ in length")
        lengths = int_array(len(text) for text in document.texts)
        if ((self.starts < 0) | (self.starts > self.ends) | (self.ends > lengths[self.sentence_of])).any():
            raise ValueError("a word lies outside its sentence")
        if self.heads is not None and count and (self.sentence_of[self.heads] != self.sentence_of).any():
            raise ValueError("a head lies outside its sentence")
        links = self.coreference
        if links is not None and len(links):
            forward = (links[:, 0] < links[:, 1]).all()
            if not forward or links.min() < 0 or links.max() >= count:
                raise ValueError("a coreference link does not go from an earlier word to a later one")


def from_spans(spans: Sequence[Sequence[tuple[int, int]]], document: Document) -> Annotation:
    """An annotation of words alone, from their character spans (start, end) in each sentence."""
    flat = np.array([span for sentence in spans for span in sentence], dtype=np.int32).reshape(-1, 2)
    forms = Strings.of(text[a:b] for text, sentence in zip(document.texts, spans, strict=True) for a, b in sentence)
    offsets = np.concatenate([[0], np.cumsum([len(sentence) for sentence in spans], dtype=np.int64)]).astype(np.int32)
    return Annotation(offsets, flat[:, 0].copy(), flat[:, 1].copy(), forms)


def chains(annotation: Annotation) -> list[list[int]]:
    """Coreference chains (connected head words, in order), longest first; ties in document order."""
    links = annotation.coreference
    if links is None or not len(links):
        return []
    parent: dict[int, int] = {}

    def find(node: int) -> int:
        while parent.setdefault(node, node) != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for antecedent, mention in links.tolist():
        parent[find(mention)] = find(antecedent)
    groups: dict[int, list[int]] = {}
    for node in sorted(parent):
        groups.setdefault(find(node), []).append(node)
    return sorted(groups.values(), key=lambda group: (-len(group), group[0]))
