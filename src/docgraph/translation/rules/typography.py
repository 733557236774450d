"""Signs, spaces and numbers of a translation as its language writes them, whatever its training text did."""

from __future__ import annotations

import re
from collections.abc import Callable
from difflib import SequenceMatcher

NARROW, WIDE = "\u202f", "\u00a0"
"""Spaces where no line breaks: before ; ! ? and inside numbers; before : and %, inside « »."""
_AFTER_COLON = re.compile(r"(?<=[ \u00a0]:)(?=\d)")
_MARK = re.compile(r"(?P<word>[^\W_]|[)\]»\"'%°…€$£])(?P<space>[ \u00a0\u202f]?)(?P<mark>[:;]|[!?]+)(?=[\s\"'»)\]]|$)")
_HOUR = re.compile(r"(?<=\d) ?h ?(?=\d\d\b)")
_SIGN = re.compile(r"(?<=\d) (?=[%‰€$£])")
_PERCENT = re.compile(r"(?<![\w.,])(\d[\d.,]*)%")
_QUOTED = re.compile(r"(?<![\w=(\[{])\"(?=\S)([^\"«»]*?)(?<=\S)\"(?!\w)")
_OPENING, _CLOSING = re.compile(r"(?<![\w=])\"(?=\w)"), re.compile(r"(?<=[\w.,;!?…])\"(?!\w)")
_GUILLEMETS = re.compile(r"«\s*|\s*»")
_ELISION = re.compile(r"(?<!\w)([cdjlmnst]|qu)' (?=\w)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\w.,/-])(?<!\w\()\d{1,3}(?:,\d{3})+(?![\d,])")
_PARTS = re.compile(r"(?<![\w.,/-])\d+(?:[.-]\d+)+(?![\w/]|[.,-]\d)")
_FIGURES = re.compile(r"\d[\d.,\u202f-]*(?<![.,\u202f])")
_BELOW_TWO = re.compile(r"(?<![\d,.\u202f])([01](?:,\d+)? (?:million|milliard|billion))s\b")
_AMOUNT = re.compile(
    r"(?<![\w$])([$£€])\s?(\d(?:[.,\u202f]?\d)++)(?![:\w])"
    r"(?: ((?:million|milliard|billion)s?)\b| (?:dollars|livres|euros)\b)?"
)
_MONEY = {"$": "de dollars", "£": "de livres", "€": "d'euros"}


def french(source: str, text: str) -> str:
    """French, of an English source. What may be code, because it stands so in the source, stays."""
    text = _ELISION.sub(r"\1'", text)
    for number in _THOUSANDS.findall(source):
        grouped = number.replace(",", NARROW)
        text = text.replace(number, grouped).replace(number.replace(",", " "), grouped)
        text = re.sub(rf"(?<![\w,.]){number.replace(',', '')}(?![\d,.]\d)", grouped, text)
    text = _mended(source, text)
    text = _BELOW_TWO.sub(r"\1", _AMOUNT.sub(_amount, text))
    text = _SIGN.sub(WIDE, _HOUR.sub(f"{WIDE}h{WIDE}", text))
    text = _PERCENT.sub(lambda match: match[0] if match[0] in source else f"{match[1]}{WIDE}%", text)
    text = _quoted(source, text)
    text = _MARK.sub(lambda match: _set_off(match, source), _AFTER_COLON.sub(" ", text))
    return _GUILLEMETS.sub(lambda match: f"«{WIDE}" if "«" in match[0] else f"{WIDE}»", text)


def _mended(source: str, text: str) -> str:
    """The text with the one number of several parts (897.00, 20-00-00) that it miscopied; where it has others, who
    knows."""
    missing = [number for number in _PARTS.findall(source) if number not in text and _in_french(number) not in text]
    if len(missing) != 1:
        return text
    wanted, given = _in_french(missing[0]), {_in_french(number) for number in _FIGURES.findall(source)}
    strange = [number for number in _FIGURES.findall(text) if _in_french(number) not in given and alike(wanted, number)]
    return text.replace(strange[0], wanted, 1) if len(strange) == 1 else text


def _in_french(number: str) -> str:
    return number.replace(",", NARROW) if _THOUSANDS.fullmatch(number) else number.replace(".", ",")


def _quoted(source: str, text: str) -> str:
    """Guillemets for the quotation marks of a source that has typographic ones, and where a text has both kinds; a
    lone one, of a quotation that goes on in other sentences, is the straight one that these have."""
    typographic = any(quote in source for quote in "“”«»")
    if typographic or ("«" in text and "»" in text):
        text = _QUOTED.sub(lambda match: match[0] if match[0] in source else f"«{match[1]}»", text)
        return _CLOSING.sub("»", _OPENING.sub("«", text)) if typographic else text
    return _GUILLEMETS.sub('"', text)


def alike(one: str, other: str) -> bool:
    """Whether a number may be another one, miscopied."""
    return SequenceMatcher(None, one, other).ratio() >= 0.6


def _amount(match: re.Match[str]) -> str:
    sign, number, scale = match.groups()
    number = number.replace(".", ",")
    return f"{number}{WIDE}{sign}" if scale is None else f"{number} {scale} {_MONEY[sign]}"


def _set_off(match: re.Match[str], source: str) -> str:
    """A mark with the space before it that French wants."""
    mark, text = match["mark"], match.string
    literal = text[: match.start("space")].split()[-1] + mark
    if mark == ":":
        literal = " ".join([literal, *text[match.end() :].split()[:1]])
    if f" {mark}" in source or (mark in ":;" and literal in source):
        return match[0]
    return f"{match['word']}{WIDE if mark == ':' else NARROW}{mark}"


FINISHES: dict[tuple[str, str], Callable[[str, str], str]] = {("en", "fr"): french}
"""By source and target language."""
