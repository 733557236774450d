"""Writing a document: the source with new sentences in the place of the old, and the markup inside them put back.

A sentence that did not change is copied raw. In one that did, gaps around words that the new text has, too, go around
them there; any other goes to the word boundary that lies proportionally where it lay between signs and numbers that
both have. Gaps stay in the old order, so that nested markup stays nested.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from docgraph.document import Document, Sentence
from docgraph.formats.base import CJK

_LANDMARK = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\w\s'’-]")
"""What a translation keeps in its place, more or less: numbers and signs."""
_FAR = 0.2
"""Share of a text that a landmark may have moved; what went further is another one."""

Landmark = tuple[int, int, int]
"""Where it is in the old text and in the new one, and how long."""
Side = Literal["after", "before", "between"]
"""What a gap holds on to: the word before it, the word after it, or neither (a line or subtitle break)."""
_TOKEN = re.compile(rf"[{CJK}][^\w\s]*|(?:[^\s{CJK}]|[\u00a0\u202f])+")
_WORD = re.compile(rf"[{CJK}]|[^\W{CJK}]+(?:['’-][^\W{CJK}]+)*")


def spliced(document: Document, texts: Sequence[str], escape: Callable[[str], str]) -> Document:
    """The document with `texts` for its sentences; a new one has no gaps: the markup in it is in the source alone."""
    parts: list[str] = []
    sentences: list[Sentence] = []
    end = place = 0
    for sentence, text in zip(document.sentences, texts, strict=True):
        changed = text != sentence.text
        raw = rewrite(sentence, text, escape) if changed else document.source[sentence.start : sentence.end]
        parts += [document.source[end : sentence.start], raw]
        start = place + len(parts[-2])
        end, place = sentence.end, start + len(raw)
        gaps = () if changed else sentence.gaps
        sentences.append(replace(sentence, text=text, start=start, end=place, gaps=gaps))
    return replace(document, sentences=tuple(sentences), source="".join([*parts, document.source[end:]]))


def rewrite(sentence: Sentence, text: str, escape: Callable[[str], str]) -> str:
    """The raw form of `text` in the place of the sentence, on one line, its gaps put back."""
    text = " ".join(line.strip() for line in text.replace("\0", "").splitlines()).strip()
    parts: list[str] = []
    start, trim = 0, False
    for gap, position in zip(sentence.gaps, _places(sentence, text), strict=True):
        piece = text[start:position]
        piece = piece.lstrip() if trim else piece
        # a gap that begins or ends with white space stands for the space there
        piece = piece.rstrip() if gap.raw[:1].isspace() else piece
        parts += [escape(piece), gap.raw]
        start, trim = position, gap.raw[-1:].isspace()
    piece = text[start:]
    return "".join([*parts, escape(piece.lstrip() if trim else piece)])


def _places(sentence: Sentence, text: str) -> list[int]:
    """Where each gap goes in the new text, never before the gap that precedes it."""
    tokens, words = _spans(_TOKEN, text), _spans(_WORD, text)
    landmarks = _landmarks(sentence.text, text) if sentence.gaps else []
    sides = _sides(sentence)
    kept = _kept(sentence, sides, text)
    breaks_left = sides.count("between")
    places: list[int] = []
    token, last, opened = 0, 0, False
    for index, (gap, side) in enumerate(zip(sentence.gaps, sides, strict=True)):
        target, beside = _mapped(gap.offset, side, landmarks)
        if side == "between":
            breaks_left -= 1
            # each line keeps a word while there are words enough
            nearest = _nearest(tokens[1], target) + 1
            token = min(max(token + 1, min(nearest, len(tokens[1]) - 1 - breaks_left)), len(tokens[1]))
            place = tokens[1][token - 1] if token else 0
        elif index in kept or beside:
            place = kept.get(index, int(target))
        else:
            starts, ends = tokens if _beside_space(sentence.text, gap.offset) else words
            choices = starts if side == "before" else ends
            place = choices[_nearest(choices, target)] if choices else 0
            if side == "after" and opened and place <= last and bisect_right(ends, last) < len(ends):
                place = ends[bisect_right(ends, last)]
        last = max(last, place)
        opened = side == "before"
        places.append(last)
    return places


def _kept(sentence: Sentence, sides: list[Side], text: str) -> dict[int, int]:
    """The places of gaps, by number, around words that the new text has, too."""
    places = {}
    for index, (gap, following) in enumerate(itertools.pairwise(sentence.gaps)):
        inside = sentence.text[gap.offset : following.offset]
        if sides[index : index + 2] == ["before", "after"] and inside.strip():
            pattern = re.compile(rf"(?<!\w){re.escape(inside)}(?!\w)")
            found = list(pattern.finditer(text))
            if len(found) == 1 == len(pattern.findall(sentence.text)):
                places[index], places[index + 1] = found[0].span()
    return places


def _landmarks(old: str, new: str) -> list[Landmark]:
    """Signs and numbers that are in both texts, as often in one as in the other, in the longest order that both have;
    and the two ends."""
    found: list[dict[str, list[int]]] = [{}, {}]
    for text, starts in zip((old, new), found, strict=True):
        for match in _LANDMARK.finditer(text):
            starts.setdefault(match[0], []).append(match.start())
    both = sorted(
        (one, other, len(sign))
        for sign, ones in found[0].items()
        if len(ones) == len(others := found[1].get(sign, []))
        for one, other in zip(ones, others, strict=True)
        if abs(one / len(old) - other / len(new)) < _FAR
    )
    ends: list[int] = []  # of the chains of 1, 2, ... landmarks that end earliest in the new text
    chains: list[tuple[Landmark, Any]] = []
    for landmark in both:
        length = bisect_left(ends, landmark[1])
        chain = (landmark, chains[length - 1] if length else None)
        ends[length : length + 1], chains[length : length + 1] = [landmark[1]], [chain]
    last, order = chains[-1] if chains else None, [(len(old), len(new), 0)]
    while last is not None:
        landmark, last = last
        order.append(landmark)
    return [(0, 0, 0), *reversed(order)]


def _mapped(offset: int, side: Side, landmarks: list[Landmark]) -> tuple[float, bool]:
    """A place of the old text in the new one, and whether a sign is there that it goes beside."""
    index = bisect_right(landmarks, (offset, math.inf, 0)) - 1
    old, new, length = landmarks[index]
    if side == "before" and offset == old and length == 1:
        return new, True
    if side == "after" and offset == old + length and length == 1:
        return new + length, True
    following = landmarks[min(index + 1, len(landmarks) - 1)]
    share = (offset - old) / max(following[0] - old, 1)
    return new + share * (following[1] - new), False


def _spans(pattern: re.Pattern[str], text: str) -> tuple[list[int], list[int]]:
    """Starts and ends of the matches."""
    spans = [match.span() for match in pattern.finditer(text)]
    return [start for start, _ in spans], [end for _, end in spans]


def _nearest(places: list[int], target: float) -> int:
    """Index of the place nearest to the target; -1 where there is none."""
    index = bisect_left(places, target)
    if index > 0 and (index == len(places) or target - places[index - 1] <= places[index] - target):
        index -= 1
    return index if places else -1


def _beside_space(text: str, offset: int) -> bool:
    return text[offset - 1].isspace() or text[offset].isspace()


def _sides(sentence: Sentence) -> list[Side]:
    """White space tells what a gap belongs to; without any, its own form; at last, whether its twin came before."""
    text, seen = sentence.text, Counter[str]()
    sides: list[Side] = []
    for gap in sentence.gaps:
        leads, trails = gap.raw[:1].isspace(), gap.raw[-1:].isspace()
        space_before, space_after = text[gap.offset - 1].isspace(), text[gap.offset].isspace()
        if leads or trails:
            sides.append("between" if leads and trails else "after" if leads else "before")
        elif space_before != space_after:
            sides.append("before" if space_before else "after")
        elif gap.raw.startswith(("<", "[", "]")):
            sides.append("after" if gap.raw.startswith(("</", "]")) else "before")
        else:
            sides.append("after" if seen[gap.raw] % 2 else "before")
        seen[gap.raw] += 1
    return sides
