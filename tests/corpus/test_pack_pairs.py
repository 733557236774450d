"""scripts/pack_pairs.py rejects bad pairs with a reason and splits by document."""

from __future__ import annotations

from pathlib import Path

from corpus.script_examples import read_corpus, run_script


def test_bad_pairs_are_rejected_with_their_reason(tmp_path: Path) -> None:
    good = "".join(f"Sentence {n} of four. ||| Phrase {n} sur quatre.\n" for n in range(4))
    bad = (
        "No separator here\n"
        "Only one side ||| \n"
        "Short. ||| " + "Une traduction beaucoup trop longue pour si peu. " * 3 + "\n"
        "The very same words twice ||| The very same words twice\n"
        "It cost 12, then 34, then 56. ||| Cela a coûté de plus en plus cher.\n"
        "Sentence 0 of four. ||| Phrase 0 sur quatre.\n"
    )
    (tmp_path / "draft.txt").write_text(good + bad + "\nAlone. ||| Seul.\n", encoding="utf-8")
    output = run_script("pack_pairs.py", tmp_path / "draft.txt", "--out", tmp_path / "out").stdout
    assert output.startswith("train: 1 documents, 4 pairs\n")
    reasons = [
        "no separator",
        "empty side",
        "length ratio",
        "equal sides",
        "figures lost",
        "repeated",
        "short document",
    ]
    assert all(f"rejected, {reason}: 1\n" in output for reason in reasons)
    assert read_corpus(tmp_path / "out")[0].splitlines() == [f"Sentence {n} of four." for n in range(4)]


def test_one_document_in_forty_is_for_dev_and_one_for_test(tmp_path: Path) -> None:
    documents = ["\n".join(f"Text {d} {n}. ||| Texte {d} {n}." for n in range(4)) for d in range(40)]
    (tmp_path / "draft.txt").write_text("\n\n".join(documents), encoding="utf-8")
    output = run_script("pack_pairs.py", tmp_path / "draft.txt", "--out", tmp_path / "out").stdout
    assert sorted(output.splitlines()) == [
        "dev: 1 documents, 4 pairs",
        "test: 1 documents, 4 pairs",
        "train: 38 documents, 152 pairs",
    ]
    assert read_corpus(tmp_path / "out", "test")[1].startswith("Texte 39 0.\nTexte 39 1.\n")
