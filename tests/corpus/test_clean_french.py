"""scripts/clean_french.py: French without inclusive dots and notes on languages."""

from __future__ import annotations

from pathlib import Path

import pytest

from clean_french import clean
from corpus.script_examples import read_corpus, run_script, write_corpus


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("Les utilisateur·ice·s actif·ive·s lisent.", "Les utilisateurs actifs lisent."),
        ("un·e utilisateur·rice", "un utilisateur"),
        ("Tou·te·s les chercheur·es", "Tous les chercheurs"),
        ("le·la joueur·euse, le·a joueur·euse", "le joueur, le joueur"),
        ("le·la utilisateur·ice du·de la développeur·euse", "l'utilisateur du développeur"),
        ("Il·elle et elle·il, ceux·elles, elles·ils", "Il et il, ceux, ils"),
        ("ce·tte auteur·e", "cet auteur"),
        ("le projet Voikko (angl.), ici (en anglais)", "le projet Voikko, ici"),
        ("un guide (en anglais) et des *nœuds* (en anglais *nodes*)", "un guide et des *nœuds* (en anglais *nodes*)"),
        ("Barman·aid", None),
        ("Rien à changer.", "Rien à changer."),
    ],
)
def test_forms(target: str, expected: str | None) -> None:
    assert clean("Text.", target) == expected


def test_dots_and_notes_of_the_english_stay() -> None:
    assert clean("10 mPa·s", "10 mPa·s") == "10 mPa·s"
    assert clean("A guide (in English).", "Un guide (en anglais).") == "Un guide (en anglais)."


def test_corpora_are_copied(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "in", "A.\nB.\n\nC.\n", "Un·e.\nBarman·aid.\n\nC (angl.).\n", "x\ny\n\nz\n")
    arguments = ("clean_french.py", corpus, "--out", tmp_path / "out")
    assert run_script(*arguments).stdout == "in: 2 pairs changed, 1 left out\n"
    texts = read_corpus(tmp_path / "out" / "in", columns=("src", "tgt", "spk"))
    assert texts == ["A.\n\nC.\n", "Un.\n\nC.\n", "x\n\nz\n"]
    again = run_script(*arguments)
    assert again.returncode == 2
    assert "exists; choose another --out" in again.stderr
