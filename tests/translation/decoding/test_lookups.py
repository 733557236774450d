"""Words of a dictionary are read where the first translation of a sentence lacks them (decoding/hints.py)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from docgraph.annotate.dictionary import Dictionary, Entry
from docgraph.corpus.subwords import encode_source
from docgraph.document import Document
from docgraph.model.batch import DocumentExample
from docgraph.model.hints import find_lookups
from docgraph.translation.corrections import translate_sentences
from docgraph.translation.decoding.constraints import ConstraintEncoder
from docgraph.translation.decoding.continuous_decoding import ContinuousDecoder, OpenDocument
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hints import Lookups, with_constraints, with_lookups
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.explain import explain_sentence
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import HintUse
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.translator import Translator

TEXTS = ["She fed a blivet.", "Nothing happened.", "The cats sleep.", "She sliced the blivet."]
"""No model knows a blivet."""
SEARCH = SearchConfig(beams=2)


def dictionary(*entries: tuple[str, str]) -> Dictionary:
    return Dictionary([Entry(tuple(word.split()), "nm", (said,), "fr") for word, said in entries], ("en", "fr"))


@pytest.fixture(scope="module")
def embedded() -> Translator:
    return Translator.load("en-fr", device="cpu")


def use(monkeypatch: pytest.MonkeyPatch, *entries: tuple[str, str]) -> None:
    monkeypatch.setattr("docgraph.model.hints.load_dictionary", lambda _: dictionary(*entries))


def example_of(translator: Translator, texts: list[str]) -> DocumentExample:
    model_input = translator.prepare(TranslationRequest(Document.from_sentences(texts))).model_input
    assert model_input is not None
    return model_input.example


def test_a_word_that_the_translation_has_is_not_looked_up(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ("cat", "chat"))
    example = example_of(embedded, TEXTS)
    assert [hint.sentence for hint in example.lookups] == [2]
    [document] = decode_documents(embedded.model, embedded.tokenizer, [DecoderInput(example)], DecodingOptions(SEARCH))
    plain = DecoderInput(replace(example, lookups=()))
    [without] = decode_documents(embedded.model, embedded.tokenizer, [plain], DecodingOptions(SEARCH))
    assert document.sentences == without.sentences
    assert document.sentences[2][0].looked_up == ()


def test_a_missing_word_is_read_and_the_other_sentences_stay(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ("cat", "chat"), ("blivet", "hermine"))
    found = embedded.translate(TEXTS, SEARCH, explain=True)
    example = example_of(embedded, TEXTS)
    plain = DecoderInput(replace(example, lookups=()))
    [without] = decode_documents(embedded.model, embedded.tokenizer, [plain], DecodingOptions(SEARCH))
    assert not any("hermine" in embedded.translation_builder.text(best, "") for best, *_ in without.sentences)
    assert found.texts[1] == embedded.translation_builder.text(without.sentences[1][0], TEXTS[1])
    for m in (0, 3):
        assert "hermine" in found.texts[m]
        assert found.sentences[m].hints == (HintUse("blivet", "hermine", None, "dictionary"),)
    assert found.sentences[2].hints == ()


def test_a_translation_that_still_lacks_the_word_is_not_used(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ("cat", "chat"))
    hints = [*example_of(embedded, TEXTS).lookups]
    lookups = Lookups(example_of(embedded, TEXTS), embedded.model.config, embedded.tokenizer.target)
    said, other = (
        [Hypothesis(tuple(embedded.tokenizer.target.encode(text)[0][:-1].tolist()), 0.0, 0.0)]
        for text in ("Les chats dorment.", "Les chiens dorment.")
    )
    assert lookups.missing(2, said) == []
    assert lookups.missing(2, other) == hints
    assert lookups.missing(2, []) == lookups.missing(0, other) == []
    assert not lookups.begin(2, said)
    for found, wanted in ((other, other), ([], other), (said, [replace(said[0], looked_up=("cat",))])):
        assert lookups.begin(2, other)
        assert lookups.has_begun(2)
        assert lookups.read(2) == hints
        assert lookups.end(2, found) == wanted
        assert not lookups.has_begun(2)
        assert lookups.read(2) == []


def test_continuous_decoding_looks_up_the_same_words(embedded: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ("cat", "matou"), ("blivet", "hermine"))
    example = example_of(embedded, TEXTS)
    [wanted] = decode_documents(embedded.model, embedded.tokenizer, [DecoderInput(example)], DecodingOptions(SEARCH))
    opened = OpenDocument(DecoderInput(example), SEARCH, embedded.model.config, embedded.tokenizer.target)
    decoder = ContinuousDecoder(embedded.model, embedded.tokenizer)
    decoder.add(opened)
    while decoder.has_work:
        decoder.join()
        decoder.step()
    for mine, theirs in zip(opened.hypotheses, wanted.sentences, strict=True):
        assert [(each.tokens, each.base, each.looked_up) for each in mine] == [
            (each.tokens, each.base, each.looked_up) for each in theirs
        ]
    assert any(each[0].looked_up for each in wanted.sentences)
    assert any(each[0].base is not None for each in wanted.sentences)


def test_sequential_and_parallel_decoding_agree_and_excerpts_are_translated_as_the_whole(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ("cat", "matou"), ("blivet", "hermine"))
    texts = [*TEXTS, "They are old."]
    whole = embedded.translate(texts, SEARCH)
    assert embedded.translate(texts, SEARCH, mode="sequential").texts == whole.texts
    some = translate_sentences(embedded, TranslationRequest(Document.from_sentences(texts)), [3, 4], SEARCH)
    assert [some[m].text for m in (3, 4)] == whole.texts[3:]


def test_the_explanation_of_a_finished_sentence_says_what_it_read(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, ("blivet", "hermine"))
    document = Document.from_sentences(TEXTS)
    done = translate_sentences(embedded, TranslationRequest(document), range(4), SEARCH)
    finished = {m: each.segments for m, each in done.items()}
    texts = [done[m].text for m in range(4)]
    assert [
        use.translation
        for use in explain_sentence(embedded, TranslationRequest(document), 3, texts, finished=finished).hints
    ] == ["hermine"]
    assert explain_sentence(embedded, TranslationRequest(document), 1, texts, finished=finished).hints == ()


def test_hints_of_the_graph_come_first(embedded: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ("cat", "matou"))
    example = example_of(embedded, TEXTS)
    annotation, cats = embedded.annotate(Document.from_sentences(TEXTS)), [dictionary(("cat", "matou"))]
    _, owners = encode_source(TEXTS, annotation, embedded.tokenizer.source)
    words = [np.where(own < 0, -1, own + first) for own, first in zip(owners, annotation.offsets, strict=False)]
    [hint] = example.lookups
    assert find_lookups(annotation, words, embedded.tokenizer, cats, []) == [hint]
    assert find_lookups(annotation, words, embedded.tokenizer, cats, [replace(hint, entry=None)]) == []
    read = with_lookups(example, [[Hypothesis((), 0.0, 0.0, looked_up=("cat",))]] * 4)
    assert [*read.hints] == [hint]
    assert not with_lookups(example, [[Hypothesis((), 0.0, 0.0)]] * 4).hints


def test_constraints_count_more_than_the_dictionary(embedded: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, ("cat", "matou"), ("blivet", "hermine"))
    document, encoder = example_of(embedded, TEXTS), ConstraintEncoder(embedded.tokenizer.target, "fr")
    first, cat, last = document.lookups
    assert first.first is not None
    assert cat.first is not None
    same = encoder.constraint(["hermine"], range(first.first, first.place))
    other = encoder.constraint(["félin", "félins"], range(cat.first, cat.place))
    assert same is not None
    assert other is not None
    found = with_constraints({0: [same], 2: [other]}, document)
    assert [*found.hints] == [first]
    assert [*found.lookups] == [last]
    texts = embedded.translate(TEXTS, SEARCH).texts
    embedded.glossary = Glossary.of([("blivet", "belette")], embedded.languages)
    try:
        assert "belette" in embedded.translate(TEXTS, SEARCH).texts[0]
    finally:
        embedded.glossary = None
    assert embedded.translate(TEXTS, SEARCH).texts == texts
