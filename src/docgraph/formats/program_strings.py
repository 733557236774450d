"""Strings of programs: the text of a format string (100%% of %s) or of a label with a mnemonic (Save &As...).

A person reads `100% of %s` and `Save As...`, and so does the model. `ProgramString` returns this text, and writes a new
one as the program expects it.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

from docgraph.formats.html import ENTITY
from docgraph.formats.literals import FORMAT, LITERAL

_DIRECTIVE = re.compile(
    r"%(?:%|(?:\((?P<name>\w[^()%]{0,99})\)|(?P<number>\d{1,2})\$)?[#0+'-]{0,4}(?:\d{1,3}|\*)?(?:\.(?:\d{1,3}|\*))?"
    r"(?:(?:hh?|ll?|[zjtqL])?[diouxXeEfFgGcCsSpr@]|<PRI[a-zA-Z0-9]{1,9}>))"
)
"""A directive of printf or of the % operator of Python; `%%` is the per cent sign."""
_UNTOUCHED = re.compile(rf"<[^<>]*>|{ENTITY.pattern}|\t[^\n]*|{LITERAL.pattern}")
"""Where no mnemonic goes: tags, entities, a shortcut after a tab, placeholders."""
_LETTERS_BEFORE = re.compile(r"(?:(?<=[\s(\"'“‘«\[])|(?<!.))[^\W\d_]*\Z", re.S)
_LETTERS_AFTER = re.compile(r"[^\W_]++(?![\w/\\@=;&]|[.:-]\w)")
_SENTENCE_END = re.compile(r"(?<!\.)[.!?]\s*\Z")
_MAX_LABEL_WORDS = 6


@dataclass(frozen=True)
class ProgramString:
    """A string as it stands in a file of strings."""

    raw: str
    is_format: bool | None = None
    """Whether it is a format string; None if the file does not say, so that its directives decide."""
    marks: tuple[str, ...] = ()
    """What may mark the mnemonic of a label in this format: `&`, `_`."""

    @cached_property
    def text(self) -> str:
        """The text that people read: `%` for `%%` of a format string, and no mark before the letter of a mnemonic."""
        if self._mnemonic is None:
            return self._without_escapes
        start, mark = self._mnemonic
        return self._without_escapes[:start] + self._without_escapes[start + len(mark) :]

    def write(self, text: str) -> str | None:
        """Return a new text as a string of the program; None if a format string would get other directives."""
        if text == self.text:
            return self.raw
        if self._directives is not None:
            text = text if "%%" in self._without_escapes else self._escape(text)
            if _arguments(text) != _arguments(self.raw):
                return None
        if self._mnemonic is None:
            return text
        start, mark = self._mnemonic
        return _with_mnemonic(text, mark, self._without_escapes[start + len(mark)])

    @cached_property
    def _directives(self) -> list[str] | None:
        """The directives of a format string; None for any other text."""
        found = [match[0] for match in _DIRECTIVE.finditer(self.raw)]
        is_format = self.is_format
        if is_format is None:
            is_format = re.search(FORMAT, self.raw.replace("%%", " ")) is not None
        return found if is_format and "%" not in _DIRECTIVE.sub("", self.raw) else None

    @cached_property
    def _without_escapes(self) -> str:
        """The string with `%` for `%%`, unless that could not be undone."""
        if not self._directives:
            return self.raw
        text = _DIRECTIVE.sub(lambda match: "%" if match[0] == "%%" else match[0], self.raw)
        return text if self._escape(text) == self.raw else self.raw

    def _escape(self, text: str) -> str:
        """Return a text with `%%` for each per cent sign that begins no directive of this string."""
        known = sorted({*(self._directives or ()), "%%"}, key=len, reverse=True)
        return re.sub(rf"({'|'.join(map(re.escape, known))})|%", lambda match: match[1] or "%%", text)

    @cached_property
    def _mnemonic(self) -> tuple[int, str] | None:
        """The position of the mark of a mnemonic, and the mark."""
        text = self._without_escapes
        found = ((text.find(mark), mark) for mark in self.marks if text.count(mark) == 1)
        return next(((start, mark) for start, mark in found if _is_mnemonic(text, start, mark)), None)


def _arguments(text: str) -> tuple[list[str], Counter[str]] | None:
    """Return the directives that take the next argument, in order, and those that name theirs; None if one is wrong."""
    if "%" in _DIRECTIVE.sub("", text):
        return None
    found = [match for match in _DIRECTIVE.finditer(text) if match[0] != "%%"]
    named = Counter(match[0] for match in found if match["name"] or match["number"])
    return [match[0] for match in found if match[0] not in named], named


def _is_mnemonic(text: str, start: int, mark: str) -> bool:
    """Return whether a mark is that of a mnemonic: `_File`, `E&xit`, but not `AT&T`, `my_file` and `&nbsp;`."""
    before, after = _LETTERS_BEFORE.search(text[:start]), _LETTERS_AFTER.match(text, start + len(mark))
    if before is None or after is None:
        return False
    if mark != "_" and html.unescape(f"&{after[0]}") != f"&{after[0]}":
        return False
    if before[0]:
        return after[0].islower() and _is_split_word(before[0], after[0], mark)
    return mark != "_" or after[0][0].isupper() or _is_label(text)


def _is_split_word(before: str, after: str, mark: str) -> bool:
    """Return whether two parts are one English word, rather than the words of an identifier."""
    from simplemma import is_known  # slow to import

    if not is_known((before + after).lower(), lang="en"):
        return False
    may_be_two = before.islower() or (mark == "_" and len(before) > 2)
    return not (may_be_two and is_known(after, lang="en"))


def _is_label(text: str) -> bool:
    """Return whether a text is a few words without the end of a sentence, and not just a word in small letters."""
    return text != text.lower() and len(text.split()) <= _MAX_LABEL_WORDS and not _SENTENCE_END.search(text)


def _with_mnemonic(text: str, mark: str, letter: str) -> str:
    """Return a label with its mark before the same letter, at best the first of a word, or else before the first one.

    A text that has such a mark already stays as it is.
    """
    if mark in text:
        return text
    shown = _UNTOUCHED.sub(lambda match: " " * len(match[0]), text)
    for pattern in (rf"(?i:\b{letter})", rf"(?i:{letter})", r"[^\W_]"):
        if found := re.search(pattern, shown):
            return text[: found.start()] + mark + text[found.start() :]
    return text
