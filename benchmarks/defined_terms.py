"""How often are defined terms translated as their definition says? Counts them in the translations of statutes.

    python -m benchmarks.defined_terms corpora/statutes_en-fr base=out/base.fr hints=out/hints.fr

The folder has test.src.txt.xz, test.tgt.txt.xz (a blank line between documents) and test.terms.tsv.xz (line, term,
equivalent). A term counts in a later line of its document that contains it, if the reference has its equivalent, and
unless a longer term contains it there. It is right if the translation contains the equivalent, too.
"""

from __future__ import annotations

import lzma
import re
import sys
from pathlib import Path

Line = tuple[str, str, list[str]]
"""Source, reference, and the equivalents that count."""


def read_lines(folder: Path) -> list[Line]:
    """Returns the lines of the test set, without those between documents."""
    source, reference, table = (
        lzma.decompress((folder / f"test.{name}.xz").read_bytes()).decode().rstrip("\n").split("\n")
        for name in ("src.txt", "tgt.txt", "terms.tsv")
    )
    defined: dict[int, list[tuple[str, str]]] = {}
    for row in table:
        line, term, equivalent = row.split("\t")
        defined.setdefault(int(line), []).append((term, equivalent))
    known: list[tuple[str, str]] = []
    lines: list[Line] = []
    for number, (text, translation) in enumerate(zip(source, reference, strict=True), 1):
        if not text:
            known = []
            continue
        used = [pair for pair in known if re.search(rf"(?<!\w){re.escape(pair[0])}(?!\w)", text)]
        used = [pair for pair in used if not any(pair[0] != other and pair[0] in other for other, _ in used)]
        lines.append((text, translation, [each for _, each in used if _plain(each) in _plain(translation)]))
        known += defined.get(number, [])
    return lines


def right_terms(lines: list[Line], translations: list[str]) -> int:
    """Returns the number of terms that are translated as defined."""
    return sum(
        _plain(each) in _plain(text)
        for (_, _, wanted), text in zip(lines, translations, strict=True)
        for each in wanted
    )


def _plain(text: str) -> str:
    return text.lower().replace("\u2019", "'")


def main(folder: str, *systems: str) -> None:
    """Prints the share of right terms of each system."""
    lines = read_lines(Path(folder))
    total = sum(len(wanted) for _, _, wanted in lines)
    print(f"{total:,} uses of defined terms in {len(lines):,} lines")
    for system in systems:
        name, _, path = system.rpartition("=")
        translations = [line for line in Path(path).read_text(encoding="utf-8").split("\n") if line]
        print(f"{name or path:20} {100 * right_terms(lines, translations) / total:.1f}%")


if __name__ == "__main__":
    main(*sys.argv[1:])
