"""Helpers for annotators: build an annotation word by word, align words with text, check trees, link chains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from docgraph.annotation import Annotation, IntArray, Layer, Strings, int_array
from docgraph.document import Document, Sentence

MAX_PIECE = 4000
"""Maximum number of characters passed to a parser at once; the cost of some parsers is quadratic in the length."""
_LONG_RUN = re.compile(r"[^\w\s]{100}")
"""A run of signs such as a drawn line (=====), which is slow: tokenizers split off one sign and copy the rest."""


class Word(NamedTuple):
    """A word with character offsets in its sentence; `head` is a word index in the document, its own for a root."""

    start: int
    end: int
    form: str
    lemma: str
    upos: str
    feats: str
    head: int
    deprel: str


class AnnotationBuilder:
    """Collects the words of a document in order, sentence by sentence."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.offsets = [0]

    def end_sentence(self, *, single_root: bool = False) -> None:
        """Ends the current sentence. With `single_root`, its later roots become dependents of its first root."""
        self.offsets.append(len(self.words))
        if not single_root:
            return
        roots = [index for index in range(*self.offsets[-2:]) if self.words[index].head == index]
        for root in roots[1:]:
            self.words[root] = self.words[root]._replace(head=roots[0], deprel="parataxis")

    def build(self, layers: frozenset[Layer]) -> Annotation:
        """Returns the annotation with the given layers only; coreference starts without links."""
        columns: Iterable[Any] = zip(*self.words, strict=True) if self.words else ((),) * len(Word._fields)
        starts, ends, forms, lemmas, upos, feats, heads, deprels = columns
        has_tags, has_heads = "tags" in layers, "heads" in layers
        return Annotation(
            int_array(self.offsets),
            int_array(starts),
            int_array(ends),
            Strings.of(forms),
            lemmas=Strings.of(lemmas) if "lemmas" in layers else None,
            upos=Strings.of(upos) if has_tags else None,
            feats=Strings.of(feats) if has_tags else None,
            heads=int_array(heads) if has_heads else None,
            deprels=Strings.of(deprels) if has_heads else None,
            coreference=np.zeros((0, 2), dtype=np.int32) if "coreference" in layers else None,
        )


def document_from_lines(
    texts: Sequence[str], id: str, speakers: Sequence[str | None], paragraphs: Sequence[int]
) -> Document:
    """Returns a document whose source has one sentence per line.

    Unlike `Document.from_sentences`, it keeps the texts unchanged and takes paragraph numbers.
    """
    sentences, start = [], 0
    for text, speaker, paragraph in zip(texts, speakers, paragraphs, strict=True):
        sentences.append(Sentence(text, start, start + len(text), paragraph=paragraph, speaker=speaker))
        start += len(text) + 1
    return Document(tuple(sentences), "".join(f"{text}\n" for text in texts), id)


def split_long_text(text: str) -> list[tuple[int, str]]:
    """Splits a text into (offset, piece) of at most `MAX_PIECE` characters, at white space if possible."""
    edges = [0, *(run.end() for run in _LONG_RUN.finditer(text)), len(text)]
    return [piece for start, end in pairwise(edges) for piece in _split_by_length(text, start, end)]


def _split_by_length(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    while end - start > MAX_PIECE:
        cut = start + MAX_PIECE
        while cut > start and not text[cut - 1].isspace():
            cut -= 1
        cut = cut if cut > start else start + MAX_PIECE
        yield start, text[start:cut]
        start = cut
    yield start, text[start:end]


def multiword_spans(start: int, token: str, forms: Sequence[str]) -> list[tuple[int, int]]:
    """Returns the character spans of the words of a multiword token that begins at `start`.

    If the words spell the token (do + n't), each word has its own characters; otherwise (du = de + le) each word has
    all characters of the token.
    """
    if "".join(forms) != token:
        return [(start, start + len(token))] * len(forms)
    return list(pairwise(accumulate(map(len, forms), initial=start)))


def find_form(text: str, cursor: int, form: str) -> tuple[int, int] | None:
    """Returns the span of `form` in `text` after white space at the cursor; white space inside may differ."""
    while cursor < len(text) and text[cursor].isspace() and not text.startswith(form, cursor):
        cursor += 1
    if text.startswith(form, cursor):
        return cursor, cursor + len(form)
    end = cursor
    for character in form:
        if character.isspace():
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        if end >= len(text) or text[end] != character:
            return None
        end += 1
    return cursor, end


def find_cycle(heads: Sequence[int]) -> int | None:
    """Returns the first word of a cycle in the heads of a sentence, or None if every word reaches a root."""
    reaches_root = [head == word for word, head in enumerate(heads)]
    for start in range(len(heads)):
        word, path = start, set()
        while not reaches_root[word]:
            if word in path:
                return word
            path.add(word)
            word = heads[word]
        for passed in path:
            reaches_root[passed] = True
    return None


def head_word(words: list[int], heads: IntArray | None) -> int:
    """Returns the head word of a mention: its first word whose head is outside the mention.

    Without a parse, the head word is the last word.
    """
    if heads is None:
        return words[-1]
    mention = set(words)
    for word in words:
        head = int(heads[word])
        if head == word or head not in mention:
            return word
    return words[-1]


def chain_links(chains: Iterable[Iterable[int]]) -> IntArray:
    """Links each mention (a head word) to the previous one of its chain; returns distinct links [C, 2]."""
    links: set[tuple[int, int]] = set()
    for chain in chains:
        mentions = sorted(set(chain))
        links.update((mention, antecedent) for antecedent, mention in pairwise(mentions))
    array = np.array(sorted(links), dtype=np.int32).reshape(-1, 2)
    return array[:, ::-1].copy()
