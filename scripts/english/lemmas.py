"""Fill the lemma component: the lexicon, the table of capitals, and the reranker trained on jackknifed tags."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from spacy.tokens import Doc

from docgraph.annotate.english.lemmas import Lexicon
from docgraph.annotate.english.tag_reranker import TagReranker, WordTables
from english import reranker, treebank
from english.training import train_tagger

FOLDS = 3
BLOCK = 20
"""Sentences in a row that go to the same fold."""
PREFERENCE = 10
"""Weight of the first treebank against the second where their conventions differ."""
AMBIGUOUS = 0.05
"""A second lemma with this share of the first one's count leaves the decision to the trainable lemmatizer."""
LEAST_COUNT = 8
"""Words rarer than this in raw text are in no class of capitalisation."""
_AFTER_BREAK = frozenset('.?!":;“(*-')


def lexicon(ewt: Iterable[Doc], ontogum: Iterable[Doc]) -> Lexicon:
    """Tag -> form -> lemma, most frequent forms first."""
    counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for sentences, weight in ((ewt, PREFERENCE), (ontogum, 1)):
        for token in (token for sentence in sentences for token in sentence):
            if token.lemma_ != "_" and (weight > 1 or token.text.isalpha()):
                counts[token.tag_, token.text][token.lemma_] += weight
    result: Lexicon = {}
    for (tag, form), lemmas in sorted(counts.items(), key=lambda item: -item[1].total()):
        (best, count), *others = lemmas.most_common(2)
        unclear = bool(others) and others[0][1] >= max(2 * PREFERENCE, AMBIGUOUS * count)
        result.setdefault(tag, {})[form] = "" if unclear else best
    return result


def capitalisation(sentences: Iterable[list[str]]) -> dict[str, str]:
    """Lower-case word -> class of its share of capitals inside sentences (see `WordTables.capitalised`)."""
    upper: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for tokens in sentences:
        for before, word in pairwise(tokens):
            if word[0].isalpha() and len(word) > 1 and before not in _AFTER_BREAK:
                total[word.lower()] += 1
                upper[word.lower()] += word[0].isupper()
    classes = ((0.95, "3"), (0.5, "2"), (0.05, "1"), (-1.0, "0"))
    return {
        word: next(name for least, name in classes if upper[word] / count > least)
        for word, count in sorted(total.items())
        if count >= LEAST_COUNT
    }


def train_reranker(
    ewt: list[Doc], ontogum: list[Doc], capitals: dict[str, str], vectors: Path, work: Path, steps: int
) -> TagReranker:
    """A tagger for each fold of EWT, trained on the rest, tags it; the reranker learns from all folds."""
    examples: list[reranker.Example] = []
    for fold in range(FOLDS):
        held_out = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS == fold]
        rest = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS != fold] + ontogum
        rest_file = treebank.save(rest, work / f"fold{fold}.rest.spacy")
        held_out_file = treebank.save(held_out, work / f"fold{fold}.held.spacy")
        tagger = train_tagger(rest_file, held_out_file, vectors, work / f"fold{fold}", steps)
        tables = WordTables(reranker.tag_table(rest), capitals)
        examples += reranker.examples(tagger, held_out, tables)
    return reranker.train(examples, WordTables(reranker.tag_table([*ewt, *ontogum]), capitals))
