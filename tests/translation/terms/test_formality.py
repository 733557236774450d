"""Formality: how it is told and decided, and translations with one formality."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read
from docgraph.translation import model_input
from docgraph.translation.corrections import follow_correction, translate_sentences
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.formality import (
    DocumentFormality,
    Formality,
    FormalityOption,
    Sample,
    check_option,
    decide,
    formality_of,
    imperatives,
    is_plural,
    tokens,
    with_set_phrases,
)
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.terms.utterances import find_utterances, utterance_formalities
from docgraph.translation.text.preprocessing import Segment, Segments
from docgraph.translation.translator import Translator

MIXED = [
    "Hey Tom, are you coming?",
    "You forgot your coat.",
    "The harbour is closed.",
    "Can you help me?",
    "Have you seen the letter about our appointment?",
    "Sit down and listen.",
]
"""The model says tu in the first sentences and vous in the last ones."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tu viens ?", "informal"),
        ("Je t'attends.", "informal"),
        ("Je t’attends.", "informal"),
        ("Prends ton manteau.", "informal"),
        ("Vous venez ?", "formal"),
        ("C'est votre manteau.", "formal"),
        ("Cliquez ici.", "formal"),
        ("Mais laissez-moi !", "formal"),
        ("Tu as vu vos enfants ?", None),
        ("Il pleut sur la tour.", None),
        ("J'ai un rendez-vous chez M. Gomez, assez loin.", None),
        ("Il a parlé sur le ton de la plaisanterie.", None),
        ("Je tiens à le dire : y a-t-il une terre ?", None),
    ],
)
def test_the_formality_of_a_sentence(text: str, expected: str | None) -> None:
    assert formality_of(text) == expected


@given(st.text())
def test_tokens_are_the_whole_text(text: str) -> None:
    assert "".join(tokens(text)) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Are you both coming?", True),
        ("All of you must leave.", True),
        ("Ladies and gentlemen, your attention.", True),
        ("Friends, lend me your ears.", True),
        ("You fought well, my brave men!", True),
        ("Help yourselves.", True),
        ("Have you seen your friends?", False),
        ("You are the best of men I know.", False),
    ],
)
def test_sentences_that_address_several_people(text: str, expected: bool) -> None:
    assert is_plural(text) == expected


def decided(*samples: tuple[str, str], given: tuple[str, ...] = ()) -> Formality | None:
    known = [Sample("You.", text, given=True) for text in given]
    found = decide("auto", [*known, *(Sample(*each) for each in samples)])
    return None if found is None else found.formality


def test_most_translations_decide_if_there_is_a_margin() -> None:
    informal, formal = ("You sleep.", "Tu dors."), ("You sleep.", "Vous dormez.")
    assert decided() is None
    assert decided(("It rains.", "Il pleut.")) is None
    assert decided(informal, informal, informal, formal) == "informal"
    assert decided(formal, formal, formal, informal) == "formal"
    assert decided(informal, informal, formal) == "informal"
    assert decided(informal, informal, informal, formal, formal) is None
    assert decided(informal, formal) is None


def test_words_of_the_source_count() -> None:
    assert decided(("You sleep.", "Tu dors."), ("You sleep, sir.", "Vous dormez, monsieur.")) == "formal"
    assert decided(("You sleep.", "Vous dormez."), ("You sleep, Mum.", "Tu dors, maman.")) == "informal"


def test_sentences_that_address_several_people_do_not_count() -> None:
    both = ("You both sleep.", "Vous dormez tous les deux.")
    assert decided(both, both, both, both, ("You sleep.", "Tu dors.")) == "informal"


def test_known_translations_decide() -> None:
    formal = [("You sleep.", "Vous dormez.")] * 9
    assert decided(*formal, given=("Tu dors.",)) == "informal"
    assert decided(*formal, given=("Tu dors.", "Vous dormez.")) == "formal"
    assert decided(*formal, given=("Il pleut.",)) == "formal"


def test_an_alternative_keeps_the_address_and_adds_none_and_has_words_of_the_dictionary() -> None:
    wanted = DocumentFormality("informal", 1.0)

    def accepts(before: str, after: str) -> bool:
        return wanted.accepts("Go to Zyxpol.", before, after)

    assert accepts("Vous dormez, dit-il.", "Tu dors, dit-il.")
    assert not accepts("Vous dormez, et il part.", "Tu dors, et tu pars.")
    assert not accepts("Vous dormez.", "On dort.")
    assert accepts("Tu dors chez vous.", "Tu dors chez toi.")
    assert not accepts("Tu dors chez vous.", "Vous dormez chez vous.")
    assert accepts("Venez ici.", "Viens ici.")
    assert not accepts("Venez ici.", "Tu viens ici.")
    assert not accepts("Venez ici.", "Allez ici.")
    assert accepts("Allez à Zixpol.", "Va à Zyxpol.")
    assert not accepts("Vous renvoyez tout.", "Tu renvoyeras tout.")


