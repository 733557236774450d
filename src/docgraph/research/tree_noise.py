"""Trees made worse on purpose: words attached to a wrong head at random, as a worse parser would have it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from docgraph.annotation import Annotation, IntArray


def reattach(annotation: Annotation, rate: float, seed: int = 0) -> Annotation:
    """Each word but the root gets, with probability `rate`, another head of its sentence; trees stay trees.

    The new head is drawn evenly among the words that are neither the old one nor below the word; where there is none,
    the word stays. What is drawn depends on the seed and the annotation alone.
    """
    if annotation.heads is None:
        return annotation
    rng = np.random.default_rng([seed, annotation.num_words])
    heads = annotation.heads.copy()
    for begin, end in pairwise(annotation.offsets.tolist()):
        drawn = rng.random(end - begin) < rate
        for word in (begin + np.flatnonzero(drawn)).tolist():
            if heads[word] != word:
                heads[word] = _another_head(heads, word, rng.permutation(np.arange(begin, end)))
    return replace(annotation, heads=heads)


def _another_head(heads: IntArray, word: int, candidates: IntArray) -> int:
    """The first candidate that is not the head and not below the word; the head where there is none."""
    for candidate in candidates.tolist():
        if candidate != heads[word] and not _is_below(heads, candidate, word):
            return int(candidate)
    return int(heads[word])


def _is_below(heads: IntArray, node: int, word: int) -> bool:
    """Whether `node` is the word itself or stands in the tree under it."""
    while node != word:
        if heads[node] == node:
            return False
        node = int(heads[node])
    return True


def attachment_score(gold: Annotation, other: Annotation) -> float:
    """Unlabelled attachment score: the share of words with the same head in both."""
    assert gold.heads is not None
    assert other.heads is not None
    return float((gold.heads == other.heads).mean()) if gold.num_words else 1.0
