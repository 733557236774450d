"""Checks of a translation against its source: loops, lengths, copies, and lost numbers, literals and brackets.

The checks compare strings and know little of the languages. They are meant to raise few false alarms: a number may be
written in words, a time in 24 hours, a century in Roman numerals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from docgraph.formats.base import CJK
from docgraph.formats.literals import LITERAL
from docgraph.translation.language_check import is_function_word

_WORD = re.compile(r"[^\W_]+(?:·[^\W_]+)*")
_CJK = re.compile(f"[{CJK}]")
_CJK_WEIGHT = 3
"""Letters of an alphabet that a CJK character counts for."""
_LONG_FACTOR, _LONG_SLACK = 2.2, 25
"""A translation longer than factor * source + slack characters is too long."""
_SHORT_FACTOR, _SHORT_SLACK = 0.5, 15
"""A translation shorter than factor * source - slack characters is too short."""
_LONGEST_UNIT = 12
"""Words of the longest phrase whose immediate repetition is looked for."""
_TWICE, _NEARBY = 2, 8
"""A phrase may be said twice, separated by punctuation, if a content word of the source is, within 8 words."""
_OFTEN_SIZE, _OFTEN = 4, 3
"""Words of a phrase that may not be said this often anywhere in a translation, unless the source repeats itself."""
_SEPARATORS = frozenset(',;:.!?…–—()"«»“”\n')
_AROUND_WORDS = ",;:.!?…()[]\"'«»“”‘’"
_CHARACTER_LOOP = re.compile(r"([^\W\d_]{1,8}?)\1{4,}|([^\w\s])(?:\s?\2){9,}|\b(\w+)·\3\b")
"""A syllable five times or a punctuation mark ten times in a row, or a word with itself as its other form."""
_COPIED_WORDS, _COPIED_SHARE = 5, 0.75
"""Minimum number of small-letter words in a source, and the share of them in the translation, for a copy."""

_UNIMPORTANT_BRACKETS = re.compile(r"\((?:\d{1,3}(?:\.\d+)?|[a-z]{1,2}|[ivx]{1,4})\)")
"""The plural of file(s), and numbers of sections, which have other forms: 16(1)(a) is 16, paragraphe 1, point a)."""
_POINT = re.compile(r"(?<![\w(])(?:\d{1,3}|[a-z]|[ivx]{1,4})\)")
_GROUPED = re.compile(r"(?<=\d)[,.'’ \u00a0\u202f](?=\d{3}(?!\d))")
_DIGITS = re.compile(r"\d+")
_ROMAN = re.compile(r"\b[IVXLC]+(?=[eè]?r?[eᵉ]?\b)")
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_UNITS = """zéro|un une premier première|deux deuxième second seconde|trois troisième|quatre quatrième|cinq cinquième
|six sixième|sept septième|huit huitième|neuf neuvième|dix dixième|onze onzième|douze douzième midi minuit|treize
|quatorze|quinze|seize|dix-sept|dix-huit|dix-neuf|vingt vingtième""".replace("\n", " ").split("|")
_NUMBER_WORDS: dict[str, dict[int, str]] = {
    "fr": {
        **dict(enumerate(_UNITS)),
        30: "trente trentaine",
        40: "quarante quarantaine",
        50: "cinquante cinquantaine moitié",
        60: "soixante soixantaine",
        70: "soixante-dix",
        80: "quatre-vingts quatre-vingt",
        90: "quatre-vingt-dix",
        100: "cent cents centaine centaines",
        1000: "mille millier milliers",
    }
}
_MONTHS = {
    "fr": [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
}
_WORDS_BELOW = 13
"""Numbers below this are not looked for in languages whose number words are not listed."""


class Doubt(NamedTuple):
    """Something wrong with a translation."""

    reason: str
    weight: int
    """Compares attempts: a loop outweighs anything else."""


def doubts(
    source: str, translation: str, languages: tuple[str, str] | None = None, normalized: str | None = None
) -> tuple[Doubt, ...]:
    """Returns what is wrong with a translation, as far as a comparison with its source shows; empty if nothing is.

    `normalized` is the source as the model reads it, for example with 18:00 for 6 p.m.
    """
    found: list[Doubt] = []
    if source.strip() and not translation.strip():
        return (Doubt("empty", 200),)
    if _is_loop(source, translation):
        found.append(Doubt("repetition", 100))
    source_length, length = _length(source), _length(translation)
    if length > _LONG_FACTOR * source_length + _LONG_SLACK:
        found.append(Doubt("much longer than its source", 30))
    if length < _SHORT_FACTOR * source_length - _SHORT_SLACK:
        found.append(Doubt("much shorter than its source", 30))
    if _is_copy(source, translation):
        found.append(Doubt("not translated", 40))
    found += [Doubt(f"{literal} is missing", 20) for literal in lost_literals(source, translation)]
    if any(map(str.isdigit, source)):
        target = languages[1] if languages else None
        found += [
            Doubt(f"{number} is missing", 10) for number in _lost_numbers(normalized or source, translation, target)
        ]
    if _loses_brackets(source, translation):
        found.append(Doubt("brackets differ", 5))
    return tuple(found)


def weight(found: Sequence[Doubt]) -> int:
    """Returns how bad the doubts of a translation are together; 0 for none."""
    return sum(each.weight for each in found)


def lost_literals(source: str, translation: str) -> list[str]:
    """Returns the addresses, placeholders and identifiers of a source that its translation lacks."""
    literals = Counter(match[0] for match in LITERAL.finditer(source))
    return [literal for literal, count in literals.items() if translation.count(literal) < count]


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _length(text: str) -> int:
    return len(text) + (_CJK_WEIGHT - 1) * (0 if text.isascii() else len(_CJK.findall(text)))


def _is_loop(source: str, translation: str) -> bool:
    """Returns whether a translation repeats a phrase, at once or often, and the source does not."""
    source_words, words = _words(source), _words(translation)
    allowed = max(1, *(repeats for repeats, _ in _repetitions(source)), 1)
    for repeats, is_separate in _repetitions(translation):
        # "un homme, un homme charmant" for "a man, a charming man"
        if repeats > allowed and not (repeats == _TWICE and is_separate and _repeats_nearby(source_words)):
            return True
    often = _most_frequent(words, _OFTEN_SIZE)
    if often >= _OFTEN and often > _most_frequent(source_words, 2):
        return True
    return _CHARACTER_LOOP.search(translation) is not None and _CHARACTER_LOOP.search(source) is None


def _repetitions(text: str) -> Iterator[tuple[int, bool]]:
    """Yields how often a phrase is said in a row, and whether punctuation separates it from the one before.

    A single word said twice is left out: "nous nous levons" is no loop. A single word is never separate.
    """
    matches = list(_WORD.finditer(text))
    words = [match[0].lower() for match in matches]
    for size in range(1, min(_LONGEST_UNIT, len(words) // 2) + 1):
        same = 0
        for place in range(size, len(words)):
            same = same + 1 if words[place] == words[place - size] else 0
            if same >= size and same % size == 0:
                between = text[matches[place - size].end() : matches[place - size + 1].start()]
                separated = size > 1 and not {*between}.isdisjoint(_SEPARATORS)
                if size > 1 or same > 1:
                    yield same // size + 1, separated


def _repeats_nearby(words: Sequence[str]) -> bool:
    """Returns whether a word other than a function word occurs twice within a few words."""
    return any(
        not is_function_word(word) and word in words[place + 1 : place + 1 + _NEARBY]
        for place, word in enumerate(words)
    )


def _most_frequent(words: list[str], size: int) -> int:
    counts = Counter(zip(*(words[start:] for start in range(size)), strict=False))
    return max(counts.values(), default=0)


def _is_copy(source: str, translation: str) -> bool:
    """Returns whether most words of a source, other than names and code, are in its translation."""
    tokens = (token.strip(_AROUND_WORDS) for token in source.split())
    own = [token for token in tokens if token.islower() and token.isalpha() and len(token) > 1]
    if len(own) < _COPIED_WORDS:
        return False
    copied = Counter(own) & Counter(_words(translation))
    return copied.total() >= _COPIED_SHARE * len(own)


def _lost_numbers(source: str, translation: str, language: str | None) -> Iterator[str]:
    """Yields the numbers of a source that its translation lacks, in digits or in words."""
    source = LITERAL.sub(" ", source)
    present = Counter(number.lstrip("0") for number in _DIGITS.findall(_GROUPED.sub("", translation)))
    # Also in parts: "3,500.25" and "3 500,25" have the same runs of digits.
    for run in _DIGITS.findall(translation):
        present.setdefault(run.lstrip("0"), 1)
    wanted = Counter[str]()
    for match in _DIGITS.finditer(_GROUPED.sub("", source)):
        wanted[match[0]] += 1
    for number in wanted:
        plain = number.lstrip("0")
        if not plain or present[plain] or _in_words(int(plain[:18]), translation, language):
            continue
        if len(plain) == 4 and present[plain[2:]]:  # the 1990s: les années 90
            continue
        yield number


def _in_words(number: int, translation: str, language: str | None) -> bool:
    """Returns whether a translation has a number in words, as a month, or in Roman numerals."""
    if language not in _NUMBER_WORDS:
        return number < _WORDS_BELOW
    text = translation.lower()
    names = _NUMBER_WORDS[language].get(number, "").split()
    if 1 <= number <= len(_MONTHS[language]):
        names.append(_MONTHS[language][number - 1])
    tens, unit = number // 10 * 10, number % 10
    if not names and number < 100:
        names = [_NUMBER_WORDS[language].get(tens, " ").split(" ")[0]] if unit else []
    elif number >= 1000 and number % 1000 == 0:
        names += ["mille", "million", "milliard"]
    if any(name and re.search(rf"\b{name}", text) for name in names):
        return True
    return any(_roman(match[0]) == number for match in _ROMAN.finditer(translation))


def _roman(numeral: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in numeral]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def _loses_brackets(source: str, translation: str) -> bool:
    """Returns whether a pair of brackets is lost or left open."""
    source, translation = (_UNIMPORTANT_BRACKETS.sub("", LITERAL.sub("", text)) for text in (source, translation))
    if translation.count(")") > translation.count("("):
        translation = _POINT.sub("", translation)
    for opening, closing in ("()", "[]", "{}"):
        pairs = min(source.count(opening), source.count(closing))
        balanced = source.count(opening) == source.count(closing)
        found = translation.count(opening), translation.count(closing)
        if min(found) < pairs or (balanced and found[0] != found[1]):
            return True
    return False
