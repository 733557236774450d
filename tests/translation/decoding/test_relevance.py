"""Given translations are read by the sentences for which they are relevant."""

from __future__ import annotations

from dataclasses import replace

import pytest

from docgraph.annotate.dictionary import Dictionary
from docgraph.document import Document
from docgraph.model.systems import prepare
from docgraph.translation.decoding import relevance
from docgraph.translation.decoding.decoder import DecodingOptions
from docgraph.translation.decoding.document_draft import untranslated
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.decoding.relevance import Judgements, relevant_sentences
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator

LINES = [
    "The seawall protects the harbour.",
    "We met on Monday.",
    "Without a new seawall, the harbour would have to close.",
    "The seawall is old.",
]


@pytest.fixture(scope="module")
def embedded() -> Translator:
    return Translator.load("en-fr", device="cpu")


@pytest.fixture
def translator(embedded: Translator, monkeypatch: pytest.MonkeyPatch) -> Translator:
    """A translator without dictionary, which would settle how "seawall" is translated."""
    monkeypatch.setattr("docgraph.model.hints.load_dictionary", lambda _: Dictionary([], ("en", "fr")))
    return embedded


def test_a_known_translation_counts_more_than_the_dictionary(embedded: Translator) -> None:
    known: list[str | None] = ["Le brise-lames protège le port.", None, None, None]
    document = Document.from_sentences(LINES)
    alone, followed = (embedded.prepare(TranslationRequest(document, each)).model_input for each in ([], known))
    assert alone is not None
    assert followed is not None
    relations = [
        [hint.relation for hint in each.example.lookups if hint.entry and hint.entry.words == ("seawall",)]
        for each in (alone, followed)
    ]
    assert [{*each} for each in relations] == [{"dictionary"}, {"correction"}]
    assert any("brise-lames" in text for text in embedded.translate(LINES, known=known).texts[1:])


def read(translator: Translator, known: list[str | None], judged: Judgements | None = None) -> dict[int, list[int]]:
    """The sentences that each sentence reads, if `known` are given."""
    first = translator.translate(LINES)
    prepared = translator.prepare(TranslationRequest(Document.from_sentences(LINES), known))
    assert prepared.model_input is not None
    example = prepare(untranslated(prepared.model_input.example, prepared.known), translator.model.config)
    tokens = translator.tokenizer.target.ids(first.texts)
    base = {m: tuple(tokens[m][:-1].tolist()) for m in range(len(LINES)) if m not in prepared.known}
    return relevant_sentences(translator.model, example, prepared.known, base, translator.state_cache, judged)


def test_a_translation_that_proposes_another_word_is_read(translator: Translator) -> None:
    alone = translator.translate(LINES).texts
    known: list[str | None] = ["Le brise-lames protège le port.", None, None, None]
    found = read(translator, known)
    assert found
    assert 1 not in found
    assert all(others == [0] for others in found.values())
    followed = translator.translate(LINES, known=known).texts
    changed = {m for m in range(1, len(LINES)) if followed[m] != alone[m]}
    assert changed
    assert changed <= found.keys()
    assert any("brise-lames" in followed[m] and "brise-lames" not in alone[m] for m in changed)


def test_a_translation_that_proposes_nothing_changes_nothing(translator: Translator) -> None:
    alone = translator.translate(LINES).texts
    known = [alone[0], None, None, None]
    assert read(translator, known) == {}
    assert translator.translate(LINES, known=known).texts == alone


def test_judgements_are_made_once(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    judged: Judgements = {}
    known: list[str | None] = ["Le brise-lames protège le port.", None, None, None]
    found = read(translator, known, judged)
    assert judged
    monkeypatch.setattr(relevance, "_judge", None)
    assert read(translator, known, judged) == found


def test_base_translations_are_those_without_given_translations(translator: Translator) -> None:
    prepared = [
        translator.prepare(TranslationRequest(Document.from_sentences(LINES), known))
        for known in ([], ["Le brise-lames protège le port.", None, None, None])
    ]
    decoded = [
        translator.decode([each.model_input], DecodingOptions())[0].sentences
        for each in prepared
        if each.model_input is not None
    ]
    assert [best.base_tokens for best, *_ in decoded[1][1:]] == [best.tokens for best, *_ in decoded[0][1:]]
    assert any(best.base is not None for best, *_ in decoded[1])
    base = {m: best.base_tokens for m, (best, *_) in enumerate(decoded[1]) if not best.given}
    assert prepared[1].model_input is not None
    [again] = translator.decode([replace(prepared[1].model_input, base=base)], DecodingOptions())
    assert [_tokens(each) for each in again.sentences] == [_tokens(each) for each in decoded[1]]


def _tokens(hypotheses: list[Hypothesis]) -> tuple[int, ...]:
    return hypotheses[0].tokens
