"""Inflection: the forms of French words."""

from __future__ import annotations

import pytest

from docgraph.annotate.inflection import Lexicon, french_participles


@pytest.mark.parametrize(
    ("infinitive", "masculine", "feminine"),
    [
        ("annoncer", "annoncé", "annoncée"),
        ("avertir", "averti", "avertie"),
        ("rompre", "rompu", "rompue"),
        ("permettre", "permis", "permise"),
        ("découvrir", "découvert", "découverte"),
        ("souffrir", "souffert", "soufferte"),
        ("reconnaître", "reconnu", "reconnue"),
        ("renaître", "rené", "renée"),
        ("paraître", "paru", "parue"),
        ("maintenir", "maintenu", "maintenue"),
        ("prévoir", "prévu", "prévue"),
        ("devoir", "dû", "due"),
        ("résoudre", "résolu", "résolue"),
        ("inclure", "inclus", "incluse"),
        ("conclure", "conclu", "conclue"),
        ("conduire", "conduit", "conduite"),
        ("guérir", "guéri", "guérie"),
        ("acquérir", "acquis", "acquise"),
    ],
)
def test_participles(infinitive: str, masculine: str, feminine: str) -> None:
    assert french_participles(infinitive)[:2] == [masculine, feminine]


def test_verbs_have_their_participles_and_other_words_have_none() -> None:
    lexicon = Lexicon("fr", ["rompre", "fer"])
    assert {"rompu", "rompues", "rompait"} <= set(lexicon.forms("rompre"))
    assert lexicon.forms("fer")[:2] == ["fer", "fers"]
    assert "rompu le contrat" in lexicon.inflected("rompre le contrat")
