"""Filter for sentence pairs: each side in its language, no code, same placeholders, similar lengths."""

from __future__ import annotations

import re

from everyday.documents import draw

PLACEHOLDER = re.compile(
    r"""%(?:\([^)]*\)|\d+\$)?[-+0 #']*\d*(?:\.\d+)?(?:l{0,2}[sdiufcxXegGp]\b|(?<=\d)(?!\d|[ ]?\w))  # printf
    |%[a-zA-Z]\b|%\d+|%%               # Qt, dates
    |\$\{[^}]*\}|\$\w+|\{[^{}]*\}      # shells, str.format, Fluent
    |@\w+@?|\[\[[^\]]*\]\]|[#]\w+[#]   # names in marks
    |\\[a-z]|&[a-z]+;                  # escapes, entities""",
    re.VERBOSE,
)
_NESTED = re.compile(r"\{[^}]*\{|\bplural,|\bselect,")
_CODE = re.compile(r"[<>\\|`]|::|\w_\w|(?:^|\s)_\w|~[^\W\d]|\(\)|==|https?:")
_CODE_OR_PLACEHOLDER = re.compile(r"[{}]|->|--\w|/\w+/\w+|\.\w{1,4}/|www\.|\w+\.\w+\(|@\w")
_OTHER_SCRIPT = re.compile(r"[\u0400-\u06ff\u0900-\u0dff\u3040-\u9fff\uac00-\ud7af]")
_WORD = re.compile(r"[^\W\d_]+")
_FULL_STOP = re.compile(r"[.!?…:][\"'”»)]*$")
_INSULT = re.compile(r"\b(?:queer|nigger|faggot|whore|bitch|cunt)\b", re.IGNORECASE)
_FRENCH_INSULT = re.compile(
    r"\b(?:couilles?|bites?|merdes?|putains?|enculés?|salopes?|salauds?|connards?|connasses?|con|conne|chier|putes?"
    r"|nègres?|négresse|pédés?|pédéraste|tapette|gouine)\b",
    re.IGNORECASE,
)
_ENGLISH = re.compile(
    r"\b(?:the|and|of|is|are|you|your|to|with|this|that|for|from|have|has|was|were|will|not|can|be|been|it|they|she|he)\b",
    re.IGNORECASE,
)
_FRENCH = re.compile(
    r"\b(?:les?|la|de|des|du|une?|et|est|vous|à|en|pour|dans|sur|par|ce|cette|ces|son|sa|ses|que|qui|il|elle|ne|pas|aux?"
    r"|sont|votre|plus|je|nous|d|l)\b",
    re.IGNORECASE,
)
_FRENCH_ALONE = re.compile(
    r"\b(?:le|la|de|des|du|une?|et|est|vous|à|dans|sur|cette|ces|ses|que|qui|il|elle|ne|pas|aux?|sont|votre|je|nous)\b",
    re.IGNORECASE,
)
"""French function words that are rare in English text."""


def is_good(english: str, french: str) -> bool:
    """Return whether a pair is fit for training: text in the two languages that looks like a translation."""
    return (
        _is_text(english, french)
        and _placeholders_match(english, french)
        and _lengths_match(len(english), len(french))
        and _languages_differ(english, french)
        and _figures_match(english, french)
    )


def is_sentence(text: str) -> bool:
    """Return whether a string is a full sentence; held-out documents have only full sentences."""
    return len(text.split()) >= 5 and bool(_FULL_STOP.search(text)) and not PLACEHOLDER.search(text)


def _is_text(english: str, french: str) -> bool:
    """Return whether both strings are mostly words, not code, not too long, and not just an insult."""
    words = _WORD.findall(french)
    if not words or len(english) > 700 or len(french) > 800 or not re.search(r"[^\W\d_]{2}", english):
        return False
    if len(english) > 6 and sum(c.isalpha() or c == " " for c in english) < 0.7 * len(english):
        return False
    both = f"{english} {french}"
    if len(words) <= 3 and (_INSULT.search(english) or _FRENCH_INSULT.search(french)):
        return False
    code = _CODE.search(both) or (_CODE_OR_PLACEHOLDER.search(both) and not PLACEHOLDER.search(english))
    return not code and not _OTHER_SCRIPT.search(both)


def _placeholders_match(english: str, french: str) -> bool:
    """Return whether both strings have the same placeholders, at most two; a quarter of such pairs is kept."""
    found = sorted(PLACEHOLDER.findall(english))
    if found != sorted(PLACEHOLDER.findall(french)):
        return False
    few = len(found) <= 2 and not _NESTED.search(english) and len(_WORD.findall(english)) >= 3
    return not found or (few and draw(english) % 4 == 0)


def _lengths_match(english: int, french: int) -> bool:
    """Return whether the length ratio is plausible; it may vary less for longer strings."""
    ratio = english / french
    if max(english, french) < 20:
        return 0.2 <= ratio <= 4
    return 0.5 <= ratio <= 1.9 if english >= 70 else 0.4 <= ratio <= 2.2


def _languages_differ(english: str, french: str) -> bool:
    """Return whether each side is in its language; three in ten short names that are the same in both are kept."""
    one, other = ([word.lower() for word in _WORD.findall(text)] for text in (english, french))
    if english == french:
        name = len(one) <= 3 <= len(english) and english[0].isupper()
        return name and draw(english) % 10 <= 2
    untranslated = len(_ENGLISH.findall(french))
    if untranslated >= 2 and untranslated > len(_FRENCH.findall(french)):
        return False
    if len(other) >= 6 and len(set(one) & set(other)) > 0.75 * len(set(other)):
        return False
    return len(_FRENCH_ALONE.findall(english)) < 3


def _figures_match(english: str, french: str) -> bool:
    """Return whether figures are kept and degrees are not converted."""
    one, other = (set(re.findall(r"\d+", text)) for text in (english, french))
    if len(re.findall(r"\d+", english)) >= 2 and not other:
        return False
    return not ("°" in english and "°" in french) or bool(one & other)
