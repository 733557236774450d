"""The embedded dictionaries, and how their entries are found in documents."""

from __future__ import annotations

import lzma
import re
from dataclasses import replace
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate.dictionary import CLASSES, NOUNS, Dictionary, Entry, load_dictionary
from docgraph.annotate.registry import default_pipeline
from docgraph.annotate.rule_based import WordAnnotator
from docgraph.document import Document
from docgraph.errors import DocgraphError

PAIR = ("en", "fr")
ENTRIES = [
    Entry(("caldera",), "nf", ("caldeira",)),
    Entry(("rebound",), "nm", ("rebond",)),
    Entry(("rebound",), "v", ("rebondir", "se remettre")),
    Entry(("fire",), "nm", ("feu",)),
    Entry(("fire", "chief"), "nm", ("capitaine des pompiers",)),
    Entry(("game", "-", "winning"), "adj", ("décisif",)),
    Entry(("Milky", "Way"), "nf", ("Voie lactée",)),
    Entry(("roll", "up", "one's", "sleeves"), "v", ("retrousser ses manches",)),
]


def found(*sentences: str, entries: list[Entry] = ENTRIES) -> list[tuple[str, str]]:
    """Returns the words of each use and their translation, by the words alone."""
    annotation = WordAnnotator("en")(Document.from_sentences(sentences), None)
    uses = Dictionary(entries, PAIR).find(annotation)
    return [(" ".join(annotation.forms[word] for word in use.words), use.translation) for use in uses]


def test_words_are_found_in_any_form_and_the_longest_entry_wins() -> None:
    assert found("The calderas rebounded.") == [("calderas", "caldeira"), ("rebounded", "rebondir")]
    assert found("The fire chiefs saw a fire.") == [("fire chiefs", "capitaine des pompiers"), ("fire", "feu")]
    assert found("A game-winning goal.") == [("game - winning", "décisif")]
    assert found("He rolled up his sleeves.") == [("rolled up his sleeves", "retrousser ses manches")]
    assert found("He rolled up the sleeves.") == []


def test_a_noun_has_no_form_in_ed() -> None:
    entries = [Entry(("wee",), "nm", ("pipi",)), Entry(("wee",), "v", ("uriner",))]
    assert found("A weed; two wees.", entries=entries[:1]) == [("wees", "pipi")]
    assert found("He weed.", entries=entries) == [("weed", "uriner")]


def test_determiners_of_expressions_may_differ_and_their_words_may_be_apart() -> None:
    entries = [Entry(("break", "a", "tie"), "v", ("départager",)), Entry(("call", "…", "off"), "v", ("annuler",))]
    assert found("She broke the tie.", "They broke ties.", entries=entries) == [("broke the tie", "départager")]
    assert found("He called the whole thing off.", entries=entries) == [("called off", "annuler")]
    assert found("He called, then set off.", "He called off.", entries=entries) == []
    texts = ["They called the meeting off.", "They called a man off duty."]
    annotation = default_pipeline("en")(Document.from_sentences(texts))
    assert [use.words for use in Dictionary(entries, PAIR).find(annotation)] == [(1, 4)]  # by the dependency


def test_a_verb_phrase_does_not_begin_with_a_noun() -> None:
    entries = [Entry(("break", "even"), "v", ("rentrer dans ses frais",))]
    annotation = default_pipeline("en")(Document.from_sentences(["The firm broke even.", "No break even helps."]))
    assert [use.words for use in Dictionary(entries, PAIR).find(annotation)] == [(2, 3)]


def test_an_entry_may_correct_certain_mistranslations_only() -> None:
    entry = Entry(("on", "hand"), "adv", ("sur place",), "fr", ("en main",))
    assert entry.is_missing("Ils sont en main.")
    assert not entry.is_missing("Ils étaient présents.")
    assert not entry.is_missing("Ils ont le colis en main, sur place.")


@pytest.mark.parametrize(
    ("translations", "text", "expected"),
    [
        (("bombarder",), "Les forces ont bombardé la ville.", True),  # bombardé is an adjective, too
        (("entrer en fonction",), "Elle entre en fonction lundi.", True),  # entre is a preposition, too
        (("se casser la jambe",), "Il s'est cassé une jambe.", True),
        (("prendre part à",), "Ils ont pris leur part à tout.", True),
        (("casse",), "Un casse-croûte.", False),
        (("casse-croûte",), "Des casse-croûte.", True),
        (("dire",), "Elle est là, dit-il.", True),
        (("renoncer",), "Il a annoncé sa venue.", False),
    ],
)
def test_translations_are_recognised_in_other_forms(translations: tuple[str, ...], text: str, expected: bool) -> None:
    assert Entry(("x",), "v", translations, "fr").is_translated(text) == expected


