"""Train the English coreference ranker on a treebank with `Entity=` chains, and report its scores.

    python scripts/train_coref.py --train en_ontogum-train.conllu.xz --dev en_ontogum-dev.conllu.xz \\
        --pipeline src/docgraph/data/en_docgraph --out src/docgraph/data/coref/en_ranker.safetensors

The threshold of links is chosen on held-out documents of the training file. Links of *it* and *they* may score less, by
--leniency. Both numbers are written into the file of the ranker, and scores are printed with and without leniency. The
development file is only used for the report.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

import coref_scoring as scoring
from coref_scoring import GoldDocument, read_gold
from docgraph.annotate.coref import CorefAnnotator, refers_to_things
from docgraph.annotate.coref.mentions import find_mentions
from docgraph.annotate.coref.pairs import Pairs, find_candidates
from docgraph.annotate.coref.ranker import Columns, FloatArray, Ranker, features, mention_features, save
from docgraph.annotate.coref.word_lists import load_word_lists
from docgraph.annotation import Annotation, Strings, int_array
from docgraph.document import Document

HELD_OUT = 6
"""Every sixth training document is held out to choose the threshold."""
THRESHOLDS = np.arange(-2.0, 0.51, 0.1).round(1)
LENIENCY = 1.0
"""How much less than the threshold the links of *it* and *they* may score. A treebank cannot tell: no link leaves
a translation without a hint, a wrong link often does no harm. Chosen by the hints that written translations confirm."""


@dataclass(frozen=True)
class Settings:
    """Settings of gradient boosting."""

    sifting: int = 60
    """Number of trees that score every pair."""
    rounds: int = 600
    """Number of trees that score only the remaining pairs."""
    depth: int = 6
    rate: float = 0.1
    l2: float = 5.0
    columns: float = 0.5
    """Share of the features that a tree may use."""
    sample: int = 60000
    """Number of pairs to grow a tree on: half have the largest gradients, half are drawn from the others
    (gradient-based one-side sampling, Ke et al. 2017)."""
    bias: float = -4.0
    cut: float = -4.5
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Example:
    """The pairs of one document, their features [F, P] and labels [P] (True for coreferent pairs)."""

    gold: GoldDocument
    pairs: Pairs
    columns: Columns
    labels: npt.NDArray[np.bool_]
    lenient: npt.NDArray[np.bool_]
    """[M]: the mentions that are pronouns for things."""

    def links(self, ranker: Ranker, scores: FloatArray) -> list[scoring.Link]:
        """Returns the links of a ranker, given the scores of the pairs."""
        chosen = ranker.link(self.pairs, scores, self.lenient)
        word, chosen = self.pairs.mentions.word, chosen[chosen >= 0]
        return list(zip(word[self.pairs.j[chosen]].tolist(), word[self.pairs.i[chosen]].tolist(), strict=True))


def parse(documents: Sequence[GoldDocument], pipeline: str) -> list[GoldDocument]:
    """Returns the documents with predicted lemmas, tags and trees on gold words and sentences."""
    from docgraph.annotate.spacy import SpacyAnnotator

    nlp = SpacyAnnotator.load(pipeline).nlp
    return [replace(gold, annotation=_parse(gold.document, gold.annotation, nlp)) for gold in documents]


def _parse(document: Document, annotation: Annotation, nlp) -> Annotation:  # type: ignore[no-untyped-def]
    from spacy.tokens import Doc

    docs = []
    forms = annotation.forms.to_list()
    for first, last in zip(annotation.offsets[:-1].tolist(), annotation.offsets[1:].tolist(), strict=True):
        if first < last:
            after = (annotation.starts[first + 1 : last] > annotation.ends[first : last - 1]).tolist()
            starts = [word == first for word in range(first, last)]
            docs.append(Doc(nlp.vocab, words=forms[first:last], spaces=[*after, True], sent_starts=starts))
    tokens, heads = [], []
    for doc in nlp.pipe(docs):
        base = len(tokens)
        tokens.extend(doc)
        heads.extend(base + token.head.i for token in doc)
    return replace(
        annotation,
        lemmas=Strings.of(token.lemma_ for token in tokens),
        upos=Strings.of(token.pos_ for token in tokens),
        feats=Strings.of(str(token.morph) for token in tokens),
        heads=int_array(heads),
        deprels=Strings.of("root" if token.dep_ == "ROOT" else token.dep_ for token in tokens),
    )


def without_speakers(gold: GoldDocument) -> GoldDocument:
    """Returns the document without declared speakers, as in most files."""
    sentences = tuple(replace(sentence, speaker=None) for sentence in gold.document)
    return replace(gold, document=replace(gold.document, sentences=sentences))


def examples(documents: Sequence[GoldDocument], language: str = "en") -> Iterator[Example]:
    """Yields the training pairs of each document."""
    lists = load_word_lists(language)
    for gold in documents:
        mentions = find_mentions(gold.document, gold.annotation, lists)
        pairs = Pairs(mentions, *find_candidates(mentions))
        chain_of = scoring.chain_index(gold.chains)
        chain = np.array([chain_of.get(word, -1) for word in mentions.word.tolist()], dtype=np.int64)
        labels = (chain[pairs.i] == chain[pairs.j]) & (chain[pairs.i] >= 0)
        columns = features(pairs, mention_features(mentions, len(lists.pronouns)))
        yield Example(gold, pairs, columns, labels, refers_to_things(mentions, lists))


def training_examples(gold: GoldDocument) -> list[Example]:
    """Returns the pairs of a document, and, if it has speakers, also those without speakers."""
    has_speakers = any(sentence.speaker is not None for sentence in gold.document)
    return list(examples([gold, without_speakers(gold)] if has_speakers else [gold]))


def fit(train: Sequence[Example], settings: Settings) -> Ranker:
    """Trains the trees that score every pair, then the other trees on the pairs that reach the cut."""
    columns = np.concatenate([example.columns for example in train], axis=1)
    labels = np.concatenate([example.labels for example in train])
    scores = np.full(len(labels), settings.bias, dtype=np.float32)
    sifting = boost(columns, labels, scores, settings.sifting, settings)
    remaining = np.flatnonzero(scores >= settings.cut)
    kept = f"{labels[remaining].sum()} of {labels.sum()} coreferent pairs"
    print(f"{len(remaining)} pairs reach the cut, with {kept}", flush=True)
    ranking = boost(columns[:, remaining], labels[remaining], scores[remaining], settings.rounds, settings)
    questions, leaves = (np.concatenate(parts) for parts in zip(sifting, ranking, strict=True))
    return Ranker(questions, leaves, settings.bias, 0.0, 0.0, settings.sifting, settings.cut, len(columns), "")


def boost(
    columns: Columns, labels: npt.NDArray[np.bool_], scores: FloatArray, rounds: int, settings: Settings
) -> tuple[npt.NDArray[np.int16], FloatArray]:
    """Minimises the logistic loss by one oblivious tree per round (Newton steps).

    Returns the questions [T, D] and leaves [T, 2^D]. `columns` are features [F, P], `labels` [P]; `scores` [P] are the
    initial scores and are updated in place.
    """
    rng = np.random.default_rng(settings.seed)
    targets = labels.astype(np.float32)
    questions = np.zeros((rounds, settings.depth), dtype=np.int16)
    leaves = np.zeros((rounds, 1 << settings.depth), dtype=np.float32)
    for tree in range(rounds):
        probability = 1 / (1 + np.exp(-scores))
        gradient, hessian = probability - targets, probability * (1 - probability)
        rows, weights = _sample(np.abs(gradient), settings, rng)
        usable = rng.choice(len(columns), int(len(columns) * settings.columns), replace=False)
        sums = np.stack([gradient[rows] * weights, hessian[rows] * weights])
        questions[tree] = _grow(columns, rows, np.sort(usable), sums, settings)
        leaf = np.zeros(len(labels), dtype=np.uint8)
        for feature in questions[tree]:
            leaf = leaf << 1 | columns[feature]
        size = 1 << settings.depth
        steps = np.bincount(leaf, gradient, size) / (np.bincount(leaf, hessian, size) + settings.l2)
        # Rounded as in the file, so that later trees correct the rounding.
        leaves[tree] = (-settings.rate * steps).astype(np.float16)
        scores += leaves[tree].take(leaf)
    return questions, leaves


def _sample(size: FloatArray, settings: Settings, rng: np.random.Generator) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Returns rows to grow a tree on and their weights: all large gradients, and some of the others, weighted up."""
    top, rest = settings.sample // 2, settings.sample - settings.sample // 2
    if len(size) <= settings.sample:
        return np.arange(len(size)), np.ones(len(size), dtype=np.float32)
    order = np.argpartition(size, -top)
    drawn = rng.choice(order[:-top], rest, replace=False)
    weights = np.ones(top + rest, dtype=np.float32)
    weights[top:] = (len(size) - top) / rest
    return np.concatenate([order[-top:], drawn]), weights


