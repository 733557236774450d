"""Sentence splitting: character spans of sentences, by the rules of `sentencex` (about 300 languages, no model).

`benchmarks/sentence_splitting.py` compares it with other splitters on treebanks; docs/formats.md has the results.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_UNSAFE_SPACE = re.compile(r"[\s\ud800-\udfff]")
_OPENING = "\"'“‘„«‹([{¿¡「『（"
_ABBREVIATION = {
    "fr": re.compile(r"(?<!\w)MM?\.\s*$"),
    "ru": re.compile(r"(?<!\w)[тТ]\.\s?[еЕ]\.\s*$"),
}
"""Abbreviations that sentencex mistakes for the end of a sentence: M. Dupont, т. е. (that is)."""

_MISSED_END = {"en": re.compile(r"(?:(?<!\w)No|\d\s[a-z])\.\s+(?=[^\W\d_a-z])")}
"""Sentence ends that sentencex mistakes for an abbreviation or initial: No. I do not. It is 12 m. It is deep."""


def split_sentences(text: str, language: str = "en") -> list[tuple[int, int]]:
    """Return the spans (start, end) of the sentences in order, without surrounding white space."""
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
    """Yield consecutive segments that cover the text, with known errors of sentencex corrected."""
    from sentencex import segment

    abbreviation, missed_end = _ABBREVIATION.get(language), _MISSED_END.get(language)
    start = end = 0
    # sentencex 1.0 indexes bytes: it panics on non-ASCII white space after an initial, and on surrogates.
    for piece in segment(language, _UNSAFE_SPACE.sub(" ", text)):
        end += len(piece)
        if abbreviation is not None and abbreviation.search(piece):
            continue
        cut = _before_opening_quote(text, start, end)
        ends = [match.end() for match in missed_end.finditer(text, start, cut)] if missed_end is not None else []
        for position in [*ends, cut]:
            if position > start:
                yield start, position
                start = position
    if start < len(text):
        yield start, len(text)


def _before_opening_quote(text: str, start: int, end: int) -> int:
    """Return the end of a segment, without a trailing opening quote or bracket, which belongs to the next segment."""
    cut = end
    while cut > start and text[cut - 1] in _OPENING:
        cut -= 1
    is_trailing = start < cut < end < len(text) and text[cut - 1].isspace() and not text[end].isspace()
    return cut if is_trailing else end
