"""Select training pairs whose English has a word of the embedded dictionary, for training on dictionary hints.

    python scripts/select_rare_words.py corpora/clean/tatoeba_en-fr corpora/clean/mdn_en-fr --most 8 --out corpora/rare

Words of the dictionary are rare in the training text. Each entry gets at most --most pairs, those of the corpora named
first, so that the more frequent entries do not fill the selection. Every pair is a document of its own. --entries
writes the entries themselves as pairs into another folder: a word and its best translation.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from corpus_folders import Lines, read_documents, write_documents
from docgraph.annotate.dictionary import Dictionary, load_dictionary
from docgraph.annotate.rule_based import WordAnnotator
from docgraph.document import Document

MAX_WORDS = 60
"""Longer sentences cost much and teach little about one word."""


def selected_pairs(
    folder: Path, dictionary: Dictionary, counts: Counter[tuple[str, ...]], most: int
) -> Iterator[Lines]:
    """Yields the pairs of a corpus that have an entry with fewer than `most` pairs so far, and counts them."""
    words = WordAnnotator("en")
    for document in read_documents(folder):
        for source, target, *_ in document:
            if len(source.split()) > MAX_WORDS:
                continue
            annotation = words(Document.from_sentences([source]), None)
            entries = {use.entry.words for use in dictionary.find(annotation)}
            if any(counts[entry] < most for entry in entries):
                counts.update(entries)
                yield source, target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+", type=Path, help="corpus folders")
    parser.add_argument("--most", type=int, default=8, help="pairs per entry (default: 8)")
    parser.add_argument("--out", type=Path, required=True, help="corpus folder to write")
    parser.add_argument("--entries", type=Path, help="corpus folder to write with the entries as pairs")
    arguments = parser.parse_args()
    dictionary, counts = load_dictionary("en-fr"), Counter[tuple[str, ...]]()
    chosen: list[list[Lines]] = []
    for folder in arguments.corpora:
        found = [[pair] for pair in selected_pairs(folder, dictionary, counts, arguments.most)]
        print(f"{folder}: {len(found)} pairs")
        chosen += found
    write_documents(arguments.out, chosen)
    if arguments.entries is not None:
        best = {" ".join(each.words): each.translations[0] for each in reversed(dictionary.entries)}
        write_documents(arguments.entries, [[pair] for pair in reversed(best.items())])
    print(f"{len(chosen)} pairs with {len(counts)} entries")


if __name__ == "__main__":
    main()