def _grow(
    columns: Columns,
    rows: npt.NDArray[np.int64],
    usable: npt.NDArray[np.int64],
    sums: FloatArray,
    settings: Settings,
) -> list[int]:
    """Returns the questions of one tree: at each level, the feature with the largest gain summed over all leaves."""
    values = np.stack([columns[feature].take(rows) for feature in usable]).astype(np.float32)
    leaf = np.zeros(len(rows), dtype=np.int64)
    questions: list[int] = []
    for level in range(settings.depth):
        spread = np.zeros((2, 1 << level, len(rows)), dtype=np.float32)
        spread[:, leaf, np.arange(len(rows))] = sums
        yes = spread @ values.T
        no = spread.sum(axis=2, keepdims=True) - yes
        gain = (yes[0] ** 2 / (yes[1] + settings.l2) + no[0] ** 2 / (no[1] + settings.l2)).sum(axis=0)
        best = int(gain.argmax())
        questions.append(int(usable[best]))
        leaf = leaf << 1 | values[best].astype(np.int64)
    return questions


def choose_threshold(ranker: Ranker, held_out: Sequence[Example]) -> Ranker:
    """Returns the ranker with the threshold of the best MUC F1 on held-out documents, without leniency."""
    scored = [(example, ranker.score(example.columns)) for example in held_out]

    def f1(threshold: float) -> float:
        strict = replace(ranker, threshold=threshold, leniency=0.0)
        return report([(example, example.links(strict, scores)) for example, scores in scored])["muc"].f1

    return replace(ranker, threshold=float(max(THRESHOLDS, key=f1)))


