"""Documents made up with the statistics of real ones, so that benchmarks need no data."""

from __future__ import annotations

import numpy as np

from benchmarks.graph_building import synthetic_annotation
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample

EOS = 2


def random_examples(
    rng: np.random.Generator, target_tokens: int, vocabulary: int, sentences: tuple[int, int]
) -> list[DocumentExample]:
    """Whole documents of `sentences` (from, to) sentences each, about `target_tokens` target sub-words in all."""
    examples, total = [], 0
    while total < target_tokens:
        annotation = synthetic_annotation(22 * int(rng.integers(*sentences)), seed=int(rng.integers(1 << 31)))
        sizes = np.diff(annotation.offsets)
        source, target, source_words, target_words, start = [], [], [], [], 0
        for size in sizes.tolist():
            owner = np.repeat(np.arange(size), 1 + (rng.random(size) < 0.12))
            source.append(np.append(rng.integers(3, vocabulary, len(owner)), EOS))
            source_words.append(np.append(owner + start, -1))
            length = max(1, int(len(owner) * rng.normal(1.15, 0.1)))
            target.append(np.append(rng.integers(3, vocabulary, length), EOS))
            target_words.append(np.append(np.arange(length), -1))
            start += size
            total += length + 1
        examples.append(DocumentExample(source, target, build_graph(annotation), source_words, target_words))
    return examples
