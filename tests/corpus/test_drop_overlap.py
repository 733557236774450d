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
