"""Score models on the dev splits of corpora of several kinds, to choose between models before test sets are read.

    python scripts/dev_scores.py en-fr runs/new/best --corpora corpora/europarl_en-fr corpora/stories_en-fr \\
        --out runs/dev_scores

The first documents of each dev split are translated as by `docgraph translate` and kept under --out, so that a second
call scores without translating. BLEU and chrF are sacreBLEU's; curly and straight apostrophes count as equal, because
references differ in this.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from corpus_folders import read_documents
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.files import replacing
from docgraph.translation.translator import Translator

Pairs = list[list[tuple[str, str]]]
"""Source and reference of the sentences of each document."""


def first_documents(folder: Path, pairs: int) -> Pairs:
    """Returns the first documents of a dev split, up to the one that reaches this many pairs."""
    found: Pairs = []
    for document in read_documents(folder, "dev"):
        found.append([(lines[0], lines[1]) for lines in document])
        if sum(map(len, found)) >= pairs:
            break
    return found


def translations(translator: Translator, documents: Pairs, path: Path) -> list[str]:
    """Returns the translation of each sentence, from the file at `path` if it is there."""
    if not path.exists():
        sources = (Document.from_sentences([source for source, _ in document]) for document in documents)
        lines = [text for translation in translator.translate_all(sources) for text in translation.texts]
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as temporary:
            temporary.write_text("".join(" ".join(line.split()) + "\n" for line in lines), encoding="utf-8")
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def scores(found: Sequence[str], references: Sequence[str]) -> tuple[float, float]:
    """Returns BLEU and chrF, with one kind of apostrophes."""
    from sacrebleu.metrics import BLEU, CHRF

    found, references = ([text.replace("’", "'") for text in texts] for texts in (found, references))
    return BLEU().corpus_score(found, [references]).score, CHRF().corpus_score(found, [references]).score


def rows(arguments: argparse.Namespace) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """Yields each model with its scores on each corpus."""
    corpora = {folder.name: first_documents(folder, arguments.pairs) for folder in arguments.corpora}
    for model in arguments.models:
        translator = Translator.load(model)
        name = str(model).strip("/").replace("/", "_")
        found = []
        for corpus, documents in corpora.items():
            texts = translations(translator, documents, arguments.out / name / f"{corpus}.{arguments.pairs}.txt")
            found.append(scores(texts, [reference for document in documents for _, reference in document]))
        yield model, found


def main() -> None:
    """Runs the script."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", help="model folders, or names of embedded models")
    parser.add_argument("--corpora", type=Path, nargs="+", required=True, help="folders with dev.src.txt.xz and so on")
    parser.add_argument("--pairs", type=int, default=350, help="pairs of each corpus (default: 350)")
    parser.add_argument("--out", type=Path, required=True, help="folder for the translations")
    arguments = parser.parse_args()
    try:
        print("\t".join(["model", "BLEU", "chrF", *(f"{folder.name} BLEU" for folder in arguments.corpora)]))
        for model, found in rows(arguments):
            means = [sum(each) / len(found) for each in zip(*found, strict=True)]
            print("\t".join([model, *(f"{value:.2f}" for value in (*means, *(bleu for bleu, _ in found)))]), flush=True)
    except DocgraphError as error:
        sys.exit(f"{error}")


if __name__ == "__main__":
    main()
