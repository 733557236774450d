"""Make the word list by which invented words are recognised, from French texts.

    python scripts/make_lexicon.py corpora/own_en-fr corpora/documents_en-fr europarl_en-fr ... \\
        --dictionary en-fr --out lexicons/fr.txt.xz

A word is listed if it occurs at least twice in all corpora together, at least once of these in small letters, or if it
is a word of a translation of the embedded dictionary, or the plural of a noun or adjective of it. Words of fewer than
four letters are not looked up, and not listed. The list is in alphabetical order.
"""

from __future__ import annotations

import argparse
import lzma
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from corpus_folders import file_path, read_lines
from docgraph.annotate.dictionary import load_dictionary
from docgraph.annotate.inflection import french_plural
from docgraph.translation.checks.lexicon import MIN_LENGTH, WORD

MIN_COUNT = 2


def words_of(lines: Iterable[str]) -> list[str]:
    """Returns the words to list, in order."""
    counts, small = Counter[str](), set[str]()
    for line in lines:
        for word in WORD.findall(line):
            if len(word) >= MIN_LENGTH:
                counts[word.lower()] += 1
                if word.islower():
                    small.add(word)
    return sorted(word for word, count in counts.items() if count >= MIN_COUNT and word in small)


def dictionary_words(name: str) -> set[str]:
    """Returns the words in small letters of the translations of an embedded dictionary, and plurals of its nouns."""
    words = set[str]()
    for entry in load_dictionary(name).entries:
        for text in entry.translations:
            words.update(WORD.findall(text))
            if entry.word_class in ("nm", "nf", "adj") and " " not in text:
                words.add(french_plural(text))
    return {word for word in words if word.islower() and len(word) >= MIN_LENGTH}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path, help="corpus folders; their train.tgt.txt.xz is read")
    parser.add_argument("--dictionary", help="embedded dictionary whose translations are listed too, such as en-fr")
    parser.add_argument("--out", type=Path, required=True, help="the list to write")
    arguments = parser.parse_args()
    words = words_of(line for folder in arguments.corpora for line in read_lines(file_path(folder, "tgt")))
    if arguments.dictionary is not None:
        words = sorted({*words, *dictionary_words(arguments.dictionary)})
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    with lzma.open(arguments.out, "wt", encoding="utf-8", newline="\n", preset=9) as file:
        file.writelines(f"{word}\n" for word in words)
    print(f"{len(words):,} words, {arguments.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
