"""Decoding with hints that say translations of other sentences."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.model.batch import DocumentExample
from docgraph.model.config import HintsConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.hints import Hint, Referent, insert, moved_by
from docgraph.translation.decoding.constraints import Constraint, Phrase
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions, Mode
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.excerpt import excerpt, with_referents
from docgraph.translation.decoding.hints import with_filled_hints
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis, SearchConfig, given_hypotheses
from model.examples import EOS, VOCABULARY

TOKENIZER: Any = SimpleNamespace(
    target=SimpleNamespace(
        pieces=lambda ids: [f"\u2581{i}" for i in ids],
        words=lambda sentences: [np.arange(len(ids)) for ids in sentences],
    )
)
SEARCH = SearchConfig(beams=2, min_length=3)
OPTIONS = DecodingOptions(SEARCH)
SEPARATOR = 3


def model(hints: bool = True, seed: int = 0) -> DocumentTransformer:
    torch.manual_seed(seed)
    transformer = TransformerConfig(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        dimension=32,
        feed_forward=64,
        heads=2,
        encoder_layers=2,
        decoder_layers=2,
        dropout=0.0,
        norm="pre",
    )
    return DocumentTransformer(ModelConfig(transformer, hints=HintsConfig() if hints else None)).eval()


def documents(seed: int = 1) -> list[DocumentExample]:
    """Two documents with hints at random words: some printed, most about the translation of an earlier sentence."""
    rng = np.random.default_rng(seed)
    made = []
    for size in (9, 4):
        source = [np.append(rng.integers(4, VOCABULARY, rng.integers(2, 6)), EOS) for _ in range(size)]
        hints = [Hint(1, 1, (7, 8))]
        for m in range(2, size):
            earlier = int(rng.integers(0, m))
            if rng.random() < 0.7:
                hints.append(Hint(m, 1, relation="coreference", referent=Referent(earlier, (0,), ())))
        made.append(DocumentExample(source, hints=hints))
    return made


def translate(system: DocumentTransformer, mode: Mode = "parallel", **options: Any) -> list[list[tuple[int, ...]]]:
    inputs = [DecoderInput(document) for document in documents()]
    decoded = decode_documents(system, TOKENIZER, inputs, DecodingOptions(SEARCH, mode, **options))
    return [[best.tokens for best, *_ in document.sentences] for document in decoded]


def assert_same(found: Hypotheses, expected: Hypotheses) -> None:
    """The same translations; scores may differ by rounding, which depends on how sentences share a batch."""
    assert [[one.tokens for one in sentence] for sentence in found] == [[one.tokens for one in s] for s in expected]
    for sentence, others in zip(found, expected, strict=True):
        assert [one.score for one in sentence] == pytest.approx([one.score for one in others], rel=1e-5)


def test_parallel_is_sequential() -> None:
    assert translate(model()) == translate(model(), "sequential")


def test_hints_change_translations_and_base_ignores_them() -> None:
    with_hints, without = translate(model()), translate(model(hints=False))
    assert with_hints[0][0] == without[0][0]
    assert with_hints != without


def test_hints_say_words_of_the_translations_of_their_referents() -> None:
    decoded = decode_documents(model(), TOKENIZER, [DecoderInput(document) for document in documents()], OPTIONS)
    for document, result in zip(documents(), decoded, strict=True):
        filled = with_filled_hints(model(), TOKENIZER, document, result.sentences)
        said = [hint for hint in filled.hints if hint.referent is not None and hint.ids]
        assert said
        for hint in said:
            assert hint.referent is not None
            assert {*hint.ids} <= {*result.sentences[hint.referent.sentence][0].tokens}
        printed = replace(filled, hints=[replace(hint, referent=None) for hint in filled.hints])
        [again] = decode_documents(model(), TOKENIZER, [DecoderInput(printed)], OPTIONS)
        assert_same(again.sentences, result.sentences)


def test_a_known_translation_is_what_the_hint_says() -> None:
    source = documents()[0].source
    everything = Referent(0, tuple(range(len(source[0]) - 1)), ())
    document = DocumentExample(source, hints=[Hint(2, 1, relation="coreference", referent=everything)])
    known = {0: given_hypotheses([20, 21, 22])}
    [decoded] = decode_documents(model(), TOKENIZER, [DecoderInput(document, known)], OPTIONS)
    filled = with_filled_hints(model(), TOKENIZER, document, decoded.sentences)
    [hint] = filled.hints
    assert hint.ids
    assert {*hint.ids} <= {20, 21, 22}
    told = DecoderInput(replace(filled, hints=[replace(hint, referent=None)]))
    [printed] = decode_documents(model(), TOKENIZER, [told], OPTIONS)
    [without] = decode_documents(model(False), TOKENIZER, [DecoderInput(document)], OPTIONS)
    assert decoded.sentences[2] == printed.sentences[2]
    assert decoded.sentences[2] != without.sentences[2]


@pytest.mark.parametrize("split", [[[8]], [[2], [5, 8]], [[0, 1, 2, 3, 4, 5, 6, 7, 8]]])
def test_an_excerpt_is_translated_as_in_the_whole_document(split: list[list[int]]) -> None:
    document, config = documents()[0], model().config
    [whole] = decode_documents(model(), TOKENIZER, [DecoderInput(document)], OPTIONS)
    known: dict[int, list[Hypothesis]] = {}
    for sentences in split:
        rows = with_referents(document.hints, sentences, known)
        part_input, _ = excerpt(DecoderInput(document, known), rows, config)
        [part] = decode_documents(model(), TOKENIZER, [part_input], OPTIONS)
        known.update(zip(rows, part.sentences, strict=False))
    assert {*known} >= {m for sentences in split for m in sentences}
    assert_same([*known.values()], [whole.sentences[m] for m in known])


def test_constraints_move_with_the_hints_of_their_sentence() -> None:
    [document] = documents()[:1]
    hinted = next(hint.sentence for hint in document.hints if hint.is_open)
    wanted = Constraint((Phrase((33,)),), source=range(1, 2))
    constraints = {hinted: [wanted], 1: [wanted]}
    [decoded] = decode_documents(model(), TOKENIZER, [DecoderInput(document, constraints=constraints)], OPTIONS)
    assert all(33 in decoded.sentences[m][0].tokens for m in constraints)
    printed = document.hints[0]
    source, with_hint = document.source[1], insert(document.source[1], None, [printed], SEPARATOR)[0]
    assert [with_hint[moved_by(place, [printed])] for place in range(len(source))] == source.tolist()


@pytest.mark.parametrize("tokens", [8, 64])
def test_windows_do_not_change_the_result(tokens: int) -> None:
    assert translate(model(), tokens=tokens) == translate(model())
