"""Cleaning: turns strings of catalogues and pages into sentence pairs without markup and keyboard shortcuts."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from docgraph.formats.sentences import split_sentences
from everyday.documents import Pair, draw
from everyday.filtering import is_good

COUNT = re.compile(
    r"%(?:\((?:count|num|number|n|total|quantity|days|hours|minutes|items?)\))?l{0,2}d\b"
    r"|\{(?:count|num|number|days|hours|minutes|quantity)\}"
)
"""A placeholder for a number."""

MAX_UNMATCHED = 400
"""A text whose paragraphs and lines do not correspond is dropped if it has more characters, and else kept as one."""

MAX_LABEL = 60
"""A string with more characters is not a label, so that it has no keyboard shortcut."""

_TAG = re.compile(r"</?[a-zA-Z][\w:.-]*(?:\s[^<>]*)?/?>")
_BLOCK_TAG = re.compile(r"\s*(?:</?(?:br|p|div|li|h\d|tr|ul|ol|para)(?:\s[^<>]*)?/?>\s*)+", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:\w+|#\d+);")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\xad\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_BULLET = re.compile(r"(?:[-*•·–—+]|\d+[.)])\s+(?=\S)")
_LINE_END = re.compile(r"[.!?:;…»”\"),]$|^\W")
_SENTENCE_END = re.compile(r"[.!?…][\"'”»)]*\s")


def sentence_pairs(english: str, french: str) -> Iterator[Pair]:
    """Yield the good sentence pairs of a string and its translation; unmatched paragraphs and lines are not split."""
    for pair in _paragraphs(*with_figures(plain(english), plain(french))):
        one, other = (" ".join(re.split(r"[ \n]+", text)).strip(" *") for text in pair)
        if is_good(one, other):
            yield one, other


def plain(text: str) -> str:
    """Return a string without shortcut marks, markup, control characters and redundant white space."""
    text = _without_accelerator(text)
    if "<" in text:
        text = _TAG.sub("", _BLOCK_TAG.sub("\n", text))
    if _ENTITY.search(text):
        text = html.unescape(text)
    text = re.sub(r"[ \t]+", " ", _CONTROL.sub("", text).replace("\u2028", "\n"))
    return re.sub(r" ?\n ?", "\n", text).strip()


def _without_accelerator(text: str) -> str:
    """Return a label without the mark of its keyboard shortcut: &File, _File, ~File."""
    if text.count("&") <= 2 and not re.search(r"&\w+;", text):
        text = re.sub(r"(?<![A-Z])&(?=\w)", "", text)
    for mark in "_~":
        if text.count(mark) == 1 and len(text) < MAX_LABEL:
            text = re.sub(rf"{mark}(?=[^\W\d])", "", text)
    return text


def with_figures(english: str, french: str) -> Pair:
    """Replace count placeholders by figures, the same in both strings, if both have the same placeholders."""
    counts = COUNT.findall(english)
    if sorted(counts) == sorted(COUNT.findall(french)) and len(set(counts)) == len(counts):
        for number, count in enumerate(counts):
            figure = str(2 + draw(english + str(number)) % 60)
            english, french = english.replace(count, figure), french.replace(count, figure)
    return english, french


def _paragraphs(english: str, french: str) -> Iterator[Pair]:
    """Yield sentence pairs by paragraph or, if the numbers of paragraphs differ, by line."""
    for separator in (r"\n{2,}", r"\n+"):
        paragraphs = re.split(separator, english), re.split(separator, french)
        if len(paragraphs[0]) == len(paragraphs[1]):
            for pair in zip(*paragraphs, strict=True):
                yield from _lines(*pair)
            return
    if len(english) < MAX_UNMATCHED:
        yield from _lines(english, french)


def _lines(english: str, french: str) -> Iterator[Pair]:
    """Yield sentence pairs of a paragraph; lines that look like separate units are matched, others are joined."""
    lines = english.split("\n"), french.split("\n")
    pairs = list(zip(*lines, strict=False))
    ends = sum(bool(_LINE_END.search(line)) or len(line) < 35 for line in lines[0][:-1])
    alone = len(lines[0]) == len(lines[1]) > 1 and ends >= 0.8 * (len(pairs) - 1) and _similar_lengths(pairs, 8, 0.4)
    for pair in pairs if alone else [(" ".join(lines[0]), " ".join(lines[1]))]:
        yield from _sentences(*(text.strip() for text in pair))


def _sentences(english: str, french: str) -> Iterator[Pair]:
    """Yield the sentence pairs of a line, or the line as one pair if numbers or lengths of the sentences differ."""
    if not english or not french:
        return
    if _BULLET.match(english) and _BULLET.match(french):
        english, french = _BULLET.sub("", english, count=1), _BULLET.sub("", french, count=1)
    if _SENTENCE_END.search(english):
        one, other = (
            [text[start:end] for start, end in split_sentences(text, language)]
            for text, language in ((english, "en"), (french, "fr"))
        )
        if len(one) == len(other) and _similar_lengths(pairs := list(zip(one, other, strict=True)), 10, 0.35):
            yield from pairs
            return
    yield english, french


def _similar_lengths(pairs: list[Pair], add: int, least: float) -> bool:
    """Return whether the length ratio of each pair, with `add` characters added to both, is between `least` and 2.2."""
    return all(least < (len(one) + add) / (len(other) + add) < 2.2 for one, other in pairs)
