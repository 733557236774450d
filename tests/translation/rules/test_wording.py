"""What the model that ships is shown of a text, and how the letters and numbers of a text come back."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.model.model_folder import ModelFolder, find_model
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.rules.wording import Wording, in_capitals


@cache
def embedded() -> Tokenizer:
    folder = find_model("en-fr")
    return Tokenizer.load(folder, ModelFolder(folder).config.transformer)


@pytest.fixture(scope="module")
def wording() -> Wording:
    return Wording(embedded().source, ("en", "fr"))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SAFETY INSTRUCTIONS", "Safety instructions"),
        ("DO NOT USE HTML ON NATO SERVERS.", "Do not use HTML on NATO servers."),
        ("The screen is 7′ 2″ wide.", "The screen is 7' 2\" wide."),
        ("IT IS A TEST OF THE US.", "It is a test of the US."),
        ("NEVER touch it. You MUST NOT go, says the WHO.", "Never touch it. You must not go, says the WHO."),
        ("Analysts expected $117.9bn and £3m.", "Analysts expected $117.9 billion and £3 million."),
        ("Open Mon–Fri, on Sat from 10 a.m.", "Open Monday to Friday, on Sat from 10:00."),
        (
            "Write to sales.team@a-b.co.uk or see www.a.org/b?c.",
            "Write to <sales.team@a-b.co.uk> or see <www.a.org/b?c>.",
        ),
        ("It is <a@b.org> (https://b.org/c).", "It is <a@b.org> (<https://b.org/c>)."),
        ("The doors open at 6 p.m. and close at 11:45 PM.", "The doors open at 18:00 and close at 23:45."),
        ("Prices in the U.K. and the U.S., too, rose.", "Prices in the UK and the US, too, rose."),
        ("Go (e.g. at 10:30 p.m.).", "Go (e.g. at 22:30)."),
        ("Updated: January 5, 2024.", "Updated: 5 January 2024."),
        ("On Tuesday, March 19th, or by May 7, 2024, we meet.", "On Tuesday, 19 March, or by 7 May 2024, we meet."),
        ("On April 29 and May 6, may 5 come.", "On 29 April and 6 May, may 5 come."),
        ("It is 12 am. It was 12:30 p.m.", "It is 0:00. It was 12:30."),
    ],
)
def test_a_text_is_shown_in_letters_that_the_model_knows(wording: Wording, text: str, shown: str) -> None:
    assert wording.shown(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "NATO",
        "HTML DOM",
        "Choose Tools - Protect Sheet.",
        "European Parliament",
        "He met Mary Byrne at Mount Etna.",
        "I am 12.",
        "From March 19-21 and in July 2024, May 12 of them?",
        "He left the U.K.",
        "A. B. Smith has a B.Sc. of e.g. York.",
        "The ECOFIN Council has met.",
        "The functions AND, OR and NOT of the US are here.",
    ],
)
def test_names_and_prose_are_shown_as_they_are(wording: Wording, text: str) -> None:
    assert wording.shown(text) == text


@pytest.mark.parametrize(
    ("source", "said", "finished"),
    [
        ("SAFETY INSTRUCTIONS", "Instructions de sécurité", "INSTRUCTIONS DE SÉCURITÉ"),
        ("Only valid here.", "valide uniquement ici.", "Valide uniquement ici."),
        ("EUR 26 billion", "26 milliards d'euros", "26 milliards d'euros"),
        ("The text-align property", "text-align est une propriété", "text-align est une propriété"),
        ("see below", "voir plus bas", "voir plus bas"),
        ("Weekend plans", "plans de week-end", "Plans de week-end"),
        ("Bugs 985825 and 106", "Les bugs 9825858 et 106", "Les bugs 985825 et 106"),
        ("It opens at 6 or 7.", "Il ouvre à 18 ou à 7.", "Il ouvre à 18 ou à 7."),
        ("Two of 21", "2 sur 21", "2 sur 21"),
        ("See a@b.org.", "Voir <a@b.org>.", "Voir a@b.org."),
        ("See <a@b.org>.", "Voir <a@b.org>.", "Voir <a@b.org>."),
        ("Jane B. Smith", "Smith de Jane", "Jane B. Smith"),
        ("Mark Complete", "Marquer comme terminé", "Marquer comme terminé"),
        ("fastlog", "rapide", "fastlog"),
        ("hello", "bonjour", "bonjour"),
    ],
)
def test_capitals_and_numbers_of_the_source_come_back(wording: Wording, source: str, said: str, finished: str) -> None:
    assert wording.finished(source, said) == finished


def test_a_title_is_in_small_letters_where_the_model_is_surer_then(wording: Wording) -> None:
    asked: list[str] = []

    def sureness(texts: list[str]) -> list[float]:
        asked.extend(texts)
        return [float("lett" in text) for text in texts]

    texts = ["How to Write a Good Letter", "He met Mary.", "How to Write a Good Story", "European Parliament"]
    chosen = ["How to write a good letter", *texts[1:]]
    assert wording.with_titles(texts, sureness) == chosen
    assert asked == ["How to write a good letter", "How to write a good story", texts[0], texts[2]]
    assert wording.with_titles(texts[3:], lambda _: pytest.fail("there is no title")) == texts[3:]


def test_characters_that_a_model_knows_stay_and_other_languages_are_left_alone() -> None:
    other = Wording(embedded().source, None)
    assert other.finished("Why?", "Pourquoi?") == "Pourquoi?"
    assert other.shown("« café » at 6 p.m.") == "« café » at 6 p.m."


def test_a_heading_is_in_capitals_and_an_abbreviation_is_not() -> None:
    assert in_capitals("INVOICE NO. 12")
    assert not any(map(in_capitals, ["INVOICE", "CSS DOM", "A B C", "Invoice NUMBER TWELVE", "42", ""]))


@given(
    st.lists(st.sampled_from(["A.B.", "6 p.m.", "“", '"', "12,000", "$1.50", " ", "NO WAY", "no", "?", ":", "«", "é"]))
)
def test_wording_is_a_matter_of_letters_and_never_fails(parts: list[str]) -> None:
    wording = Wording(embedded().source, ("en", "fr"))
    text = "".join(parts)
    assert bool(wording.shown(text).strip()) == bool(text.strip())
    assert bool(wording.finished(text, text).strip()) == bool(text.strip())


@pytest.mark.parametrize(
    ("text", "shown", "said", "finished"),
    [
        ("The harbour report 🚢", "The harbour report", "Le rapport", "Le rapport 🚢"),
        ("✅ Well done 🎉!", "Well done!", "Bravo !", "✅ Bravo 🎉\u202f!"),
        ("👩‍💻 works ❤️ here.", "works here.", "travaille ici.", "👩‍💻 travaille ❤️ ici."),
        ("1️⃣ First step", "First step", "Première étape", "1️⃣ Première étape"),
        ("• First item", "First item", "Premier point", "• Premier point"),
        ("مرحبا بالعالم. This is peace (שלום) now.", "This is peace now.", "C'est la paix maintenant.",
         "مرحبا بالعالم. C'est la paix (שלום) maintenant."),
        ("Hello, 東京, old friend", "Hello, old friend", "Bonjour, vieil ami", "Bonjour, 東京, vieil ami"),
        ("Choose File → Open.", "Choose File → Open.", "Choisissez Fichier → Ouvrir.", "Choisissez Fichier → Ouvrir."),
        ("Łukasz saw α-rays at 20 °C.", "Łukasz saw α-rays at 20 °C.", "Łukasz vit.", "Łukasz vit."),
        ("co\u00adoperation at −5", "cooperation at -5", "coopération à -5", "coopération à -5"),
        ("The key (" + 9 * "aGVsbG8gd" + ") is old.", "The key is old.", "La clé est usée.",
         "La clé (" + 9 * "aGVsbG8gd" + ") est usée."),
        ("שלום עולם!", "", "", ""),
    ],
)  # fmt: skip
def test_what_the_model_cannot_read_is_kept_from_it_and_comes_back(
    wording: Wording, text: str, shown: str, said: str, finished: str
) -> None:
    assert wording.shown(text) == shown
    assert wording.finished(text, said) == finished
