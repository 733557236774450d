"""Gold chains for training and scoring: the documents of a CoNLL-U file with `Entity=` brackets, and their chains."""

from __future__ import annotations

import lzma
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from docgraph.annotate import conllu
from docgraph.annotate.conllu_entities import EntityReader
from docgraph.annotate.coref.score import index
from docgraph.annotation import Annotation
from docgraph.document import Document

_ENTITY = re.compile(r"(?:^|\|)Entity=([^|]*)")


@dataclass(frozen=True, eq=False)
class GoldDocument:
    """A document, its gold trees, and its chains of head words; a word that two entities share counts for one."""

    document: Document
    annotation: Annotation
    chains: list[list[int]]


def read_gold(path: str | Path) -> list[GoldDocument]:
    """All documents of a file, which may be compressed with xz."""
    path = Path(path)
    content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
    lines = content.splitlines(keepends=True)
    documents = conllu.parse(lines, str(path))
    readers = _entities(content.decode("utf-8").splitlines(), str(path))
    return [
        GoldDocument(document, annotation, one_chain_each(reader.chains(annotation.heads)))
        for (document, annotation), reader in zip(documents, readers, strict=True)
    ]


def one_chain_each(chains: list[list[int]]) -> list[list[int]]:
    """The same chains with every word in the smallest of its chains alone: "Bos" is Bos, not "Bos and colleagues"."""
    found: dict[int, list[int]] = {}
    for word, number in sorted(index(chains).items()):
        found.setdefault(number, []).append(word)
    return [chain for chain in found.values() if len(chain) > 1]


def _entities(lines: list[str], path: str) -> Iterator[EntityReader]:
    """The brackets of each document."""
    reader, word = None, 0
    for number, line in enumerate(lines, start=1):
        if line.startswith("# newdoc"):
            if reader is not None:
                yield reader
            reader, word = EntityReader(path), 0
        elif line[:1].isdigit() and line.split("\t", 1)[0].isdigit():
            reader = reader or EntityReader(path)
            found = _ENTITY.search(line.rsplit("\t", 1)[1])
            if found is not None:
                reader.read(found[1], word, word, number)
            word += 1
    if reader is not None:
        yield reader