def test_a_formal_alternative_keeps_no_informal_imperative() -> None:
    wanted = DocumentFormality("formal", 1.0)
    assert imperatives("Fais signe. « Viens » : regarde-moi, mais prends tout.") == {"fais", "viens", "regarde"}
    assert not imperatives("Est-ce que tu viens ? Mais oui. Allons, voyons !")
    assert not wanted.accepts("", "Fais signe si tu viens.", "Fais signe si vous venez.")
    assert wanted.accepts("", "Fais signe si tu viens.", "Faites signe si vous venez.")


def test_a_sentence_with_both_formalities_disagrees_with_each() -> None:
    for formality in ("formal", "informal"):
        assert DocumentFormality(formality, 1.0).disagrees("You see your house.", "Tu vois votre maison.")
        assert not DocumentFormality(formality, 1.0).disagrees("He sleeps.", "Il dort.")
    assert not DocumentFormality("informal", 1.0).disagrees("You both sleep.", "Vous dormez tous les deux.")


def test_only_languages_with_forms_have_a_formality() -> None:
    check_option("any", ("en", "de"))
    check_option("formal", ("en", "fr"))
    for languages in (("en", "de"), None):
        with pytest.raises(DocgraphError, match="known for French only"):
            check_option("auto", languages)


@pytest.fixture(scope="module")
def shared_translator() -> Translator:
    return Translator.load("en-fr", device="cpu")


@pytest.fixture
def translator(shared_translator: Translator) -> Iterator[Translator]:
    before = shared_translator.formality
    yield shared_translator
    shared_translator.formality = before


def translated(
    translator: Translator,
    option: FormalityOption,
    known: list[str | None] | None = None,
    glossary: Glossary | None = None,
    sentences: list[str] = MIXED,
) -> list[str]:
    document = Document.from_sentences(sentences)
    request = TranslationRequest(document, known or (), glossary=glossary, formality=option)
    [(_, found)] = translator.translate_requests([request])
    return found.texts


def formalities(texts: list[str]) -> set[Formality | None]:
    return {formality_of(text) for text in texts} - {None}


def test_a_document_has_one_formality(translator: Translator) -> None:
    free = translated(translator, "any")
    assert formalities(free) == {"formal", "informal"}
    assert formalities(translated(translator, "auto")) == {"informal"}
    informal, formal = translated(translator, "informal"), translated(translator, "formal")
    assert formalities(informal) == {"informal"}
    assert formality_of(formal[1]) == formality_of(formal[3]) == "formal"
    for m, text in enumerate(free):
        if formality_of(text) in (None, "informal"):
            assert informal[m] == text
        if formality_of(text) in (None, "formal"):
            assert formal[m] == text


