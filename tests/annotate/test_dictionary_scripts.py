"""Scripts that find mistranslations and add them to a dictionary."""

from __future__ import annotations

from pathlib import Path

import pytest

from add_entries import add
from docgraph.errors import DocgraphError
from docgraph.translation.translator import Translator
from find_mistranslations import read_candidates, says_instead

GUTTER = "gutter press\tnf\tpresse à scandale | presse de caniveau"


def test_entries_are_added_once_and_in_order() -> None:
    lines = ["bank\tnf\tbanque", "zoo\tnm\tzoo"]
    new = [f"{GUTTER}\tgouttière\tShe blamed the gutter press.\t...", "Bank\tnf\trive", "key’s\tx\tl’x", "a\tx\tb (c)"]
    assert add(lines, new) == [
        "bank\tnf\tbanque",
        f"{GUTTER}\tgouttière",
        "key's\tx\tl'x",
        "zoo\tnm\tzoo",
    ]
    assert add(add(lines, new), new) == add(lines, new)


def test_candidates_have_four_columns(tmp_path: Path) -> None:
    path = tmp_path / "candidates.tsv"
    path.write_text(f"{GUTTER}\tThe gutter press.\n{GUTTER}\tAgain.\n", encoding="utf-8")
    assert [each.sentence for each in read_candidates([path], "fr")] == ["The gutter press."]
    path.write_text(f"{GUTTER}\n", encoding="utf-8")
    with pytest.raises(DocgraphError, match=r"candidates.tsv:1: has 3 columns instead of 4"):
        list(read_candidates([path], "fr"))


def test_the_words_of_a_mistranslation_are_found(tmp_path: Path) -> None:
    path = tmp_path / "candidates.tsv"
    lines = [
        "quagga zebra\tnm\tzèbre couagga\tA quagga zebra crossed the road.",
        "cat\tnm\tchat\tThe cat sleeps.",
        "dog\tnm\tchien\tThe horse sleeps.",  # no dog
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    translator = Translator.load("en-fr", device="cpu")
    [(candidate, text, wrong)] = says_instead(translator, list(read_candidates([path], "fr")))
    assert candidate.columns[0] == "quagga zebra"
    assert "zèbre couagga" not in text
    assert wrong
    assert "zèbre" not in wrong
