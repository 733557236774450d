"""Emphasis in Markdown: pairs runs of `*`, `_`, `~` and `=`, by the rules of CommonMark, in linear time."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

Delimiter = tuple[Literal["open", "close"], int, int]
"""Role, start and end of the characters that open or close emphasis."""


@dataclass(slots=True)
class _Run:
    """A run of `*`, `_`, `~` or `=` from `start` to `end`, both of which move inwards as characters are paired."""

    char: str
    start: int
    end: int
    can_open: bool
    can_close: bool
    length: int


class DelimiterRuns:
    """The runs of a text that are not paired yet."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._runs: list[_Run] = []

    def __len__(self) -> int:
        return len(self._runs)

    def add(self, start: int, end: int) -> None:
        """Add a run; whether it can open or close emphasis depends on the characters beside it."""
        char = self._text[start]
        before = self._text[start - 1] if start else " "
        after = self._text[end] if end < len(self._text) else " "
        left = not after.isspace() and (not _is_punctuation(after) or before.isspace() or _is_punctuation(before))
        right = not before.isspace() and (not _is_punctuation(before) or after.isspace() or _is_punctuation(after))
        can_open, can_close = left, right
        if char == "_":
            can_open = left and (not right or _is_punctuation(before))
            can_close = right and (not left or _is_punctuation(after))
        elif char == "=":
            can_open = left and not before.isalnum()
            can_close = right and not after.isalnum()
        if char not in "~=" or end - start == 2:
            self._runs.append(_Run(char, start, end, can_open, can_close, end - start))

    def pair(self, first: int) -> list[Delimiter]:
        """Pair the runs from number `first` on, and forget them."""
        found: list[Delimiter] = []
        openers: list[_Run] = []
        tried: dict[tuple[str, int, bool], int] = {}
        """By the properties of a closer that `_match` asks for: number of the first openers that do not match it."""
        for closer in self._runs[first:]:
            key = (closer.char, closer.length % 3, closer.can_open)
            while closer.can_close and closer.start < closer.end:
                places = range(len(openers) - 1, tried.get(key, 0) - 1, -1)
                place = next((place for place in places if _match(openers[place], closer)), None)
                if place is None:
                    tried[key] = len(openers)
                    break
                opener = openers[place]
                size = 2 if min(opener.end - opener.start, closer.end - closer.start) >= 2 else 1
                found.append(("open", opener.end - size, opener.end))
                found.append(("close", closer.start, closer.start + size))
                opener.end -= size
                closer.start += size
                del openers[place + (opener.start < opener.end) :]  # emphasis does not overlap
                tried = {known: min(number, len(openers)) for known, number in tried.items()}
            if closer.can_open and closer.start < closer.end:
                openers.append(closer)
        del self._runs[first:]
        return found


def _match(opener: _Run, closer: _Run) -> bool:
    """Return whether a run closes another one: two that both open and close must not sum to a multiple of 3."""
    if opener.char != closer.char or closer.char in "~=":
        return opener.char == closer.char
    is_odd = (opener.can_close or closer.can_open) and (opener.length + closer.length) % 3 == 0
    return not is_odd or (opener.length % 3 == 0 and closer.length % 3 == 0)


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
