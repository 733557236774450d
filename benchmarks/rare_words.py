"""How often are rare words translated as in the reference? Counts words of the embedded dictionary in translations.

    python -m benchmarks.rare_words test.en test.fr before=out/before.fr now=out/now.fr

The files have one sentence per line; blank lines are ignored. A word or expression of the English-French dictionary
counts if the reference has one of its translations, in any form. It is right if the translation has it, too.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from pathlib import Path

from docgraph.annotate.dictionary import load_dictionary
from docgraph.annotate.inflection import lemma
from docgraph.annotate.registry import default_pipeline
from docgraph.document import Document

WORD = re.compile(r"[^\W\d_]+")


def read_lines(path: str) -> list[str]:
    """Returns the lines of a file that are not blank."""
    return [line for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()]


@lru_cache(maxsize=1 << 16)
def lemmas(text: str) -> str:
    """Returns the lemmas of a French text, each between two spaces."""
    return f" {' '.join(lemma(word, 'fr') for word in WORD.findall(text.lower()))} "


def counted_words(sources: list[str], references: list[str]) -> list[tuple[int, list[str]]]:
    """Returns the words that count: their sentence, and the translations that the reference has, as lemmas."""
    annotation = default_pipeline("en")(Document.from_sentences(sources))
    counted = []
    for use in load_dictionary("en-fr").find(annotation):
        sentence = int(annotation.sentence_of[use.words.start])
        wanted = [text for text in map(lemmas, use.entry.translations) if text in lemmas(references[sentence])]
        if wanted:
            counted.append((sentence, wanted))
    return counted


def right_words(counted: list[tuple[int, list[str]]], translations: list[str]) -> int:
    """Returns how many of the words are translated as in the reference."""
    return sum(any(text in lemmas(translations[sentence]) for text in wanted) for sentence, wanted in counted)


def main(source: str, reference: str, *systems: str) -> None:
    """Prints the share of right words of each system."""
    sources = read_lines(source)
    counted = counted_words(sources, read_lines(reference))
    print(f"{len(counted):,} rare words in {len(sources):,} sentences")
    for system in systems:
        name, _, path = system.rpartition("=")
        translations = read_lines(path)
        if len(translations) != len(sources):
            raise SystemExit(f"{path} has {len(translations):,} lines for {len(sources):,} sentences; align the files")
        print(f"{name or path:20} {100 * right_words(counted, translations) / max(1, len(counted)):.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
