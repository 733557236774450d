"""The count of ambiguous words that are translated in the sense of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.senses import counted_words, main

SOURCES = ["The seals slept on the beach.", "He put a seal on the letter.", "They took off at noon.", "Hello."]
REFERENCES = ["Les phoques dormaient sur la plage.", "Il apposa un sceau.", "Ils ont décollé à midi.", "Bonjour."]


def test_words_count_if_the_reference_has_exactly_one_of_their_senses() -> None:
    counted = [(m, " ".join(word.lemmas)) for m, word, _ in counted_words(SOURCES, REFERENCES)]
    assert {(0, "seal"), (1, "seal"), (2, "take off")} <= {*counted}
    assert not any(m == 3 for m, _ in counted)


def test_senses_are_right_wrong_or_open(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = {
        "src": ["The seals slept.", "The seals slept.", "The seals slept."],
        "ref": ["Les phoques dormaient."] * 3,
        "out": ["Le phoque dort.", "Les joints dormaient.", "Les bêtes dormaient."],
    }
    for name, texts in lines.items():
        (tmp_path / name).write_text("\n".join(texts) + "\n", encoding="utf-8")
    main(str(tmp_path / "src"), str(tmp_path / "ref"), f"now={tmp_path / 'out'}")
    assert "right 33.3%, wrong 33.3%" in capsys.readouterr().out
