"""Repeated marks (???), ellipses (…), character references (&amp;) and labels in capitals: plain for the model, and
back."""

from __future__ import annotations

import re
from html import unescape

from docgraph.translation.text.capitals import LABEL

_THREE_DOTS = re.compile(r"(?<!\.)\.{3}(?!\.)")
_REPEATED_MARKS = re.compile(r"(?<=[\w)\"'”’%…])[!?]{2,}(?=[\s\"'”’)]|$)")
_MARKS = re.compile(r"[!?](?:\s?[!?])*")
_ENTITY = re.compile(r"&(?:amp|apos|gt|lt|quot|#0?39|#x27|#34);")
_MARKUP_CHARACTERS = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_TRANSLATED_LABEL = re.compile(r"[^:.!?]{1,60}?(?=\s?:)")


def plain_style(text: str) -> str:
    """Returns a text with one mark at the end of each exclamation and question (Why?), and with & for &amp;."""
    text = _ENTITY.sub(lambda entity: unescape(entity[0]), text) if "&" in text else text
    return _REPEATED_MARKS.sub(lambda marks: "?" if "?" in marks[0] else "!", text)


def with_source_style(source: str, text: str) -> str:
    """Returns a translation with the repeated marks, ellipses, character references and label in capitals of its
    source."""
    text = _with_same_marks(source, _with_label(source, text))
    if "…" in source and "..." not in source:
        text = _THREE_DOTS.sub("…", text)
    return _with_entities(source, text)


def _with_label(source: str, text: str) -> str:
    """Returns a text with its words before the colon in capitals if its source has them so: SPOILER ALERT: ..."""
    translated = _TRANSLATED_LABEL.match(text) if LABEL.match(source) else None
    return text if translated is None else translated[0].upper() + text[translated.end() :]


def _with_same_marks(source: str, text: str) -> str:
    """Returns a text with the marks of its source, if it has as many; else only those at its end."""
    if not _REPEATED_MARKS.search(source):
        return text
    wanted, found = _MARKS.findall(source), [*_MARKS.finditer(text)]
    if found and len(wanted) != len(found):
        at_end = source.endswith(wanted[-1]) and text.endswith(found[-1][0])
        wanted, found = (wanted[-1:], found[-1:]) if at_end else ([], [])
    for marks, match in zip(wanted[::-1], found[::-1], strict=False):
        if len(marks) > 1:
            text = text[: match.start()] + marks + text[match.end() :]
    return text


def _with_entities(source: str, text: str) -> str:
    """Returns a text with character references for & < > if its source has only them."""
    if not _ENTITY.search(source):
        return text
    rest = _ENTITY.sub("", source)
    for char, entity in _MARKUP_CHARACTERS.items():
        if entity in source and char not in rest:
            text = text.replace(entity, char).replace(char, entity)
    return text
