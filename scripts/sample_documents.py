"""Copy a random part of a training corpus, whole documents only.

    python scripts/sample_documents.py corpora/clean/statutes_en-fr --pairs 130000 --out corpora/clean/statutes_part

A corpus is a folder with train.src.txt.xz, train.tgt.txt.xz and perhaps train.spk.txt.xz. With --obligation, English-
French pairs are left out whose English *must* or *shall* has no counterpart in French: French statutes state duties in
the present tense, and a general model must not learn to translate "must be repaired" by "est réparée".
"""

from __future__ import annotations

import argparse
import random
import re
from pathlib import Path

from corpus_folders import Lines, read_documents, write_documents

_DUTY = re.compile(r"\b(must|shall|should|required to)\b", re.IGNORECASE)
_DEVOIR = re.compile(
    r"\b(doi[st]|doivent|dev(?:r|ai|on|ez|oir)\w*|dû|due?s?|faut|falloir|faudra\w*|faille|oblig\w*|tenue?s?|requi\w+|"
    r"nécessaire\w*|exig\w*|incombe\w*|interdi\w*|ne peu\w*|est chargée?|ordonn\w+)\b",
    re.IGNORECASE,
)


def keeps_duty(pair: Lines) -> bool:
    """True unless the source states a duty and the target does not."""
    return not _DUTY.search(pair[0]) or bool(_DEVOIR.search(pair[1]))


def pairs(document: list[Lines]) -> tuple[Lines, ...]:
    """Returns a document without its speakers, for comparison."""
    return tuple(lines[:2] for lines in document)


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--pairs", type=int, required=True, help="stop after the document that reaches this many pairs")
    parser.add_argument("--out", type=Path, required=True, help="folder for the copy")
    parser.add_argument("--obligation", action="store_true", help="leave out pairs that lose must or shall")
    parser.add_argument("--without", type=Path, help="corpus whose documents are left out")
    parser.add_argument("--min-pairs", type=int, default=6, help="leave out shorter documents (default: 6 pairs)")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    documents = list(read_documents(arguments.corpus))
    if arguments.without:
        excluded = set(map(pairs, read_documents(arguments.without)))
        documents = [document for document in documents if pairs(document) not in excluded]
    if arguments.obligation:
        documents = [[pair for pair in document if keeps_duty(pair)] for document in documents]
    documents = [document for document in documents if len(document) >= arguments.min_pairs]
    random.Random(arguments.seed).shuffle(documents)
    count, kept = 0, list[list[Lines]]()
    for document in documents:
        if count > arguments.pairs:
            break
        kept.append(document)
        count += len(document)
    write_documents(arguments.out, kept)
    print(f"{arguments.out}: {len(kept):,} documents, {count:,} pairs")


if __name__ == "__main__":
    main()
