"""scripts/drop_overlap.py removes test sentences and repeated pairs, and keeps both sides aligned."""

from __future__ import annotations

from pathlib import Path

from corpus.script_examples import read_corpus, run_script, write_corpus


def test_held_out_sentences_and_repeated_pairs_are_dropped(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("The cat sat on the mat!\nThank you.\n", encoding="utf-8")
    first = write_corpus(
        tmp_path / "in" / "first",
        "the cat sat on the mat\nThank you.\n\nA dog barked at me.\n",
        "le chat\nMerci.\n\nUn chien a aboyé.\n",
    )
    second = write_corpus(
        tmp_path / "in" / "second",
        "A dog barked at me!\n\nA dog barked at me.\nNew.\n",
        "Un chien a aboyé\n\nUn chien m'a aboyé dessus.\nNeuf.\n",
    )
    arguments = ["--held-out", held_out, "--out", tmp_path / "out", "--", first, second]
    run = run_script("drop_overlap.py", *arguments)
    assert run.stdout == "first: 2 pairs kept, 1 dropped\nsecond: 2 pairs kept, 1 dropped\n"
    assert read_corpus(tmp_path / "out" / "first") == [
        "Thank you.\n\nA dog barked at me.\n",
        "Merci.\n\nUn chien a aboyé.\n",
    ]
    assert read_corpus(tmp_path / "out" / "second") == [
        "A dog barked at me.\nNew.\n",
        "Un chien m'a aboyé dessus.\nNeuf.\n",
    ]


def test_repeated_pairs_stay_on_request_and_speakers_stay_aligned(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("我们明天再来。\n是的。\n", encoding="utf-8")
    corpus = write_corpus(
        tmp_path / "in", "是的。\n我们明天再来\n是的。\n\n好。\n", "Yes.\nLater.\nYes.\n\nGood.\n", "A\nB\nC\n\nD\n"
    )
    arguments = ["--keep-repeated", "--held-out", held_out, "--out", tmp_path / "out", "--", corpus]
    run = run_script("drop_overlap.py", *arguments)
    assert run.stdout == "in: 3 pairs kept, 1 dropped\n"
    texts = read_corpus(tmp_path / "out" / "in", columns=("src", "tgt", "spk"))
    assert texts == ["是的。\n是的。\n\n好。\n", "Yes.\nYes.\n\nGood.\n", "A\nC\n\nD\n"]


def test_a_longer_corpus_keeps_its_last_whole_documents(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("", encoding="utf-8")
    corpus = write_corpus(tmp_path / "in", "a\nb\n\nc\nd\n\ne\n", "A\nB\n\nC\nD\n\nE\n")
    arguments = ["--max-pairs", "4", "--held-out", held_out, "--out", tmp_path / "out", "--", corpus]
    run = run_script("drop_overlap.py", *arguments)
    assert run.stdout == "in: 5 pairs kept, 0 dropped; the last 3 pairs written\n"
    assert read_corpus(tmp_path / "out" / "in") == ["c\nd\n\ne\n", "C\nD\n\nE\n"]


def test_a_line_with_one_blank_side_is_reported(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("x\n", encoding="utf-8")
    corpus = write_corpus(tmp_path / "in", "One.\n\nTwo.\n", "Un.\nDeux.\n\n")
    arguments = ["--held-out", held_out, "--out", tmp_path / "out", "--", corpus]
    run = run_script("drop_overlap.py", *arguments)
    assert run.returncode == 1
    assert run.stderr == f"{corpus}, line 2: only one side is blank; align the files of the corpus\n"
