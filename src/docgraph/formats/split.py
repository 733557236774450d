"""Sentence splitting: character spans in a text, by the rules of `sentencex` (about 300 languages, no model).

`benchmarks/sentence_splitting.py` compares it with its peers on treebanks; docs/formats.md has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_WHITE = re.compile(r"[\s\ud800-\udfff]")
_OPENING = "\"'“‘„«‹([{¿¡「『（"
_ABBREVIATION = {
    "fr": re.compile(r"(?<!\w)MM?\.\s*$"),
    "ru": re.compile(r"(?<!\w)[тТ]\.\s?[еЕ]\.\s*$"),
}
"""What the rules of a language take for the end of a sentence and is not: M. Dupont, т. е. (that is)."""

_END = {"en": re.compile(r"(?:(?<!\w)No|\d\s[a-z])\.\s+(?=[^\W\d_a-z])")}
"""What they take for an abbreviation or an initial and is an end: No. I do not. It is 12 m. It is deep."""


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Spans (start, end) of the sentences, in order, without the white space around them."""
    code = language.replace("_", "-").split("-")[0].lower()
    spans = []
    for start, end in _segments(text, code):
        sentence = text[start:end]
        left = len(sentence) - len(sentence.lstrip())
        right = len(sentence.rstrip())
        if left < right:
            spans.append((start + left, start + right))
    return spans


def _segments(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Segments that join to the text, mended where the rules are known to be wrong."""
    from sentencex import segment

    abbreviation, missed = _ABBREVIATION.get(language), _END.get(language)
    start = end = 0
    # sentencex 1.0 indexes bytes: white space outside ASCII after an initial makes it panic, and so do surrogates
    for piece in segment(language, _WHITE.sub(" ", text)):
        end += len(piece)
        if abbreviation is not None and abbreviation.search(piece):
            continue
        cut = _before_opening_quote(text, start, end)
        ends = [match.end() for match in missed.finditer(text, start, cut)] if missed is not None else []
        for place in [*ends, cut]:
            if place > start:
                yield start, place
                start = place
    if start < len(text):
        yield start, len(text)


def _before_opening_quote(text: str, start: int, end: int) -> int:
    """The end of a segment, less an opening quote or bracket that hangs off it and belongs to the next."""
    cut = end
    while cut > start and text[cut - 1] in _OPENING:
        cut -= 1
    hangs = start < cut < end < len(text) and text[cut - 1].isspace() and not text[end].isspace()
    return cut if hangs else end