def test_a_long_document_has_one_formality(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = translated(translator, "auto")
    for name, count in (("CHUNK", 2), ("CHUNK_BEFORE", 1), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, count)
    assert translator.prepare(TranslationRequest(Document.from_sentences(MIXED))).model_input is None
    assert translated(translator, "auto") == whole


def test_a_known_translation_decides(translator: Translator) -> None:
    known: list[str | None] = ["Bonjour Tom, venez-vous ?", *[None] * (len(MIXED) - 1)]
    assert formalities(translated(translator, "auto", known)) == {"formal"}


def test_plurals_keep_their_form(translator: Translator) -> None:
    sentences = ["Both of you must leave at once.", "You must leave at once."]
    plural, singular = translated(translator, "informal", sentences=sentences)
    assert (formality_of(plural), formality_of(singular)) == ("formal", "informal")


def test_terms_are_used_in_the_right_formality(translator: Translator) -> None:
    glossary = Glossary.of([("coat", "caban")], translator.languages)
    for option in ("formal", "informal"):
        text = translated(translator, option, glossary=glossary)[1]
        assert "caban" in text
        assert formality_of(text) == option


def test_the_option_of_a_request_replaces_that_of_the_translator(translator: Translator) -> None:
    translator.formality = "informal"
    assert translator.translate(MIXED).texts == translated(translator, "informal")
    assert formalities(translated(translator, "any")) == {"formal", "informal"}


@pytest.mark.parametrize("option", ["auto", "formal", "informal"])
def test_some_sentences_are_translated_as_all_are(translator: Translator, option: FormalityOption) -> None:
    wanted, document = translated(translator, option), Document.from_sentences(MIXED)
    everything = translate_sentences(translator, TranslationRequest(document, formality=option), range(len(MIXED)))
    assert [everything[m].text for m in range(len(MIXED))] == wanted
    finished = {m: each.segments for m, each in everything.items()}
    some = translate_sentences(translator, TranslationRequest(document, formality=option), [4, 5], finished=finished)
    assert [some[m].text for m in (4, 5)] == wanted[4:]


def test_a_correction_changes_the_formality_as_a_new_translation_would(translator: Translator) -> None:
    document, count = Document.from_sentences(MIXED), len(MIXED)
    first = translate_sentences(translator, TranslationRequest(document, formality="auto"), range(count))
    texts, finished = {m: each.text for m, each in first.items()}, {m: each.segments for m, each in first.items()}
    none: list[str | None] = [None] * count
    before = none
    for sentence, correction in [(0, "Bonjour Tom, venez-vous ?"), (3, "Tu peux m'aider ?"), (0, None), (3, None)]:
        after = [*before[:sentence], correction, *before[sentence + 1 :]]
        followed = follow_correction(
            translator, TranslationRequest(document, after, formality="auto"), before, finished=finished
        )
        texts |= {m: each.text for m, each in followed.items()} | {m: text for m, text in enumerate(after) if text}
        finished |= {m: each.segments for m, each in followed.items()}
        assert [texts[m] for m in range(count)] == translated(translator, "auto", after)
        before = after
    assert before == none


def utterances(text: str, format: str = "text") -> list[list[str]]:
    [document] = read(io.StringIO(text), format)
    segments = Segments(
        [Segment(each.text, each.text, " ", None) for each in document],
        [range(m, m + 1) for m in range(len(document))],
    )
    return [[segments[m].source for m in group] for group in find_utterances(document, segments)]


def test_an_utterance_is_what_one_person_says() -> None:
    text = '"Sit down," he said. He closed the door. "You look tired.\n\n"Eat this. It is warm."\n\n"Thank you."'
    assert utterances(text) == [
        ['"Sit down," he said.', '"You look tired.', '"Eat this.', 'It is warm."'],
        ['"Thank you."'],
    ]
    assert utterances("You look tired. Eat this.\n\nIt is warm.") == [
        ["You look tired.", "Eat this."],
        ["It is warm."],
    ]
    assert utterances('Ann: Sit down. Eat.\nTom: No.\n"Why?', "lines")[:2] == [["Ann: Sit down. Eat."], ["Tom: No."]]


def test_a_sentence_with_words_to_somebody_else_beside_its_quotation_is_left_out() -> None:
    assert utterances('He said "You are late", as you know. "Sit down."') == [['"Sit down."']]


@pytest.mark.parametrize(
    ("translations", "given", "expected"),
    [
        (["Écoutez, si tu viens, entrez.", "Il pleut."], {}, "formal"),
        (["Écoute, si tu viens, entrez.", "Ton ami."], {}, "informal"),
        (["Si vous venez, entrez.", "Ton ami."], {1: "Ton ami."}, "informal"),
        (["Si vous venez, entrez.", "Votre ami."], {}, None),
    ],
)
def test_a_mixed_utterance_has_the_formality_of_most_words_or_of_known_ones(
    translations: list[str], given: dict[int, str], expected: str | None
) -> None:
    [document] = read(io.StringIO('"Listen, if you come, come in. Your friend."'), "text")
    segments = Segments([Segment(each.text, each.text, " ", None) for each in document], [range(1), range(1, 2)])
    found = utterance_formalities(document, segments, translations, given)
    assert {each.formality for each in found.values()} == ({expected} if expected else set())
    assert len(found) == (2 if expected else 0)


def test_text_outside_quotations_addresses_the_reader_throughout() -> None:
    [document] = read(io.StringIO("You came. Your coat.\n\nYou see. You go."), "text")
    segments = Segments(
        [Segment(each.text, each.text, " ", None) for each in document], [range(m, m + 1) for m in range(4)]
    )
    found = utterance_formalities(
        document, segments, ["Vous êtes venu.", "Ton manteau.", "Tu vois.", "Tu vas à toi."], {}
    )
    assert {m: each.formality for m, each in found.items()} == {0: "informal", 1: "informal"}


def test_set_phrases_change_in_both_directions() -> None:
    informal = "Comment vas-tu ? Excuse-moi, s’il te plaît."
    formal = "Comment allez-vous ? Excusez-moi, s'il vous plaît."
    assert with_set_phrases(formal, "informal") == informal.replace("’", "'")
    assert with_set_phrases(informal, "formal") == formal
    assert with_set_phrases("Comment allez-vous-même ?", "informal") == "Comment allez-vous-même ?"
