"""Random documents with random graphs, as the model takes them."""

from __future__ import annotations

import numpy as np

from docgraph.annotation import Annotation, Strings
from docgraph.graph import DocumentGraph, RelationOptions, build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig

EOS = 2
VOCABULARY = 50


def random_annotation(rng: np.random.Generator, sizes: list[int], kinds: int = 6) -> Annotation:
    """Sentences of these many words, with random forms, lemmas, trees and coreference."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    count = int(offsets[-1])
    heads = np.arange(count, dtype=np.int32)
    for begin, end in zip(offsets[:-1], offsets[1:], strict=True):
        for word in range(begin + 1, end):
            heads[word] = rng.integers(begin, word)
    pairs = np.sort(rng.integers(0, max(count, 1), (count // 3, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0).astype(np.int32)
    forms = rng.integers(0, kinds, count)
    lemmas = np.where(rng.random(count) < 0.8, forms // 2, rng.integers(0, kinds, count))
    zeros = np.zeros(count, dtype=np.int32)
    return Annotation(
        offsets,
        zeros,
        zeros,
        Strings.of(f"form{f}" for f in forms),
        lemmas=Strings.of(f"lemma{lemma}" for lemma in lemmas),
        heads=heads,
        coreference=pairs.reshape(-1, 2),
    )


def random_graph(rng: np.random.Generator, sizes: list[int], max_distance: int | None = None) -> DocumentGraph:
    return build_graph(random_annotation(rng, sizes), "all", RelationOptions(max_distance=max_distance))


def random_document(rng: np.random.Generator, sizes: list[int]) -> DocumentExample:
    """Words of one or two sub-words each, a translation, and the graph of the source."""
    source, target, source_words, target_words = [], [], [], []
    start = 0
    for size in sizes:
        owner = np.repeat(np.arange(size), rng.integers(1, 3, size))
        source.append(np.append(rng.integers(3, VOCABULARY, len(owner)), EOS))
        source_words.append(np.append(owner + start, -1))
        start += size
        length = int(rng.integers(0, size + 3))
        target.append(np.append(rng.integers(3, VOCABULARY, length), EOS))
        target_words.append(np.append(np.arange(length), -1))
    return DocumentExample(source, target, random_graph(rng, sizes), source_words, target_words)


def small_config(norm: str = "post", context: bool = True, graph: dict | None = None, **changes: object) -> ModelConfig:
    """Two layers, d 32, for tests; context fields and graph fields as asked."""
    transformer = TransformerConfig(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        dimension=32,
        feed_forward=64,
        heads=4,
        encoder_layers=2,
        decoder_layers=2,
        norm=norm,  # type: ignore[arg-type]
        max_positions=256,
    )
    if not context:
        return ModelConfig(transformer)
    return ModelConfig(transformer, ContextConfig(heads=4, graph=GraphConfig(**(graph or {})), **changes))  # type: ignore[arg-type]
