"""scripts/clean_french.py: French without inclusive dots and notes on languages."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from clean_french import clean  # noqa: E402


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
    corpus = tmp_path / "in"
    corpus.mkdir()
    for name, text in (
        ("src", "A.\nB.\n\nC.\n"),
        ("tgt", "Un·e.\nBarman·aid.\n\nC (angl.).\n"),
        ("spk", "x\ny\n\nz\n"),
    ):
        (corpus / f"train.{name}.txt.xz").write_bytes(lzma.compress(text.encode()))
    command = [sys.executable, str(ROOT / "scripts" / "clean_french.py"), str(corpus), "--out", str(tmp_path / "out")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == (
        "in: 2 pairs changed, 1 left out\n"
    )
    texts = [
        lzma.decompress((tmp_path / "out" / "in" / f"train.{name}.txt.xz").read_bytes()).decode()
        for name in ("src", "tgt", "spk")
    ]
    assert texts == ["A.\n\nC.\n", "Un.\n\nC.\n", "x\n\nz\n"]
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 2
    assert "exists; choose another --out" in again.stderr
