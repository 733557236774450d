"""Compare sentence splitters on a hand-made set (`sentence_examples.py`) and on Universal Dependencies treebanks.

    python -m benchmarks.sentence_splitting en_ewt-dev.conllu.xz en_ontogum-dev.conllu.xz [--language en]

Paragraphs are rebuilt from the treebank (`# newdoc`, `# newpar`, `# text`) and split again. A boundary is the end of a
sentence inside its paragraph; the end of the paragraph is given, so it is not counted. Splitters that are not installed
are listed and skipped. Install all with `pip install sentencex pysbd blingfire syntok sentence-splitter nupunkt`.
"""

from __future__ import annotations

import argparse
import importlib.util
import lzma
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from benchmarks.sentence_examples import EXAMPLES, NOVELS

Splitter = Callable[[str], list[str]]
"""Paragraph -> its sentences in order; white space around them is ignored."""


def paragraphs(path: Path) -> Iterator[list[str]]:
    """Yields the sentences of each paragraph, with the white space that follows them in the running text."""
    opener = lzma.open if path.suffix == ".xz" else open
    current: list[str] = []
    text, last = "", ""
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            if line.startswith(("# newdoc", "# newpar")):
                if current:
                    yield current
                current = []
            elif line.startswith("# text = "):
                text = line.removeprefix("# text = ").strip()
            elif line.strip() and not line.startswith("#"):
                last = line
            elif not line.strip() and text:
                current.append(text if "SpaceAfter=No" in last else f"{text} ")
                text = ""
    if current:
        yield current


def docgraph_splitter(language: str) -> Splitter:
    """Returns the splitter of docgraph."""
    from docgraph.formats.sentences import split_sentences

    return lambda text: [text[start:end] for start, end in split_sentences(text, language)]


def sentencex(language: str) -> Splitter:
    """Returns the splitter of sentencex."""
    from sentencex import segment

    return lambda text: list(segment(language, text))


def pysbd(language: str) -> Splitter:
    """Returns the splitter of pysbd."""
    from pysbd import Segmenter

    segmenter = Segmenter(language=language, clean=False)
    return lambda text: list(segmenter.segment(text))


def spacy_sentencizer(language: str) -> Splitter:
    """Returns the splitter of spaCy's rule-based sentencizer."""
    import spacy

    pipeline = spacy.blank(language)
    pipeline.add_pipe("sentencizer")
    return lambda text: [sentence.text for sentence in pipeline(text).sents]


def blingfire(language: str) -> Splitter:
    """Returns the splitter of BlingFire."""
    from blingfire import text_to_sentences

    return lambda text: text_to_sentences(text).split("\n")


def syntok(language: str) -> Splitter:
    """Returns the splitter of syntok."""
    from syntok import segmenter

    def split(text: str) -> list[str]:
        sentences = (sentence for paragraph in segmenter.analyze(text) for sentence in paragraph)
        return ["".join(token.spacing + token.value for token in sentence) for sentence in sentences]

    return split


def sentence_splitter(language: str) -> Splitter:
    """Returns the splitter of sentence-splitter (Moses)."""
    from sentence_splitter import SentenceSplitter

    return SentenceSplitter(language=language).split


def nupunkt(language: str) -> Splitter:
    """Returns the splitter of nupunkt."""
    from nupunkt import sent_tokenize

    return lambda text: list(sent_tokenize(text))


SPLITTERS: dict[str, tuple[str, Callable[[str], Splitter]]] = {
    "docgraph": ("docgraph", docgraph_splitter),
    "sentencex": ("sentencex", sentencex),
    "pysbd": ("pysbd", pysbd),
    "spacy sentencizer": ("spacy", spacy_sentencizer),
    "blingfire": ("blingfire", blingfire),
    "syntok": ("syntok", syntok),
    "sentence-splitter": ("sentence_splitter", sentence_splitter),
    "nupunkt": ("nupunkt", nupunkt),
}


def boundaries(sentences: list[str]) -> set[int]:
    """Returns inner boundaries as numbers of preceding non-space characters, since splitters may change white space."""
    ends, position = set(), 0
    for sentence in sentences:
        position += len("".join(sentence.split()))
        ends.add(position)
    return ends - {0, position}


def measure(splitter: Splitter, gold: list[list[str]]) -> tuple[float, float, float, float]:
    """Returns precision, recall and F1 (%) of boundaries inside paragraphs, and thousands of characters per second."""
    texts = ["".join(sentences).strip() for sentences in gold]
    splitter(texts[0])  # the first call may load tables
    began = time.perf_counter()
    predicted = [splitter(text) for text in texts]
    seconds = time.perf_counter() - began
    correct = predicted_count = gold_count = 0
    for gold_sentences, predicted_sentences in zip(gold, predicted, strict=True):
        gold_ends, predicted_ends = boundaries(gold_sentences), boundaries(predicted_sentences)
        correct += len(gold_ends & predicted_ends)
        predicted_count += len(predicted_ends)
        gold_count += len(gold_ends)
    precision, recall = correct / max(predicted_count, 1), correct / max(gold_count, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    return 100 * precision, 100 * recall, 100 * f1, sum(map(len, texts)) / seconds / 1000


def main(arguments: Sequence[str] = ()) -> None:
    """Prints one table for the hand-made set (English only) and one per treebank."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("treebanks", nargs="*", type=Path, help="CoNLL-U files, plain or .xz")
    parser.add_argument("--language", default="en", help="ISO 639-1 code of the treebanks")
    options = parser.parse_args(arguments)
    missing = [name for name, (module, _) in SPLITTERS.items() if importlib.util.find_spec(module) is None]
    golds = {}
    if options.language == "en":
        spaced = [[f"{sentence} " for sentence in sentences] for sentences in EXAMPLES]
        golds = {"hand-made set": spaced, "hand-made novels only": spaced[: len(NOVELS)]}
    for path in options.treebanks:
        if path.is_file():
            golds[path.name] = list(paragraphs(path))
        else:
            print(f"{path}: no such file, skipped")
    for title, gold in golds.items():
        print(f"\n{title}: {sum(map(len, gold))} sentences in {len(gold)} paragraphs")
        print(f"{'splitter':<20}{'precision':>10}{'recall':>8}{'F1':>7}{'kchars/s':>10}")
        for name, (_, make) in SPLITTERS.items():
            if name not in missing:
                precision, recall, f1, speed = measure(make(options.language), gold)
                print(f"{name:<20}{precision:>10.1f}{recall:>8.1f}{f1:>7.1f}{speed:>10.0f}", flush=True)
    if missing:
        print(f"\nNot installed, skipped: {', '.join(missing)}")


if __name__ == "__main__":
    main(sys.argv[1:])
