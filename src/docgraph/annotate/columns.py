"""Columns that grow word by word, and the two problems every backend shares: long lines and multiword tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from docgraph.annotation import Annotation, Layer, Strings, int_array

PIECE = 4000
"""Most characters handed to a parser at once: the time and memory of some grow with the square of the length."""
_LONG_RUN = re.compile(r"[^\w\s]{100}")
"""A line drawn with ===== and the like: tokenizers peel off one sign after another and copy the rest each time."""


@dataclass
class Columns:
    """Words in document order; `heads` are indices into the document, a root its own head."""

    offsets: list[int] = field(default_factory=lambda: [0])
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    forms: list[str] = field(default_factory=list)
    lemmas: list[str] = field(default_factory=list)
    upos: list[str] = field(default_factory=list)
    feats: list[str] = field(default_factory=list)
    heads: list[int] = field(default_factory=list)
    deprels: list[str] = field(default_factory=list)

    def add(self, start: int, end: int, form: str, lemma: str, upos: str, feats: str, head: int, deprel: str) -> None:
        """One word. `head` counts from the beginning of the document."""
        self.starts.append(start)
        self.ends.append(end)
        self.forms.append(form)
        self.lemmas.append(lemma)
        self.upos.append(upos)
        self.feats.append(feats)
        self.heads.append(head)
        self.deprels.append(deprel)

    def end_sentence(self) -> None:
        self.offsets.append(len(self.starts))

    def join_roots(self) -> None:
        """Make the sentence that just ended one tree: roots after the first hang from the first."""
        begin, end = self.offsets[-2], self.offsets[-1]
        roots = [word for word in range(begin, end) if self.heads[word] == word]
        for root in roots[1:]:
            self.heads[root] = roots[0]
            self.deprels[root] = "parataxis"

    def annotation(self, layers: frozenset[Layer]) -> Annotation:
        """The columns as an annotation with these layers alone."""
        tags, heads = "tags" in layers, "heads" in layers
        return Annotation(
            int_array(self.offsets),
            int_array(self.starts),
            int_array(self.ends),
            Strings.of(self.forms),
            lemmas=Strings.of(self.lemmas) if "lemmas" in layers else None,
            upos=Strings.of(self.upos) if tags else None,
            feats=Strings.of(self.feats) if tags else None,
            heads=int_array(self.heads) if heads else None,
            deprels=Strings.of(self.deprels) if heads else None,
            coreference=np.zeros((0, 2), dtype=np.int32) if "coreference" in layers else None,
        )


def pieces(text: str) -> list[tuple[int, str]]:
    """The text as (offset, piece) of at most PIECE characters, cut at white space where there is any."""
    edges = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return [piece for start, end in pairwise(edges) for piece in _limited(text, start, end)]


def _limited(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    while end - start > PIECE:
        cut = start + PIECE
        while cut > start and not text[cut - 1].isspace():
            cut -= 1
        cut = cut if cut > start else start + PIECE
        yield start, text[start:cut]
        start = cut
    yield start, text[start:end]


def word_spans(start: int, surface: str, forms: Sequence[str]) -> list[tuple[int, int]]:
    """Where the syntactic words of a surface token stand: their own characters when together they spell it
    (do + n't), all of its characters each when they do not (du = de + le)."""
    if "".join(forms) != surface:
        return [(start, start + len(surface))] * len(forms)
    spans = []
    for form in forms:
        spans.append((start, start + len(form)))
        start += len(form)
    return spans
