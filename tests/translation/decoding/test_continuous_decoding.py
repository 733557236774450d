"""Continuous decoding: whenever sentences join, each document gets the translation that it gets alone."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path

import numpy as np
import pytest
import torch

from docgraph.document import Document
from docgraph.model.batch import DocumentExample
from docgraph.translation.decoding import continuous_decoding
from docgraph.translation.decoding.constraints import Constraint
from docgraph.translation.decoding.continuous_decoding import ContinuousDecoder, OpenDocument, can_join
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput, DecodingOptions
from docgraph.translation.decoding.hypotheses import Hypothesis, Known, SearchConfig, given_hypotheses
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator
from translation.translator_examples import REFERRING, hints_folder, model_folder, say_first_words

SEARCHES = [
    SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3),
    SearchConfig(beams=4, n_best=3, max_length_factor=1.0, max_length_constant=5, no_repeat_ngram=2),
    SearchConfig(beams=1, max_length_factor=0.5, max_length_constant=6),
]
DOCUMENTS = [REFERRING, REFERRING[2:], ["The fox met the dog.", "It is quick."], ["Hello, it is."], REFERRING * 2, []]


@pytest.fixture(params=[False, True])
def translator(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A random model that reads hints and, as one of two, given translations."""
    monkeypatch.setattr("docgraph.translation.decoding.hints.resolve", say_first_words)
    return Translator.load(hints_folder(tmp_path, request.param), device="cpu")


def examples_of(translator: Translator) -> list[DocumentExample]:
    requests = [TranslationRequest(Document.from_sentences(each)) for each in DOCUMENTS]
    return [found.example for each in requests if (found := translator.prepare(each).model_input) is not None]


def assert_same(document: OpenDocument, expected: DecodedDocument) -> None:
    """Checks tokens exactly; scores may differ in their last digits."""
    assert [[each.tokens for each in found] for found in document.hypotheses] == [
        [each.tokens for each in found] for found in expected.sentences
    ]
    scores = [[each.score for found in side for each in found] for side in (document.hypotheses, expected.sentences)]
    np.testing.assert_allclose(*scores, atol=1e-4)
    assert document.passes == expected.passes


@pytest.mark.parametrize("seed", range(4))
def test_documents_may_join_at_any_step(translator: Translator, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    choice = random.Random(seed)
    monkeypatch.setattr(continuous_decoding, "ROWS", choice.choice([1, 16, 60]))
    monkeypatch.setattr(continuous_decoding, "TURN", choice.choice([1, 3]))
    monkeypatch.setattr(continuous_decoding, "MAX_WAIT", choice.choice([1, 4]))
    jobs = [(DecoderInput(example), search) for example in examples_of(translator) for search in SEARCHES]
    choice.shuffle(jobs)
    alone = [translator.decode([given], DecodingOptions(search)) for given, search in jobs]
    opened = [OpenDocument(*job, translator.model.config, translator.tokenizer.target) for job in jobs]
    decoder, waiting = ContinuousDecoder(translator.model, translator.tokenizer), deque(opened)
    groups = 0
    while waiting or decoder.has_work:
        for _ in range(choice.randint(0, 2)):
            if waiting and not (document := waiting.popleft()).is_final:
                decoder.add(document)
        decoder.join()
        groups = max(groups, len(decoder._groups))
        assert all(document.hypotheses for document in decoder.step())
    assert groups > 1 or continuous_decoding.ROWS == 1
    for document, [expected] in zip(opened, alone, strict=True):
        assert_same(document, expected)


def test_known_translations_are_kept_and_hints_say_them(translator: Translator) -> None:
    example, *_ = examples_of(translator)
    known: Known = {0: [Hypothesis((7, 8, 9), -1.0, -2.0)], 3: [Hypothesis((5,), -1.0, -2.0)]}
    given = DecoderInput(example, known)
    [expected] = translator.decode([given], DecodingOptions(SEARCHES[0]))
    decoder = ContinuousDecoder(translator.model, translator.tokenizer)
    document = OpenDocument(given, SEARCHES[0], translator.model.config, translator.tokenizer.target)
    decoder.add(document)
    told = [document.new_sentences(2)]
    while decoder.has_work:
        decoder.join()
        decoder.step()
        told.append(document.new_sentences(2))
    assert_same(document, expected)
    parts = [part for part in told if part is not None]
    assert [first for first, _ in parts] == np.cumsum([0, *(len(found) for _, found in parts[:-1])]).tolist()
    assert [found for _, part in parts for found in part] == document.hypotheses


def test_a_removed_document_lets_the_others_finish(translator: Translator) -> None:
    first, second, *_ = examples_of(translator)
    decoder = ContinuousDecoder(translator.model, translator.tokenizer)
    removed, kept = (
        OpenDocument(DecoderInput(each), SEARCHES[0], translator.model.config, translator.tokenizer.target)
        for each in (first, second)
    )
    decoder.add(removed)
    decoder.join()
    decoder.step()
    decoder.add(kept)
    decoder.remove(removed)
    while decoder.has_work:
        decoder.join()
        decoder.step()
    assert not removed.is_final
    assert_same(kept, *translator.decode([DecoderInput(second)], DecodingOptions(SEARCHES[0])))


def test_a_cleared_decoder_returns_what_is_not_final(translator: Translator) -> None:
    opened = [
        OpenDocument(DecoderInput(each), SEARCHES[0], translator.model.config, translator.tokenizer.target)
        for each in examples_of(translator)[:3]
    ]
    decoder = ContinuousDecoder(translator.model, translator.tokenizer)
    for document in opened[:2]:
        decoder.add(document)
    decoder.join()
    decoder.step()
    decoder.add(opened[2])
    assert {*decoder.clear()} == {*opened}
    assert not decoder.has_work


def test_documents_that_read_memories_cannot_join(translator: Translator, tmp_path: Path) -> None:
    model, cpu = translator.model, torch.device("cpu")
    reads_given = translator.needs.reads_translations
    example, *_ = examples_of(translator)
    plain, constrained = DecoderInput(example), DecoderInput(example, constraints={0: [Constraint(())]})
    resumed = DecoderInput(example, {0: [Hypothesis((7,), -1.0, -2.0)]})
    given = DecoderInput(example, {0: given_hypotheses([7])})
    assert can_join(model.config, cpu, SEARCHES[0], plain)
    assert can_join(model.config, cpu, SEARCHES[0], resumed)
    assert can_join(model.config, cpu, SEARCHES[0], given) != reads_given
    assert not can_join(model.config, cpu, SearchConfig(sampling=True), plain)
    assert not can_join(model.config, cpu, SEARCHES[0], constrained)
    assert not can_join(model.config, torch.device("cuda"), SEARCHES[0], plain)
    reads_document = Translator.load(model_folder(tmp_path / "context"), device="cpu").model.config
    assert not can_join(reads_document, cpu, SEARCHES[0], plain)
