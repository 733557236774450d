"""A CoNLL-U file as an annotator: annotations of the same documents by CoreNLP, UDPipe or any other tool."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from docgraph.annotate import conllu
from docgraph.annotation import Annotation, IntArray, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError


@dataclass(frozen=True, slots=True)
class _FileRange:
    """The lines of one document in the file."""

    offset: int
    """Byte offset of the first line."""
    line: int
    """Number of the first line."""
    count: int
    """Number of lines."""
    entity_fields: str | None


class ConlluAnnotator:
    """Looks a document up in a CoNLL-U file by its id or its text: `conllu:FILE`. The sentences must be the same.

    The file is indexed once; documents are then read one at a time, so the file may be larger than memory.
    """

    requires: frozenset[Layer] = frozenset()

    def __init__(self, path: str) -> None:
        self.name = f"conllu:{path}"
        self._path = Path(path)
        with self._path.open("rb") as file:
            self.version = hashlib.file_digest(file, "blake2b").hexdigest()
        self._ranges: dict[tuple[str, str], _FileRange] = {}
        """By each of `_keys`."""
        layers: list[frozenset[Layer]] = []
        for location in _document_ranges(self._path):
            for document, annotation in self._read(location):
                for key in _keys(document):
                    self._ranges.setdefault(key, location)
                layers.append(annotation.layers)
        if not layers:
            raise DocgraphError("this file has no sentences; give one in CoNLL-U", path=path)
        self.assigns = frozenset.intersection(*layers)

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        stored_document, stored = next(self._read(self._find(document)))
        if len(stored_document) != len(document):
            self._raise_difference(document, stored_document)
        starts, ends = stored.starts.copy(), stored.ends.copy()
        for index, (ours, theirs) in enumerate(zip(document.texts, stored_document.texts, strict=True)):
            if ours == theirs:
                continue
            if _without_spaces(ours) != _without_spaces(theirs):
                self._raise_difference(document, stored_document)
            words = slice(int(stored.offsets[index]), int(stored.offsets[index + 1]))
            starts[words], ends[words] = _map_offsets(stored.starts[words], stored.ends[words], theirs, ours)
        return replace(stored, starts=starts, ends=ends)

    def _find(self, document: Document) -> _FileRange:
        location = next(filter(None, map(self._ranges.get, _keys(document))), None)
        if location is None:
            raise DocgraphError(
                f"document '{document.id}' is not in this file, neither by its id nor by its first sentence "
                f"'{_shorten(_first_sentence(document))}'; annotate it too",
                path=self._path,
            )
        return location

    def _read(self, location: _FileRange) -> Iterator[conllu.AnnotatedDocument]:
        with self._path.open("rb") as file:
            file.seek(location.offset)
            lines = islice(file, location.count)
            fields = location.entity_fields
            yield from conllu.parse(lines, str(self._path), first_line=location.line, entity_fields=fields)

    def _raise_difference(self, document: Document, stored: Document) -> NoReturn:
        """Raises the error that names the first sentence that differs."""
        pairs = zip(document.texts, stored.texts, strict=False)
        first = next(
            (index for index, (ours, theirs) in enumerate(pairs) if _without_spaces(ours) != _without_spaces(theirs)),
            min(len(document), len(stored)),
        )
        ours = f"'{_shorten(document.texts[first])}'" if first < len(document) else "missing"
        theirs = f"'{_shorten(stored.texts[first])}'" if first < len(stored) else "missing"
        raise DocgraphError(
            f"sentence {first + 1} of document '{document.id}' is {ours} but {theirs} in this file; "
            "annotate the same sentences, one per line",
            path=self._path,
        )


def _document_ranges(path: Path) -> Iterator[_FileRange]:
    """Yields the lines from each `# newdoc` to the next one."""
    begin, begin_line, fields, declared = 0, 1, None, None
    block, block_line, offset, number = 0, 1, 0, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.startswith(b"# newdoc") and block > begin:
                yield _FileRange(begin, begin_line, block_line - begin_line, fields)
                begin, begin_line, fields = block, block_line, declared
            elif line.startswith(b"# global.Entity"):
                declared = line.partition(b"=")[2].decode("utf-8", "replace").strip()
            offset += len(line)
            if not line.strip():
                block, block_line = offset, number + 1
    yield _FileRange(begin, begin_line, number - begin_line + 1, fields)


def _map_offsets(starts: IntArray, ends: IntArray, theirs: str, ours: str) -> tuple[IntArray, IntArray]:
    """Maps character offsets in the file's text to offsets in the document's text; they differ only in white space."""
    their_positions, our_positions = _visible_positions(theirs), _visible_positions(ours)
    first = np.searchsorted(their_positions, starts)
    last = np.searchsorted(their_positions, ends) - 1
    edges = np.append(our_positions, len(ours))
    begin = edges[np.minimum(first, len(our_positions))]
    end = np.where(last >= first, edges[last] + 1, begin)
    return begin.astype(np.int32), end.astype(np.int32)


def _visible_positions(text: str) -> npt.NDArray[np.int64]:
    return np.array([index for index, character in enumerate(text) if not character.isspace()], dtype=np.int64)


def _first_sentence(document: Document) -> str:
    return document.texts[0] if len(document) else ""


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _keys(document: Document) -> Iterator[tuple[str, str]]:
    """Yields what a document is looked up by, the surest first."""
    if document.id:
        yield "id", document.id
    text = _without_spaces(" ".join(document.texts)).encode("utf-8", "surrogatepass")
    yield "text", hashlib.blake2b(text, digest_size=16).hexdigest()
    yield "first sentence", _without_spaces(_first_sentence(document))


def _shorten(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
