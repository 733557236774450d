"""What a model is shown in place of a text, and what becomes of what it says.

A model knows words by their sub-words: INSTRUCTIONS and “ in pieces that it has hardly seen tell it nothing, where
instructions and " would. So a text is shown in letters that it knows, and its own are given to the translation.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection
from functools import cache

from docgraph.model.tokenizer import SubwordCoder
from docgraph.translation.rules.protected_text import Unreadable, put_back
from docgraph.translation.rules.typography import FINISHES, alike

_LIKENESS = dict(zip("“”„‟«»″‘’‚‛′–‒−", '"""""""' + "'''''" + "---", strict=True)) | {"\u00ad": ""}
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_TITLE = re.compile(rf"{_WORD.pattern}(?:[,:]? {_WORD.pattern})*[?!]?")
"""Nothing but words: a path through menus has capitals for its own reasons."""
_CLOCK = re.compile(r"\b(1[0-2]|0?[1-9])(?:[:.]([0-5]\d))?\s?([ap])(?:\.\s?m\.|m\b)", re.IGNORECASE)
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(rf"\b({_MONTHS}) (3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?:, (\d{{4}})\b|\b(?![-–/:.,]?\d))")
_BEFORE_MAY = {"on", "by", "until", "from", "since", "before", "after", "and", "or", "to", "of"}
"""Words that say of May 6 that it is a day, and not a question."""
_DOTTED = re.compile(r"\b(?:[^\W\d_]\.){2,}(?=\s+\w|\W*,)")
_ADDRESS = re.compile(
    r"(?<![<\w./@])(?:[\w.+-]+@[\w-]+(?:\.[\w-]+)+|(?:https?://|www\.)[^\s<>\"]*[^\s<>\".,;:!?)'])(?![\w>])"
)
_PERSON = re.compile(r"([A-Z][a-z]+)(?: [A-Z]\.)?(?: [A-Z][\w'’-]+){1,2}")
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
_FROM_DAY_TO_DAY = re.compile(rf"\b({'|'.join(_DAYS)})\.?\s?[-–]\s?({'|'.join(_DAYS)})\b")
_STRESSED = re.compile(r"\b(?:ALWAYS|BEFORE|BOTH|CANNOT|DON'T|NEVER|ONLY|VERY|(?:DO|MUST|SHOULD|WILL)(?: NOT)?)\b")
_SMALL = frozenset(["ALL", "AND", "ANY", "ARE", "DO", "IS", "NO", "NOT", "OR"])
"""Words that are abbreviations of nothing in a line of capitals, and names of functions elsewhere."""
_CAPITAL_LETTERS, _CAPITAL_WORDS, _TITLE_WORDS = 8, 2, 3
"""Fewest letters and words of a text in capitals, and fewest long words of a title: less may be a name."""
_WHOLE = 2
"""Pieces of a word that is one, its end included."""
_LONG = 4
"""Letters of a word that titles capitalise: they leave of, the and with as they are, or not."""


class Wording:
    """The wording of texts for one model."""

    def __init__(self, coder: SubwordCoder, languages: tuple[str, str] | None) -> None:
        self._coder = coder
        self._english = languages is not None and languages[0] == "en"
        self._finish = FINISHES.get(languages) if languages is not None else None
        self._unreadable = Unreadable(coder)
        spelt_out = self._unreadable.spelt_out
        self._likeness = str.maketrans({char: plain for char, plain in _LIKENESS.items() if spelt_out(char)})

    def shown(self, text: str) -> str:
        """A text as the model knows its words: characters by their likes, capitals in small letters, addresses in
        brackets, hours of the day by 24, days before months; without what it cannot read."""
        text, _ = self._unreadable.parted(text)
        text = _DOTTED.sub(lambda word: self._undotted(word[0]), text.translate(self._likeness))
        if self._english:
            text = _CLOCK.sub(_by_24_hours, text)
            text = _DATE.sub(_day_first, text)
            text = _SCALE.sub(lambda amount: f"{amount[1]} {_SCALES[amount[2]]}", text)
            text = _FROM_DAY_TO_DAY.sub(lambda days: f"{_DAYS[days[1]]} to {_DAYS[days[2]]}", text)
            text = _ADDRESS.sub(r"<\g<0>>", text)
            text = text if text.isupper() else _STRESSED.sub(_unstressed, text)
        if in_capitals(text):
            small = _WORD.sub(lambda word: self._smaller(word[0]), text)
            first = _WORD.search(small)
            return small if first is None else _capitalised(small, first.start())
        return text

    def with_titles(self, texts: list[str], sureness: Callable[[list[str]], list[float]]) -> list[str]:
        """Texts with titles in small letters, where the model is surer of what it says of these."""
        small = {place: other for place, text in enumerate(texts) if (other := self._without_title_case(text)) != text}
        if not small:
            return texts
        sure = sureness([*small.values(), *(texts[place] for place in small)])
        chosen = {place for place, *pair in zip(small, sure, sure[len(small) :], strict=False) if pair[0] > pair[1]}
        return [small[place] if place in chosen else text for place, text in enumerate(texts)]

    def finished(self, source: str, translation: str) -> str:
        """The translation of a text with the numbers and capitals of the text, signs and spaces of its language, and
        what the model could not read; a person's name, and a word of nobody's language, as they are."""
        if self._english and (self._is_person(source) or _is_coined(source)):
            return source
        source, gaps = self._unreadable.parted(source)
        for address in _ADDRESS.findall(source):
            translation = translation.replace(f"<{address}>", address)
        translation = _with_numbers(source, translation)
        translation = translation.upper() if in_capitals(source) else _begun_alike(source, translation)
        translation = translation if self._finish is None else self._finish(source, translation)
        return put_back(source, gaps, translation) if gaps and translation else translation

    def _without_title_case(self, text: str) -> str:
        words = list(_WORD.finditer(text)) if _TITLE.fullmatch(text) else []
        long = [word[0] for word in words if len(word[0]) >= _LONG]
        if len(long) < _TITLE_WORDS or not all(word.istitle() or word[0].isupper() for word in long):
            return text
        for word in words[1:]:
            if word[0].istitle():
                text = text[: word.start()] + self._smaller(word[0]) + text[word.end() :]
        return text

    def _is_person(self, text: str) -> bool:
        """Whether a text is a name and no more: Jane Smith, but not Mark Complete, whose first word is a word too."""
        name = _PERSON.fullmatch(text)
        return name is not None and name[1].lower() in _given_names() and not self._is_whole(name[1].lower())

    def _is_whole(self, word: str) -> bool:
        return len(self._coder.ids([word])[0]) == _WHOLE

    def _smaller(self, word: str) -> str:
        """A word in small letters where these are fewer pieces, or both are one: abbreviations stay, and names."""
        small = word.lower()
        ours, theirs = map(len, self._coder.ids([word, small]))
        both = ours == theirs == _WHOLE and ((word.istitle() and word != "I") or (self._english and word in _SMALL))
        return small if theirs < ours or both else word

    def _undotted(self, word: str) -> str:
        """U.K. as UK where this is one piece: at a dot, a translation is soon at its end."""
        plain = word.replace(".", "")
        return plain if plain.isupper() and self._is_whole(plain) else word


def in_capitals(text: str) -> bool:
    """Whether a text of several words is in capital letters throughout, as a heading or a warning."""
    words = [word for word in _WORD.findall(text) if len(word) > 1]
    return text.isupper() and len(words) >= _CAPITAL_WORDS and sum(map(len, words)) >= _CAPITAL_LETTERS


@cache
def _given_names() -> Collection[str]:
    from docgraph.annotate.coref.word_lists import load_word_lists

    names = load_word_lists("en").names
    return names["masculine"] | names["feminine"]


def _is_coined(text: str) -> bool:
    """Whether a text is one word in small letters that no dictionary has, as the name of a program."""
    if not text.isalpha() or not text.islower():
        return False
    from simplemma import is_known

    return not is_known(text, lang="en")


def _unstressed(word: re.Match[str]) -> str:
    """A word that is in capitals to stress it, in small letters."""
    return word[0].lower() if word.string[: word.start()].strip(" \"'*-(") else word[0].capitalize()


def _by_24_hours(time: re.Match[str]) -> str:
    hour = int(time[1]) % 12 + (12 if time[3] in "pP" else 0)
    ends = time[0].endswith(".") and not time.string[time.end() :].strip("\"'”’ ")
    return f"{hour}:{time[2] or '00'}{'.' if ends else ''}"


def _day_first(date: re.Match[str]) -> str:
    month, day, year = date.groups()
    if month == "May" and not year and not _BEFORE_MAY & {*date.string[: date.start()].lower().split()[-1:]}:
        return date[0]
    return " ".join([day, month, *([year] if year else [])])


def _begun_alike(source: str, translation: str) -> str:
    """The translation with a capital first where the source has one; what stands in the source so, and is no mere word,
    stays."""
    theirs, ours = _WORD.search(source), _WORD.search(translation)
    if theirs is None or ours is None or not theirs[0][0].isupper() or not ours[0][0].islower():
        return translation
    begin = re.match(r"\S+", translation[ours.start() :])
    kept = begin is not None and begin[0] in source.split() and not begin[0].isalpha()
    follows = any(char.isdigit() for char in translation[: ours.start()])
    return translation if kept or follows else _capitalised(translation, ours.start())


def _with_numbers(source: str, translation: str) -> str:
    """The translation with numbers of the source in the place of those that are miscopied: as many, and much alike."""
    wanted, found = (Counter(_NUMBER.findall(text)) for text in (source, translation))
    right, wrong = list((wanted - found).elements()), list((found - wanted).elements())
    if len(right) != len(wrong) or not all(map(alike, right, wrong)):
        return translation
    for number, miscopied in zip(right, wrong, strict=True):
        translation = re.sub(rf"(?<!\d){miscopied}(?!\d)", number, translation, count=1)
    return translation


def _capitalised(text: str, place: int) -> str:
    return text[:place] + text[place].upper() + text[place + 1 :]
