"""Corrections: seconds from a confirmed sentence to the proposals for all others, and whether they are right.

    python -m benchmarks.corrections [--file debate.txt] [--sentences 200] [--corrections 6] [--threads 2]

A document is translated by a session, and a word is inserted into some translations, one after the other. At the end
the translations by the model are compared with those of a fresh translation with the same confirmed sentences.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from benchmarks.subtitle_cues import read_pairs
from docgraph.document import Document
from docgraph.formats import read
from docgraph.server.session import Session
from docgraph.translation.translator import Translator

CORPUS = Path(__file__).resolve().parent.parent / "corpora" / "own_en-fr"
INSERTED = "bien"


def sentences_of(file: Path | None, count: int) -> list[str]:
    """Returns the first sentences of a file, or of the test documents of the corpus."""
    if file is not None:
        return [text for document in read(file) for text in document.texts][:count]
    pairs = read_pairs(*(CORPUS / f"test.{side}.txt.xz" for side in ("src", "tgt")))
    return [source for document in pairs for source, _ in document][:count]


def main() -> None:
    """Prints the time of each correction, the number of proposals, and how many translations differ at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--file", type=Path, help="a document of any format (default: documents of the corpus)")
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--corrections", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    translator = Translator.load("en-fr", threads=options.threads)
    document = Document.from_sentences(sentences_of(options.file, options.sentences))
    session = Session([document], translator)
    for _ in session.translate():
        pass
    for k in range(options.corrections):
        index = (2 * k + 1) * len(document) // (2 * options.corrections)
        first, _, rest = session.sentence(index)["translation"].partition(" ")
        begin, cpu = time.perf_counter(), time.process_time()
        changes = session.correct(index, f"{first} {INSERTED} {rest}")
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        print(f"sentence {index}: {seconds:.2f} s ({cpu:.2f} s of processor time), {len(changes)} proposals")
    known = [each["translation"] if each["state"] == "confirmed" else None for each in session.sentences]
    wanted, states = translator.translate(document, known=known).texts, session.state["sentences"]
    other = [m for m, text in enumerate(wanted) if known[m] is None and states[m]["machine"] != text]
    print(f"{len(other)} of {len(document)} sentences differ from a fresh translation: {other}")


if __name__ == "__main__":
    main()
