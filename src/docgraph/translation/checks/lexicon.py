"""Word lists of target languages, used to recognise words that a model has invented."""

from __future__ import annotations

import lzma
import re
from collections.abc import Callable, Iterable, Iterator
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.resources import files

from docgraph.translation.text.digits import plain_digits

WORD = re.compile(r"[^\W\d_]+")
MIN_LENGTH = 4
"""Shorter words are not looked up."""
_IN_TEXT = re.compile(rf"(?<![\w.@#/\\])(?<!\W-)(?<!^-){WORD.pattern}(?![\w@#/\\]|[.](?=\w))")
"""A word, or a part of a compound, that is not part of an identifier or an address."""
_FIRST = re.compile(rf"(?:^\W*|[.!?…:]\s+\W*|[«“(]\s*)({WORD.pattern})(?![\w@#/\\-]|[.](?=\w))")
"""The first word of a sentence, a quotation or a bracket."""
_SIMILAR = 0.5
"""Minimum similarity of a name and its translation."""


@lru_cache
def lexicon(language: str) -> Callable[[str], bool] | None:
    """Returns a function that checks whether a lower-case word is listed; None for a language without a word list."""
    file = files("docgraph") / "data" / "lexicons" / f"{language}.txt.xz"
    if not file.is_file():
        return None
    words = frozenset(lzma.decompress(file.read_bytes()).decode("utf-8").split())

    @lru_cache(1 << 14)
    def is_listed(word: str) -> bool:
        if len(word) < MIN_LENGTH or word in words:
            return True
        from simplemma import is_known  # has many more forms, but is slow to load

        return bool(is_known(word, lang=language))

    return is_listed


def invented_words(source: str, translation: str, language: str | None, allowed: Iterable[str] = ()) -> Iterator[str]:
    """Yields the words of a translation that are neither listed nor in its source.

    Names, which have capitals, and words of the texts in `allowed` are left out. Without a list there are none.
    """
    is_listed = lexicon(language) if language is not None else None
    if is_listed is None:
        return
    unknown = [word for word in _IN_TEXT.findall(plain_digits(translation)) if word.islower() and not is_listed(word)]
    if unknown:
        other = {word.lower() for text in (source, *allowed) for word in WORD.findall(text)}
        yield from dict.fromkeys(word for word in unknown if word not in other)


def invented_first_words(
    source: str, translation: str, language: str | None, allowed: Iterable[str], is_name: Callable[[str], bool]
) -> Iterator[str]:
    """Yields the capitalised first words of sentences that are neither listed nor in the source, in lower case.

    A word is left out if the most similar word of the source is a name: *Athènes* for *Athens*.
    """
    is_listed = lexicon(language) if language is not None else None
    first = {word.lower() for word in _FIRST.findall(translation) if word.istitle()}
    unknown = [word for word in first if is_listed is not None and not is_listed(word)]
    if not unknown:
        return
    words = WORD.findall(source)
    other = {word.lower() for text in (source, *allowed) for word in WORD.findall(text)}
    for word in sorted(set(unknown) - other):
        nearest = max(words, key=lambda each: _similarity(word, each), default="")
        if not (nearest.istitle() and _similarity(word, nearest) >= _SIMILAR and is_name(nearest)):
            yield word


def _similarity(word: str, other: str) -> float:
    return SequenceMatcher(None, word, other.lower(), autojunk=False).ratio()
