"""scripts/select_rare_words.py: training pairs with words of the embedded dictionary."""

from __future__ import annotations

from pathlib import Path

from corpus.script_examples import read_corpus, run_script, write_corpus


def test_each_entry_gets_a_limited_number_of_pairs(tmp_path: Path) -> None:
    first = write_corpus(
        tmp_path / "first",
        "The caldera.\nThe house.\n\nTwo calderas.\n",
        "La caldeira.\nLa maison.\n\nDeux caldeiras.\n",
    )
    second = write_corpus(tmp_path / "second", "A caldera.\nSome fennel.\n", "Une caldeira.\nDu fenouil.\n")
    result = run_script("select_rare_words.py", first, second, "--most", "2", "--out", tmp_path / "out")
    assert result.returncode == 0, result.stderr
    assert "3 pairs with 2 entries" in result.stdout
    source, target = read_corpus(tmp_path / "out")
    assert source == "The caldera.\n\nTwo calderas.\n\nSome fennel.\n"
    assert target == "La caldeira.\n\nDeux caldeiras.\n\nDu fenouil.\n"


def test_entries_become_pairs_with_their_best_translation(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "corpus", "The caldera.\n", "La caldeira.\n")
    result = run_script("select_rare_words.py", corpus, "--out", tmp_path / "out", "--entries", tmp_path / "entries")
    assert result.returncode == 0, result.stderr
    source, target = (text.rstrip("\n").split("\n\n") for text in read_corpus(tmp_path / "entries"))
    assert target[source.index("caldera")] == "caldeira"
    assert len(source) == len(target) == len({*source})
