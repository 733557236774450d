"""Documents with hints: filling hints with words, by the cross-attention of the model, and inserting them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from docgraph.model.batch import DocumentExample, Ids
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import Hint, hints_by_sentence, insert, resolve
from docgraph.model.packing import split_by_size
from docgraph.model.systems import context_class
from docgraph.model.tokenizer import SubwordCoder, Tokenizer
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis
from docgraph.translation.decoding.lookups import Lookups, with_lookups
from docgraph.translation.decoding.word_alignment import TOKENS, cross_attention

OpenHint = tuple[Hint, Ids, Ids]
"""A hint, the sentence of its referent, and the translation of that sentence; both with end-of-sentence."""


class HintedDocument:
    """A document that is being decoded, with the hints that contain words of its translations so far."""

    def __init__(self, document: DecoderInput, config: ModelConfig, coder: SubwordCoder) -> None:
        """`coder` is the coder of the target language."""
        self.input, self.config = document, config
        example = document.example
        self.hints = hints_by_sentence(example.hints if config.hints is not None else ())
        """The hints of each sentence that has any; `hinted_sources` fills those that contain translations."""
        self.lookups = Lookups(example, config, coder)
        self.hypotheses: Hypotheses = [document.known.get(m, []) for m in range(len(example.source))]

    def visible(self, m: int) -> Hypothesis | None:
        """Returns the translation of a sentence as other sentences read it; None if there is none yet."""
        return next(iter(self.input.known.get(m, self.hypotheses[m])), None)

    def without_prefixes(self, found: Iterable[Hypothesis]) -> list[Hypothesis]:
        """Returns the hypotheses of a sentence without the sentences that a model may have decoded before it."""
        translation = context_class(self.config).translation
        return [replace(each, tokens=translation(self.config, each.tokens)) for each in found]

    def open_hints(self, m: int) -> list[OpenHint]:
        """Returns the hints of a sentence that must be filled from the translation of their referent."""
        found = []
        for hint in self.hints.get(m, ()):
            if hint.is_open and hint.referent is not None:
                best = self.visible(hint.referent.sentence)
                translation = np.array([*(() if best is None else best.tokens), self.config.transformer.eos])
                found.append((hint, self.input.example.source[hint.referent.sentence], translation))
        return found

    def read_hints(self, m: int) -> list[Hint]:
        """Returns the hints that a sentence currently reads, with those of dictionaries."""
        return sorted([*self.hints.get(m, ()), *self.lookups.read(m)], key=lambda hint: hint.place)


def hinted_sources(
    model: DocumentTransformer, coder: SubwordCoder, sentences: Sequence[tuple[HintedDocument, int]]
) -> list[Ids]:
    """Fills the hints of some sentences of documents; returns the sentences with their hints inserted."""
    filled = iter(fill_hints(model, coder, [each for document, m in sentences for each in document.open_hints(m)]))
    sources = []
    for document, m in sentences:
        source = document.input.example.source[m]
        if model.config.hints is not None:
            document.hints[m] = [next(filled) if hint.is_open else hint for hint in document.hints.get(m, ())]
            source, _ = insert(source, None, document.read_hints(m), model.config.hints.separator)
        sources.append(source)
    return sources


def fill_hints(model: DocumentTransformer, coder: SubwordCoder, hints: Sequence[OpenHint]) -> list[Hint]:
    """Returns hints filled with the words that translate their referents; a hint without aligned words stays empty."""
    keys = [(tuple(source.tolist()), tuple(translation.tolist())) for _, source, translation in hints]
    pairs = {key: pair for key, (_, *pair) in zip(keys, hints, strict=True) if len(pair[1]) > 1}
    order = sorted(pairs, key=lambda key: len(key[1]))
    weights = {}
    for chosen in split_by_size(order, TOKENS, lambda key: max(map(len, key))):
        example = DocumentExample([pairs[key][0] for key in chosen], [pairs[key][1] for key in chosen])
        for key, table in zip(chosen, cross_attention(model, example).cpu().numpy(), strict=True):
            weights[key] = table[: len(key[1]), : len(key[0])]
    return [
        resolve(hint, translation, weights[key], coder) if key in weights else hint
        for (hint, _, translation), key in zip(hints, keys, strict=True)
    ]


def fill_documents(
    model: DocumentTransformer, coder: SubwordCoder, documents: Sequence[DocumentExample]
) -> list[DocumentExample]:
    """Returns documents with translations (`target`) with their hints filled from these translations."""
    found: list[OpenHint] = [
        (hint, document.source[m], document.target[m])
        for document in documents
        for hint in document.hints
        if hint.referent is not None and len(document.target) > (m := hint.referent.sentence)
    ]
    filled = iter(fill_hints(model, coder, found))
    results = []
    for document in documents:
        count = len(document.target)
        hints = [
            next(filled) if hint.referent is not None and hint.referent.sentence < count else hint
            for hint in document.hints
        ]
        results.append(replace(document, hints=hints))
    return results


def with_filled_hints(
    model: DocumentTransformer,
    tokenizer: Tokenizer,
    example: DocumentExample,
    hypotheses: Sequence[Sequence[Hypothesis]],
) -> DocumentExample:
    """Returns a document whose hints, those of a dictionary included, have the words of its translations, the first of
    the hypotheses."""
    if model.config.hints is None:
        return example
    example = with_lookups(example, hypotheses)
    target = [np.array([*best.tokens, model.config.transformer.eos]) for best, *_ in hypotheses]
    [filled] = fill_documents(model, tokenizer.target, [replace(example, target=target)])
    return replace(filled, target=example.target)
