"""Names: which words are names, how they are translated, and translations that keep them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.translation.corrections import translate_sentences
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.names import NameTable, find_names
from docgraph.translation.terms.term import missing_terms
from docgraph.translation.translator import Translator

PAIR = ("en", "fr")


def copied(texts: list[str]) -> list[str]:
    return texts


def names_of(*texts: str, translations: list[str | None] | None = None) -> NameTable:
    return find_names(texts, list(texts) if translations is None else translations, PAIR, copied)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("They came from Netherfield at ten.", {"Netherfield"}),
        ("Tom Reyes wrote the report.", {"Tom", "Reyes"}),
        ("We thank Dr. Marsh and Miss Hill.", {"Marsh", "Hill"}),
        ("Elizabeth Marsh's letter arrived.", {"Elizabeth", "Marsh"}),
        ("Thank you, Mr President; Mr Prime Minister, Mrs Commissioner, we agree.", set()),
        ("Mr President Barroso met Mr Speaker.", {"Barroso"}),
        ("Push the code to GitHub.", {"GitHub"}),
        ("The road to Woking is closed.", {"Woking"}),
        ("They saw the Meeting and the Reading room.", set()),
        ("On Monday the Parliament of Germany met the AMs in the UK.", set()),
        ("The South-Eastern line has a V-shaped roof.", set()),
        ("Onboarding takes two days.", set()),
        ("A Franco-German plan for the Indo-Pacific and Austro-Hungarian Galicia.", {"Galicia"}),
        ("Getting Started With Onboarding Pipelines", set()),
        ("PLEASE CALL BINGLEY NOW", set()),
        ("The land of Her Majesty and Le Touquet", {"Touquet"}),
        ("They met Zorblin-like and Al-Qaeda-linked groups in Zorblin.", {"Zorblin"}),
        ("They left Charlotte County for Florence Nightingale.", {"Charlotte", "Florence", "Nightingale"}),
        ("Massachusetts Senator Says She Will Run", set()),
    ],
)
def test_words_that_are_names(text: str, expected: set[str]) -> None:
    assert set(names_of(text).words) == expected


def test_a_word_in_small_letters_elsewhere_is_no_name() -> None:
    assert "Zorbix" in names_of("We saw the Zorbix.", "It was big.").words
    assert "Zorbix" not in names_of("We saw the Zorbix.", "It was a zorbix.").words


def test_a_family_name_may_be_a_word_of_the_language() -> None:
    assert "Waters" in names_of("They met Zorblin Waters.", "Waters said no.").words
    assert "Waters" in names_of("They met Zorblin Waters.", "No, said Waters.").words
    assert "Waters" not in names_of("They met Zorblin Waters.", "Waters rose.").words
    assert "Council" not in names_of("They met Zorblin Council.", "Council said no.").words


def found(table: NameTable, text: str) -> list[tuple[str, str]]:
    return [(term.source, term.target) for term in table.find(text)]


def test_names_of_a_text_have_their_titles_and_neighbours() -> None:
    table = names_of("We thank Dr. Helen Marsh, Tom Reyes and Mr. Bingley of Netherfield.")
    assert found(table, "Dr. Helen Marsh met Tom Reyes at Netherfield's gate with the Bingleys.") == [
        ("Dr. Helen Marsh", "Dr Helen Marsh"),
        ("Tom Reyes", "Tom Reyes"),
        ("Netherfield", "Netherfield"),
        ("Bingleys", "Bingley"),
    ]
    [term] = names_of("We thank Senator Helen Marsh.").find("Senator Marsh")
    assert missing_terms([term], "le sénateur démocrate Marsh") == []
    assert missing_terms([term], "le sénateur") == [term]


def test_a_family_name_after_a_title_stays() -> None:
    texts = ["Mr London likes London.", "Winter is here, and Mrs Winter is late.", "It was winter."]
    table = find_names(
        texts,
        ["M. Londres aime Londres.", "Voici l'hiver, et Mme Hiver est en retard.", "C'était l'hiver."],
        PAIR,
        lambda names: ["Londres"] * len(names),
    )
    assert found(table, texts[0]) == [("Mr London", "M. London"), ("London", "Londres")]
    assert found(table, texts[1]) == [("Mrs Winter", "Mme Winter")]
    assert [term.is_certain for text in texts for term in table.find(text)] == [True, False, True]
    assert found(names_of("Mr Monday called on Monday."), "Mr Monday called on Monday.") == [("Mr Monday", "M. Monday")]
    assert not names_of("Mr Mayor and Mr Speaker left.").find("Mr Mayor and Mr Speaker left.")


def test_files_are_names() -> None:
    assert found(names_of(), "Open config.yaml, e.g. with vi, and report-2.pdf.") == [
        ("config.yaml", "config.yaml"),
        ("report-2.pdf", "report-2.pdf"),
    ]


def test_articles() -> None:
    table = names_of("They came from Netherfield.", "We saw the Brightwater, and Herefordshire.")
    terms = [*table.find("from Netherfield"), *table.find("the Brightwater"), *table.find("to Herefordshire")]
    assert [term.allows_article for term in terms] == [False, True, True]


def decided(name: str, *translations: str, alone: str = "") -> str | None:
    """How a name is translated that the model translated like this."""
    texts = [f"We went to {name} again."] * len(translations)
    return find_names(texts, translations, PAIR, lambda names: [alone] * len(names)).words.get(name)


def test_one_translation_for_a_chain() -> None:
    assert decided("Gothenburg", "à Göteborg", "à Göteborg", alone="Göteborg") == "Göteborg"
    assert decided("Gothenburg", "à Göteborg", "à Gothenburg", "à Gothenburg", alone="Göteborg") == "Gothenburg"
    assert decided("Netherfield", "à Netherlande", alone="Netherfield") == "Netherfield"
    assert decided("Netherfield", "à l'échiquier", "au champ") == "Netherfield"
    assert decided("Azerbaijani", "en azerbaïdjanais") is None
    assert decided("Virginia", "en Virginie") is None
    assert decided("Virginia", "chez Virginia", "chez Virginia", "en Virginie") == "Virginia"


def test_a_name_is_no_adjective() -> None:
    texts = ["We met Azerbaidjani people.", "We met Grandet there."]
    translations: list[str | None] = ["Nous avons vu des azerbaïdjanais.", "Nous y avons rencontré grand-et."]
    assert names_of(*texts, translations=translations).words == {"Grandet": "Grandet"}


def test_a_name_of_several_words_is_kept_if_most_translations_keep_it() -> None:
    text = "The board of Northfield Railways met."
    kept = ["Northfield Railways", "Northfield Railways", "les chemins de fer de Northfield"]
    lost = ["chemins de fer Northfield"] * 3
    mixed = ["chemins de fer Northfield", "les voies de Northfield", "Rail Northfield"]
    assert found(names_of(*[text] * 3, translations=[*kept]), text) == [("Northfield Railways", "Northfield Railways")]
    assert found(names_of(*[text] * 3, translations=[*lost]), text) == [("Northfield", "Northfield")]
    assert found(names_of(*[text] * 3, translations=[*mixed]), text) == [("Northfield Railways", "Northfield Railways")]


def test_articles_and_offices_are_no_part_of_a_name() -> None:
    texts = ["The Zorblin agreed.", "The Zorblin left.", "Governor Zorblin spoke.", "Governor Zorblin sat."]
    translations = ["Le Zorblin accepta.", "Le Zorblin partit.", "La gouverneure Zorblin parla.", "Zorblin s'assit."]
    assert names_of(*texts, translations=[*translations]).phrases == set()


def test_sentences_without_a_translation_do_not_count() -> None:
    texts = ["We went to Gothenburg."] * 3
    table = find_names(texts, ["à Göteborg", None, None], PAIR, lambda names: ["Göteborg"] * len(names))
    assert table.words == {"Gothenburg": "Göteborg"}


def test_only_english_names_are_looked_for() -> None:
    assert find_names(["Wir sahen Netherfield."], ["x"], ("de", "fr"), copied).words == {}
    assert find_names(["We saw Netherfield."], ["x"], None, copied).words == {}


@given(st.lists(st.text(max_size=60), max_size=5))
def test_any_text(texts: list[str]) -> None:
    table = names_of(*texts)
    for text in texts:
        for term in table.find(text):
            assert text[term.start : term.end] == term.source
            assert term.targets


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr")


SENTENCES = [
    "Mr. Bingley is to take possession of Netherfield before Michaelmas.",
    "They arrived from Netherfield at ten.",
    "Dr. Helen Marsh will see you on Monday, and Mr. Hill on Tuesday.",
    "Dear Dr. Okafor,",
    "The harbour is open.",
]


def test_translations_keep_names(translator: Translator) -> None:
    assert translator.names
    translation = translator.translate(SENTENCES)
    assert [text.count("Netherfield") for text in translation.texts[:2]] == [1, 1]
    assert "de Netherfield" in translation.texts[1]
    assert any(title in translation.texts[2] for title in ("Dr Helen Marsh", "octeur Helen Marsh"))
    assert "Okafor" in translation.texts[3]
    assert not translation.doubtful
    assert not translation.terms


def test_other_sentences_stay(translator: Translator) -> None:
    with_names = translator.translate(SENTENCES).texts
    translator.names = False
    try:
        without = translator.translate(SENTENCES).texts
    finally:
        translator.names = True
    assert with_names[4] == without[4]
    assert with_names[1] != without[1]


def test_some_sentences_are_translated_as_all_are(translator: Translator) -> None:
    translation = translator.translate(SENTENCES)
    some = translate_sentences(translator, TranslationRequest(translation.source), [1, 3])
    assert {m: each.text for m, each in some.items()} == {m: translation.texts[m] for m in (1, 3)}