def test_an_infinitive_does_not_translate_a_finite_verb() -> None:
    entry = Entry(("get", "air"), "v", ("prendre l'air",), "fr")
    for text, as_infinitive, as_finite in [
        ("Il veut prendre l'air.", True, False),
        ("Il a pris l'air.", True, True),
        ("Il prendra l'air.", True, True),
        ("Il a l'air de prendre.", False, False),
    ]:
        assert (entry.is_translated(text), entry.finite.is_translated(text)) == (as_infinitive, as_finite), text
    noun = Entry(("air",), "nm", ("air",), "fr")
    assert noun.finite is noun
    annotation = default_pipeline("en")(Document.from_sentences(["She got air.", "She wants to get air."]))
    uses = Dictionary([entry], PAIR).find(annotation)
    assert [use.entry.allows_infinitive for use in uses] == [False, True]


def test_capitals_are_those_of_names_except_at_the_start_of_a_sentence() -> None:
    assert found("Caldera lakes are deep.", "Lake Caldera is deep.", "A CALDERA") == [("Caldera", "caldeira")]
    assert found("The Milky Way is a milky way.") == [("Milky Way", "Voie lactée")]
    assert found("Fire", "chief") == [("Fire", "feu")]  # an entry ends with its sentence


def test_parts_of_speech_choose_the_entry_and_plural_nouns_get_plurals() -> None:
    annotation = default_pipeline("en")(Document.from_sentences(["The economy rebounded.", "They saw two calderas."]))
    uses = [*Dictionary(ENTRIES, PAIR).find(annotation)]
    assert [use.translation for use in uses] == ["rebondir", "caldeiras"]
    annotation = default_pipeline("en")(Document.from_sentences(["Walker said no.", "The walker said no."]))
    walker = Dictionary([Entry(("walker",), "nm", ("marcheur",))], PAIR)
    assert [use.words for use in walker.find(annotation)] == [(5,)]  # not the name
    entries = [Entry(("Bolivian",), "nm", ("Bolivien",)), Entry(("Aristophanes",), "nm", ("Aristophane",))]
    annotation = default_pipeline("en")(Document.from_sentences(["Many Bolivians read Aristophanes."]))
    assert [use.translation for use in Dictionary(entries, PAIR).find(annotation)] == ["Boliviens", "Aristophane"]


def test_a_word_that_is_only_a_noun_may_be_tagged_as_an_adjective() -> None:
    entries = [
        Entry(("moose",), "nm", ("orignal",)),
        Entry(("facial",), "nm", ("soin du visage",)),
        Entry(("gold",), "nm", ("or",)),
        Entry(("gold",), "v", ("dorer",)),
    ]
    annotation = default_pipeline("en")(Document.from_sentences(["They saw facial moose gold things."]))
    annotation = replace(annotation, upos=["PRON", "VERB", "ADJ", "ADJ", "ADJ", "NOUN", "PUNCT"])
    assert [use.translation for use in Dictionary(entries, PAIR).find(annotation)] == ["orignal"]


@given(st.lists(st.text("abc -'", max_size=12), max_size=4))
def test_uses_are_in_order_apart_and_inside_their_sentences(texts: list[str]) -> None:
    entries = [Entry(("a",), "nm", ("x",)), Entry(("a", "b"), "nm", ("y",)), Entry(("b", "-", "c"), "adj", ("z",))]
    annotation = WordAnnotator("en")(Document.from_sentences(texts), None)
    stop = 0
    for use in Dictionary(entries, PAIR).find(annotation):
        assert stop <= use.words[0]
        assert annotation.sentence_of[use.words[0]] == annotation.sentence_of[use.words[-1]]
        assert len(use.words) == len(use.entry.words)
        stop = use.words[-1] + 1


def test_the_embedded_dictionary_is_well_formed() -> None:
    file = files("docgraph") / "data" / "dictionaries" / "en-fr.tsv.xz"
    lines = lzma.decompress(file.read_bytes()).decode("utf-8").splitlines()
    fields = [line.split("\t") for line in lines]
    classes = {*NOUNS, "x"}.union(*CLASSES.values())
    for words, word_class, translations, *instead_of in fields:
        assert words == words.strip()
        assert word_class in classes, words
        assert all(re.fullmatch(r"\S(?:.*\S)?", each) for each in translations.split(" | ")), words
        assert not re.search(r"[’()]", translations), words
        assert len(instead_of) <= 1
        assert all(re.fullmatch(r"\S(?:.*\S)?", each) for text in instead_of for each in text.split(" | ")), words
    assert len({(words, word_class) for words, word_class, *_ in fields}) == len(fields) > 25_000
    assert [words for words, *_ in fields] == sorted(words for words, *_ in fields)
    nouns = {words: translations for words, word_class, translations, *_ in fields if word_class in NOUNS}
    peoples = {words: translations for words, translations in nouns.items() if re.fullmatch("[A-Z][a-z]+ans", words)}
    assert peoples.keys() - {words for words, translations in peoples.items() if translations.endswith("s")} == set()


def test_a_dictionary_that_is_not_embedded_is_refused() -> None:
    for name in ("en-xx", "../models/en-fr"):
        with pytest.raises(DocgraphError, match="there is no dictionary"):
            load_dictionary(name)
