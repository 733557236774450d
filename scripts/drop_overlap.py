"""Copy training corpora without the pairs that occur in a dev or test set, and without repeated pairs.

    python scripts/drop_overlap.py --out corpora/clean --held-out test.en ted.en -- corpora/tatoeba corpora/stories

A corpus is a folder with train.src.txt.xz and train.tgt.txt.xz: one sentence per line, blank lines between documents.
A pair is dropped if its source sentence has at least five words and occurs in a held-out file, or if the same pair
occurred before, in the same corpus or in an earlier one. Both comparisons ignore case, punctuation and spaces.
"""

from __future__ import annotations

import argparse
import lzma
import re
from collections.abc import Iterator
from pathlib import Path

MIN_WORDS = 5
"""Shorter sentences ("Thank you.") occur everywhere; holding them out would cost training text and prove nothing."""

_NOT_WORD = re.compile(r"[\W_]+")


def normalised(sentence: str) -> str:
    """Returns the words of a sentence in lower case, joined by single spaces."""
    return _NOT_WORD.sub(" ", sentence.casefold()).strip()


def read_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a plain or xz-compressed text file, without their newlines."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def held_out_sentences(paths: list[Path]) -> set[str]:
    """Returns the normalised sentences of at least MIN_WORDS words of all files."""
    sentences = (normalised(line) for path in paths for line in read_lines(path))
    return {sentence for sentence in sentences if len(sentence.split()) >= MIN_WORDS}


def copy_corpus(folder: Path, out: Path, held_out: set[str], seen: set[tuple[str, str]]) -> tuple[int, int]:
    """Writes the remaining pairs of one corpus; returns how many were kept and how many were dropped."""
    out.mkdir(parents=True)
    kept = dropped = 0
    with (
        lzma.open(out / "train.src.txt.xz", "wt", encoding="utf-8", newline="\n") as source_file,
        lzma.open(out / "train.tgt.txt.xz", "wt", encoding="utf-8", newline="\n") as target_file,
    ):
        blank = True  # a document that lost all its pairs must not leave two blank lines
        sides = (read_lines(folder / f"train.{side}.txt.xz") for side in ("src", "tgt"))
        for source, target in zip(*sides, strict=True):
            if not source.strip():
                if not blank:
                    source_file.write("\n")
                    target_file.write("\n")
                blank = True
                continue
            sentence = normalised(source)
            pair = (sentence, normalised(target))
            if sentence in held_out or pair in seen:
                dropped += 1
                continue
            seen.add(pair)
            source_file.write(source + "\n")
            target_file.write(target + "\n")
            kept, blank = kept + 1, False
    return kept, dropped


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", type=Path, nargs="+", help="corpus folders, in the order of preference")
    parser.add_argument("--held-out", type=Path, nargs="+", required=True, help="source sides of dev and test sets")
    parser.add_argument("--out", type=Path, required=True, help="folder for the copies; must not exist")
    arguments = parser.parse_args()
    if arguments.out.exists():
        parser.error(f"{arguments.out} exists; choose another --out")
    held_out, seen = held_out_sentences(arguments.held_out), set[tuple[str, str]]()
    for folder in arguments.corpora:
        kept, dropped = copy_corpus(folder, arguments.out / folder.name, held_out, seen)
        print(f"{folder.name}: {kept:,} pairs kept, {dropped:,} dropped", flush=True)


if __name__ == "__main__":
    main()
