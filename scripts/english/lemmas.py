"""Train the lemma component: its lexicon, its table of capitals, and the tag reranker.

The reranker is trained on jackknifed tags, predicted by taggers that have not seen the sentences.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from spacy.language import Language
from spacy.tokens import Doc

from docgraph.annotate.english.lemmas import Lexicon
from docgraph.annotate.english.tag_reranker import (
    Candidate,
    TaggedSentence,
    TagReranker,
    WordTables,
    features,
    softmax,
    uncertain_words,
)
from english import data
from english.training import train_tagger

FOLDS = 3
BLOCK = 20
"""Number of consecutive sentences in the same fold."""
PREFERENCE = 10
"""Weight of the first treebank against the second, because their conventions differ."""
AMBIGUOUS = 0.05
"""If a second lemma has this share of the first one's count, the trainable lemmatizer decides."""
MIN_COUNT = 8
"""Words rarer than this in raw text have no class of capitalisation."""
_AFTER_BREAK = frozenset('.?!":;“(*-')
EPOCHS = 4
LEARNING_RATE = 0.1
"""Learning rate of Adagrad with initial squared gradients of 1."""
MIN_WEIGHT = 0.1
"""Smaller weights are removed from the model."""


def lexicon(ewt: Iterable[Doc], ontogum: Iterable[Doc]) -> Lexicon:
    """Returns tag -> form -> lemma, most frequent forms first."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sentences, weight in ((ewt, PREFERENCE), (ontogum, 1)):
        for token in (token for sentence in sentences for token in sentence):
            if token.lemma_ != "_" and (weight > 1 or token.text.isalpha()):
                counts[token.tag_, token.text][token.lemma_] += weight
    result: Lexicon = {}
    for (tag, form), lemmas in sorted(counts.items(), key=lambda item: -item[1].total()):
        (best, count), *others = lemmas.most_common(2)
        ambiguous = bool(others) and others[0][1] >= max(2 * PREFERENCE, AMBIGUOUS * count)
        result.setdefault(tag, {})[form] = "" if ambiguous else best
    return result


def capitalisation(sentences: Iterable[list[str]]) -> dict[str, str]:
    """Returns lower-case word -> class of its share of capitals inside sentences (see `WordTables.capitalised`)."""
    upper: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for tokens in sentences:
        for before, word in pairwise(tokens):
            if word[0].isalpha() and len(word) > 1 and before not in _AFTER_BREAK:
                total[word.lower()] += 1
                upper[word.lower()] += word[0].isupper()
    classes = ((0.95, "3"), (0.5, "2"), (0.05, "1"), (-1.0, "0"))
    return {
        word: next(name for minimum, name in classes if upper[word] / count > minimum)
        for word, count in sorted(total.items())
        if count >= MIN_COUNT
    }


def train_reranker(
    ewt: list[Doc], ontogum: list[Doc], capitals: dict[str, str], vectors: Path, work: Path, steps: int
) -> TagReranker:
    """Trains the reranker on all folds of EWT, each tagged by a tagger trained on the other folds."""
    examples: list[Example] = []
    for fold in range(FOLDS):
        held_out = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS == fold]
        rest = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS != fold] + ontogum
        rest_file = data.save(rest, work / f"fold{fold}.rest.spacy")
        held_out_file = data.save(held_out, work / f"fold{fold}.held.spacy")
        tagger = train_tagger(rest_file, held_out_file, vectors, work / f"fold{fold}", steps)
        tables = WordTables(tag_table(rest), capitals)
        examples += reranker_examples(tagger, held_out, tables)
    return fit_reranker(examples, WordTables(tag_table([*ewt, *ontogum]), capitals))


@dataclass(frozen=True, slots=True)
class Example:
    """An uncertain word: its active features, its candidate tags, and the index of the correct one."""

    active: list[str]
    candidates: list[Candidate]
    correct: int


def tag_table(sentences: Iterable[Doc]) -> dict[str, str]:
    """Returns lower-case word -> its one or two most frequent tags, such as `NN/VB`."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences:
        for token in sentence:
            counts[token.lower_][token.tag_] += 1
    return {word: "/".join(tag for tag, _ in tags.most_common(2)) for word, tags in counts.items()}


def reranker_examples(tagger: Language, gold: Sequence[Doc], tables: WordTables) -> Iterator[Example]:
    """Yields the uncertain words of held-out sentences whose correct tag is a candidate."""
    component: Any = tagger.get_pipe("tagger")
    labels = component.labels
    for sentence in gold:
        doc = tagger.get_pipe("tok2vec")(data.without_annotation(sentence, tagger))
        logits = np.asarray(component.model.predict([doc])[0])
        tagged = TaggedSentence([token.text for token in sentence], [labels[i] for i in logits.argmax(axis=1).tolist()])
        for i, candidates in uncertain_words(logits, labels):
            candidate_tags = [tag for tag, _ in candidates]
            if sentence[i].tag_ in candidate_tags:
                correct = candidate_tags.index(sentence[i].tag_)
                yield Example(features(tagged, i, candidates, tables), candidates, correct)


def fit_reranker(examples: list[Example], tables: WordTables, seed: int = 0) -> TagReranker:
    """Maximises the conditional likelihood with Adagrad."""
    model = TagReranker(1.0, {}, tables)
    squares: dict[str, dict[str, float]] = {}
    shuffle = random.Random(seed).shuffle
    for _ in range(EPOCHS):
        shuffle(examples)
        for example in examples:
            _step(model, squares, example)
    model.weights = {
        feature: large
        for feature, row in model.weights.items()
        if (large := {tag: round(weight, 2) for tag, weight in row.items() if abs(weight) >= MIN_WEIGHT})
    }
    return model


def _step(model: TagReranker, squares: dict[str, dict[str, float]], example: Example) -> None:
    probabilities = softmax(model.scores(example.active, example.candidates))
    for position, (tag, _) in enumerate(example.candidates):
        gradient = probabilities[position] - (position == example.correct)
        if abs(gradient) < 0.01:
            continue
        for feature in example.active:
            row, square = model.weights.setdefault(feature, {}), squares.setdefault(feature, {})
            square[tag] = square.get(tag, 1.0) + gradient * gradient
            row[tag] = row.get(tag, 0.0) - LEARNING_RATE * gradient / math.sqrt(square[tag])
