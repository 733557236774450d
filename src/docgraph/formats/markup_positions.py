"""Positions of inline markup in a new text.

Markup whose place is known (words that also occur in the new text, or are aligned with it) goes there. Any other markup
goes to the word boundary at the same relative position between two landmarks, which are punctuation marks and numbers
that both texts share. Markup keeps its order, so that nested tags stay nested.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from docgraph.document import InlineMarkup, Sentence
from docgraph.formats.base import ATOM_CHARACTERS, CJK, Span, around
from docgraph.formats.markup_in_words import anchored_markup, pairs, positions_in_words, script_indices

_LANDMARK = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\w\s'’-]")
"""Numbers and punctuation marks: a translation usually keeps them, in about the same order."""
_MAX_SHIFT = 0.2
"""A landmark may move by this share of the text; anything further away is taken for another landmark."""
_MAX_SEARCHED = 200
"""Words are searched for in a sentence with up to this much markup, since each search reads the whole sentence."""
_TOKEN = re.compile(rf"[{CJK}][^\w\s]*|(?:[^\s{CJK}]|[\u00a0\u202f])+")
_WORD = re.compile(rf"(?:https?://|www\.)\S*\w|[{CJK}{ATOM_CHARACTERS}]|[^\W{CJK}]+(?:['’-][^\W{CJK}]+)*")
Landmark = tuple[int, int, int]
"""(position in the old text, position in the new text, length)."""
Side = Literal["after", "before", "between"]
"""Whether markup is attached to the word it comes after, to the word it comes before, or to neither (a line break)."""


def find_positions(sentence: Sentence, text: str, exact: Mapping[int, int], whole_words: bool) -> list[int]:
    """Return the position of each markup in the new text, in ascending order.

    `exact` has the known positions, by markup index. With `whole_words`, markup that opens or closes goes to the start
    or the end of a word only.
    """
    tokens, words = _boundaries(_TOKEN, text), _boundaries(_WORD, text)
    landmarks = find_landmarks(sentence.text, text) if sentence.markup else []
    sides = _sides(sentence)
    breaks_left = sides.count("between")
    exact = {**_anchored_positions(sentence, words[1], landmarks, exact), **exact}
    empty = dict(pair[::-1] for pair in pairs(sentence.markup) if _is_empty(sentence.markup, *pair))
    positions: list[int] = []
    limits = _later_minima(exact, len(sides), len(text))
    token, last, opened = 0, 0, False
    for index, (markup, side) in enumerate(zip(sentence.markup, sides, strict=True)):
        target, at_landmark = project(markup.offset, side, landmarks)
        is_word = whole_words and markup.role in ("open", "close") and index not in empty.values()
        if index in empty:
            position = last
        elif index not in exact and markup.offset in (0, len(sentence.text)) and markup.role != "break":
            position = 0 if markup.offset == 0 else len(text)
        elif side == "between":
            breaks_left -= 1
            # Each line keeps a word as long as there are enough words.
            nearest = _nearest(tokens[1], target) + 1
            token = min(max(token + 1, min(nearest, len(tokens[1]) - 1 - breaks_left)), len(tokens[1]))
            position = tokens[1][token - 1] if token else 0
        elif (index in exact or at_landmark) and not is_word:
            position = exact.get(index, int(target))
        else:
            beside = around(sentence.text, markup.offset)
            starts, ends = words if is_word or not any(map(str.isspace, beside)) else tokens
            choices = starts if side == "before" else ends
            place = _nearest(choices, target)
            if is_word and all(map(str.isalnum, beside)):  # of comm**a**, the start of the whole word
                place = max(bisect_right(starts, target) - 1, 0) if choices else place
            position = choices[place] if choices else 0
            # An element that was not empty encloses at least one word.
            if side == "after" and opened and position <= last and bisect_right(ends, last) < len(ends):
                position = ends[bisect_right(ends, last)]
        if position > limits[index]:
            position = limits[index]
            if markup.role not in ("open", "close"):  # no break or atom between l' and image
                choices = tokens[0 if side == "before" else 1]
                place = bisect_right(choices, position) - 1
                position = choices[place] if place >= 0 else 0
        last = max(last, position)
        opened = side == "before"
        positions.append(last)
    return positions


def _later_minima(exact: Mapping[int, int], count: int, end: int) -> list[int]:
    """Return, for each markup, the least known position of those after it; `end` if there is none."""
    known = (exact.get(index, end) for index in range(count - 1, -1, -1))
    return [*itertools.accumulate(known, min)][::-1]


def _is_empty(markups: Sequence[InlineMarkup], start: int, end: int) -> bool:
    """Return whether an element has no text, such as a link around an image."""
    return markups[start].offset == markups[end].offset


def _anchored_positions(
    sentence: Sentence, ends: list[int], landmarks: list[Landmark], exact: Mapping[int, int]
) -> dict[int, int]:
    """Return the word end nearest to the relative position of markup that goes to the end of a word."""
    return {
        index: ends[_nearest(ends, project(end, "after", landmarks)[0])] if ends else 0
        for indices, (_, end) in anchored_markup(sentence, exact)
        for index in indices
    }


def elements_with_text(sentence: Sentence) -> list[Span]:
    """Return the indices of the markup that opens and closes each element with text and without atoms.

    Superscripts and subscripts inside words are left out, because they may lose their text.
    """
    markups, scripts = sentence.markup, script_indices(sentence)
    return [
        (start, end)
        for start, end in pairs(markups)
        if not _is_empty(markups, start, end)
        and all(mark.role != "atom" for mark in markups[start:end])
        and start not in scripts
    ]


def marked_spans(sentence: Sentence) -> list[Span]:
    """Return the indices of each pair of markup around words of a sentence, but not around all of its words.

    A pair opens and closes an element, or stands before and after some words.
    """
    markups, text = sentence.markup, sentence.text
    if not markups or len(markups) > _MAX_SEARCHED:
        return []
    sides = _sides(sentence)
    beside = [
        (n, n + 1)
        for n, (one, other) in enumerate(itertools.pairwise(markups))
        if one.role == other.role == "" and sides[n : n + 2] == ["before", "after"]
    ]
    spans = []
    for start, end in sorted(pairs(markups) + beside):
        begin, stop = markups[start].offset, markups[end].offset
        if _WORD.search(text[begin:stop]) and (_WORD.search(text[:begin]) or _WORD.search(text[stop:])):
            spans.append((start, end))
    return spans


def positions_of_shared_words(sentence: Sentence, text: str) -> dict[int, int]:
    """Return the positions, by markup index, of pairs that enclose words which occur once in both texts.

    Markup inside a word that both texts have is found, too.
    """
    if len(sentence.markup) > _MAX_SEARCHED:
        return {}
    positions = positions_in_words(sentence, text)
    sides = _sides(sentence)
    for index, (opening, closing) in enumerate(itertools.pairwise(sentence.markup)):
        inside = sentence.text[opening.offset : closing.offset]
        if sides[index : index + 2] == ["before", "after"] and inside.strip() and index not in positions:
            pattern = re.compile(rf"(?<!\w){re.escape(inside)}(?!\w)")
            matches = list(pattern.finditer(text))
            if len(matches) == 1 == len(pattern.findall(sentence.text)):
                positions[index], positions[index + 1] = matches[0].span()
    return positions


def in_new_order(sentence: Sentence, text: str) -> Sentence:
    """Return the sentence with its elements in the order that the words in them have in the new text.

    Only elements whose words occur once in both texts change places; see `positions_of_shared_words`.
    """
    exact, markups = positions_of_shared_words(sentence, text), sentence.markup
    outer: list[Span] = []
    for start, end in sorted(pairs(markups)):
        if any(index in exact for index in range(start, end + 1)) and (not outer or start > outer[-1][1]):
            outer.append((start, end))
    ordered = sorted(outer, key=lambda pair: min(exact[n] for n in range(pair[0], pair[1] + 1) if n in exact))
    if ordered == outer:
        return sentence
    new, last = list[InlineMarkup](), 0
    for (start, end), (first, final) in zip(outer, ordered, strict=True):
        new += [*markups[last:start], *markups[first : final + 1]]
        last = end + 1
    return replace(sentence, markup=(*new, *markups[last:]))


def find_landmarks(old: str, new: str) -> list[Landmark]:
    """Return the longest sequence of landmarks in the same order in both texts, between the two ends of the texts.

    Only marks that occur equally often in both texts count.
    """
    occurrences: list[dict[str, list[int]]] = [{}, {}]
    for text, starts in zip((old, new), occurrences, strict=True):
        for match in _LANDMARK.finditer(text):
            starts.setdefault(match[0], []).append(match.start())
    shared = sorted(
        (one, other, len(mark))
        for mark, ones in occurrences[0].items()
        if len(ones) == len(others := occurrences[1].get(mark, []))
        for one, other in zip(ones, others, strict=True)
        if abs(one / len(old) - other / len(new)) < _MAX_SHIFT
    )
    # Longest increasing subsequence: ends[n] is the smallest new position at which a chain of n + 1 landmarks ends.
    ends: list[int] = []
    chains: list[tuple[Landmark, Any]] = []
    for landmark in shared:
        length = bisect_left(ends, landmark[1])
        chain = (landmark, chains[length - 1] if length else None)
        ends[length : length + 1], chains[length : length + 1] = [landmark[1]], [chain]
    last, backwards = chains[-1] if chains else None, [(len(old), len(new), 0)]
    while last is not None:
        landmark, last = last
        backwards.append(landmark)
    return [(0, 0, 0), *reversed(backwards)]


def project(offset: int, side: Side, landmarks: list[Landmark]) -> tuple[float, bool]:
    """Map a position of the old text to the new one; the flag says that it touches a one-character landmark."""
    index = bisect_right(landmarks, (offset, math.inf, 0)) - 1
    old, new, length = landmarks[index]
    if side == "before" and offset == old and length == 1:
        return new, True
    # Between two landmarks, as in `: [code].`, the one before the markup decides.
    for before in landmarks[max(index - 1, 0) : index + 1] if side == "after" else ():
        if offset == before[0] + before[2] and before[2] == 1:
            return before[1] + 1, True
    following = landmarks[min(index + 1, len(landmarks) - 1)]
    share = (offset - old) / max(following[0] - old, 1)
    return new + share * (following[1] - new), False


def token_spans(text: str) -> list[Span]:
    """Return the spans of the words of a text, with the punctuation marks beside them."""
    return [match.span() for match in _TOKEN.finditer(text)]


def _boundaries(pattern: re.Pattern[str], text: str) -> tuple[list[int], list[int]]:
    """Return the starts and the ends of the matches."""
    spans: list[Span] = [match.span() for match in pattern.finditer(text)]
    return [start for start, _ in spans], [end for _, end in spans]


def _nearest(positions: list[int], target: float) -> int:
    """Return the index of the position nearest to the target, or -1 if there are no positions."""
    index = bisect_left(positions, target)
    if index > 0 and (index == len(positions) or target - positions[index - 1] <= positions[index] - target):
        index -= 1
    return index if positions else -1


def _sides(sentence: Sentence) -> list[Side]:
    """Return what each markup is attached to.

    The role decides if the parser knows it; otherwise white space in or around the markup does. Without any, a tag or
    bracket decides by its form, and any other markup opens and closes in turn.
    """
    text, seen = sentence.text, Counter[str]()
    sides: list[Side] = []
    for markup in sentence.markup:
        leads, trails = markup.raw[:1].isspace(), markup.raw[-1:].isspace()
        before, after = around(text, markup.offset)
        if leads and trails:
            sides.append("between")
        elif markup.role in ("open", "close"):
            sides.append("before" if markup.role == "open" else "after")
        elif leads or trails:
            sides.append("after" if leads else "before")
        elif before.isspace() != after.isspace():
            sides.append("before" if before.isspace() else "after")
        elif markup.role in ("", "atom") and before.isalnum() and not after.isalnum():
            sides.append("after")
        elif markup.raw.startswith(("<", "[", "]")):
            sides.append("after" if markup.raw.startswith(("</", "]")) else "before")
        else:
            sides.append("after" if seen[markup.raw] % 2 else "before")
        seen[markup.raw] += 1
    return sides
