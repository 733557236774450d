"""Documents with hints: filling hints with words, by the cross-attention of the model, and inserting them.

Hints for dictionary words are only read where a translation lacks these words (`Lookups`).
"""

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
from docgraph.translation.decoding.constraints import Constraint, Constraints
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis
from docgraph.translation.decoding.word_alignment import TOKENS, cross_attention

OpenHint = tuple[Hint, Ids, Ids]
"""A hint, the sentence of its referent, and the translation of that sentence; both with end-of-sentence."""


class Lookups:
    """The dictionary words of a document, and the sentences that are being translated again with hints for them.

    A hint changes the whole translation of its sentence, and the model already knows most dictionary words. So a
    sentence is first translated without the dictionary. If the translation lacks dictionary words, the sentence is
    translated again with hints for these words, and the new translation is kept if it lacks fewer of them. The words
    that known translations correct (corrected_words.py) are a dictionary of their document.
    """

    def __init__(self, document: DocumentExample, config: ModelConfig, coder: SubwordCoder) -> None:
        """`coder` is the coder of the target language."""
        self._hints = hints_by_sentence(document.lookups if config.hints is not None else ())
        self._coder = coder
        self._begun: dict[int, tuple[list[Hypothesis], list[Hint]]] = {}
        """For each sentence that is being translated again: its first translations, and hints for the missing words."""

    def begin(self, sentence: int, hypotheses: list[Hypothesis]) -> bool:
        """Returns whether a sentence has to be translated again, given its translations without a dictionary.

        If so, `read` returns hints for the words that the best of them lacks, until `end` is called.
        """
        if missing := self.missing(sentence, hypotheses):
            self._begun[sentence] = hypotheses, missing
        return bool(missing)

    def read(self, sentence: int) -> list[Hint]:
        """Returns the dictionary hints that a sentence currently reads."""
        return self._begun[sentence][1] if sentence in self._begun else []

    def has_begun(self, sentence: int) -> bool:
        """Returns whether a sentence is being translated again."""
        return sentence in self._begun

    def end(self, sentence: int, found: Iterable[Hypothesis]) -> list[Hypothesis]:
        """Returns `found`, translations with hints, if the best one lacks fewer words, else the first translations."""
        without, hints = self._begun.pop(sentence)
        entries = tuple(hint.entry.headword for hint in hints if hint.entry is not None)
        looked_up = [replace(each, looked_up=entries) for each in found]
        text = self._coder.decode(looked_up[0].tokens) if looked_up else ""
        has_any = any(hint.entry is not None and hint.entry.is_translated(text) for hint in hints)
        return looked_up if has_any and len(self.missing(sentence, looked_up)) < len(hints) else without

    def missing(self, sentence: int, hypotheses: Sequence[Hypothesis]) -> list[Hint]:
        """Returns hints for the words that the best of the translations of a sentence lacks."""
        if sentence not in self._hints or not hypotheses:
            return []
        text = self._coder.decode(hypotheses[0].tokens)
        return [hint for hint in self._hints[sentence] if hint.entry is not None and hint.entry.is_missing(text)]


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


def with_constraints(constraints: Constraints, document: DocumentExample) -> DocumentExample:
    """Returns a document whose constraints override its dictionary hints.

    A dictionary word with a constraint is hinted from the start if both agree, and has no hint if they differ.
    """
    constrained = {
        id(hint): any(hint.ids == phrase.tokens for phrase in each.alternatives)
        for hint in document.lookups
        for each in constraints.get(hint.sentence, ())
        if isinstance(each, Constraint) and each.source is not None and hint.first in each.source
    }
    said = [hint for hint in document.lookups if constrained.get(id(hint))]
    others = [hint for hint in document.lookups if id(hint) not in constrained]
    return replace(_with_hints(document, said), lookups=others)


def with_lookups(document: DocumentExample, hypotheses: Sequence[Sequence[Hypothesis]]) -> DocumentExample:
    """Returns a document whose hints are all those that its translations, the first of the hypotheses, read."""
    read = [
        hint
        for hint in document.lookups
        if hint.entry is not None and hint.entry.headword in hypotheses[hint.sentence][0].looked_up
    ]
    return _with_hints(document, read)


def _with_hints(document: DocumentExample, lookups: Sequence[Hint]) -> DocumentExample:
    if not lookups:
        return document
    hints = sorted([*document.hints, *lookups], key=lambda hint: (hint.sentence, hint.place))
    return replace(document, hints=hints)
