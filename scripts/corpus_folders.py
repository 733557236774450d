"""Read and write corpora: folders of xz-compressed text files, one sentence per line, blank lines between documents.

A split has the line-aligned files train.src.txt.xz and train.tgt.txt.xz (or dev, test) and, if the speakers of the
lines are known, train.spk.txt.xz.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

COLUMNS = ("src", "tgt", "spk")
Lines = tuple[str, ...]
"""The lines of a pair: source, target and, if the corpus has it, speaker."""


def file_path(folder: Path, column: str, split: str = "train") -> Path:
    """Returns the path of a file of a corpus."""
    return folder / f"{split}.{column}.txt.xz"


def read_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a plain or xz-compressed text file, without their newlines."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def read_documents(folder: Path, split: str = "train") -> Iterator[list[Lines]]:
    """Yields the documents of a split, with the speakers if the corpus has them."""
    paths = [file_path(folder, column, split) for column in COLUMNS]
    columns = [read_lines(path) for path in paths[: 3 if paths[2].exists() else 2]]
    document: list[Lines] = []
    for number, lines in enumerate(zip(*columns, strict=True), start=1):
        if bool(lines[0].strip()) != bool(lines[1].strip()):
            raise SystemExit(f"{folder}, line {number}: only one side is blank; align the files of the corpus")
        if lines[0].strip():
            document.append(lines)
        elif document:
            yield document
            document = []
    if document:
        yield document


def write_documents(folder: Path, documents: Iterable[Sequence[Lines]], split: str = "train") -> None:
    """Writes the files of a split; documents without pairs are left out."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = [document for document in documents if document]
    for index, column in enumerate(COLUMNS[: len(documents[0][0]) if documents else 2]):
        with lzma.open(file_path(folder, column, split), "wt", encoding="utf-8", newline="\n") as file:
            file.write("\n".join("".join(lines[index] + "\n" for lines in document) for document in documents))
