"""Normalisation: rewrites a text in characters and words that the sub-words of a model know."""

from __future__ import annotations

import re
from functools import cache

from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.protected_text import TextProtector
from docgraph.translation.stand_ins import STAND_IN

WORD = re.compile(rf"(?!{STAND_IN}(?!\w))[^\W\d_]+(?:['’][^\W\d_]+)*")
"""A word, but not a stand-in."""

_LOOKALIKES = dict(zip("“”„‟«»″‘’‚‛′–‒−", '"""""""' + "'''''" + "---", strict=True)) | {"\u00ad": ""}
_DOUBLE_HYPHEN = re.compile(r"(?<=[\w,;.!?])--(?=\w)")
_TITLE_PART = rf"(?:{WORD.pattern}|{STAND_IN})"
_TITLE = re.compile(rf"{_TITLE_PART}(?:[,:]? {_TITLE_PART})*[?!]?")
"""Only words: a menu path (Tools - Options) is capitalised for other reasons."""
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?=\s+\w|\W*,)")
_CLOCK = re.compile(r"\b(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?\s?([ap])(?:\.\s?m\.|m\b)", re.IGNORECASE)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b({_MONTHS}) (3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:, (\d{{4}})\b|\b(?![-–/:.,]?\d))")
_BEFORE_MAY = {"on", "by", "until", "from", "since", "before", "after", "and", "or", "to", "of"}
"""Words before "May 6" that make it a date; elsewhere May may be the verb."""
_SCALE = re.compile(r"([$£€]\d[\d.,]*)\s?(bn|mn|m)\b")
_SCALES = {"bn": "billion", "mn": "million", "m": "million"}
_DAYS = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Tues": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Thur": "Thursday",
    "Thurs": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_DAY_RANGE = re.compile(rf"\b({'|'.join(_DAYS)})\.?\s?[-–]\s?({'|'.join(_DAYS)})\b")
_STRESSED = re.compile(r"\b(?:ALWAYS|BEFORE|BOTH|CANNOT|DON'T|NEVER|ONLY|VERY|(?:DO|MUST|SHOULD|WILL)(?: NOT)?)\b")
_SHORT_WORDS = frozenset(["ALL", "AND", "ANY", "ARE", "DO", "IS", "NO", "NOT", "OR"])
"""Words that are no abbreviations in a line of capitals; elsewhere they may be names of functions."""
_CAPITAL_LETTERS, _CAPITAL_WORDS, _TITLE_WORDS = 8, 2, 3
"""Minimum letters and words of a text in capitals, and long words of a title: anything shorter may be a name."""
_CAPITAL_WORD_LETTERS = 4
"""Minimum letters of a single word in capitals that is no abbreviation."""
_TITLE_WORD_LENGTH = 4
"""Letters from which a word must be capitalised in a title; of, the and with may or may not be."""
_WHOLE_WORD = 2
"""Number of ids of a word that is one piece: the piece and end-of-sentence."""


