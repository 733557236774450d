"""Markup inside a word (H<sub>2</sub>O, 10<sup>6</sup>, 19<sup>th</sup>), and marks of notes directly after a word.

Markup inside a word stays at the same place in the word if the new text has the word, too. A superscript, a subscript
or a mark whose word has another form goes to the end of the word that translates it, and never encloses that word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.base import ATOM_CHARACTERS, CJK, Span, around

_RUN = re.compile(rf"[^\s'’{CJK}{ATOM_CHARACTERS}]+")
_CORE = re.compile(rf"[^\W_{CJK}{ATOM_CHARACTERS}]+")
_HYPHENS = "-−–\u2011"
_HYPHEN = f"[{re.escape(_HYPHENS)}]"
_SIGNS = f"+±{_HYPHENS}"
"""Marks that may belong to a superscript: Ca<sup>2+</sup>."""
_LAST_WORD = re.compile(r"[^\W_](?=[\W_]*\Z)")
_WORD_BEFORE = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*\Z")
_MAX_WORD = 60
_GROUP = "[\u00a0\u202f ]?"
"""Between the digits of a number in the new text: 1012 may have become 1 012."""
_SCRIPT = re.compile(r"<su[bp][\s>]|script\"|\bbaseline=", re.IGNORECASE)
_REFERENCE = re.compile(r":(?:foot|end)noteReference\b|<text:note[\s>]|script\"|\bbaseline=")
"""Markup that stands for the mark of a note, in office documents."""
_ORDINAL = re.compile(r"(?<!\w)(\d{1,4})(?:st|nd|rd|th)(?!\w)")
_NEW_ORDINAL = re.compile(r"(?<!\w)(\d{1,4}|[IVXLC]{1,9})(?:ers?|re|nde?|e|ème)(?!\w)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_NUMBERS = r"\d{1,3}(?:[,–-] ?\d{1,3})*"
_NOTE_MARK = re.compile(
    rf"\[?(?:{_NUMBERS}|[a-d](?:, ?[a-d])*|note {_NUMBERS}|[*†‡§®™]{{1,3}}|TM|SM)\]?", re.IGNORECASE
)
_YEAR = re.compile(r"(?<!\d)(?:1[5-9]|20)\d\d\Z")
_NO_NOTE_AFTER = re.compile(r"(?:(?<![^\W_])[^\W\d_]|\d|(?<![^\W_])[^\W\d_aeiouy]{2})\Z", re.IGNORECASE)
"""A letter, a digit, or two consonants (km, cm): what follows is a power."""


@dataclass(frozen=True, slots=True)
class _Part:
    """Markup inside a word, or beside it if it belongs to other markup inside it."""

    word: Span
    indices: tuple[int, ...]
    is_script: bool
    """Whether it encloses a superscript or subscript, or digits."""


def is_note_mark(before: str, content: str) -> bool:
    """Return whether the content of a superscript or link, after the text `before`, is the mark of a note."""
    content = content.strip()
    if not before or before[-1].isspace() or not _NOTE_MARK.fullmatch(content):
        return False
    return not content[0].isalnum() or _NO_NOTE_AFTER.search(before) is None or _YEAR.search(before) is not None


def pairs(markups: Sequence[InlineMarkup]) -> list[Span]:
    """Return the indices of the markup that opens and closes each element."""
    opened: list[int] = []
    found: list[Span] = []
    for index, markup in enumerate(markups):
        if markup.role == "open":
            opened.append(index)
        elif markup.role == "close" and opened:
            found.append((opened.pop(), index))
    return found


def positions_in_words(sentence: Sentence, text: str) -> dict[int, int]:
    """Return the positions, by markup index, of markup inside words that the new text has, too.

    An ordinal number counts as the same word (19th, XIXe). The mark of a note after the last word stays after the last
    word, and the first letter of a sentence stays the first one.
    """
    found: dict[int, int] = {}
    for part in _parts(sentence):
        found.update(_in_same_word(sentence, part, text) or _in_ordinal(sentence, part, text))
        [index, *others] = part.indices
        markup = sentence.markup[index]
        if not others and index not in found and markup.role == "close" and markup.offset == 1 and text[:1].isalpha():
            found[index] = 1
    last = _LAST_WORD.search(sentence.text)
    new = _LAST_WORD.search(text)
    for index in _note_marks(sentence):
        if last and new and last.end() == sentence.markup[index].offset:
            found[index] = new.end()
    return found


def anchored_markup(sentence: Sentence, positions: Collection[int]) -> Iterator[tuple[tuple[int, ...], Span]]:
    """Yield the indices of markup that goes to the end of the translation of a word, and the span of that word.

    `positions` has the indices of the markup whose place is known.
    """
    for part in _parts(sentence):
        if part.is_script and not all(index in positions for index in part.indices):
            yield part.indices, part.word
    for index in _note_marks(sentence):
        end = sentence.markup[index].offset
        if index not in positions and (word := _WORD_BEFORE.search(sentence.text, max(end - _MAX_WORD, 0), end)):
            yield (index,), word.span()


def script_indices(sentence: Sentence) -> frozenset[int]:
    """Return the indices of the markup of superscripts and subscripts inside words."""
    return frozenset(index for part in _parts(sentence) if part.is_script for index in part.indices)


def inner_indices(sentence: Sentence) -> list[int]:
    """Return the indices of the markup inside words, and of the marks of notes."""
    return sorted({*_note_marks(sentence), *(index for part in _parts(sentence) for index in part.indices)})


def _note_marks(sentence: Sentence) -> Iterator[int]:
    """Yield the indices of the marks of notes, and of other atoms, directly after a word."""
    for index, markup in enumerate(sentence.markup):
        before, after = around(sentence.text, markup.offset)
        is_after_word = before.isalnum() and not after.isalnum() and not markup.raw[:1].isspace()
        if is_after_word and (markup.role == "atom" or (markup.role == "" and _REFERENCE.search(markup.raw))):
            yield index


def _parts(sentence: Sentence) -> Iterator[_Part]:
    """Yield the markup inside each word."""
    text, markups = sentence.text, sentence.markup
    inside = [
        index
        for index, markup in enumerate(markups)
        if markup.role not in ("atom", "break") and markup.raw.strip() and _is_inside(text, markup.offset)
    ]
    if not inside:
        return
    runs = [match.span() for match in _RUN.finditer(text)]
    starts = [start for start, _ in runs]
    mates = _mates(markups)
    words: dict[Span, list[int]] = {}
    for index in inside:
        place = bisect_right(starts, markups[index].offset) - 1
        if place >= 0 and markups[index].offset < runs[place][1]:
            words.setdefault(runs[place], []).append(index)
    for (start, end), own in words.items():
        near = {mate for index in own for mate in mates.get(index, ()) if start <= markups[mate].offset <= end}
        indices = tuple(sorted({*own, *near}))
        first, last = markups[indices[0]].offset, markups[indices[-1]].offset
        while start < first and not text[start].isalnum():
            start += 1
        while end > last and not text[end - 1].isalnum():
            end -= 1
        is_script = any(_SCRIPT.search(markups[index].raw) for index in indices) or text[first:last].isdigit()
        yield _Part((start, end), indices, is_script and len(indices) > 1)


def _is_inside(text: str, offset: int) -> bool:
    """Return whether a position is inside a word of a script with spaces."""
    before, after = around(text, offset)
    return _CORE.fullmatch(before) is not None and (_CORE.fullmatch(after) is not None or after in tuple(_SIGNS))


def _mates(markups: Sequence[InlineMarkup]) -> dict[int, list[int]]:
    """Return the other markup of each element; the markup beside each one whose role is not known."""
    found: dict[int, list[int]] = {}
    for start, end in pairs(markups):
        found.setdefault(start, []).append(end)
        found.setdefault(end, []).append(start)
    for index, markup in enumerate(markups):
        if markup.role == "":
            near = (index - 1, index + 1)
            found[index] = [n for n in near if 0 <= n < len(markups) and markups[n].role == ""]
    return found


def _in_same_word(sentence: Sentence, part: _Part, text: str) -> dict[int, int]:
    """Return the positions of the markup inside a word that the new text has, too; empty if it has not."""
    old, start, end = sentence.text, *part.word
    offsets = {index: sentence.markup[index].offset for index in part.indices}
    first = min(offsets.values())
    core = next((match.span() for match in _CORE.finditer(old, start, end) if match.end() > first), part.word)
    for start, end in (part.word, core):
        place = _same_place(_pattern(old[start:end]), (start, end), old, text)
        if place is None or not all(start <= offset <= end for offset in offsets.values()):
            continue
        ends = [n + 1 for n in range(*place) if text[n] not in "\u00a0\u202f "]
        return {index: place[0] if offset == start else ends[offset - start - 1] for index, offset in offsets.items()}
    return {}


def _in_ordinal(sentence: Sentence, part: _Part, text: str) -> dict[int, int]:
    """Return the positions of the markup around the ending of an ordinal number; empty if there is none."""
    if not (match := _ORDINAL.match(sentence.text, *part.word)):
        return {}
    same = [other for other in _NEW_ORDINAL.finditer(text) if _value(other[1]) == int(match[1])]
    if not same:
        return {}
    before = sum(int(other[1]) == int(match[1]) for other in _ORDINAL.finditer(sentence.text, 0, match.start()))
    other = same[min(before, len(same) - 1)]
    place = {match.start(): other.start(), match.end(1): other.end(1), match.end(): other.end()}
    offsets = {index: sentence.markup[index].offset for index in part.indices}
    return {index: place[offset] for index, offset in offsets.items()} if {*offsets.values()} <= {*place} else {}


def _value(number: str) -> int:
    """Return the value of a number in digits or in Roman numerals."""
    if number.isdigit():
        return int(number)
    values = [_ROMAN_VALUES[letter] for letter in number]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def _pattern(word: str) -> re.Pattern[str]:
    parts = [_HYPHEN if char in _HYPHENS else re.escape(char) for char in word]
    joined = "".join(
        part + (_GROUP if word[n : n + 2].isdigit() and n + 1 < len(word) else "") for n, part in enumerate(parts)
    )
    return re.compile(rf"(?<!\w){joined}(?!\w)")


def _same_place(pattern: re.Pattern[str], span: Span, old: str, new: str) -> Span | None:
    """Return the occurrence of a word in the new text that corresponds to the one in the old text."""
    places = [match.span() for match in pattern.finditer(new)]
    before = sum(match.start() < span[0] for match in pattern.finditer(old))
    return places[min(before, len(places) - 1)] if places else None
