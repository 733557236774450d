"""Add entries to the embedded English-French dictionary.

    python scripts/add_entries.py new.tsv

The first four columns of a line are those of the dictionary (docgraph/annotate/dictionary.py); others, as written by
find_mistranslations.py, are ignored. Entries whose words the dictionary has already are left out.
"""

from __future__ import annotations

import argparse
import lzma
from pathlib import Path

from docgraph.files import replacing

DICTIONARY = Path("src/docgraph/data/dictionaries/en-fr.tsv.xz")
COLUMNS = 4


def add(lines: list[str], others: list[str]) -> list[str]:
    """Returns the lines of a dictionary with those of `others` whose words it lacks, sorted."""
    words, added = {line.split("\t")[0].lower() for line in lines}, list[str]()
    for line in others:
        entry = "\t".join(line.split("\t")[:COLUMNS]).replace("’", "'")
        if (own := entry.split("\t")[0].lower()) not in words and "(" not in entry:
            words.add(own)
            added.append(entry)
    return sorted([*lines, *added], key=lambda line: line.split("\t")[0])


def main() -> None:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("entries", type=Path, nargs="+", help="files of entries")
    parser.add_argument("--dictionary", type=Path, default=DICTIONARY, help="the dictionary to change")
    arguments = parser.parse_args()
    lines = lzma.decompress(arguments.dictionary.read_bytes()).decode("utf-8").splitlines()
    new = [line for path in arguments.entries for line in path.read_text(encoding="utf-8").splitlines()]
    found = add(lines, new)
    with replacing(arguments.dictionary) as temporary:
        temporary.write_bytes(lzma.compress("".join(f"{line}\n" for line in found).encode(), preset=9))
    print(f"{len(found) - len(lines):,} of {len(new):,} entries added; there are {len(found):,}")


if __name__ == "__main__":
    main()
