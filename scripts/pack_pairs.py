"""Check written sentence pairs and pack them into a corpus with train, dev and test splits.

    python scripts/pack_pairs.py drafts/*.txt --out corpora/documents_en-fr

A draft has one pair per line, `English ||| French`, and a blank line between documents. A pair is rejected, with its
reason, if a side is empty, if one side is more than three times as long as the other, if both sides are equal, if
figures of the source are missing in the translation, or if the pair occurred before. Documents that keep fewer than
four pairs are dropped. Of every 40 documents, one goes to dev and one to test.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus_folders import Lines, write_documents

SEPARATOR = " ||| "
MAX_RATIO = 3.0
MARGIN = 20
"""Characters added to both lengths before they are compared, so that short lines may differ more."""
MIN_PAIRS = 4
SPLIT_EVERY = 40
Pair = tuple[str, str]

_FIGURES = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[\s\u00a0\u202f.,](?=\d{3}\b)")


def read_drafts(paths: list[Path]) -> Iterator[list[Pair | str]]:
    """Yields documents as lists of pairs; a line that is not a pair stays a string."""
    for path in paths:
        document: list[Pair | str] = []
        for line in [*path.read_text(encoding="utf-8").splitlines(), ""]:
            if line.strip():
                source, separator, target = line.partition(SEPARATOR)
                whole = not separator or SEPARATOR in target
                document.append(line if whole else (source.strip(), target.strip()))
            elif document:
                yield document
                document = []


def problem(source: str, target: str) -> str | None:
    """Returns why a pair is rejected, or None."""
    if not source or not target:
        return "empty side"
    lengths = sorted((len(source) + MARGIN, len(target) + MARGIN))
    if lengths[1] > MAX_RATIO * lengths[0]:
        return "length ratio"
    if source == target and len(source.split()) > 3:
        return "equal sides"
    missing = figures(source) - figures(target)
    if sum(missing.values()) > 2:  # one figure may become a word, a time of day two (6.40 p.m. -> 18 h 40)
        return "figures lost"
    return None


def figures(text: str) -> Counter[str]:
    """Counts the numbers of a text; thousands separators are ignored."""
    return Counter(_FIGURES.findall(_GROUPED.sub("", text)))


def check(documents: Iterator[list[Pair | str]], rejected: Counter[str]) -> Iterator[list[Lines]]:
    """Yields documents without rejected pairs, and counts the reasons."""
    seen: set[Pair] = set()
    for document in documents:
        kept: list[Lines] = []
        for pair in document:
            reason = "no separator" if isinstance(pair, str) else "repeated" if pair in seen else problem(*pair)
            if reason is None and not isinstance(pair, str):
                seen.add(pair)
                kept.append(pair)
            elif reason is not None:
                rejected[reason] += 1
        if len(kept) >= MIN_PAIRS:
            yield kept
        elif kept:
            rejected["short document"] += len(kept)


def split_of(index: int) -> str:
    """Returns the split of a document by its number."""
    return {20: "dev", SPLIT_EVERY - 1: "test"}.get(index % SPLIT_EVERY, "train")


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drafts", type=Path, nargs="+", help="text files of pairs")
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus; existing splits are replaced")
    arguments = parser.parse_args()
    rejected, splits = Counter[str](), dict[str, list[list[Lines]]]()
    for index, document in enumerate(check(read_drafts(arguments.drafts), rejected)):
        splits.setdefault(split_of(index), []).append(document)
    for split, documents in splits.items():
        write_documents(arguments.out, documents, split)
        print(f"{split}: {len(documents):,} documents, {sum(map(len, documents)):,} pairs")
    for reason, count in rejected.most_common():
        print(f"rejected, {reason}: {count:,}")


if __name__ == "__main__":
    main()
