"""The embedded model exists, is small, and translates."""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.document import Document
from docgraph.model.model_folder import EMBEDDED, embedded_models, find_model
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.explain import explain_sentence
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator

SENTENCES = [
    "The committee adopted the report.",
    "42",
    "The Commission must present its proposal before 30 June.",
    "Click the Save button.",
]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr", device="cpu", threads=1, precision="float32")


def test_one_model_is_embedded_in_at_most_30_mb() -> None:
    assert embedded_models() == ["en-fr"]
    assert find_model() == EMBEDDED / "en-fr"
    assert sum(path.stat().st_size for path in Path(find_model()).iterdir()) < 30e6


def test_it_translates_into_french(translator: Translator) -> None:
    translation = translator.translate(SENTENCES, SearchConfig(beams=4))
    report, number, proposal, button = translation.texts
    assert "rapport" in report
    assert number == "42"
    assert {"Commission", "proposition", "30", "juin"} <= set(proposal.rstrip(".").split())
    assert button.startswith("Cliquez sur le bouton")


def test_parallel_decoding_equals_sequential_decoding(translator: Translator) -> None:
    at_once, in_order = (
        translator.translate(SENTENCES, SearchConfig(beams=2), mode) for mode in ("parallel", "sequential")
    )
    assert at_once.texts == in_order.texts


def test_unreadable_text_is_kept(translator: Translator) -> None:
    sources = ["שלום עולם", "Мир. Москва!", "مرحبا بالعالم. The Commission adopted the report. 🚢"]
    hebrew, russian, mixed = translator.translate(sources).texts
    assert [hebrew, russian] == sources[:2]
    assert mixed.startswith("مرحبا بالعالم. La Commission")
    assert mixed.endswith("rapport. 🚢")


def test_lines_in_another_language_are_kept_unless_everything_is_translated(translator: Translator) -> None:
    french = "Il faut bien que nous le fassions dans les temps."
    assert translator.translate([SENTENCES[0], french]).texts[1] == french
    translator.keep_foreign = False
    try:
        assert translator.translate([SENTENCES[0], french]).sentences[1].candidates
    finally:
        translator.keep_foreign = True


def test_addresses_and_placeholders_are_byte_identical(translator: Translator) -> None:
    texts = {
        "See https://github.com/pyenv/pyenv/pull/3442 for the details.": "https://github.com/pyenv/pyenv/pull/3442",
        "Written by Mark Adler (madler@alumni.caltech.edu) and others.": "(madler@alumni.caltech.edu)",
        "Set {boolean} to true if foo_bar is given.": "{boolean}",
        "The title {{ title }} is shown as :smile: in the page.": " :smile: ",
        "The office opened.": "bureau",
    }
    translation = translator.translate(list(texts))
    for sentence, literal in zip(translation, texts.values(), strict=True):
        assert literal in sentence.text
        assert sentence.doubts == ()


def test_explanations_show_the_plain_words_that_are_read_for_an_idiom(translator: Translator) -> None:
    [sentence, other] = translator.translate(["He jumped the queue.", "The sun is bright."], explain=True).sentences
    [use] = sentence.hints
    assert (use.words, use.translation) == ("jumped the queue", "passed in front of other people")
    assert (use.sentence, use.relation) == (None, "paraphrase")
    assert other.hints == ()
    request = TranslationRequest(Document.from_sentences(["He jumped the queue.", "The sun is bright."]))
    assert explain_sentence(translator, request, 0, ["Il est passé devant les autres.", None]).hints == (use,)


def test_set_phrases_have_the_formality_of_the_document(translator: Translator) -> None:
    texts = ["How are you, dear?", "Hello. Where is the harbour, please?"]
    requests = [TranslationRequest(Document.from_sentences(texts), formality=each) for each in ("informal", "formal")]
    informal, formal = (translation.texts for _, translation in translator.translate_requests(requests))
    assert informal[0].startswith("Comment vas-tu, ")
    assert formal[0].startswith("Comment allez-vous, ")
