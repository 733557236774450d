"""What is evaluated: sentences of systems beside a reference and a source, and where the documents begin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from docgraph.annotation import BoolArray
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.text_files import read_lines
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.links import LongArray


@dataclass(frozen=True, eq=False)
class EvaluationSet:
    """N sentences in D documents: the reference, the outputs of systems, and the source where it is known."""

    reference: list[str]
    systems: dict[str, list[str]]
    documents: LongArray
    """[D+1]: the sentences of document d are documents[d] .. documents[d+1]-1."""
    source: list[str] | None = None

    @property
    def num_documents(self) -> int:
        return len(self.documents) - 1

    def split(self, sentences: Sequence[str]) -> list[list[str]]:
        """The sentences of each document."""
        return [list(sentences[a:b]) for a, b in pairwise(self.documents.tolist())]

    def split_documents(self, sentences: Sequence[str]) -> list[Document]:
        """The same, as documents to annotate."""
        return [Document.from_sentences(texts) for texts in self.split(sentences)]


def read_set(
    systems: Mapping[str, str | Path], reference: str | Path, source: str | Path | None = None
) -> EvaluationSet:
    """Files of one sentence a line, blank lines between documents, gzip or xz allowed.

    The reference gives the documents, the source where the reference has no blank line. The files are aligned line by
    line; one without the blank lines between documents (a sentence a line and no more) is fine too.
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
    """A system's translations of documents of so many sentences each, which errors name `layout`; a file as above."""
    lines = [flag for size in sizes for flag in (*[True] * size, False)][:-1]
    return _fit(_read(path), np.array(lines, dtype=np.bool_), path, layout)


def _read(path: str | Path) -> list[str]:
    lines: list[str] = []
    for line in read_lines(path, Problems(skip=True)):
        if line is None:
            raise DocgraphError("this line is not UTF-8; convert the file", path=path, line=len(lines) + 1)
        lines.append(line)
    return lines


def _sentence_lines(lines: Sequence[str]) -> BoolArray:
    return np.array([bool(line) for line in lines], dtype=np.bool_)


def _boundaries(layout: BoolArray) -> LongArray:
    """[D+1] from the lines that hold sentences [L]: a document begins after each run of blank lines."""
    lines = np.flatnonzero(layout)
    begins = np.flatnonzero(np.diff(lines, prepend=-2) > 1)
    return np.append(begins, len(lines)).astype(np.int64)


def _fit(lines: list[str], layout: BoolArray, path: str | Path, layout_path: str | Path) -> list[str]:
    """The lines that stand where the layout has sentences; an empty translation is one, too."""
    places = np.flatnonzero(layout)
    extra = next((number for number in range(len(lines), 0, -1) if lines[number - 1]), 0)
    if len(lines) > len(layout) >= extra:
        lines = lines[: len(layout)]  # blank lines at the end
    elif len(lines) < len(layout) and len(lines) > int(places.max(initial=-1)):
        lines = lines + [""] * (len(layout) - len(lines))
    if len(lines) == len(layout):
        astray = next((index for index in np.flatnonzero(~layout).tolist() if lines[index]), None)
        if astray is not None:
            raise DocgraphError(
                f"this line has text where {layout_path} has the blank line between two documents; align the two files",
                path=path,
                line=astray + 1,
            )
        return [lines[index] for index in places.tolist()]
    if len(lines) == len(places):
        return lines
    raise DocgraphError(
        f"has {len(lines):,} lines and {layout_path} has {len(layout):,} ({len(places):,} sentences), "
        "so they are not translations of each other line by line; give files of the same test set",
        path=path,
    )
