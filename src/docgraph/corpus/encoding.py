"""A parallel document as numbers: sub-words of both sides and the words they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, IntArray
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.model.tokenizer import Ids, SubwordCoder, Tokenizer, words_of_pieces

LONGEST = 30_000
"""Sub-words or words of a sentence: the store counts them in 16 bits."""


@dataclass(frozen=True, eq=False)
class EncodedSide:
    """The sub-words of M sentences, P in all."""

    ids: Ids
    """[P], each sentence with its end."""
    lengths: IntArray
    """[M]: sub-words of each sentence."""
    words: npt.NDArray[np.integer]
    """[P]: the word of its sentence each sub-word belongs to, from 0; -1 for none."""


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """What the store keeps of a document."""

    id: str
    path: str
    lines: IntArray
    """[M]"""
    source: EncodedSide
    target: EncodedSide
    annotation: Annotation


def encode(
    document: ParallelDocument, annotation: Annotation, tokenizer: Tokenizer, tag: str | None = None
) -> EncodedDocument:
    """Encode both sides; source words are those of the annotation, target words run from space to space."""
    source, source_words = encode_source(document.source, annotation, tokenizer.source, tag)
    target, target_words = encode_target(document.target, tokenizer.target)
    sides = _side(source, source_words), _side(target, target_words)
    counts = np.diff(annotation.offsets)
    for number in range(len(document)):
        size = max(int(sides[0].lengths[number]), int(sides[1].lengths[number]), int(counts[number]))
        if size > LONGEST:
            message = f"a sentence of {size:,} sub-words; cut it, or lower 'max_characters' and use --skip-bad"
            raise DocgraphError(message, path=document.path, line=document.lines[number])
    return EncodedDocument(document.id, document.path, np.array(document.lines, np.int32), *sides, annotation)


def encode_source(
    texts: Sequence[str], annotation: Annotation, coder: SubwordCoder, tag: str | None = None
) -> tuple[list[Ids], list[Ids]]:
    """The sub-words of each sentence, and the word of its sentence each of them belongs to (-1 for none)."""
    if not texts:
        return [], []
    encoded, spans = zip(*(coder.encode(text, tag) for text in texts), strict=True)
    lengths = np.array([len(ids) for ids in encoded])
    ends = np.cumsum([len(text) + 1 for text in texts])  # of each sentence, were they lines of one text
    begins = np.concatenate([[0], ends[:-1]])
    firsts, counts = annotation.offsets[:-1], np.diff(annotation.offsets)
    owner = words_of_pieces(
        np.concatenate(spans) + np.repeat(begins, lengths)[:, None],
        annotation.starts + np.repeat(begins, counts),
        annotation.ends + np.repeat(begins, counts),
    )
    owner = np.where(owner < 0, -1, owner - np.repeat(firsts, lengths))
    return list(encoded), np.split(owner, np.cumsum(lengths)[:-1])


def encode_target(texts: Sequence[str], coder: SubwordCoder) -> tuple[list[Ids], list[Ids]]:
    """The same for translations, whose words run from space to space."""
    encoded = coder.ids(texts)
    return encoded, coder.words(encoded)


def _side(ids: list[Ids], words: list[Ids]) -> EncodedSide:
    lengths = np.array([len(sentence) for sentence in ids], dtype=np.int32)
    return EncodedSide(np.concatenate(ids), lengths, np.concatenate(words))
