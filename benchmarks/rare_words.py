"""How often are rare words translated as in the reference? Counts words of the embedded dictionary in translations.

    python -m benchmarks.rare_words test.en test.fr before=out/before.fr now=out/now.fr

The files have one sentence per line; blank lines are ignored. A word or expression of the English-French dictionary
counts if the reference has one of its translations, in any form. It is right if the translation has it, too.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from docgraph.annotate.dictionary import Entry, load_dictionary
from docgraph.annotate.registry import default_pipeline
from docgraph.document import Document


def read_lines(path: str) -> list[str]:
    """Returns the lines of a file that are not blank."""
    return [line for line in Path(path).read_text(encoding="utf-8").split("\n") if line.strip()]


def counted_words(sources: list[str], references: list[str]) -> list[tuple[int, Entry]]:
    """Returns the words that count: their sentence, and their entry with the translations that the reference has."""
    dictionary, annotation = load_dictionary("en-fr"), default_pipeline("en")(Document.from_sentences(sources))
    counted = []
    for use in dictionary.find(annotation):
        sentence = int(annotation.sentence_of[use.words[0]])
        each = (replace(use.entry, translations=(translation,)) for translation in use.entry.translations)
        said = [entry.translations[0] for entry in each if not entry.is_missing(references[sentence])]
        if said:
            counted.append((sentence, replace(use.entry, translations=tuple(said))))
    return counted


def right_words(counted: list[tuple[int, Entry]], translations: list[str]) -> int:
    """Returns how many of the words are translated as in the reference."""
    return sum(not entry.is_missing(translations[sentence]) for sentence, entry in counted)


def read_systems(systems: Iterable[str], count: int) -> Iterator[tuple[str, list[str]]]:
    """Yields the name and the `count` translations of each system, given as NAME=FILE."""
    for system in systems:
        name, _, path = system.rpartition("=")
        translations = read_lines(path)
        if len(translations) != count:
            raise SystemExit(f"{path} has {len(translations):,} lines for {count:,} sentences; align the files")
        yield name or path, translations


def main(source: str, reference: str, *systems: str) -> None:
    """Prints the share of right words of each system."""
    sources = read_lines(source)
    counted = counted_words(sources, read_lines(reference))
    print(f"{len(counted):,} rare words in {len(sources):,} sentences")
    for name, translations in read_systems(systems, len(sources)):
        print(f"{name:20} {100 * right_words(counted, translations) / max(1, len(counted)):.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
