"""Files of known translations: a bilingual file, or a text that is parallel to a document, line by line."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats.base import NEWLINE, decode
from docgraph.translation.files.bilingual import Languages, Match, format_of, match_segments, read_bilingual

_NEWLINE = re.compile(NEWLINE)


def read_known(path: Path, documents: Sequence[Document], languages: Languages) -> Match:
    """Returns the known translations of the documents of a file, and those that match no sentence.

    In a bilingual file (.xlf, .tmx, .tsv, .html), the confirmed and the edited translations are known.
    """
    if format_of(path) is not None:
        return match_segments(documents, read_bilingual(path, languages))
    return Match(_read_lines(path, documents), [])


def _read_lines(path: Path, documents: Sequence[Document]) -> list[list[str]]:
    """Returns the known translations in a file whose lines are parallel to those of the documents."""
    if any(document.format != "lines" for document in documents):
        message = "has lines, which belong to a text of one sentence per line; pass --format lines, or a bilingual file"
        raise DocgraphError(message, path=path)
    lines = _split_lines(decode(path.read_bytes(), str(path))[0].removeprefix("\ufeff"))
    count = len(_split_lines("".join(document.source for document in documents)))
    if len(lines) != count:
        raise DocgraphError(
            f"has {len(lines):,} line{'' if len(lines) == 1 else 's'} but the text has {count:,}; keep one line for"
            " each, empty if its translation is unknown",
            path=path,
        )
    known, first = [], 0
    for document in documents:
        ends = [newline.end() for newline in _NEWLINE.finditer(document.source)]
        places = [first + bisect_right(ends, sentence.start) for sentence in document]
        known.append([lines[place].strip() for place in places])
        own = range(first, first + len(_split_lines(document.source)))
        if stray := [place for place in sorted({*own} - {*places}) if lines[place].strip()]:
            raise DocgraphError("this translation belongs to a blank line of the text", path=path, line=stray[0] + 1)
        first = own.stop
    return known


def _split_lines(text: str) -> list[str]:
    lines = _NEWLINE.split(text)
    return lines if lines[-1] else lines[:-1]
