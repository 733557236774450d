"""Invented words: neither listed, nor in the source, nor prescribed by a term."""

from __future__ import annotations

import pytest

from docgraph.translation.checks.doubts import Doubt, word_doubts
from docgraph.translation.checks.lexicon import invented_first_words, invented_words, lexicon
from docgraph.translation.translator import Translator
from make_lexicon import words_of


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("Ils se dirigeèrent vers la pétriole.", ["dirigeèrent", "pétriole"]),
        ("Nous courirons, nous courirons.", ["courirons"]),
        ("Ils se dirigèrent rapidement vers l'hôtel, aujourd'hui.", []),
        ("Une heptathlète a gagné.", []),  # in the source
        ("Marvoisier habite à Quimpenard.", []),  # names
        ("Le fichier config.xyzzyq et --frobnicage, voir a/plonquer", []),  # identifiers and paths
        ("Le co-zorglubeur.", ["zorglubeur"]),  # the second part of a compound
        ("Le chat¹ et le pétriole¹", []),  # with footnotes
        ("", []),
    ],
)
def test_words_that_are_nowhere_are_invented(translation: str, expected: list[str]) -> None:
    assert list(invented_words("The heptathlète won.", translation, "fr")) == expected


def test_words_of_terms_are_allowed() -> None:
    assert not list(invented_words("The widget.", "Le zorglubeur rouge.", "fr", ["zorglubeur"]))


def test_there_are_none_without_a_list() -> None:
    assert lexicon("xx") is None
    assert not list(invented_words("A text.", "Zorglub zorglub.", "xx"))
    assert not list(invented_words("A text.", "zorglub", None))


def test_a_list_has_words_that_occur_twice_and_not_only_as_names() -> None:
    lines = ["La maison de Marie.", "Maison et jardin, Marie.", "une rue"]
    assert words_of(lines) == ["maison"]


def test_a_doubtful_word_weighs_less_than_anything_else() -> None:
    [doubt] = word_doubts(["pétriole"])
    assert doubt == Doubt("'pétriole' may not be a word", 4)
    assert doubt.is_about_word
    assert not Doubt("brackets differ", 5).is_about_word


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("Let's get on the bus.", "Monons dans le bus.", ["monons"]),
        ('He said: "Credit to Ayr."', "Il dit : « Crdit à Ayr. »", ["crdit"]),
        ("Athens won.", "Athènes a gagné.", []),  # the translation of a name
        ("Zorba won.", "Zorba a gagné.", []),  # in the source
        ("We saw it.", "Nous avons vu Zorglubeur.", []),  # inside a sentence: a name
        ("Use NBVE.", "NBVE s'utilise.", []),
    ],
)
def test_first_words_that_are_no_names_may_be_invented(source: str, translation: str, expected: list[str]) -> None:
    assert list(invented_first_words(source, translation, "fr", (), lambda word: word == "Athens")) == expected
    assert not list(invented_first_words(source, translation, None, (), lambda word: False))


def test_an_invented_first_word_is_decoded_again() -> None:
    translator = Translator.load("en-fr")
    assert translator.translate(["Let's get on the bus."]).texts == ["Montons dans le bus."]


def test_a_translation_with_an_invented_word_is_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = Translator.load("en-fr")
    sentences = ["She wore a red petticoat.", "The boats entered the harbour."]
    usual = translator.translate(sentences)
    assert not any(each.doubts for each in usual)
    word = next(word for word in usual.texts[1].split() if len(word) > 4).strip(".").lower()
    monkeypatch.setattr("docgraph.translation.redecoding.invented_words", lambda s, t, *_: [word] * (word in t))
    changed = translator.translate(sentences)
    assert changed.texts[0] == usual.texts[0]
    assert word not in changed.texts[1] or changed.sentences[1].doubts == (f"'{word}' may not be a word",)
