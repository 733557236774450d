"""Known translations of a file: beside each line its translation, or nothing."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats.base import NEWLINE, decode

_NEWLINE = re.compile(NEWLINE)


def read_known(path: Path, documents: Sequence[Document]) -> list[list[str]]:
    """For the sentences of each document of a file of lines, the line of `path` beside theirs."""
    if any(document.format != "lines" for document in documents):
        raise DocgraphError("known translations are for text of one sentence a line; say --format lines", path=path)
    lines = _lines(decode(path.read_bytes(), str(path))[0].removeprefix("\ufeff"))
    count = len(_lines("".join(document.source for document in documents)))
    if len(lines) != count:
        raise DocgraphError(
            f"the lines here number {len(lines):,}, those of the text {count:,}; keep one for each, empty where its"
            " translation is not known",
            path=path,
        )
    found, first = [], 0
    for document in documents:
        ends = [newline.end() for newline in _NEWLINE.finditer(document.source)]
        places = [first + bisect_right(ends, sentence.start) for sentence in document]
        found.append([lines[place].strip() for place in places])
        own = range(first, first + len(_lines(document.source)))
        if stray := [place for place in sorted({*own} - {*places}) if lines[place].strip()]:
            raise DocgraphError("beside this translation, the text has a blank line", path=path, line=stray[0] + 1)
        first = own.stop
    return found


def _lines(text: str) -> list[str]:
    lines = _NEWLINE.split(text)
    return lines if lines[-1] else lines[:-1]
