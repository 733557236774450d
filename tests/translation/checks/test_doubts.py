"""Checks of translations: what is reported, and what is not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.translation.checks.doubts import doubts, lost_literals, weight

PAIR = ("en", "fr")
WORDS = st.lists(st.text("abcdefgh", min_size=2, max_size=6), min_size=3, max_size=9, unique=True)
LITERALS = st.sampled_from(
    [
        *("%s", "%(name)s", "{0}", "{{ title }}", "${HOME}", "$VAR", "foo_bar", "--prof-process", ":smile:", "<b>"),
        *("https://example.org/a/b?c=1", "www.example.org", "madler@alumni.caltech.edu", "path.basename()"),
    ]
)


def reasons(source: str, translation: str, normalized: str | None = None) -> list[str]:
    return [doubt.reason for doubt in doubts(source, translation, PAIR, normalized)]


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("He went with the king.", "Il est allé avec le roi."),
        ("We stand up.", "Nous nous levons."),
        ("Now for Japan. Japan was an island.", "Maintenant, le Japon. Le Japon était une île."),
        ("It's a cylinder, an artificial cylinder!", "C'est un cylindre, un cylindre artificiel !"),
        ("He struck them by turns at my house.", "Il les frappa tour à tour à ma maison."),
        ("She had it done by herself.", "Elle l'a fait faire elle-même, chez elle ; elle était seule."),
        ("It was very, very good.", "C'était très, très bon."),
        ("Fogg left London, his club and his house.", "Fogg quitta Londres, Fogg quitta son club et sa maison."),
        ("I do not know.", "Je ne sais pas."),
        ("He did not remember her name.", "Il avait oublié son nom."),
        ("Not only the king came.", "Le roi est venu avec la reine."),
        ("You are well, aren't you?", "Vous allez bien, hein ?"),
        ("No, no, no!", "Non, non, non !"),
        ("It cost $12,000.50 in 1998.", "Cela a coûté 12\u202f000,50\u00a0$ en 1998."),
        ("The 19th century began with 2 wars.", "Le XIXe siècle a commencé par deux guerres."),
        ("the music of the 1990s", "la musique des années 90"),
        ("There were 10,000 of them.", "Ils étaient dix mille."),
        ("About 10⁶ add ½ cup.", "Environ 10⁶ ajoutent ½ tasse."),
        ("The file(s) are open.", "Le ou les fichiers sont ouverts."),
        ("as in section 16(1)", "comme à l'article 16, paragraphe 1"),
        ("See (above) for $HOME.", "Voir (ci-dessus) pour $HOME."),
        ("Paris, London, Berlin, Madrid, Rome and Oslo", "Paris, London, Berlin, Madrid, Rome et Oslo"),
    ],
)
def test_good_translations_pass(source: str, translation: str) -> None:
    assert reasons(source, translation) == []


@pytest.mark.parametrize(
    ("source", "translation", "reason"),
    [
        ("He spoke with the king for a while.", "Il a parlé avec le roi avec le roi.", "repetition"),
        ("A useful handrail is there.", "Une poignée utile utile utile est là.", "repetition"),
        ("The dogs and the cats ran past it.", "Les chiens, derrière lui, derrière lui, couraient.", "repetition"),
        (
            "This first encounter, this first glimpse.",
            "Cette première rencontre, cette première rencontre.",
            "repetition",
        ),
        ("A blood-red glow was in the sky.", "Une lueur rouge rouge était dans le ciel.", "repetition"),
        ("She was awkward and slow.", "Elle était lente, lente.", "repetition"),
        ("He saw her there.", "Il l'a vue là là-bas, dans la la maison.", "repetition"),
        ("Was it safer to go?", "S'est-il-il avéré plus sûr de partir ?", "repetition"),
        ("It is 140,000,000 miles away.", "C'est à 140 000 milles.", "140000000 is missing"),
        ("I cannot come.", "Je peux venir.", "negation is missing"),
        ("It’s never open and doesn’t work.", "C'est ouvert et ça marche.", "negation is missing"),
        ("All that users see.", "Tout ce qu'elles·elles·elles voient.", "repetition"),
        ("She said no.", "Elle a dit nonononononon.", "repetition"),
        ("One saw it from Banstead and Epsom.", "On vit de Bans à Epsom, et d'Epsom, et d'Epsom en bas.", "repetition"),
        ("Read the table.", "Lire le tableau" + "." * 40, "repetition"),
        (
            "It rained.",
            "Il a plu et puis nous avons vu quelques autres choses étonnantes de ce temps.",
            "much longer",
        ),
        ("She told us about the long war and the men who never came home from it.", "Elle parla.", "much shorter"),
        ("the man came home from the war", "the man came home from the war", "not translated"),
        ("It was the 16th century.", "C'était le XVIIe siècle.", "16 is missing"),
        ("He paid 250,000.", "Il a payé 25\u202f000.", "250000 is missing"),
        ("Mail a.b@c.org now.", "Écrivez à a@c.org.", "a.b@c.org is missing"),
        ("The flag (red) waved.", "Le drapeau rouge flottait.", "brackets differ"),
        ("The flag waved.", "Le drapeau) flottait.", "brackets differ"),
        ("Hello.", " ", "empty"),
    ],
)
def test_bad_translations_are_reported(source: str, translation: str, reason: str) -> None:
    found = reasons(source, translation)
    assert any(each.startswith(reason) for each in found), found
    assert weight(doubts(source, translation, PAIR)) > 0


def test_numbers_are_compared_as_the_model_reads_them() -> None:
    assert reasons("We met at 6 p.m.", "Nous nous sommes vus à 18\u00a0h\u00a000.", "We met at 18:00.") == []
    assert reasons("We met at 6 p.m.", "Nous nous sommes vus à 17\u00a0h\u00a000.", "We met at 18:00.") == [
        "18 is missing"
    ]
    assert reasons("It costs $20k.", "Cela coûte 20 livres.", "It costs $20,000.") == ["20000 is missing"]
    assert reasons("Add 1½ cups.", "Ajoutez 1½ tasse.", "Add 1.5 cups.") == []
    assert reasons("About 10⁶ men", "Environ 10 hommes", "About 106 men") == ["106 is missing"]


@given(WORDS)
def test_a_text_without_repetition_is_no_loop(words: list[str]) -> None:
    text = " ".join(words)
    assert "repetition" not in reasons(text.upper(), text)


@given(WORDS, WORDS, st.integers(2, 12))
def test_a_repeated_phrase_is_a_loop(words: list[str], phrase: list[str], times: int) -> None:
    assert "repetition" in reasons(" ".join(words), " ".join(phrase[:3] * times))


@given(WORDS, st.lists(LITERALS, max_size=4), st.lists(LITERALS, max_size=4))
def test_literals_are_counted(words: list[str], kept: list[str], lost: list[str]) -> None:
    source, translation = (" ".join([*words, *literals]) for literals in ([*kept, *lost], kept))
    assert lost_literals(source, source) == []
    assert {*lost_literals(source, translation)} == {*lost}


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_can_be_checked(source: str, translation: str) -> None:
    doubts(source, translation, PAIR)
    doubts(source, translation)


def test_miles_are_no_kilometres() -> None:
    assert reasons("It is 1.5 miles away.", "C'est à 1,5 kilomètres.") == ["miles became kilometres"]
    assert reasons("A 12-mile road.", "Une route de 12 km.") == ["miles became kilometres"]
    assert reasons("It is 1.5 miles away.", "C'est à 1,5 miles.") == []
