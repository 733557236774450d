"""Stand-ins: short words that the model reads instead of inline code, placeholders, identifiers, addresses,
pronunciations and figures such as 1:30:25.

The model would miscopy most code, and misplace what it does not see. It copies X1, X2, ... and places them well: "The
X1 method opens X2." It reads a placeholder for a number as a number, because "57 files" is translated in another way
than "X1 files".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from docgraph.formats.literals import LITERAL, is_only_literal

Span = tuple[int, int]
StandIns = Mapping[str, str]
"""Stand-in -> the text that it stands for."""

_LETTERS = "XYZWV"
STAND_IN = rf"[{_LETTERS}]\d{{1,3}}"
"""Matches a stand-in, but not one for a number."""
_NUMBERS = ("57", "63", "68", "74", "86", "93", "47", "53")
_CODE = re.compile(r"``[^`\n]{1,99}``|(?<![\w`])`[^`'\s]{1,60}'(?!\w)|(?<!`)`[^`\s][^`\n]{0,99}`(?!`)")
"""Inline code in text without markup, such as the strings of a program."""
_FIGURES = re.compile(
    r"(?<![\w:.,/-])\d{1,3}:\d\d:\d\d(?:[.,]\d+)?(?:\s?[AaPp][Mm])?(?![\w:]|\s?[AaPp]\.)"
    r"|(?<![\w:.,/-])\d{1,3}:\d(?![\w:]|[.,]\d)"
    r"|(?<![\w.,°])(?:\d{1,3}°\s?)?\d{1,2}['’′]\s?\d{1,2}(?:\.\d+)?(?:[\"”″]|['’′]{2})(?!\w)"
    r"|(?<![\w.,])\d{1,2} ft \d{1,2} in\b(?! (?:the|an?|this|each)\b)|\b\d+[⁺⁻][⁰¹²³⁴-⁹]+"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4}(?: \d\d:\d\d:\d\d(?: GMT[+-]\d{4})?)?(?![\w,])"
    r"|\bISBN(?:-1[03])?:?\s(?:\d[\s-]?){9,12}[\dX]\b"
)
"""Durations (1:30:25), ratios (2:1), feet and inches (6'2"), minutes and seconds of arc, negative exponents, ISBN."""
_PHONETIC = r"[\u0250-\u02ff]"
_PRONUNCIATION = re.compile(
    rf"(?:(?<![\w/<])/(?=[^/\n]{{0,80}}{_PHONETIC})[^/<>\n]{{1,80}}/|\[(?=[^\]\n]{{0,80}}{_PHONETIC})[^\[\]\n]{{1,80}}\])"
    r"(?!\w)(?:,? (?=[a-zA-Zə-]*[A-Z]{2})[a-zA-Zə]+(?:-[a-zA-Zə]+)*(?!\w))*"
)
"""Phonetic transcriptions, with the respelling after them: /ˈlɛstər/ LES-tər."""
_PATH_AFTER = re.compile(r"(?:[./\\][\w-]*\w)+(?!\w)")
_MAX_STAND_INS = 40
"""Sentences with more literals than this are lists of names; the rest of them stays as it is."""
_NOTE = re.compile(r"<(?:sup|a)[\s>]|\[\^")
"""The mark of a note, which follows a word or a punctuation mark."""
_PLURAL_OF_CODE = re.compile(r"s(?!\w)")
_NUMBER_FORMAT = re.compile(r"%(?:\(\w+\)|\d\$)?[-+#0 ]?\d*(?:l{0,2}[diu])")
_COUNT_NAME = re.compile(
    r"(?:^|[^a-zA-Z]|(?<=[a-z])(?=[A-Z]))(?:n|nb|num|number|count|counter|total|amount|quantity|percent|percentage"
    r"|seconds|minutes|hours|days|weeks|months|years)(?![a-z])",
    re.IGNORECASE,
)
_COUNT = "#"
"""The number of an ICU plural, as an atom: {n, plural, one {# file} other {# files}}."""
_PLURAL = re.compile(r"\b(?:(?!(?:has|is|its|this|was)\b)\w+s|children|men|people|women)\b", re.IGNORECASE)
_NOUN = re.compile(r"\s+[a-z]+")
_QUALITY = r"(?:new |more |other |selected |unread )?"
_COUNTED = re.compile(
    rf"\s+{_QUALITY}(?:bytes|changes|characters|columns|comments|days|documents|elements"
    r"|entries|errors|fields|files|folders|hours|images|items|lines|matches|members|messages|minutes|months|objects"
    r"|pages|people|photos|pixels|points|projects|replies|results|rows|seconds|tasks|times|users|versions|views|votes"
    r"|warnings|weeks|words|years)\b"
)
_COUNTED_ONE = re.compile(
    rf"\s+{_QUALITY}(?:byte|change|character|column|comment|day|document|element|entry|error|field|file|folder|hour|image"
    r"|item|line|match|member|message|minute|month|object|page|person|photo|pixel|point|project|reply|result|row|second"
    r"|task|time|user|version|view|vote|warning|week|word|year)\b(?! (?!(?:has|is|was)\b)[a-z]+s\b)"
)


def hide(text: str, atoms: Sequence[Span] = ()) -> tuple[str, dict[str, str]]:
    """Returns a text with stand-ins, and what each stands for.

    `atoms` are the spans of inline code and other markup. Those inside words and marks of notes get no stand-in; they
    are removed.
    """
    letter = next((each for each in _LETTERS if not re.search(rf"{each}\d", text)), None)
    numbers = iter([number for number in _NUMBERS if number not in text])
    parts, stand_ins, last = list[str](), dict[str, str](), 0
    for start, end, has_atom in _spans(text, atoms):
        following = _PLURAL_OF_CODE.match(text, end)
        before = text[start - 1 : start]
        is_note = has_atom and before.strip() and _NOTE.match(text, start)
        is_beside_word = is_note or before.isalnum() or (text[end : end + 1].isalnum() and following is None)
        stand_in = ""
        if letter is not None and not is_beside_word and len(stand_ins) < _MAX_STAND_INS:
            number = next(numbers, None) if _is_number(text, start, end) else None
            if number and "1" not in text and "1" not in stand_ins and _is_one(text, start, end):
                number = "1"
            stand_in = number or f"{letter}{len(stand_ins) + 1}"
            stand_ins[stand_in] = text[start:end]
        elif not has_atom:
            continue
        parts += [text[last:start], stand_in]
        last = following.end() if following is not None and stand_in else end
    return "".join([*parts, text[last:]]), stand_ins


def _spans(text: str, atoms: Sequence[Span]) -> Iterator[tuple[int, int, bool]]:
    """Yields the spans of literals and atoms, and whether there is an atom in each; two that touch are one."""
    found = [(start, end, True) for start, end in atoms] + [(*span, False) for span in _literal_spans(text)]
    start, end, has_atom = -1, -1, False
    for first, last, is_atom in sorted(found, key=lambda span: (span[0], -span[1])):
        if start >= 0 and first <= end:
            end, has_atom = max(end, last), has_atom or is_atom
            continue
        if start >= 0:
            yield start, end, has_atom
        start, end, has_atom = first, last, is_atom
    if start >= 0:
        yield start, end, has_atom


def _literal_spans(text: str) -> Iterator[Span]:
    """Yields the spans of literals, with the rest of the paths and names that they are in: `%s/output.txt`."""
    for pattern in (LITERAL, _CODE, _FIGURES, _PRONUNCIATION):
        for match in pattern.finditer(text):
            if not match[0].startswith("<") or is_only_literal(match[0]):  # no tag, but <a@b.org>
                after = _PATH_AFTER.match(text, match.end())
                yield match.start(), after.end() if after else match.end()


def _is_one(text: str, start: int, end: int) -> bool:
    """Returns whether a number is one: that of an ICU plural without a plural after it, or one before a singular."""
    if text[start:end] == _COUNT:
        return not _PLURAL.search(text, end)
    return _COUNTED_ONE.match(text, end) is not None


def _is_number(text: str, start: int, end: int) -> bool:
    """Returns whether a placeholder stands for a number, by its format, its name or the word after it."""
    literal = text[start:end]
    if literal == _COUNT or (literal.startswith(("<x ", "<ph ")) and _COUNTED.match(text, end)):
        return True
    if not literal.startswith(("%", "{", "$")):
        return False
    if _NUMBER_FORMAT.fullmatch(literal) or _COUNTED.match(text, end):
        return True
    if re.match(rf"\s+{re.escape(literal.strip('$%{}'))}\b", text[end:]):  # {attempts} attempts
        return True
    return _COUNT_NAME.search(literal) is not None and _NOUN.match(text, end) is not None


def restore(text: str, stand_ins: StandIns) -> str:
    """Returns a text with the literals that its stand-ins stand for."""
    return _pattern(stand_ins).sub(lambda match: stand_ins[match[0]], text) if stand_ins else text


def mask(text: str, stand_ins: StandIns) -> str:
    """Returns a text that has some of the literals with their stand-ins instead; the reverse of `restore`."""
    for stand_in, literal in sorted(stand_ins.items(), key=lambda item: -len(item[1])):
        text = text.replace(literal, stand_in, 1)
    return text


def present(text: str, stand_ins: StandIns) -> dict[str, str]:
    """Returns the stand-ins that a text has."""
    found = {*_pattern(stand_ins).findall(text)} if stand_ins else set[str]()
    return {stand_in: literal for stand_in, literal in stand_ins.items() if stand_in in found}


def without(text: str, stand_ins: StandIns) -> str:
    """Returns a text without its stand-ins."""
    return _pattern(stand_ins).sub(" ", text) if stand_ins else text


def lost(text: str, stand_ins: StandIns) -> list[str]:
    """Returns the literals whose stand-ins a translation does not have exactly once."""
    if not stand_ins:
        return []
    found = _pattern(stand_ins).findall(text)
    return [literal for stand_in, literal in stand_ins.items() if found.count(stand_in) != 1]


def _pattern(stand_ins: StandIns) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, stand_ins))})(?!\w)")
