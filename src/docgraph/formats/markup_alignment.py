"""Inline markup around the words that translate the marked words, by a word alignment.

Each word of the translation has a share: the part of its links that lead into the marked words. Markup goes around the
run of words whose shares exceed half of the largest share by most in sum, if that run has most of all shares.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence

from docgraph.document import Alignment, Sentence
from docgraph.formats.base import ATOM_CHARACTERS, CJK, Span
from docgraph.formats.markup_in_words import anchored_markup, inner_indices
from docgraph.formats.markup_positions import marked_spans, positions_of_shared_words

_WORD = re.compile(rf"[{CJK}{ATOM_CHARACTERS}]|\b[^\W\d_]{{1,2}}['’](?=\w{{3}})|[^\W{CJK}]+(?:['’.@:/-][^\W{CJK}]+)*")
"""A word that markup may enclose; l'image is two: l' and image."""
_MIN_PEAK = 0.3
"""Least share of the surest word."""
_MEMBER = 0.5
"""Words with more than this part of the largest share count for a run, others against it."""
_FUNCTION_WORD = re.compile(r"\w{1,4}['’]?")
_FUNCTION_MEMBER = 0.7
"""Short words in lower case are often articles and prepositions, which attend to the next word: at the ends of a run,
they need this part of the largest share."""
_BEGINS_SHORT = re.compile(r"\W*\w{1,4}\W+\w")
_MIN_COVERAGE = 0.5
"""Least part of the shares of all words that a run must have."""
_NOISE = 0.1
"""Smaller shares do not count."""
_MARK = re.compile(r"[^\w\s]")
_MARK_BEFORE = re.compile(r"[^\w\s][\u00a0\u202f]?$")
_MARK_AFTER = re.compile(r"\s?([^\w\s])")
_OPENING = {'"': '"', ")": "(", "]": "[", "»": "«", "”": "“", "」": "「", "）": "（"}


def needs_alignment(sentence: Sentence, text: str) -> bool:
    """Return whether a word alignment helps to write a new text of the sentence.

    It does if the sentence spans several subtitle cues, or if markup encloses a part of its words, or follows a word,
    and the new text does not have the same words.
    """
    if text == sentence.text:
        return False
    if any(markup.role == "break" for markup in sentence.markup):
        return True
    spans = marked_spans(sentence)
    shared = positions_of_shared_words(sentence, text) if sentence.markup else {}
    is_unplaced = any(start not in shared or end not in shared for start, end in spans)
    return is_unplaced or next(anchored_markup(sentence, shared), None) is not None


def aligned_positions(sentence: Sentence, text: str, alignment: Alignment) -> dict[int, int]:
    """Return positions in the new text, by markup index, for pairs of markup whose words are found there.

    Words that both texts share come first, then the surest translations; pairs that would change the order of markup
    are left out. Marks of notes go to the end of the translation of the word before them.
    """
    shared = positions_of_shared_words(sentence, text)
    words = [match.span() for match in _WORD.finditer(text)]
    linked = _links_by_word(words, alignment)
    anchored = dict(anchored_markup(sentence, shared))
    inside = {index for indices in anchored for index in indices}
    candidates = [(math.inf, {index: shared[index]}) for index in inner_indices(sentence) if index in shared]
    for indices, word in anchored.items():
        if (best := _best_run(_shares(linked, word))) is not None:
            candidates.append((best[0], dict.fromkeys(indices, words[best[1].stop - 1][1])))
    for start, end in marked_spans(sentence):
        if start in inside or end in inside:
            continue
        span = (sentence.markup[start].offset, sentence.markup[end].offset)
        shares = _shares(linked, span)
        if start in shared and end in shared:
            candidates.append((math.inf, {start: shared[start], end: shared[end]}))
        elif (best := _best_run(shares)) is not None:
            sureness, run = best
            marked = sentence.text[slice(*span)]
            own = _without_function_words(run, shares, [text[slice(*word)] for word in words], marked)
            place = _with_marks((words[own.start][0], words[own.stop - 1][1]), text, marked)
            candidates.append((sureness, {start: place[0], end: place[1]}))
    found: dict[int, int] = {}
    for _, pair in sorted(candidates, key=lambda candidate: -candidate[0]):
        if _is_ascending({**found, **pair}):
            found.update(pair)
    return found


def _links_by_word(words: Sequence[Span], alignment: Alignment) -> list[list[tuple[int, float]]]:
    """Return the links (position in the source, weight) of each word."""
    starts = [start for start, _ in words]
    linked: list[list[tuple[int, float]]] = [[] for _ in words]
    for link in alignment:
        word = bisect_right(starts, link.target) - 1
        if word >= 0 and link.target < words[word][1]:
            linked[word].append((link.source, link.weight))
    return linked


def _shares(linked: Iterable[Sequence[tuple[int, float]]], marked: Span) -> list[float]:
    """Return the part of the links of each word that lead into the marked words."""
    shares = []
    for links in linked:
        inside = sum(weight for place, weight in links if marked[0] <= place < marked[1])
        shares.append(inside / sum(weight for _, weight in links) if inside else 0.0)
    return shares


def _best_run(shares: Sequence[float]) -> tuple[float, range] | None:
    """Return the words that translate the marked words, and how sure this is; None if it is not sure."""
    peak = max(shares, default=0.0)
    if peak < _MIN_PEAK:
        return None
    best, run = (0.0, range(0)), (0.0, 0)
    for index, share in enumerate(shares):
        gain = share - _MEMBER * peak
        run = (run[0] + gain, run[1]) if run[0] > 0 else (gain, index)
        if run[0] > best[0]:
            best = (run[0], range(run[1], index + 1))
    coverage = sum(shares[word] for word in best[1]) / sum(share for share in shares if share >= _NOISE)
    return (min(peak, coverage), best[1]) if coverage >= _MIN_COVERAGE else None


def _without_function_words(run: range, shares: Sequence[float], words: Sequence[str], marked: str) -> range:
    """Return the run without articles and prepositions at its ends that attend to the marked words only weakly.

    The first word stays if the marked words, more than one, begin with a short word, too. The last word is never the
    l' of l'image. At least one word is left.
    """
    least = _FUNCTION_MEMBER * max(shares)
    loose = [_FUNCTION_WORD.fullmatch(words[word]) and words[word].islower() and shares[word] < least for word in run]
    first, last = 0, len(run) - 1
    while first < last and loose[first] and not _BEGINS_SHORT.match(marked):
        first += 1
    while first < last and (loose[last] or words[run[last]].endswith(("'", "’"))):
        last -= 1
    return run[first : last + 1]


def _with_marks(span: Span, text: str, marked: str) -> Span:
    """Return the span with the punctuation marks beside it that belong to the marked words.

    These are marks at the end of the marked words, and the other one of two quotation marks or brackets.
    """
    start, end = span
    if _MARK.match(marked) and (before := _MARK_BEFORE.search(text, max(start - 2, 0), start)):
        start = before.start()
    mark = _MARK_AFTER.match(text, end)
    if mark and (mark[1] == marked[-1] or _is_open(text[start:end], mark[1])):
        end = mark.end()
    return start, end


def _is_open(text: str, closing: str) -> bool:
    """Return whether a closing quotation mark or bracket belongs to an opening one in the text before it."""
    opening = _OPENING.get(closing)
    if opening is None:
        return False
    if opening == closing:
        return text.count(closing) % 2 == 1
    return text.count(opening) > text.count(closing)


def _is_ascending(positions: Mapping[int, int]) -> bool:
    ordered = [position for _, position in sorted(positions.items())]
    return all(one <= other for one, other in itertools.pairwise(ordered))
