"""Scores of a pipeline on gold tokens, and its speed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from spacy.language import Language
from spacy.tokens import Doc

from english.treebank import bare


@dataclass(frozen=True, slots=True)
class Scores:
    """Per cent of the words; lemmas are compared with case."""

    words: int
    uas: float
    las: float
    upos: float
    xpos: float
    lemma: float
    words_per_second: float
    """Of processor time, one thread."""


def evaluate(nlp: Language, gold: Sequence[Doc]) -> Scores:
    """Parse the gold tokens of each sentence and compare; punctuation counts, relations have their subtypes."""
    docs = [bare(sentence, nlp) for sentence in gold]
    list(nlp.pipe(docs[:50]))
    docs = [bare(sentence, nlp) for sentence in gold]
    begun = time.process_time()
    parsed = list(nlp.pipe(docs, batch_size=128))
    seconds = time.process_time() - begun
    pairs = [pair for right, doc in zip(gold, parsed, strict=True) for pair in zip(right, doc, strict=True)]

    def percent(correct: list[bool]) -> float:
        return 100 * sum(correct) / len(correct)

    heads = [a.head.i == b.head.i for a, b in pairs]
    return Scores(
        words=len(pairs),
        uas=percent(heads),
        las=percent([head and a.dep_ == b.dep_ for head, (a, b) in zip(heads, pairs, strict=True)]),
        upos=percent([a.pos_ == b.pos_ for a, b in pairs]),
        xpos=percent([a.tag_ == b.tag_ for a, b in pairs]),
        lemma=percent([a.lemma_ == b.lemma_ for a, b in pairs]),
        words_per_second=len(pairs) / seconds,
    )
