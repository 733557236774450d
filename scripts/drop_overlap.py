"""Copy training corpora without the pairs that occur in a dev or test set, and without repeated pairs.

    python scripts/drop_overlap.py --out corpora/clean --held-out test.en ted.en -- corpora/tatoeba corpora/stories

A corpus is a folder with train.src.txt.xz and train.tgt.txt.xz: one sentence per line, blank lines between documents.
The speakers of the lines, train.spk.txt.xz, are copied along if the folder has them.
A pair is dropped if its source sentence has at least five words and occurs in a held-out file, or if the same pair
occurred before, in the same corpus or in an earlier one. Both comparisons ignore case, punctuation and spaces. A
Chinese character counts as a word. --keep-repeated keeps repeated pairs, so that documents for context systems have no
gaps where a speaker says "Yes." again.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable
from pathlib import Path

from corpus_folders import Lines, read_documents, read_lines, write_documents

MIN_WORDS = 5
"""Shorter sentences ("Thank you.") occur everywhere; holding them out would cost training text and prove nothing."""

_NOT_WORD = re.compile(r"[\W_]+")
_WORD = re.compile(r"[\u3400-\u9fff]|[^\s\u3400-\u9fff]+")


def normalised(sentence: str) -> str:
    """Returns the words of a sentence in lower case, joined by single spaces."""
    return _NOT_WORD.sub(" ", sentence.casefold()).strip()


def held_out_sentences(paths: list[Path]) -> set[str]:
    """Returns the normalised sentences of at least MIN_WORDS words of all files."""
    return long_sentences(line for path in paths for line in read_lines(path))


def long_sentences(sentences: Iterable[str]) -> set[str]:
    """Returns the normalised form of the sentences that have at least MIN_WORDS words."""
    return {text for text in map(normalised, sentences) if len(_WORD.findall(text)) >= MIN_WORDS}


def kept_documents(
    folder: Path, held_out: set[str], seen: set[tuple[str, str]] | None
) -> tuple[list[list[Lines]], int]:
    """Returns the documents of a corpus without the dropped pairs, and how many pairs were dropped.

    `seen` has the pairs of earlier corpora and receives those of this one; None keeps repeated pairs.
    """
    documents: list[list[Lines]] = []
    dropped = 0
    for document in read_documents(folder):
        kept: list[Lines] = []
        for lines in document:
            pair = (normalised(lines[0]), normalised(lines[1]))
            if pair[0] in held_out or (seen is not None and pair in seen):
                dropped += 1
                continue
            if seen is not None:
                seen.add(pair)
            kept.append(lines)
        if kept:
            documents.append(kept)
    return documents, dropped


def last_documents(documents: list[list[Lines]], max_pairs: int) -> list[list[Lines]]:
    """Returns the last documents that have at most `max_pairs` pairs together."""
    first, total = len(documents), 0
    while first and total + len(documents[first - 1]) <= max_pairs:
        first -= 1
        total += len(documents[first])
    return documents[first:]


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", help="corpus folders, in the order of preference")
    parser.add_argument("--held-out", type=Path, nargs="+", required=True, help="source sides of dev and test sets")
    parser.add_argument("--keep-repeated", action="store_true", help="keep pairs that occurred before")
    parser.add_argument("--max-pairs", type=int, help="write only the last whole documents of a longer corpus")
    parser.add_argument("--out", type=Path, required=True, help="folder for the copies; must not exist")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists; choose another --out")
    held_out = held_out_sentences(arguments.held_out)
    seen = None if arguments.keep_repeated else set[tuple[str, str]]()
    for folder in arguments.corpora:
        documents, dropped = kept_documents(folder, held_out, seen)
        kept = sum(map(len, documents))
        message = f"{folder.name}: {kept:,} pairs kept, {dropped:,} dropped"
        if arguments.max_pairs is not None and kept > arguments.max_pairs:
            documents = last_documents(documents, arguments.max_pairs)
            message += f"; the last {sum(map(len, documents)):,} pairs written"
        write_documents(arguments.out / folder.name, documents)
        print(message, flush=True)


if __name__ == "__main__":
    main()
