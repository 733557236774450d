"""Markup transfer: replaces the sentences of a document and puts their inline markup back around the new words.

A sentence that did not change is copied raw. In a changed sentence, markup around words that also occur in the new text
goes around the same words. Any other markup goes to the word boundary at the same relative position between two
landmarks, which are punctuation marks and numbers that both texts share. Markup keeps its order, so that nested tags
stay nested.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from docgraph.document import Document, InlineMarkup, Sentence
from docgraph.formats.base import CJK, Span

_LANDMARK = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\w\s'’-]")
"""Numbers and punctuation marks: a translation usually keeps them, in about the same order."""
_MAX_SHIFT = 0.2
"""A landmark may move by this share of the text; anything further away is taken for another landmark."""
_CHANGE = "\0"
"""Stands for the change from one emphasis to another; new texts have no NUL."""
_MAX_SEARCHED = 200
"""Words are searched for in a sentence with up to this much markup, since each search reads the whole sentence."""
_TOKEN = re.compile(rf"[{CJK}][^\w\s]*|(?:[^\s{CJK}]|[\u00a0\u202f])+")
_IS_CJK = re.compile(f"[{CJK}]")
_WORD = re.compile(rf"(?:https?://|www\.)\S*\w|[{CJK}]|[^\W{CJK}]+(?:['’-][^\W{CJK}]+)*")

IsIntact = Callable[[str, str, Sequence[InlineMarkup]], bool]
"""(raw form, its text with atoms and without other markup, the markup) -> whether the raw form reads back as these."""
Landmark = tuple[int, int, int]
"""(position in the old text, position in the new text, length)."""
Side = Literal["after", "before", "between"]
"""Whether markup is attached to the word it comes after, to the word it comes before, or to neither (a line break)."""


def replace_sentences(
    document: Document,
    texts: Sequence[str],
    escape: Callable[[str], str],
    escapes: Mapping[str, Callable[[str], str]] | None = None,
    is_intact: IsIntact | None = None,
    filler: str = "",
    cue_ends: Sequence[Sequence[int]] = (),
) -> Document:
    """Return the document with `texts` as its sentences; changed sentences have no `markup`, only raw source.

    `escapes`, `is_intact` and `filler` are those of `Format`. `cue_ends` has, for each sentence of subtitles, the
    positions of its cue breaks in the new text (on one line).
    """
    parts: list[str] = []
    sentences: list[Sentence] = []
    old_end = new_end = index = 0
    while index < len(document):
        sentence, text = document.sentences[index], texts[index]
        following = index + 1
        while following < len(document) and document.sentences[following].start < sentence.end:
            following += 1
        own_escape = (escapes or {}).get(sentence.syntax, escape)
        nested = [
            (inner, _written_inside(inner, new, (escapes or {}).get(inner.syntax, escape)))
            for inner, new in zip(document.sentences[index + 1 : following], texts[index + 1 : following], strict=True)
            if new != inner.text
        ]
        markup = tuple(replace(mark, raw=_replace_nested(mark.raw, mark.start, nested)) for mark in sentence.markup)
        changed = text != sentence.text
        if changed:
            check = is_intact if not sentence.syntax else None
            written = replace(sentence, markup=markup)
            if cue_ends and cue_ends[index]:
                raw = _transfer_cues(written, one_line(text), cue_ends[index], own_escape, filler)
            else:
                raw = _transfer(written, text, own_escape, check, filler)
            raw = _apart(document.source, sentence, raw)
        else:
            raw = _replace_nested(document.source[sentence.start : sentence.end], sentence.start, nested)
        gap = document.source[old_end : sentence.start]
        if changed and not gap and parts and _needs_space(document.source[old_end - 1], parts[-1][-1:], raw[:1]):
            gap = " "  # the sentences of a Chinese text have no space between them
        parts += [gap, raw]
        start = new_end + len(gap)
        old_end, new_end = sentence.end, start + len(raw)
        keep_markup = sentence.markup if not changed and not nested else ()
        sentences.append(replace(sentence, text=text, start=start, end=new_end, markup=keep_markup))
        position = 0
        raws = {inner.start: written_inner for inner, written_inner in nested}
        for inner, new in zip(document.sentences[index + 1 : following], texts[index + 1 : following], strict=True):
            inner_raw = raws.get(inner.start, document.source[inner.start : inner.end])
            position = max(raw.find(inner_raw, position), position)
            inner_end = min(position + len(inner_raw), len(raw))
            sentences.append(replace(inner, text=new, start=start + position, end=start + inner_end, markup=()))
            position = inner_end
        index = following
    return replace(document, sentences=tuple(sentences), source="".join([*parts, document.source[old_end:]]))


def _written_inside(sentence: Sentence, text: str, escape: Callable[[str], str]) -> str:
    """Return the raw form of a sentence inside markup (an attribute), which has no markup of its own but atoms."""
    atoms = tuple(markup for markup in sentence.markup if markup.role == "atom")
    return _transfer(replace(sentence, markup=atoms), text, escape)


def _apart(source: str, sentence: Sentence, raw: str) -> str:
    """Return the raw form with its prefix, and with spaces where it would grow together with the words around it."""
    before, after = source[max(sentence.start - 1, 0) : sentence.start], source[sentence.end : sentence.end + 1]
    if before.isalnum() and raw[:1].isalnum() and not source[sentence.start].isalnum():
        raw = f" {raw}"
    if after.isalnum() and raw[-1:].isalnum() and not source[sentence.end - 1].isalnum():
        raw = f"{raw} "
    return sentence.prefix + raw


def _needs_space(old: str, before: str, after: str) -> bool:
    """Return whether two new sentences need a space that the old ones, in a script without spaces, did not have."""
    return (
        _IS_CJK.match(old) is not None and not (_IS_CJK.match(before) or _IS_CJK.match(after)) and bool(after.strip())
    )


def _replace_nested(raw: str, start: int, nested: list[tuple[Sentence, str]]) -> str:
    """Return source[start:start + len(raw)] with the new texts of the sentences nested in it."""
    if start < 0:
        return raw
    parts, position = list[str](), 0
    first = bisect_left(nested, start, key=lambda entry: entry[0].start)
    last = bisect_right(nested, start + len(raw), key=lambda entry: entry[0].end)
    for inner, written in nested[first:last]:
        parts += [raw[position : inner.start - start], written]
        position = inner.end - start
    return "".join([*parts, raw[position:]])


def transfer_markup(sentence: Sentence, text: str, escape: Callable[[str], str]) -> str:
    """Return `text`, escaped and on one line, with the markup of the sentence inserted."""
    return _transfer(sentence, text, escape)


def _transfer(
    sentence: Sentence,
    text: str,
    escape: Callable[[str], str],
    is_intact: IsIntact | None = None,
    filler: str = "",
) -> str:
    """Return the raw form of `text`; without `is_intact`, the first way to place the markup is taken.

    If the first one does not read back, markup that opens or closes goes around whole words. If that does not read
    back either, emphasis is given up, and emphasis that began before the sentence lasts until its end.
    """
    text = one_line(text)
    raw = ""
    for whole_words in (False, True):
        raw, flat = _insert(sentence.markup, _positions(sentence, text, whole_words), text, escape, filler)
        if is_intact is None or is_intact(raw, flat, sentence.markup):
            return raw
    opened, closed, rest = _without_emphasis(sentence)
    raw, _ = _insert(rest.markup, _positions(rest, text, whole_words=True), text, escape, filler)
    if opened and closed:  # emphasis ends inside the sentence, and other emphasis begins in it
        left, _, right = raw.partition(_CHANGE)
        return f"{left.rstrip()}{closed} {opened}{right.lstrip() or '&#8203;'}"
    return opened + raw + closed


def one_line(text: str) -> str:
    """Return a new text as it is written: on one line, without NUL characters."""
    return " ".join(line.strip() for line in text.replace("\0", "").splitlines()).strip()


def _transfer_cues(
    sentence: Sentence, text: str, ends: Sequence[int], escape: Callable[[str], str], filler: str
) -> str:
    """Return the raw form of a text in several subtitle cues, of which each keeps its own markup.

    Markup at the start or the end of a cue stays there. `ends` are the positions of the breaks in the text.
    """
    breaks = [markup for markup in sentence.markup if markup.role == "break"]
    parts: list[str] = []
    bounds = [0, *(markup.offset for markup in breaks), len(sentence.text)]
    new_bounds = [0, *ends, len(text)]
    groups = _between_breaks(sentence.markup)
    for number, (start, end) in enumerate(itertools.pairwise(bounds)):
        markups = groups[number]
        start += len(sentence.text[start:end]) - len(sentence.text[start:end].lstrip())
        new = text[new_bounds[number] : new_bounds[number + 1]].strip()
        opening = "".join(markup.raw for markup in markups if markup.offset <= start)
        closing = "".join(markup.raw for markup in markups if markup.offset >= max(end, start + 1))
        inner = tuple(
            replace(markup, offset=markup.offset - start) for markup in markups if start < markup.offset < end
        )
        cue = replace(sentence, text=sentence.text[start:end], markup=inner)
        raw = _transfer(cue, new, escape, None, filler) if new else _without_breaks(inner) + filler
        parts += [opening, raw, closing, breaks[number].raw if number < len(breaks) else ""]
    return "".join(parts)


def _between_breaks(markups: Sequence[InlineMarkup]) -> list[list[InlineMarkup]]:
    """Return the markup before, between and after the breaks."""
    groups: list[list[InlineMarkup]] = [[]]
    for markup in markups:
        if markup.role == "break":
            groups.append([])
        else:
            groups[-1].append(markup)
    return groups


def _without_breaks(markups: Sequence[InlineMarkup]) -> str:
    """Return markup without line breaks: a blank line would end a subtitle."""
    return "".join(markup.raw for markup in markups if not _is_break(markup.raw))


def _insert(
    markups: Sequence[InlineMarkup], positions: list[int], text: str, escape: Callable[[str], str], filler: str
) -> tuple[str, str]:
    """Return the raw form of the text with markup at its positions, and the text with atoms but no other markup."""
    parts: list[str] = []
    flat: list[str] = []
    start, trim = 0, False
    is_empty_line = True
    bounds = [*positions, len(text)]
    for index, (markup, position) in enumerate(zip(markups, positions, strict=True)):
        piece = text[start:position]
        piece = piece.lstrip() if trim else piece
        # Markup that begins or ends with white space replaces the space of the text there.
        piece = piece.rstrip() if markup.raw[:1].isspace() else piece
        raw = markup.raw
        is_empty_line = is_empty_line and not piece.strip()
        if _is_break(raw):
            line_end = next((i for i in range(index + 1, len(markups)) if _is_break(markups[i].raw)), len(positions))
            is_next_empty = not text[position : bounds[line_end]].strip()
            if not raw.strip() and (is_empty_line or is_next_empty):
                raw = ""  # a blank line would end a paragraph or a subtitle
            elif filler and is_next_empty:
                raw += filler
            is_empty_line = True
        elif markup.role == "atom":
            follows_atom = index > 0 and markups[index - 1].role == "atom" and markups[index - 1].offset < markup.offset
            if (not piece and follows_atom and not trim) or (piece[-1:].isalnum() and raw[:1].isalnum()):
                piece += " "  # two code spans, or a word and an identifier, would become one
        if piece[:1].isalnum() and parts and parts[-1][-1:].isalnum() and markups[index - 1].role == "atom":
            piece = f" {piece}"
        parts += [escape(piece), raw]
        flat += [piece, raw if markup.role == "atom" else ""]
        start, trim = position, raw[-1:].isspace() if raw else trim
    piece = text[start:]
    piece = piece.lstrip() if trim else piece
    if piece[:1].isalnum() and parts and parts[-1][-1:].isalnum() and markups[-1].role == "atom":
        piece = f" {piece}"
    raw = "".join([*parts, escape(piece)])
    return raw if text or raw.strip() else raw + filler, "".join([*flat, piece])


def _is_break(raw: str) -> bool:
    """Return whether the markup ends a line."""
    return "\n" in raw or "\r" in raw


def _without_emphasis(sentence: Sentence) -> tuple[str, str, Sentence]:
    """Return the emphasis that begins in the sentence, the emphasis that ends in it, and the sentence without any.

    Emphasis that begins and ends in the sentence is dropped. If both of the others exist, a mark is left between them.
    """
    rest: list[InlineMarkup] = []
    opened: list[InlineMarkup] = []
    closed: list[InlineMarkup] = []
    for markup in sentence.markup:
        if markup.raw.strip("*_~"):
            rest.append(markup)
        elif markup.role == "close" and not (opened and opened.pop()):
            closed.append(markup)
        elif markup.role == "open":
            opened.append(markup)
    if opened and closed:
        change = InlineMarkup(closed[-1].offset, _CHANGE, "close")
        rest.insert(bisect_right(rest, change.offset, key=lambda markup: markup.offset), change)
    before, after = ("".join(markup.raw for markup in found) for found in (opened, closed))
    return before, after, replace(sentence, markup=tuple(rest))


def _positions(sentence: Sentence, text: str, whole_words: bool = False) -> list[int]:
    """Return the position of each markup in the new text, in ascending order.

    With `whole_words`, markup that opens or closes goes to the start or the end of a word only.
    """
    tokens, words = _boundaries(_TOKEN, text), _boundaries(_WORD, text)
    landmarks = find_landmarks(sentence.text, text) if sentence.markup else []
    sides = _sides(sentence)
    exact = _positions_of_shared_words(sentence, sides, text)
    breaks_left = sides.count("between")
    empty = _ends_of_empty_elements(sentence.markup)
    positions: list[int] = []
    token, last, opened = 0, 0, False
    for index, (markup, side) in enumerate(zip(sentence.markup, sides, strict=True)):
        target, at_landmark = project(markup.offset, side, landmarks)
        if index in empty:
            position = last
        elif side == "between":
            breaks_left -= 1
            # Each line keeps a word as long as there are enough words.
            nearest = _nearest(tokens[1], target) + 1
            token = min(max(token + 1, min(nearest, len(tokens[1]) - 1 - breaks_left)), len(tokens[1]))
            position = tokens[1][token - 1] if token else 0
        elif (index in exact or at_landmark) and not (whole_words and markup.role in ("open", "close")):
            position = exact.get(index, int(target))
        else:
            is_word = whole_words and markup.role in ("open", "close")
            starts, ends = words if is_word or not _is_beside_space(sentence.text, markup.offset) else tokens
            choices = starts if side == "before" else ends
            position = choices[_nearest(choices, target)] if choices else 0
            # An element that was not empty encloses at least one word.
            if side == "after" and opened and position <= last and bisect_right(ends, last) < len(ends):
                position = ends[bisect_right(ends, last)]
        last = max(last, position)
        opened = side == "before"
        positions.append(last)
    return positions


def _ends_of_empty_elements(markups: Sequence[InlineMarkup]) -> set[int]:
    """Return the indices of markup that closes an element without text, such as a link around an image."""
    opened: list[int] = []
    empty = set[int]()
    for index, markup in enumerate(markups):
        if markup.role == "open":
            opened.append(markup.offset)
        elif markup.role == "close" and opened and opened.pop() == markup.offset:
            empty.add(index)
    return empty


def _positions_of_shared_words(sentence: Sentence, sides: list[Side], text: str) -> dict[int, int]:
    """Return the positions, by markup index, of pairs that enclose words which occur once in both texts."""
    positions: dict[int, int] = {}
    if len(sentence.markup) > _MAX_SEARCHED:
        return positions
    for index, (opening, closing) in enumerate(itertools.pairwise(sentence.markup)):
        inside = sentence.text[opening.offset : closing.offset]
        if sides[index : index + 2] == ["before", "after"] and inside.strip():
            pattern = re.compile(rf"(?<!\w){re.escape(inside)}(?!\w)")
            matches = list(pattern.finditer(text))
            if len(matches) == 1 == len(pattern.findall(sentence.text)):
                positions[index], positions[index + 1] = matches[0].span()
    return positions


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


def _is_beside_space(text: str, offset: int) -> bool:
    return text[offset - 1].isspace() or text[offset].isspace()


def _sides(sentence: Sentence) -> list[Side]:
    """Return what each markup is attached to.

    The role decides if the parser knows it; otherwise white space in or around the markup does. Without any, a tag or
    bracket decides by its form, and any other markup opens and closes in turn.
    """
    text, seen = sentence.text, Counter[str]()
    sides: list[Side] = []
    for markup in sentence.markup:
        leads, trails = markup.raw[:1].isspace(), markup.raw[-1:].isspace()
        space_before, space_after = text[markup.offset - 1].isspace(), text[markup.offset].isspace()
        if leads and trails:
            sides.append("between")
        elif markup.role in ("open", "close"):
            sides.append("before" if markup.role == "open" else "after")
        elif leads or trails:
            sides.append("after" if leads else "before")
        elif space_before != space_after:
            sides.append("before" if space_before else "after")
        elif markup.raw.startswith(("<", "[", "]")):
            sides.append("after" if markup.raw.startswith(("</", "]")) else "before")
        else:
            sides.append("after" if seen[markup.raw] % 2 else "before")
        seen[markup.raw] += 1
    return sides
