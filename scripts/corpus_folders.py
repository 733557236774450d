"""Read and write training corpora: folders with train.src.txt.xz and train.tgt.txt.xz, blank lines between documents.

All files of a corpus are line-aligned.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

FILES, SPEAKERS = ("train.src.txt.xz", "train.tgt.txt.xz"), "train.spk.txt.xz"
Lines = tuple[str, ...]
"""The lines of a pair: source, target and, if the corpus has it, speaker."""


def read_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a plain or xz-compressed text file, without their newlines."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield line.rstrip("\n")


def read_documents(folder: Path, names: Sequence[str] = FILES) -> Iterator[list[Lines]]:
    """Yields the documents of a corpus from its line-aligned files, source and target first."""
    document: list[Lines] = []
    for number, lines in enumerate(zip(*(read_lines(folder / name) for name in names), strict=True), start=1):
        if bool(lines[0].strip()) != bool(lines[1].strip()):
            raise SystemExit(f"{folder}, line {number}: only one side is blank; align the files of the corpus")
        if lines[0].strip():
            document.append(lines)
        elif document:
            yield document
            document = []
    if document:
        yield document


def write_documents(folder: Path, documents: Iterable[Sequence[Lines]], names: Sequence[str] = FILES) -> None:
    """Writes the files of a corpus, with blank lines between documents."""
    folder.mkdir(parents=True, exist_ok=True)
    documents = [document for document in documents if document]
    for column, name in enumerate(names):
        with lzma.open(folder / name, "wt", encoding="utf-8", newline="\n") as file:
            file.write("\n".join("".join(lines[column] + "\n" for lines in document) for document in documents))
