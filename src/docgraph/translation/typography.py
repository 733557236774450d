"""Signs, spaces and numbers of a translation as its language writes them, whatever its training text did."""

from __future__ import annotations

import re
from collections.abc import Callable

NARROW, WIDE = "\u202f", "\u00a0"
"""Spaces where no line breaks: before ; ! ? and inside numbers; before : and %, inside « »."""
_MARK = re.compile(r"(?P<word>[^\W_]|[)\]»\"'%°…€$£])(?P<space>[ \u00a0\u202f]?)(?P<mark>[:;]|[!?]+)(?=[\s\"'»)\]]|$)")
_HOUR = re.compile(r"(?<=\d) ?h ?(?=\d\d\b)")
_SIGN = re.compile(r"(?<=\d) (?=[%‰€$£])")
_PERCENT = re.compile(r"(?<![\w.,])(\d[\d.,]*)%")
_QUOTED = re.compile(r"(?<![\w=(\[{])\"(?=\S)([^\"«»]*?)(?<=\S)\"(?!\w)")
_OPENING, _CLOSING = re.compile(r"(?<![\w=])\"(?=\w)"), re.compile(r"(?<=[\w.,;!?…])\"(?!\w)")
_GUILLEMETS = re.compile(r"«\s*|\s*»")
_ELISION = re.compile(r"(?<!\w)([cdjlmnst]|qu)' (?=\w)", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<![\w.,/-])(?<!\w\()\d{1,3}(?:,\d{3})+(?![\d,])")
_BELOW_TWO = re.compile(r"(?<![\d,.\u202f])([01](?:,\d+)? (?:million|milliard|billion))s\b")
_AMOUNT = re.compile(r"(?<![\w$])([$£€])\s?(\d(?:[.,\u202f]?\d)++)(?![:\w])(?: ((?:million|milliard|billion)s?)\b)?")
_MONEY = {"$": "de dollars", "£": "de livres", "€": "d'euros"}


def french(source: str, text: str) -> str:
    """French, of an English source. What may be code, because it stands so in the source, stays."""
    text = _ELISION.sub(r"\1'", text)
    for number in _THOUSANDS.findall(source):
        grouped = number.replace(",", NARROW)
        text = text.replace(number, grouped).replace(number.replace(",", " "), grouped)
    text = _BELOW_TWO.sub(r"\1", _AMOUNT.sub(_amount, text))
    text = _SIGN.sub(WIDE, _HOUR.sub(f"{WIDE}h{WIDE}", text))
    text = _PERCENT.sub(lambda match: match[0] if match[0] in source else f"{match[1]}{WIDE}%", text)
    text = _quoted(source, text)
    text = _MARK.sub(lambda match: _set_off(match, source), text)
    return _GUILLEMETS.sub(lambda match: f"«{WIDE}" if "«" in match[0] else f"{WIDE}»", text)


def _quoted(source: str, text: str) -> str:
    """Guillemets for the quotation marks of a source that has typographic ones, and where a text has both kinds; a
    lone one, of a quotation that goes on in other sentences, is the straight one that these have."""
    typographic = any(quote in source for quote in "“”«»")
    if typographic or ("«" in text and "»" in text):
        text = _QUOTED.sub(lambda match: match[0] if match[0] in source else f"«{match[1]}»", text)
        return _CLOSING.sub("»", _OPENING.sub("«", text)) if typographic else text
    return _GUILLEMETS.sub('"', text)


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
