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
        openers = _Openers()
        for closer in self._runs[first:]:
            while closer.can_close and closer.start < closer.end:
                opener = openers.find(closer)
                if opener is None:
                    break
                openers.remove_after(opener)
                size = 2 if min(opener.end - opener.start, closer.end - closer.start) >= 2 else 1
                found.append(("open", opener.end - size, opener.end))
                found.append(("close", closer.start, closer.start + size))
                opener.end -= size
                closer.start += size
                if opener.start == opener.end:
                    openers.pop()
            if closer.can_open and closer.start < closer.end:
                openers.push(closer)
        del self._runs[first:]
        return found


class _Openers:
    """The runs that may still open emphasis."""

    def __init__(self) -> None:
        self._all: list[_Run] = []
        self._by_char: dict[str, list[_Run]] = {"*": [], "_": [], "~": [], "=": []}
        self._tried: dict[tuple[str, int, bool], int] = {}
        """By the character, length modulo 3 and ability to open of a closer: openers below this height do not match."""

    def push(self, run: _Run) -> None:
        """Add a run."""
        self._all.append(run)
        self._by_char[run.char].append(run)

    def pop(self) -> None:
        """Remove the last run."""
        char = self._all.pop().char
        self._by_char[char].pop()
        height = len(self._by_char[char])
        for key in self._tried:
            if key[0] == char:
                self._tried[key] = min(self._tried[key], height)

    def remove_after(self, opener: _Run) -> None:
        """Remove the runs after `opener`: emphasis does not overlap."""
        while self._all[-1] is not opener:
            self.pop()

    def find(self, closer: _Run) -> _Run | None:
        """Return the last run that `closer` can close; None if there is none."""
        key = (closer.char, closer.length % 3, closer.can_open)
        runs, tried = self._by_char[closer.char], self._tried.get(key, 0)
        for height in range(len(runs), tried, -1):
            if _match(runs[height - 1], closer):
                return runs[height - 1]
        self._tried[key] = len(runs)
        return None


def _match(opener: _Run, closer: _Run) -> bool:
    """Apply the rule of three: runs that can both open and close do not pair if their lengths sum to a multiple."""
    if closer.char in "~=":
        return True
    is_odd = (opener.can_close or closer.can_open) and (opener.length + closer.length) % 3 == 0
    return not is_odd or (opener.length % 3 == 0 and closer.length % 3 == 0)


def _is_punctuation(char: str) -> bool:
    return unicodedata.category(char)[0] in "PS"
