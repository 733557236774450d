"""Are words that known translations correct followed in the rest of a document, and does it cost anything?

    python -m benchmarks.corrected_words test.en test.fr --share 0.2 --save out/

The files have one sentence per line and blank lines between documents. A share of the translations of each document,
drawn at random, is known; the others are translated by the model that ships, without and with corrected words
(docgraph/translation/terms/corrected_words.py). A corrected word counts in a sentence by its reference: as corrected,
or as the model says it by itself.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

from docgraph.annotate.dictionary import Entry
from docgraph.document import Document
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator

Pairs = list[tuple[str, str]]


@dataclass(frozen=True)
class Translated:
    """A sentence that is not known."""

    reference: str
    without: str
    now: str
    corrected: tuple[Entry, ...]
    """The corrected words that it may have."""


def read_documents(source: Path, target: Path) -> Iterator[Pairs]:
    """Yields the sentence pairs of each document."""
    sides = (path.read_text(encoding="utf-8").splitlines() for path in (source, target))
    for is_text, lines in groupby(zip(*sides, strict=True), key=lambda pair: any(map(str.strip, pair))):
        if is_text:
            yield list(lines)


def translate(translator: Translator, pairs: Pairs, known: list[str | None]) -> Iterator[Translated]:
    """Yields the sentences of a document without a known translation."""
    document, finder = (
        Document.from_sentences([source for source, _ in pairs]),
        translator.input_builder.corrected_words,
    )
    corrected = translator.prepare(TranslationRequest(document, known)).corrected
    now = translator.translate(document, known=known).texts
    translator.input_builder.corrected_words = None
    without = translator.translate(document, known=known).texts
    translator.input_builder.corrected_words = finder
    for m, (source, reference) in enumerate(pairs):
        if known[m] is None:
            entries = () if corrected is None else corrected.dictionary.may_have(source)
            yield Translated(reference, without[m], now[m], tuple(dict.fromkeys(entries)))


def word_in(entry: Entry, text: str) -> str:
    """Returns whose word a text has: that of the user, that of the model, or another one."""
    if not replace(entry, instead_of=()).is_missing(text):
        return "user's"
    return "model's" if entry.is_missing(text) else "other"


def report(sentences: list[Translated]) -> Iterator[str]:
    """Yields the lines of the report."""
    references = [[with_same_apostrophes(each.reference) for each in sentences]]
    for name in ("without", "now"):
        texts = [with_same_apostrophes(getattr(each, name)) for each in sentences]
        scores = (metric.corpus_score(texts, references).score for metric in (BLEU(), CHRF()))
        yield f"{name:8} BLEU {next(scores):6.2f}  chrF {next(scores):6.2f}"
    chrf = CHRF()
    changes = [
        chrf.sentence_score(each.now, [each.reference]).score
        - chrf.sentence_score(each.without, [each.reference]).score
        for each in sentences
        if each.now != each.without
    ]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    yield f"{len(sentences)} sentences, {len(changes)} changed: {better} better and {worse} worse by chrF"
    words = Counter(
        (word_in(entry, each.reference), word_in(entry, each.without), word_in(entry, each.now))
        for each in sentences
        for entry in each.corrected
    )
    for whose in ("user's", "model's"):
        without, now = (sum(n for key, n in words.items() if key[0] == key[k] == whose) for k in (1, 2))
        total = sum(n for key, n in words.items() if key[0] == whose)
        yield f"reference has the {whose} word: {total}; so has the translation: {without} without, {now} now"


def chrf_of(text: str, reference: str) -> float:
    """Returns the chrF of one sentence."""
    return CHRF().sentence_score(text, [reference]).score


def with_same_apostrophes(text: str) -> str:
    """Returns a text with straight apostrophes."""
    return text.replace("’", "'")


def main() -> None:
    """Prints BLEU, chrF and how corrected words are translated."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--share", type=float, default=0.2, help="share of known translations [%(default)s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="folder for the references and both translations")
    options = parser.parse_args()
    translator, generator = Translator.load("en-fr"), random.Random(options.seed)
    sentences: list[Translated] = []
    for pairs in read_documents(options.source, options.target):
        known = [target if generator.random() < options.share else None for _, target in pairs]
        sentences += translate(translator, pairs, known)
    print(*report(sentences), sep="\n")
    if options.save is not None:
        options.save.mkdir(parents=True, exist_ok=True)
        for name in ("reference", "without", "now"):
            lines = "".join(f"{getattr(each, name)}\n" for each in sentences)
            (options.save / f"{name}.txt").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