class Normalizer:
    """Normalises texts for one model."""

    def __init__(self, coder: SubwordCoder, languages: tuple[str, str] | None) -> None:
        self._coder = coder
        self._english = languages is not None and languages[0] == "en"
        self.protector = TextProtector(coder)
        self._dash = ", " if self.protector.is_unknown("—") else "—"
        unknown = {char: plain for char, plain in _LOOKALIKES.items() if self.protector.is_unknown(char)}
        self._lookalikes = str.maketrans(unknown)

    def normalize(self, text: str) -> str:
        """Returns a text in characters and words that the model knows.

        Unreadable parts are removed (protected_text.py), rare punctuation is replaced, capitals become small letters.
        In English, times use 24 hours, and days precede months.
        """
        text, _ = self.protector.remove(text)
        text = _DOTTED.sub(lambda word: self._without_dots(word[0]), text.translate(self._lookalikes))
        if self._english:
            text = _DOUBLE_HYPHEN.sub(self._dash, text)
            text = _CLOCK.sub(_to_24_hours, text)
            text = _DATE.sub(_day_first, text)
            text = _SCALE.sub(lambda amount: f"{amount[1]} {_SCALES[amount[2]]}", text)
            text = _DAY_RANGE.sub(lambda days: f"{_DAYS[days[1]]} to {_DAYS[days[2]]}", text)
            text = text if text.isupper() else _STRESSED.sub(_unstressed, text)
        if is_all_caps(text):
            small = WORD.sub(lambda word: self._lowercase(word[0]), text)
            first = WORD.search(small)
            return small if first is None else capitalize_at(small, first.start())
        return text

    def without_title_case(self, text: str) -> str:
        """Returns a text in Title Case in small letters, except its first word, abbreviations and names."""
        words = list(WORD.finditer(text)) if _TITLE.fullmatch(text) else []
        long = [word[0] for word in words if len(word[0]) >= _TITLE_WORD_LENGTH]
        if len(long) < _TITLE_WORDS or not all(word.istitle() or word[0].isupper() for word in long):
            return text
        for word in words[1:]:
            if word[0].istitle():
                text = text[: word.start()] + self._lowercase(word[0]) + text[word.end() :]
        return text

    def is_whole_word(self, word: str) -> bool:
        """Returns whether the sub-words have one piece for a word."""
        return len(self._coder.ids([word])[0]) == _WHOLE_WORD

    def _lowercase(self, word: str) -> str:
        """Lowercases a word if it then has fewer pieces, or is one piece either way: abbreviations and names stay."""
        small = word.lower()
        pieces, small_pieces = map(len, self._coder.ids([word, small]))
        is_common = (word.istitle() and word != "I") or (self._english and word in _SHORT_WORDS)
        return small if small_pieces < pieces or (pieces == small_pieces == _WHOLE_WORD and is_common) else word

    def _without_dots(self, word: str) -> str:
        """Turns U.K. into UK if that is one piece: models tend to end a translation at a dot."""
        plain = word.replace(".", "")
        return plain if plain.isupper() and self.is_whole_word(plain) else word


def is_all_caps(text: str) -> bool:
    """Returns whether a text is in capitals throughout, as a heading or a warning may be; an abbreviation is not."""
    words = [word for word in WORD.findall(text) if len(word) > 1]
    if not text.isupper() or not words:
        return False
    if len(words) == 1:
        return len(words[0]) >= _CAPITAL_WORD_LETTERS and _is_known_word(words[0].lower())
    return len(words) >= _CAPITAL_WORDS and sum(map(len, words)) >= _CAPITAL_LETTERS


@cache
def _is_known_word(word: str) -> bool:
    """Returns whether the English dictionary has a word: CHAPTER, but not UNICEF."""
    from simplemma import is_known

    return is_known(word, lang="en")


def capitalize_at(text: str, index: int) -> str:
    """Returns a text with the character at `index` in upper case."""
    return text[:index] + text[index].upper() + text[index + 1 :]


def _unstressed(word: re.Match[str]) -> str:
    """Lowercases a word that is in capitals for emphasis."""
    return word[0].lower() if word.string[: word.start()].strip(" \"'*-(") else word[0].capitalize()


def _to_24_hours(time: re.Match[str]) -> str:
    hour = int(time[1]) % 12 + (12 if time[3] in "pP" else 0)
    ends_sentence = time[0].endswith(".") and not time.string[time.end() :].strip("\"'”’ ")
    return f"{hour}:{time[2] or '00'}{'.' if ends_sentence else ''}"


def _day_first(date: re.Match[str]) -> str:
    month, day, year = date.groups()
    if month == "May" and not year and not _BEFORE_MAY & {*date.string[: date.start()].lower().split()[-1:]}:
        return date[0]
    return " ".join([day, month, *([year] if year else [])])
