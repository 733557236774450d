"""How often are ambiguous words translated in the right sense? Counts senses in translations.

    python -m benchmarks.senses test.en test.fr before=out/before.fr now=out/now.fr

The files have one sentence per line; blank lines are ignored. A word of the list of senses (corpora/senses_en-fr)
counts if the reference has translations of exactly one of its senses, in any form. It is right if the translation has
one of that sense, wrong if it has only translations of its other senses, and open otherwise.
"""

from __future__ import annotations

import lzma
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rare_words import read_lines, read_systems
from docgraph.annotate.inflection import lemma

SENSES = Path(__file__).parents[1] / "corpora" / "senses_en-fr" / "senses.tsv.xz"
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True)
class Word:
    """An ambiguous word of one class and the translations of each of its senses, as lemmas between spaces."""

    lemmas: tuple[str, ...]
    senses: tuple[tuple[str, ...], ...]

    def senses_in(self, text: str) -> set[int]:
        """Returns the senses of which a text, as lemmas between spaces, has a translation."""
        return {n for n, translations in enumerate(self.senses) if any(each in text for each in translations)}


def lemmas(text: str, language: str) -> tuple[str, ...]:
    """Returns the lemmas of the words of a text."""
    return tuple(lemma(word, language) for word in _WORD.findall(text.lower()))


def between_spaces(text: str) -> str:
    """Returns the lemmas of a French text, each between two spaces."""
    return f" {' '.join(lemmas(text, 'fr'))} "


def read_senses(path: Path = SENSES) -> dict[str, list[Word]]:
    """Returns the ambiguous words by their first lemma."""
    found: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for line in lzma.decompress(path.read_bytes()).decode("utf-8").splitlines():
        word, word_class, translations, _ = line.split("\t")
        found.setdefault((word, word_class), []).append(tuple(map(between_spaces, translations.split(" | "))))
    words: dict[str, list[Word]] = {}
    for (word, _), senses in found.items():
        words.setdefault(word.split()[0], []).append(Word(tuple(word.split()), tuple(senses)))
    return words


def counted_words(sources: list[str], references: list[str]) -> Iterator[tuple[int, Word, int]]:
    """Yields the words that count: their sentence, the word, and the sense of which the reference has a translation."""
    words = read_senses()
    for m, (source, reference) in enumerate(zip(sources, references, strict=True)):
        text, said = lemmas(source, "en"), between_spaces(reference)
        for place, first in enumerate(text):
            for word in words.get(first, ()):
                if text[place : place + len(word.lemmas)] == word.lemmas and len(senses := word.senses_in(said)) == 1:
                    yield m, word, *senses


def main(source: str, reference: str, *systems: str) -> None:
    """Prints the share of right and wrong senses of each system."""
    sources = read_lines(source)
    counted = [*counted_words(sources, read_lines(reference))]
    print(f"{len(counted):,} ambiguous words in {len(sources):,} sentences")
    for name, translations in read_systems(systems, len(sources)):
        said = [between_spaces(text) for text in translations]
        found = [(word.senses_in(said[m]), sense) for m, word, sense in counted]
        right = sum(sense in senses for senses, sense in found) / max(1, len(found))
        wrong = sum(bool(senses) and sense not in senses for senses, sense in found) / max(1, len(found))
        print(f"{name:20} right {100 * right:.1f}%, wrong {100 * wrong:.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