def _things(example: Example, links: list[scoring.Link]) -> scoring.Counts:
    """Returns how many antecedents of pronouns for things are right."""
    words = set(example.pairs.mentions.word[example.lenient].tolist())
    return scoring.antecedents(example.gold.chains, links, words)


def report(predicted: Sequence[tuple[Example, list[scoring.Link]]]) -> dict[str, scoring.Counts]:
    """Returns the scores of predicted links, summed over documents."""
    return scoring.total(
        scoring.evaluate(example.gold.chains, links, example.gold.annotation.forms.to_list())
        for example, links in predicted
    )


def show(title: str, scores: dict[str, scoring.Counts]) -> None:
    """Prints one line of scores: F1 (precision/recall)."""
    cells = (f"{name} {100 * c.f1:.1f} ({100 * c.precision:.1f}/{100 * c.recall:.1f})" for name, c in scores.items())
    print(f"{title:28}", "  ".join(cells), flush=True)


def evaluate(title: str, ranker: Ranker, documents: Sequence[Example]) -> None:
    """Prints the scores of a ranker."""
    linked = [(example, example.links(ranker, ranker.score(example.columns))) for example in documents]
    things = sum((_things(example, links) for example, links in linked), scoring.Counts())
    show(title, {**report(linked), "it, they": things})


def evaluate_sieves(title: str, documents: Sequence[GoldDocument]) -> None:
    """Prints the scores of the sieves alone."""
    annotator = CorefAnnotator("en", use_ranker=False)
    scores = []
    for gold in documents:
        links = annotator(gold.document, gold.annotation).coreference
        assert links is not None
        pairs = [(int(a), int(b)) for a, b in links]
        scores.append(scoring.evaluate(gold.chains, pairs, gold.annotation.forms.to_list()))
    show(title, scoring.total(scores))


def main() -> None:
    """Trains, reports and saves the ranker."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--train", type=Path, required=True, help="CoNLL-U file with Entity= chains, plain or .xz")
    parser.add_argument("--dev", type=Path, required=True)
    parser.add_argument("--pipeline", required=True, help="spaCy pipeline to parse both files with")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=Settings.rounds)
    parser.add_argument("--leniency", type=float, default=LENIENCY, help=f"for it and they (default {LENIENCY})")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    settings = Settings(rounds=arguments.rounds, seed=arguments.seed)

    begun = time.time()
    gold_train, gold_dev = read_gold(arguments.train), read_gold(arguments.dev)
    parsed_dev = parse(gold_dev, arguments.pipeline)
    train = [training_examples(gold) for gold in parse(gold_train, arguments.pipeline)]
    held_out = [example for parts in train[::HELD_OUT] for example in parts]
    others = [example for number, parts in enumerate(train) if number % HELD_OUT for example in parts]

    part = choose_threshold(fit(others, settings), held_out)
    print(f"threshold {part.threshold:.1f} after {time.time() - begun:.0f} s; leniency {arguments.leniency:.1f}")
    evaluate("held out, one threshold", part, held_out)
    evaluate("held out", replace(part, leniency=arguments.leniency), held_out)
    whole = fit([*others, *held_out], settings)
    ranker = replace(whole, threshold=part.threshold, leniency=arguments.leniency)
    evaluate_sieves("dev, sieves alone", parsed_dev)
    evaluate("dev, one threshold", replace(ranker, leniency=0.0), list(examples(parsed_dev)))
    evaluate("dev, predicted trees", ranker, list(examples(parsed_dev)))
    evaluate("dev, no speakers", ranker, list(examples([without_speakers(gold) for gold in parsed_dev])))
    evaluate("dev, gold trees", ranker, list(examples(gold_dev)))

    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    temporary = arguments.out.with_name(arguments.out.name + ".tmp")
    temporary.write_bytes(save(ranker))
    temporary.replace(arguments.out)
    print(f"{arguments.out}: {arguments.out.stat().st_size / 1000:.0f} kB in {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
