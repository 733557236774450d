"""Train the tag reranker on tags predicted for sentences their tagger has not seen."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from docgraph.annotate.english.tag_reranker import (
    Candidate,
    TaggedSentence,
    TagReranker,
    WordTables,
    features,
    softmax,
    uncertain,
)
from english.treebank import bare

EPOCHS = 4
LEARNING_RATE = 0.1
"""Of Adagrad whose squared gradients start at 1."""
LEAST_WEIGHT = 0.1
"""Smaller weights are left out of the model."""


@dataclass(frozen=True, slots=True)
class Example:
    """An uncertain word: its active features, its candidate tags, and the position of the right one among them."""

    active: list[str]
    candidates: list[Candidate]
    right: int


def tag_table(sentences: Iterable[Doc]) -> dict[str, str]:
    """Lower-case word -> its one or two most frequent tags, as `NN/VB`."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for token in sentence:
            counts[token.lower_][token.tag_] += 1
    return {word: "/".join(tag for tag, _ in tags.most_common(2)) for word, tags in counts.items()}


def examples(tagger: Language, gold: Sequence[Doc], tables: WordTables) -> Iterator[Example]:
    """The uncertain words of held-out sentences whose right tag is a candidate."""
    component: Any = tagger.get_pipe("tagger")
    labels = component.labels
    for sentence in gold:
        doc = tagger.get_pipe("tok2vec")(bare(sentence, tagger))
        logits = np.asarray(component.model.predict([doc])[0])
        tagged = TaggedSentence.of(
            [token.text for token in sentence], [labels[i] for i in logits.argmax(axis=1).tolist()]
        )
        for i, candidates in uncertain(logits, labels):
            candidate_tags = [tag for tag, _ in candidates]
            if sentence[i].tag_ in candidate_tags:
                right = candidate_tags.index(sentence[i].tag_)
                yield Example(features(tagged, i, candidates, tables), candidates, right)


def train(data: list[Example], tables: WordTables, seed: int = 0) -> TagReranker:
    """Maximum conditional likelihood by Adagrad."""
    model = TagReranker(1.0, {}, tables)
    squares: dict[str, dict[str, float]] = {}
    shuffle = random.Random(seed).shuffle
    for _ in range(EPOCHS):
        shuffle(data)
        for example in data:
            _step(model, squares, example)
    model.weights = {
        feature: kept
        for feature, row in model.weights.items()
        if (kept := {tag: round(weight, 2) for tag, weight in row.items() if abs(weight) >= LEAST_WEIGHT})
    }
    return model


def _step(model: TagReranker, squares: dict[str, dict[str, float]], example: Example) -> None:
    probabilities = softmax(model.scores(example.active, example.candidates))
    for position, (tag, _) in enumerate(example.candidates):
        gradient = probabilities[position] - (position == example.right)
        if abs(gradient) < 0.01:
            continue
        for feature in example.active:
            row, square = model.weights.setdefault(feature, {}), squares.setdefault(feature, {})
            square[tag] = square.get(tag, 1.0) + gradient * gradient
            row[tag] = row.get(tag, 0.0) - LEARNING_RATE * gradient / math.sqrt(square[tag])
