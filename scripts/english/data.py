"""Training data: CoNLL-U treebanks as spaCy documents, and floret vectors of raw text.

Each sentence of a treebank is one document with gold tokens. floret hashes sub-words (Bojanowski et al. 2017) with two
hash functions.
"""

from __future__ import annotations

import importlib
import lzma
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.training.initialize import convert_vectors
from spacy.vocab import Vocab

ATTRIBUTES = ["ORTH", "TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "SPACY"]
FORM, LEMMA, UPOS, XPOS, FEATS, HEAD, DEPREL, MISC = 1, 2, 3, 4, 5, 6, 7, 9
Row = list[str]

DIMENSION, ROWS = 64, 20_000
LETTERS = {"minn": 3, "maxn": 5}
TRAINING = {"minCount": 5, "epoch": 4, "neg": 10, "lr": 0.08, "ws": 4}
TREEBANK_REPEATS = 3
"""How often the treebank sentences are repeated in the text for the vectors; they are closer to the parsed text."""
_TOKEN = re.compile(
    r"n't|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]+?(?=n't\b)|[^\W\d_]+|\d[\d.,]*|[^\w\s]",
    re.IGNORECASE,
)


def open_text(path: Path) -> Iterator[str]:
    """Yields the lines of a text file, plain or xz."""
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else path.open(encoding="utf-8") as file:
        yield from file


def find_treebank(folder: Path, name: str) -> Path:
    """Returns the CoNLL-U file of a folder whose name ends in `name`, plain or xz."""
    files = sorted([*folder.glob(f"*{name}.conllu"), *folder.glob(f"*{name}.conllu.xz")])
    if not files:
        raise SystemExit(f"{folder} has no *{name}.conllu; give the folder of the treebank")
    return files[0]


def read_treebank(path: Path, vocab: Vocab) -> Iterator[Doc]:
    """Yields the sentences of a CoNLL-U file, without empty nodes."""
    rows: list[Row] = []
    for line in open_text(path):
        line = line.rstrip("\n")
        if line and line[0] != "#":
            rows.append(line.split("\t"))
        elif not line and rows:
            yield _sentence(rows, vocab)
            rows = []
    if rows:
        yield _sentence(rows, vocab)


def _sentence(rows: list[Row], vocab: Vocab) -> Doc:
    words = [row for row in rows if row[0].isdigit()]
    return Doc(
        vocab,
        words=[row[FORM] for row in words],
        spaces=_spaces(rows, len(words)),
        tags=[row[XPOS] for row in words],
        pos=[row[UPOS] for row in words],
        morphs=["" if row[FEATS] == "_" else row[FEATS] for row in words],
        lemmas=[row[LEMMA] for row in words],
        heads=[i if row[HEAD] == "0" else int(row[HEAD]) - 1 for i, row in enumerate(words)],
        deps=["ROOT" if row[DEPREL] == "root" else row[DEPREL] for row in words],
        sent_starts=[i == 0 for i in range(len(words))],
    )


def _spaces(rows: list[Row], count: int) -> list[bool]:
    """Returns whether a space follows each word. Inside a multiword token there is none."""
    spaces = [True] * count
    for row in rows:
        if row[0].isdigit():
            spaces[int(row[0]) - 1] = "SpaceAfter=No" not in row[MISC]
    for row in rows:
        first, dash, last = row[0].partition("-")
        if dash:
            spaces[int(first) - 1 : int(last) - 1] = [False] * (int(last) - int(first))
            spaces[int(last) - 1] = "SpaceAfter=No" not in row[MISC]
    return spaces


def save(sentences: Iterable[Doc], path: Path) -> Path:
    """Writes sentences as a DocBin."""
    DocBin(attrs=ATTRIBUTES, docs=sentences).to_disk(path)
    return path


def without_annotation(sentence: Doc, nlp: Language) -> Doc:
    """Returns the words of a sentence as a document of one unannotated sentence."""
    doc = Doc(nlp.vocab, words=[word.text for word in sentence], spaces=[bool(word.whitespace_) for word in sentence])
    for token in doc:
        token.is_sent_start = token.i == 0
    return doc


def write_vector_text(raw: Iterable[Path], treebanks: Iterable[list[str]], path: Path) -> None:
    """Writes the text that the vectors are trained on, one tokenised sentence per line."""
    with path.open("w", encoding="utf-8") as file:
        for tokens in _raw_sentences(raw):
            file.write(" ".join(tokens) + "\n")
        for tokens in treebanks:
            file.write((" ".join(tokens) + "\n") * TREEBANK_REPEATS)


def _raw_sentences(files: Iterable[Path]) -> Iterator[list[str]]:
    """Yields the tokens of each distinct line of the files."""
    seen: set[int] = set()
    for file in files:
        for line in map(str.strip, open_text(file)):
            key = hash(line)
            if line and key not in seen:
                seen.add(key)
                yield _TOKEN.findall(line)


def train_vectors(text: Path, out: Path) -> None:
    """Trains floret vectors and writes a spaCy folder that contains nothing else."""
    floret = importlib.import_module("floret")  # only this script needs it
    shape = {"model": "cbow", "mode": "floret", "hashCount": 2, "bucket": ROWS, "dim": DIMENSION, **LETTERS}
    model = floret.train_unsupervised(str(text), thread=os.cpu_count() or 1, verbose=0, **shape, **TRAINING)
    table = out.with_suffix(".floret")
    model.save_floret_vectors(str(table))
    nlp = spacy.blank("en")
    convert_vectors(nlp, table, truncate=0, prune=0, mode="floret")
    data = nlp.vocab.vectors.data
    data /= np.linalg.norm(data, axis=1).mean()  # a word is the mean of many rows: keep its vector near unit length
    nlp.to_disk(out)
