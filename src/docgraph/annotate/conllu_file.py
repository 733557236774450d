"""A CoNLL-U file as an annotator: what CoreNLP, UDPipe or anyone else found in the same documents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

from docgraph.annotate import conllu
from docgraph.annotation import Annotation, IntArray, Layer
from docgraph.document import Document
from docgraph.errors import DocgraphError


@dataclass(frozen=True, slots=True)
class _Slice:
    """Where the lines of one document stand in the file."""

    offset: int
    line: int
    count: int
    entity_fields: str | None


class ConlluAnnotator:
    """Finds a document in the file by its id, or else by its text; the sentences must be the same ones.

    The file is indexed once and read again document by document, so that its size does not matter.
    """

    requires: frozenset[Layer] = frozenset()

    def __init__(self, path: str) -> None:
        self.name = f"conllu:{path}"
        self._path = Path(path)
        with self._path.open("rb") as file:
            self.version = hashlib.file_digest(file, "blake2b").hexdigest()
        self._by_id: dict[str, _Slice] = {}
        self._by_text: dict[bytes, _Slice] = {}
        self._by_opening: dict[str, _Slice] = {}
        layers: list[frozenset[Layer]] = []
        for where in _slices(self._path):
            for document, annotation in self._read(where):
                self._by_id.setdefault(document.id, where)
                self._by_text.setdefault(_digest(document), where)
                self._by_opening.setdefault(_characters(document.texts[0]) if len(document) else "", where)
                layers.append(annotation.layers)
        if not layers:
            raise DocgraphError("there is no sentence in this file; give one in CoNLL-U", path=path)
        self.assigns = frozenset.intersection(*layers)

    def __call__(self, document: Document, annotation: Annotation | None) -> Annotation:
        opening = _characters(document.texts[0]) if len(document) else ""
        where = (
            (self._by_id.get(document.id) if document.id else None)
            or self._by_text.get(_digest(document))
            or self._by_opening.get(opening)
        )
        if where is None:
            raise DocgraphError(
                f"document '{document.id}' is not in this file, neither by its id nor by its first sentence "
                f"'{_short(document.texts[0] if len(document) else '')}'; annotate it too",
                path=self._path,
            )
        found, given = next(self._read(where))
        if len(found) != len(document):
            self._fail_at_first_difference(document, found)
        starts, ends = given.starts.copy(), given.ends.copy()
        for index, (ours, theirs) in enumerate(zip(document.texts, found.texts, strict=True)):
            if ours == theirs:
                continue
            if _characters(ours) != _characters(theirs):
                self._fail_at_first_difference(document, found)
            words = slice(int(given.offsets[index]), int(given.offsets[index + 1]))
            starts[words], ends[words] = _moved(given.starts[words], given.ends[words], theirs, ours)
        return replace(given, starts=starts, ends=ends)

    def _read(self, where: _Slice) -> Iterator[conllu.Annotated]:
        with self._path.open("rb") as file:
            file.seek(where.offset)
            lines = islice(file, where.count)
            yield from conllu.parse(lines, str(self._path), first_line=where.line, entity_fields=where.entity_fields)

    def _fail_at_first_difference(self, document: Document, found: Document) -> None:
        """Raise the error that names the first sentence the two do not share."""
        pairs = zip(document.texts, found.texts, strict=False)
        same = next(
            (index for index, (ours, theirs) in enumerate(pairs) if _characters(ours) != _characters(theirs)),
            min(len(document), len(found)),
        )
        ours = f"'{_short(document.texts[same])}'" if same < len(document) else "no sentence"
        theirs = f"'{_short(found.texts[same])}'" if same < len(found) else "no sentence"
        raise DocgraphError(
            f"sentence {same + 1} of document '{document.id}' is {ours} but {theirs} in this file; "
            "annotate the same sentences, one a line",
            path=self._path,
        )


def _slices(path: Path) -> Iterator[_Slice]:
    """The stretches of lines from one `# newdoc` to the next."""
    begin, begin_line, fields, declared = 0, 1, None, None
    block, block_line, offset, number = 0, 1, 0, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if line.startswith(b"# newdoc") and block > begin:
                yield _Slice(begin, begin_line, block_line - begin_line, fields)
                begin, begin_line, fields = block, block_line, declared
            elif line.startswith(b"# global.Entity"):
                declared = line.partition(b"=")[2].decode("utf-8", "replace").strip()
            offset += len(line)
            if not line.strip():
                block, block_line = offset, number + 1
    yield _Slice(begin, begin_line, number - begin_line + 1, fields)


def _moved(starts: IntArray, ends: IntArray, theirs: str, ours: str) -> tuple[IntArray, IntArray]:
    """Offsets in a text that differs by white space alone, brought over to ours."""
    there, here = _positions(theirs), _positions(ours)
    first = np.searchsorted(there, starts)
    last = np.searchsorted(there, ends) - 1
    edge = np.append(here, len(ours))
    begin = edge[np.minimum(first, len(here))]
    end = np.where(last >= first, edge[last] + 1, begin)
    return begin.astype(np.int32), end.astype(np.int32)


def _positions(text: str) -> npt.NDArray[np.int64]:
    return np.array([index for index, character in enumerate(text) if not character.isspace()], dtype=np.int64)


def _characters(text: str) -> str:
    return "".join(text.split())


def _digest(document: Document) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for text in document.texts:
        digest.update(_characters(text).encode("utf-8", "surrogatepass"))
    return digest.digest()


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."
