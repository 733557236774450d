"""Fractions, exponents and indices (½, 10⁶, CO₂): plain digits for the model, and back."""

from __future__ import annotations

import re
import unicodedata

_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻"
_LOWERED = "₀₁₂₃₄₅₆₇₈₉₊₋"
_FRACTIONS = "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"
_PLAIN = str.maketrans(_RAISED + _LOWERED, 2 * "0123456789+-")
_FRACTION = re.compile(rf"(?<![\d.,])(?:(\d+) ?)?([{_FRACTIONS}])")
_SPECIAL = re.compile(
    rf"(?<![\d.,])(?:\d+ ?)?[{_FRACTIONS}]"
    rf"|(?:\d+|[^\W\d_]+)[{_RAISED}{_LOWERED}]+(?:[^\W\d_]+[{_RAISED}{_LOWERED}]+)*[^\W\d_]*"
)
NOTE_MARK = re.compile(rf"(?<=[.,;:!?)\"”’])[{_RAISED}]+(?!\w)")
"""The number of a footnote after a punctuation mark."""
_NOTED_WORD = re.compile(rf"[^\W\d_]{{3,}}[{_RAISED}]+")


def plain_digits(text: str) -> str:
    """Returns a text with plain digits: 1/2 for ½, 1.5 for 1½, 106 for 10⁶, CO2 for CO₂."""
    return text if text.isascii() else _FRACTION.sub(_plain_fraction, text).translate(_PLAIN)


def with_special_digits(source: str, text: str) -> str:
    """Returns a translation in which the fractions, exponents and indices of its source are as they were."""
    for special in dict.fromkeys(_SPECIAL.findall(source)):
        plain = re.escape(plain_digits(special)).replace(r"\.", "[.,]")
        before = r"[^\W\d_]" if special[0].isalpha() else r"[\w.,/]"
        text, found = re.subn(rf"(?<!{before}){plain}(?![\w/]|[.,]\d)", special, text)
        if not found and _NOTED_WORD.fullmatch(special):  # another word has the number of its footnote
            raised = special.lstrip(plain_digits(special).rstrip("0123456789"))
            text = re.sub(rf"(?<=[^\W\d_]{{3}}){plain_digits(raised)}(?!\w)", raised, text, count=1)
    return text


def _plain_fraction(match: re.Match[str]) -> str:
    """Returns a fraction in figures; after a whole number it is a decimal, because the model would lose the number."""
    whole, fraction = match.groups()
    if not whole:
        return unicodedata.normalize("NFKC", fraction).replace("⁄", "/")
    decimals = f"{unicodedata.numeric(fraction):.2f}"[1:].rstrip("0")
    return whole + decimals
