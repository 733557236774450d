"""Concatenation (Tiedemann and Scherrer 2017): a sentence is translated together with those before it.

A document keeps its sentences: sentence m becomes itself with the ones before it, a separator between them, on the
source side and, where the model translates them too, on the target side; of that translation, what follows the last
separator is the translation of m. Model and search know nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ConcatenationConfig


def concatenate(example: DocumentExample, config: ConcatenationConfig | None) -> DocumentExample:
    """The document as a model of this config takes it; without a config, the document itself."""
    if config is None:
        return example
    source = [np.append(before(example.source, m, config.source, config), ids) for m, ids in enumerate(example.source)]
    target = [np.append(before(example.target, m, config.target, config), ids) for m, ids in enumerate(example.target)]
    return replace(example, source=source, target=target, graph=None, source_words=(), target_words=())


def before(sentences: Sequence[Ids], m: int, count: int, config: ConcatenationConfig) -> Ids:
    """What stands before sentence m in a sequence of `count`: each sentence without its end, and a separator."""
    parts = [np.append(sentences[index][:-1], config.separator) for index in range(max(0, m - count + 1), m)]
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def last_sentence(tokens: Sequence[int], config: ConcatenationConfig | None) -> tuple[int, ...]:
    """The translation of the current sentence, in that of its whole sequence."""
    if config is None or config.separator not in tokens:
        return tuple(tokens)
    return tuple(tokens[len(tokens) - list(tokens)[::-1].index(config.separator) :])
