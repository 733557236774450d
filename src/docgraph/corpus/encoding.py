"""A parallel document as numbers: sub-words of both sides and the words they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, IntArray
from docgraph.corpus.parallel import ParallelDocument
from docgraph.errors import DocgraphError
from docgraph.model.tokenizer import Ids, SubwordCoder, Tokenizer, words_by_space, words_of_pieces

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
    encoded, owners = [], []
    for index, text in enumerate(texts):
        ids, spans = coder.encode(text, tag)
        words = slice(int(annotation.offsets[index]), int(annotation.offsets[index + 1]))
        encoded.append(ids)
        owners.append(words_of_pieces(spans, annotation.starts[words], annotation.ends[words]))
    return encoded, owners


def encode_target(texts: Sequence[str], coder: SubwordCoder) -> tuple[list[Ids], list[Ids]]:
    """The same for translations, whose words run from space to space."""
    encoded = [coder.encode(text)[0] for text in texts]
    return encoded, [words_by_space(coder.pieces(ids)) for ids in encoded]


def _side(ids: list[Ids], words: list[Ids]) -> EncodedSide:
    lengths = np.array([len(sentence) for sentence in ids], dtype=np.int32)
    return EncodedSide(np.concatenate(ids), lengths, np.concatenate(words))
