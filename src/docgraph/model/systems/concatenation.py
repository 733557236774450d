"""Concatenation (Tiedemann and Scherrer 2017): a sentence is translated together with the sentences before it.

Sentence m becomes the sequence of the sentences before it and itself, with a separator between them. The translation
is such a sequence as well if the model also translates the earlier sentences. The translation of m is what follows the
last separator. Transformer and search are those of Base. A config selects this system by its field `concatenation`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ConcatenationConfig, ModelConfig
from docgraph.model.systems import ContextEncoder, ContextNeeds


class Concatenation(ContextEncoder):
    """Adds no parameters and reads no memories: the context is in the sequences."""

    @classmethod
    def needs(cls, config: ModelConfig) -> ContextNeeds:
        """Declares the other source sentences, as parts of a source sequence."""
        return ContextNeeds(source=True, sentences_per_sequence=_settings(config).source)

    @classmethod
    def system_name(cls, config: ModelConfig) -> str:
        """Returns `concatenation-2-1` for two source sentences and one target sentence."""
        return f"concatenation-{_settings(config).source}-{_settings(config).target}"

    @classmethod
    def prepare(cls, config: ModelConfig, example: DocumentExample) -> DocumentExample:
        """Returns the document with each sentence preceded by the sentences before it; graphs are dropped."""
        example, joined = super().prepare(config, example), _settings(config)
        source, target = (
            [np.append(_before(sentences, m, count, joined), ids) for m, ids in enumerate(sentences)]
            for sentences, count in ((example.source, joined.source), (example.target, joined.target))
        )
        return replace(example, source=source, target=target, graph=None, source_words=(), target_words=())

    @classmethod
    def target_prefix(cls, config: ModelConfig, translations: Sequence[Ids], sentence: int) -> Ids:
        """Returns the translations before the sentence that belong to its target sequence."""
        joined = _settings(config)
        return _before(translations, sentence, joined.target if translations else 1, joined)

    @classmethod
    def translation(cls, config: ModelConfig, tokens: Sequence[int]) -> tuple[int, ...]:
        """Returns the tokens after the last separator."""
        separator = _settings(config).separator
        if separator not in tokens:
            return tuple(tokens)
        return tuple(tokens[len(tokens) - list(tokens)[::-1].index(separator) :])


def _settings(config: ModelConfig) -> ConcatenationConfig:
    assert config.concatenation is not None
    return config.concatenation


def _before(sentences: Sequence[Ids], m: int, count: int, config: ConcatenationConfig) -> Ids:
    """Returns the sequence before sentence m of `count` sentences: each without its end, plus a separator."""
    parts = [np.append(sentences[index][:-1], config.separator) for index in range(max(0, m - count + 1), m)]
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)
