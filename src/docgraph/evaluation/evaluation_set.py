"""EvaluationSet: system outputs, reference and source, sentence by sentence, with document boundaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from docgraph.annotation import BoolArray
from docgraph.corpus.readers.text_files import Problems, read_lines
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.links import LongArray


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """N sentences in D documents."""

    reference: list[str]
    systems: dict[str, list[str]]
    """The output of each system."""
    documents: LongArray
    """[D+1]: the sentences of document d are documents[d] .. documents[d+1]-1."""
    source: list[str] | None = None

    @property
    def num_documents(self) -> int:
        """Number of documents."""
        return len(self.documents) - 1

    def split(self, sentences: Sequence[str]) -> list[list[str]]:
        """Groups N sentences by document."""
        return [list(sentences[a:b]) for a, b in pairwise(self.documents.tolist())]

    def split_documents(self, sentences: Sequence[str]) -> list[Document]:
        """Groups N sentences by document, as Documents."""
        return [Document.from_sentences(texts) for texts in self.split(sentences)]


def read_evaluation_set(
    systems: Mapping[str, str | Path], reference: str | Path, source: str | Path | None = None
) -> EvaluationSet:
    """Reads files of one sentence per line, with blank lines between documents; gzip and xz are allowed.

    The reference sets the document boundaries, or the source if the reference has no blank line. The files are aligned
    line by line; a file without the blank lines between documents is accepted too.
    """
    target = _read(reference)
    origin = None if source is None else _read(source)
    layout, layout_path = _sentence_lines(target), reference
    if origin is not None and len(origin) == len(target):
        layout = layout | _sentence_lines(origin)
    elif origin is not None and source is not None and layout.all() and len(origin) > len(target):
        layout, layout_path = _sentence_lines(origin), source
    if not layout.any():
        raise DocgraphError("holds no sentence; give a reference with text in it", path=reference)
    return EvaluationSet(
        _fit(target, layout, reference, layout_path),
        {name: _fit(_read(path), layout, path, layout_path) for name, path in systems.items()},
        _boundaries(layout),
        None if origin is None or source is None else _fit(origin, layout, source, layout_path),
    )


def read_output(path: str | Path, sizes: Sequence[int], layout: str) -> list[str]:
    """Reads a system's translations of documents with the given numbers of sentences.

    Any number of blank lines may be around documents, as in a source file that was translated line by line. Errors name
    `layout` as the file that the translations must match.
    """
    lines = _read(path)
    if np.diff(_boundaries(_sentence_lines(lines))).tolist() == list(sizes):
        return [line for line in lines if line]
    expected = [flag for size in sizes for flag in (*[True] * size, False)][:-1]
    return _fit(lines, np.array(expected, dtype=np.bool_), path, layout)


def _read(path: str | Path) -> list[str]:
    lines: list[str] = []
    for line in read_lines(path, Problems(skip=True)):
        if line is None:
            raise DocgraphError("this line is not UTF-8; convert the file", path=path, line=len(lines) + 1)
        lines.append(line)
    return lines


def _sentence_lines(lines: Sequence[str]) -> BoolArray:
    """Returns [L]: True at the lines that are not blank."""
    return np.array([bool(line) for line in lines], dtype=np.bool_)


def _boundaries(layout: BoolArray) -> LongArray:
    """[D+1] from the lines that hold sentences [L]: a document begins after each run of blank lines."""
    lines = np.flatnonzero(layout)
    begins = np.flatnonzero(np.diff(lines, prepend=-2) > 1)
    return np.append(begins, len(lines)).astype(np.int64)


def _fit(lines: list[str], layout: BoolArray, path: str | Path, layout_path: str | Path) -> list[str]:
    """Returns the lines at which `layout` [L] has a sentence; there, an empty line is an empty translation."""
    places = np.flatnonzero(layout)
    last_text = next((number for number in range(len(lines), 0, -1) if lines[number - 1]), 0)
    if len(lines) > len(layout) >= last_text:
        lines = lines[: len(layout)]  # drop blank lines at the end
    elif len(lines) < len(layout) and len(lines) > int(places.max(initial=-1)):
        lines = lines + [""] * (len(layout) - len(lines))
    if len(lines) == len(layout):
        extra = next((index for index in np.flatnonzero(~layout).tolist() if lines[index]), None)
        if extra is not None:
            raise DocgraphError(
                f"this line has text where {layout_path} has the blank line between two documents; align the two files",
                path=path,
                line=extra + 1,
            )
        return [lines[index] for index in places.tolist()]
    if len(lines) == len(places):
        return lines
    raise DocgraphError(
        f"has {len(lines):,} lines and {layout_path} has {len(layout):,} ({len(places):,} sentences), "
        "so they are not translations of each other line by line; give files of the same test set",
        path=path,
    )
