"""Fill the lemma component: the lexicon, the table of capitals, and the reranker trained on jackknifed tags."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from english import reranker, treebank
from english.training import FOLD_STEPS, train_tagger
from spacy.tokens import Doc
from spacy.vocab import Vocab

from docgraph.annotate.english_lemmas import Lexicon
from docgraph.annotate.tag_reranker import TagReranker, WordTables

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
        for before, word in zip(tokens, tokens[1:], strict=False):
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
    ewt: list[Doc], ontogum: list[Doc], capitals: dict[str, str], vectors: Path, work: Path, steps: int = FOLD_STEPS
) -> TagReranker:
    """A tagger for each fold of EWT, trained on the rest, tags it; the reranker learns from all folds."""
    examples: list[reranker.Example] = []
    for fold in range(FOLDS):
        held_out = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS == fold]
        rest = [doc for i, doc in enumerate(ewt) if i // BLOCK % FOLDS != fold] + ontogum
        files = [treebank.save(docs, work / f"fold{fold}.{name}.spacy") for name, docs in (("rest", rest), ("held", held_out))]
        tagger = train_tagger(*files, vectors, work / f"fold{fold}", steps)
        tables = WordTables(reranker.tag_table(rest), capitals)
        examples += reranker.examples(tagger, held_out, tables)
    return reranker.train(examples, WordTables(reranker.tag_table([*ewt, *ontogum]), capitals))


def needed_strings(vocab: Vocab, labels: Iterable[str], trees: list[dict[str, int]]) -> list[str]:
    """The strings a pipeline must know to be loaded: its labels and the suffixes of its edit trees."""
    kept = set(labels)
    for tree in trees:
        kept |= {vocab.strings[tree[key]] for key in ("orig", "subst") if tree.get(key)}
    return sorted(kept)
