"""Checks of a translation against its source: loops, lengths, copies, lost numbers, literals, brackets and negation.

The checks compare strings and know little of the languages. They are meant to raise few false alarms: a number may be
written in words, a time in 24 hours, a century in Roman numerals.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from docgraph.formats.base import CJK
from docgraph.formats.literals import LITERAL
from docgraph.translation.checks.repetition import is_loop, split_words
from docgraph.translation.text.dates_and_times import FRENCH_MONTHS
from docgraph.translation.text.digits import plain_digits
from docgraph.translation.text.stand_ins import StandIns, lost, without

_CJK = re.compile(f"[{CJK}]")
_CJK_WEIGHT = 3
"""Number of alphabetic letters that one CJK character counts as."""
_LONG_FACTOR, _LONG_SLACK = 2.2, 25
"""A translation longer than factor * source + slack characters is too long."""
_SHORT_FACTOR, _SHORT_SLACK = 0.5, 15
"""A translation shorter than factor * source - slack characters is too short."""
_AROUND_WORDS = ",;:.!?…()[]\"'«»“”‘’"
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
_NUMBER_WORDS = dict(enumerate(_UNITS)) | {
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
"""French numbers in words."""
_MILES, _KILOMETRES = re.compile(r"(?<=\d[ -])(?:miles?|milles)\b"), re.compile(r"(?<=\d )(?:kilomètres?|km)\b")
_WORDS_BELOW = 13
"""Numbers below this are not looked for in other languages than French."""
_NOT_NEGATED = re.compile(
    r"\bnot (?:only|just|merely|simply|to mention|until|till|unless|infrequently|seldom|rarely|unlike|least)\b"
    r"|\b(?:whether|if|or|why) not\b|\b(?:can(?:not|'t| not)|could(?:n't| not)) (?:but|help)\b|\bnothing (?:but|less)\b"
    r"|\bdo(?:es)?n't mind\b|\bnot too\b|\bno(?:t|thing)(?: \w+)? (?:but|except)\b|\bwhy (?:do|does|did)n't\b"
    r"|\bnever (?:mind|fear)\b|\bdon't (?:worry|forget|fail|miss|hesitate)\b"
    r"|[,;] (?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|wo|ca)"
    r"(?:n't \w+| not \w+| \w+ not)\s?\?",
    re.IGNORECASE,
)
"""Negation that a translation may express without any: tag questions, "not only", "not until"."""
_NEGATION = re.compile(r"\b(?:not|cannot|never|nobody|nothing|nowhere|neither|without)\b|n't\b", re.IGNORECASE)
_NEGATIVE = re.compile(
    r"\b(?:ne|n['’]\w+|pas|point|non|sans|ni|jamais|aucun\w*|rien|personne|nul|nulle|nuls|nulles|nullement|guère|nenni"
    r"|peu|peine|moins|faux|fausse|hors|hormis|sauf|excepté|sinon|ailleurs|autre\w*|trop|plutôt|seul\w*|contre"
    r"|contraire\w*|différe\w+|dépourv\w+|dénué\w*|priv[éeè]\w*|exempt\w*|absen\w+|défaut|défen\w+|faute|manqu\w+"
    r"|refus\w+|interdi\w+|ignor\w+|oubli\w+|empêch\w+|évit\w+|cess\w+|abst\w+|échou\w+|échec\w*|rat[eé]\w*|perd\w*"
    r"|renonc\w+|rar\w+|loin|difficile\w*|néga\w+|garde\w*|sauriez|dout\w+|abri|insu|passer\w*|cach\w+"
    r"|(?:in|im|ir|mal|mé|dés)\w{4,})\b",
    re.IGNORECASE,
)
"""Negation and words of negative meaning, with prefixes such as "in-" (inconnu, impossible)."""
_WORD_WEIGHT = 4
"""Weight of a doubtful word, which is less than that of any other doubt."""


class Doubt(NamedTuple):
    """Something wrong with a translation."""

    reason: str
    weight: int
    """Severity, for comparing attempts; a loop outweighs all other doubts."""

    @property
    def is_about_word(self) -> bool:
        """True if only a word is doubtful."""
        return self.weight == _WORD_WEIGHT


def word_doubts(words: Iterable[str]) -> list[Doubt]:
    """Returns a doubt for each word that the model may have invented (lexicon.py)."""
    return [Doubt(f"'{word}' may not be a word", _WORD_WEIGHT) for word in words]


def doubts(
    source: str,
    translation: str,
    languages: tuple[str, str] | None = None,
    normalized: str | None = None,
    stand_ins: StandIns | None = None,
) -> tuple[Doubt, ...]:
    """Returns the problems of a translation that a comparison with its source shows; empty for none.

    `normalized` is the source as the model reads it, for example with 18:00 for 6 p.m. Both texts have `stand_ins`.
    """
    stand_ins = stand_ins or {}
    found: list[Doubt] = []
    if source.strip() and not translation.strip():
        return (Doubt("empty", 200),)
    target = languages[1] if languages else None
    if is_loop(source, translation, target):
        found.append(Doubt("repetition", 100))
    source_length, length = _length(source), _length(translation)
    if length > _LONG_FACTOR * source_length + _LONG_SLACK:
        found.append(Doubt("much longer than its source", 30))
    if length < _SHORT_FACTOR * source_length - _SHORT_SLACK:
        found.append(Doubt("much shorter than its source", 30))
    if _is_copy(source, translation):
        found.append(Doubt("not translated", 40))
    literals = [*lost(translation, stand_ins), *lost_literals(source, translation)]
    found += [Doubt(f"{literal} is missing", 20) for literal in literals]
    if any(map(str.isnumeric, source)):
        plain_source, plain = (plain_digits(without(text, stand_ins)) for text in (normalized or source, translation))
        numbers = _lost_numbers(plain_source, plain, target)
        found += [Doubt(f"{number} is missing", 10) for number in numbers]
    if _loses_negation(source, translation, languages):
        found.append(Doubt("negation is missing", 25))
    if target == "fr" and _MILES.search(source) and _KILOMETRES.search(translation) and not _MILES.search(translation):
        found.append(Doubt("miles became kilometres", 20))
    if _loses_brackets(source, translation):
        found.append(Doubt("brackets differ", 5))
    return tuple(found)


def weight(found: Sequence[Doubt]) -> int:
    """Returns the total weight of the doubts of a translation."""
    return sum(each.weight for each in found)


def lost_literals(source: str, translation: str) -> list[str]:
    """Returns the addresses, placeholders and identifiers of a source that its translation lacks."""
    literals = Counter(match[0] for match in LITERAL.finditer(source))
    return [literal for literal, count in literals.items() if translation.count(literal) < count]


def _length(text: str) -> int:
    return len(text) + (_CJK_WEIGHT - 1) * (0 if text.isascii() else len(_CJK.findall(text)))


def _is_copy(source: str, translation: str) -> bool:
    """Returns whether most words of a source, other than names and code, are in its translation."""
    tokens = (token.strip(_AROUND_WORDS) for token in source.split())
    own = [token for token in tokens if token.islower() and token.isalpha() and len(token) > 1]
    if len(own) < _COPIED_WORDS:
        return False
    copied = Counter(own) & Counter(split_words(translation))
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
    if language != "fr":
        return number < _WORDS_BELOW
    text = translation.lower()
    names = _NUMBER_WORDS.get(number, "").split()
    names += [*FRENCH_MONTHS.values()][number - 1 : number]
    tens, unit = number // 10 * 10, number % 10
    if not names and number < 100:
        names = [_NUMBER_WORDS.get(tens, " ").split(" ")[0]] if unit else []
    elif number >= 1000 and number % 1000 == 0:
        names += ["million", "milliard"] if number >= 1_000_000 else ["mille(?!s)", "millier"]
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


def _loses_negation(source: str, translation: str, languages: tuple[str, str] | None) -> bool:
    """Returns whether an English source is negated and its French translation is not; False for other languages.

    In case of doubt the translation counts as negated: "forgot" may stand for "did not remember".
    """
    if languages != ("en", "fr"):
        return False
    source = _NOT_NEGATED.sub(" ", source.replace("’", "'"))
    return _NEGATION.search(source) is not None and _NEGATIVE.search(translation) is None
