"""scripts/drop_overlap.py removes test sentences and repeated pairs, and keeps both sides aligned."""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def write_corpus(folder: Path, source: str, target: str) -> Path:
    folder.mkdir(parents=True)
    for side, text in (("src", source), ("tgt", target)):
        with lzma.open(folder / f"train.{side}.txt.xz", "wt", encoding="utf-8") as file:
            file.write(text)
    return folder


def read(path: Path) -> str:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return file.read()


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
    arguments = ["--held-out", str(held_out), "--out", str(tmp_path / "out"), "--", str(first), str(second)]
    command = [sys.executable, str(ROOT / "scripts" / "drop_overlap.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "first: 2 pairs kept, 1 dropped\nsecond: 2 pairs kept, 1 dropped\n"
    assert read(tmp_path / "out" / "first" / "train.src.txt.xz") == "Thank you.\n\nA dog barked at me.\n"
    assert read(tmp_path / "out" / "first" / "train.tgt.txt.xz") == "Merci.\n\nUn chien a aboyé.\n"
    assert read(tmp_path / "out" / "second" / "train.src.txt.xz") == "A dog barked at me.\nNew.\n"
    assert read(tmp_path / "out" / "second" / "train.tgt.txt.xz") == "Un chien m'a aboyé dessus.\nNeuf.\n"


def test_repeated_pairs_stay_on_request_and_speakers_stay_aligned(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("我们明天再来。\n是的。\n", encoding="utf-8")
    corpus = write_corpus(tmp_path / "in", "是的。\n我们明天再来\n是的。\n\n好。\n", "Yes.\nLater.\nYes.\n\nGood.\n")
    with lzma.open(corpus / "train.spk.txt.xz", "wt", encoding="utf-8") as file:
        file.write("A\nB\nC\n\nD\n")
    arguments = ["--keep-repeated", "--held-out", str(held_out), "--out", str(tmp_path / "out"), "--", str(corpus)]
    command = [sys.executable, str(ROOT / "scripts" / "drop_overlap.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "in: 3 pairs kept, 1 dropped\n"
    assert read(tmp_path / "out" / "in" / "train.src.txt.xz") == "是的。\n是的。\n\n好。\n"
    assert read(tmp_path / "out" / "in" / "train.tgt.txt.xz") == "Yes.\nYes.\n\nGood.\n"
    assert read(tmp_path / "out" / "in" / "train.spk.txt.xz") == "A\nC\n\nD\n"


def test_a_longer_corpus_keeps_its_last_whole_documents(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("", encoding="utf-8")
    corpus = write_corpus(tmp_path / "in", "a\nb\n\nc\nd\n\ne\n", "A\nB\n\nC\nD\n\nE\n")
    arguments = ["--max-pairs", "4", "--held-out", str(held_out), "--out", str(tmp_path / "out"), "--", str(corpus)]
    command = [sys.executable, str(ROOT / "scripts" / "drop_overlap.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout == "in: 5 pairs kept, 0 dropped; the last 3 pairs written\n"
    assert read(tmp_path / "out" / "in" / "train.src.txt.xz") == "c\nd\n\ne\n"
    assert read(tmp_path / "out" / "in" / "train.tgt.txt.xz") == "C\nD\n\nE\n"


def test_a_line_with_one_blank_side_is_reported(tmp_path: Path) -> None:
    held_out = tmp_path / "test.txt"
    held_out.write_text("x\n", encoding="utf-8")
    corpus = write_corpus(tmp_path / "in", "One.\n\nTwo.\n", "Un.\nDeux.\n\n")
    arguments = ["--held-out", str(held_out), "--out", str(tmp_path / "out"), "--", str(corpus)]
    command = [sys.executable, str(ROOT / "scripts" / "drop_overlap.py"), *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert run.stderr == f"{corpus}, line 2: only one side is blank; align the files of the corpus\n"
