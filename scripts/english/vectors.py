"""floret vectors (sub-word hashing, Bojanowski et al. 2017 with two hashes) of raw text and treebank text."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import spacy
from spacy.training.initialize import convert_vectors

from english.treebank import open_text

DIMENSION, ROWS = 64, 20_000
LETTERS = {"minn": 3, "maxn": 5}
TRAINING = {"minCount": 5, "epoch": 4, "neg": 10, "lr": 0.08, "ws": 4}
REPEATS = 3
"""How often the treebanks' own sentences are read: they are nearer to what will be parsed."""
_TOKEN = re.compile(
    r"n't|'(?:s|re|ve|ll|d|m)\b|[^\W\d_]+?(?=n't\b)|[^\W\d_]+|\d[\d.,]*|[^\w\s]",
    re.IGNORECASE,
)


def raw_sentences(files: Iterable[Path]) -> Iterator[list[str]]:
    """The tokens of each line of the files, each distinct line once."""
    seen: set[int] = set()
    for file in files:
        for line in map(str.strip, open_text(file)):
            key = hash(line)
            if line and key not in seen:
                seen.add(key)
                yield _TOKEN.findall(line)


def write_text(raw: Iterable[Path], treebanks: Iterable[list[str]], path: Path) -> None:
    """One tokenised sentence a line."""
    with path.open("w", encoding="utf-8") as file:
        for tokens in raw_sentences(raw):
            file.write(" ".join(tokens) + "\n")
        for tokens in treebanks:
            file.write((" ".join(tokens) + "\n") * REPEATS)


def train(text: Path, out: Path) -> None:
    """A spaCy folder with nothing but the vectors."""
    floret = importlib.import_module("floret")  # needed by this script alone
    shape = {"model": "cbow", "mode": "floret", "hashCount": 2, "bucket": ROWS, "dim": DIMENSION, **LETTERS}
    model = floret.train_unsupervised(str(text), thread=os.cpu_count() or 1, verbose=0, **shape, **TRAINING)
    table = out.with_suffix(".floret")
    model.save_floret_vectors(str(table))
    nlp = spacy.blank("en")
    convert_vectors(nlp, table, truncate=0, prune=0, mode="floret")
    data = nlp.vocab.vectors.data
    data /= np.linalg.norm(data, axis=1).mean()  # a word is the mean of many rows: keep its vector near unit length
    nlp.to_disk(out)
