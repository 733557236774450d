"""Join translations of treebank sentences with the sentences themselves, which this repository does not have.

    python scripts/join_treebanks.py en_ewt-ud-train.conllu en_ontogum-train.conllu \
        --translations corpora/treebanks_en-fr/train.tsv.xz --out corpora/treebanks

The translations have a sentence id (`sent_id`) and a text per line. The treebanks are CoNLL-U files, plain or xz;
their documents (`newdoc`) become those of the corpus. Sentences without a translation are left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from corpus_folders import Lines, read_lines, write_documents


def read_translations(path: Path) -> dict[str, str]:
    """Returns the translations by sentence id."""
    fields = (line.partition("\t") for line in read_lines(path))
    return {identifier: text for identifier, _, text in fields}


def read_treebank(path: Path) -> Iterator[list[tuple[str, str]]]:
    """Yields the documents of a treebank: the id and the text of each sentence."""
    document: list[tuple[str, str]] = []
    identifier = ""
    for line in read_lines(path):
        name, _, value = line.removeprefix("# ").partition(" = ")
        if line.startswith("# newdoc"):
            yield document
            document = []
        elif name == "sent_id":
            identifier = value
        elif name == "text":
            document.append((identifier, value))
    yield document


def main() -> None:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("treebanks", nargs="+", type=Path, help="CoNLL-U files")
    parser.add_argument("--translations", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="folder of the corpus")
    arguments = parser.parse_args()
    translations = read_translations(arguments.translations)
    documents: list[list[Lines]] = [
        [(text, translations.pop(identifier)) for identifier, text in document if identifier in translations]
        for path in arguments.treebanks
        for document in read_treebank(path)
    ]
    write_documents(arguments.out, documents)
    print(f"{sum(map(len, documents)):,} pairs; {len(translations):,} translations have no sentence")


if __name__ == "__main__":
    main()
