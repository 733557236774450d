"""Text to evaluate: the dev set of a real corpus if it is installed, and outputs made from it by seeded errors."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np

from docgraph.corpus.readers.text_files import Problems, read_lines
from docgraph.evaluation.alignment import Words
from docgraph.evaluation.evaluation_set import EvaluationSet
from shared_data import SHARED

EUROPARL = SHARED / "corpora" / "europarl_en-fr"


def europarl(side: str, count: int) -> list[str]:
    """The first lines of the dev set, `src` or `tgt`, with the blank lines between documents."""
    lines = read_lines(EUROPARL / f"dev.{side}.txt.xz", Problems())
    return [line or "" for line, _ in zip(lines, range(count), strict=False)]


def spoil(lines: Sequence[str], rate: float, seed: int) -> list[str]:
    """The lines with words dropped, repeated and set in lower case, each at a third of `rate`."""
    generator = random.Random(seed)
    spoilt = []
    for line in lines:
        words: list[str] = []
        for word in line.split():
            chance = generator.random()
            if chance < rate / 3:
                continue
            words += [word.lower()] if chance < 2 * rate / 3 else [word, word] if chance < rate else [word]
        spoilt.append(" ".join(words) or line)
    return spoilt


def make_set(reference: Sequence[str], sizes: Sequence[int], **systems: Sequence[str]) -> EvaluationSet:
    """An evaluation set of documents of the given sizes."""
    outputs = {name: list(texts) for name, texts in systems.items()}
    return EvaluationSet(list(reference), outputs, np.cumsum([0, *sizes]))


def make_words(documents: Sequence[Sequence[str]], tags: Sequence[str] | None = None) -> Words:
    """The words of documents, split at spaces; all of them are content words."""
    sentences = [sentence.split() for document in documents for sentence in document]
    forms = [word for sentence in sentences for word in sentence]
    sizes = [sum(len(sentence.split()) for sentence in document) for document in documents]
    return Words(
        forms,
        [form.lower() for form in forms],
        list(tags) if tags is not None else None,
        None,
        np.ones(len(forms), dtype=np.bool_),
        np.cumsum([0, *(len(sentence) for sentence in sentences)]),
        np.repeat(np.arange(len(documents)), sizes),
    )
