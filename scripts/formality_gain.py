"""Measure what --formality gives: BLEU and wrong forms of address, English-French, with the shipped settings.

    python scripts/formality_gain.py test.en test.fr [--documents 12] [--share 0.2] [--changed 20]

One sentence per line, blank lines between documents. The rows are `any`, `auto`, and the formality that most lines of
the document's reference have, as a user who knows it would choose it. The CPU seconds of each row follow the table,
and, with --changed, lines that `auto` changed.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from docgraph.document import Document
from docgraph.formats import read
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.formality import FormalityOption, formality_of
from docgraph.translation.translator import Translator
from formality_ceiling import FIRST, majority, table


def _documents(source: Path, reference: Path, share: float) -> list[tuple[Document, list[str]]]:
    """Returns documents with references, of which at least a share of the lines has a formality."""
    sources, references = (read(path, "lines") for path in (source, reference))
    pairs = [(document, other.texts) for document, other in zip(sources, references, strict=True)]
    return [
        (document, lines)
        for document, lines in pairs
        if sum(formality_of(line) is not None for line in lines) >= share * len(lines)
    ]


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path)
    parser.add_argument("reference", type=Path)
    parser.add_argument("--documents", type=int, help="use only the first documents (of those that --share keeps)")
    parser.add_argument("--share", type=float, default=0.0, help="least share of lines with tu or vous in a document")
    parser.add_argument("--changed", type=int, default=0, help="print this many lines that auto changed")
    arguments = parser.parse_args()
    pairs = _documents(arguments.source, arguments.reference, arguments.share)[: arguments.documents]
    translator = Translator.load(threads=1)
    references = [lines for _, lines in pairs]
    options: dict[str, list[FormalityOption]] = {
        FIRST: ["any" for _ in pairs],
        "auto": ["auto" for _ in pairs],
        "formality of the document given": [majority(lines) or "any" for lines in references],
    }
    rows: dict[str, list[str]] = {}
    seconds: dict[str, float] = {}
    for name, chosen in [("", options[FIRST]), *options.items()]:  # the first one loads what is loaded on first use
        begun = time.process_time()
        requests = [
            TranslationRequest(document, formality=option) for (document, _), option in zip(pairs, chosen, strict=True)
        ]
        rows[name] = [text for _, each in translator.translate_requests(requests) for text in each.texts]
        seconds[name] = time.process_time() - begun
    sources = [text for document, _ in pairs for text in document.texts]
    del rows[""], seconds[""]
    print("\n".join(table(sources, references, rows)))
    print(", ".join(f"{name}: {value:.1f} s" for name, value in seconds.items()))
    lines = [line for each in references for line in each]
    changed = [m for m, text in enumerate(rows[FIRST]) if text != rows["auto"][m]]
    for m in changed[: arguments.changed]:
        print("", sources[m], f"  {rows[FIRST][m]}", f"  {rows['auto'][m]}", f"  reference: {lines[m]}", sep="\n")


if __name__ == "__main__":
    main()
