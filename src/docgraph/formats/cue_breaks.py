"""Breaks between subtitle cues: which words of a translated sentence go into which of its cues.

A sentence of several cues is translated as a whole. Its translation is then cut again where four things agree best:

- words stay in the cue of the words that they translate (links of the alignment that cross a break cost most);
- a break is near the same relative position, between punctuation marks and numbers that both texts share;
- a break comes after a punctuation mark, and not after an article or another short word;
- a cue has no more characters than can be read in its time.

The best breaks are found by dynamic programming over the words.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from docgraph.document import Alignment, Document
from docgraph.formats.base import Cue, Span
from docgraph.formats.markup_positions import find_landmarks, project, token_spans
from docgraph.formats.markup_transfer import one_line

_DISTANCE, _DISTANCE_ALONE = 0.3, 1.0
"""Cost of a break that is a word away from its relative position, with an alignment and without one."""
_AFTER_MARK, _AFTER_SHORT_WORD = -0.1, 0.2
"""Cost of a break after a punctuation mark, and after a word that belongs to the next one."""
_SHORT = 3
"""Letters of a short word, which is usually an article or a preposition."""
_EXCESS = 1.0
"""Cost of a word too many for its cue."""
_GROWTH, _SLACK = 1.4, 6
"""Without a limit, a cue may have this share of its part of the sentence, and so many characters more."""
_MOST_WORDS = 250
"""Sentences with more words are cut at relative positions only, to bound the time."""
_MARK = re.compile(r"[^\w\s'’-]$")


@dataclass(frozen=True)
class SubtitleLimits:
    """Limits for the text of subtitle cues; None for no limit."""

    reading_speed: float | None = None
    """Characters per second. Words move between the cues of a sentence; times are never changed."""
    line_length: int | None = None
    """Characters per line. Longer lines are broken."""


def cue_ends(
    document: Document,
    texts: Sequence[str],
    cues: Iterable[Cue],
    alignments: Sequence[Alignment | None],
    limits: SubtitleLimits,
) -> list[list[int]]:
    """Return the positions of the cue breaks in the new text of each sentence."""
    shown = [cue for cue in cues if cue.lines]
    starts = [cue.lines[0][0] for cue in shown]
    ends: list[list[int]] = []
    for index, (sentence, new) in enumerate(zip(document.sentences, texts, strict=True)):
        breaks = [markup.offset for markup in sentence.markup if markup.role == "break"]
        if not breaks or new == sentence.text:
            ends.append([])
            continue
        text = one_line(new)
        words = token_spans(text)
        landmarks = find_landmarks(sentence.text, text) if text else []
        projected = [project(place, "between", landmarks)[0] if text else 0.0 for place in breaks]
        first = max(bisect_right(starts, sentence.start) - 1, 0)
        own = [b - a for a, b in itertools.pairwise([0, *breaks, len(sentence.text)])]
        room = _room(own, len(text) / len(sentence.text), shown[first : first + len(own)], limits)
        found = place_breaks(words, text, breaks, projected, room, alignments[index] if alignments else None)
        ends.append([words[count - 1][1] if count else 0 for count in found])
    return ends


def _room(own: Sequence[int], growth: float, cues: Sequence[Cue], limits: SubtitleLimits) -> list[float]:
    """Return how many characters of a sentence fit into each of its cues.

    `own` are the characters that the source sentence has in each cue; other sentences in a cue take their share.
    Without a reading speed, a cue may grow a little more than the sentence does.
    """
    if limits.reading_speed is None or len(cues) < len(own):
        return [_GROWTH * growth * length + _SLACK for length in own]
    room = []
    for length, cue in zip(own, cues, strict=True):
        total = sum(end - start for start, end in cue.lines)
        others = max(total - length, 0) * growth
        room.append((cue.end - cue.begin) * limits.reading_speed - others)
    return room


def place_breaks(
    words: Sequence[Span],
    text: str,
    breaks: Sequence[int],
    projected: Sequence[float],
    room: Sequence[float],
    alignment: Alignment | None,
) -> list[int]:
    """Return the number of words before each of k breaks, so that each cue has words as long as there are enough.

    `words` are the spans of the words in `text`. `breaks` [k] are the positions of the breaks in the source sentence,
    `projected` [k] their relative positions in the text. `room` [k + 1] is the number of characters of each cue.
    """
    count, k = len(words), len(breaks)
    ends = [0, *(end for _, end in words)]
    if not k:
        return []
    if count <= k or count > _MOST_WORDS:
        nearest = [min(range(count + 1), key=lambda n: abs(ends[n] - place)) for place in projected]
        return _ascending(nearest, count)
    average = max(len(text) / count, 1.0)
    own = [_word_cost(words, text, n) for n in range(count + 1)]
    weight = _DISTANCE_ALONE if not alignment else _DISTANCE
    costs = []
    for place, target in zip(breaks, projected, strict=True):
        crossing = _crossing(words, place, alignment or ())
        costs.append([crossing[n] + weight * abs(ends[n] - target) / average + own[n] for n in range(count + 1)])
    return _best_breaks(costs, ends, room, average)


def _ascending(wanted: Sequence[int], count: int) -> list[int]:
    """Return the wanted numbers of words with at least one word in each cue as long as there are enough."""
    found: list[int] = []
    for index, number in enumerate(wanted):
        least = found[-1] + 1 if found else 1
        most = count - (len(wanted) - index)
        found.append(min(max(least, min(number, most)), count))
    return found


def _word_cost(words: Sequence[Span], text: str, count: int) -> float:
    """Return the cost of a break after `count` words, by the word before it."""
    last = text[slice(*words[count - 1])] if count else ""
    if _MARK.search(last):
        return _AFTER_MARK
    bare = last.strip('«"“(')
    return _AFTER_SHORT_WORD if bare.endswith(("'", "’")) or (bare.isalpha() and len(bare) <= _SHORT) else 0.0


def _crossing(words: Sequence[Span], place: int, alignment: Alignment) -> list[float]:
    """Return, for a break after each number of words, the weight of the links from one side to the other.

    `place` is the break in the source. A link crosses if its two words are on different sides of the break.
    """
    starts = [start for start, _ in words]
    change = [0.0] * (len(words) + 1)
    total = 0.0
    word = 0
    for link in alignment:
        while word + 1 < len(starts) and starts[word + 1] <= link.target:
            word += 1
        if link.source < place:  # crosses while its word is after the break
            total += link.weight
            change[word + 1] -= link.weight
        else:
            change[word + 1] += link.weight
    return list(itertools.accumulate(change[1:], initial=total))


def _best_breaks(
    costs: Sequence[Sequence[float]], ends: Sequence[int], room: Sequence[float], average: float
) -> list[int]:
    """Return the ascending numbers of words with the least sum of costs, one or more words in each cue.

    `average` is the length of a word.
    """
    count, k = len(ends) - 1, len(costs)

    def excess(cue: int, first: int, last: int) -> float:
        return _EXCESS * max(0.0, ends[last] - ends[first] - room[cue]) / average

    best = [costs[0][n] + excess(0, 0, n) if 0 < n <= count - k else math.inf for n in range(count + 1)]
    back: list[list[int]] = []
    for index in range(1, k):
        row, chosen = [math.inf] * (count + 1), [0] * (count + 1)
        for n in range(index + 1, count - k + index + 1):
            before = min(range(index, n), key=lambda m: best[m] + excess(index, m, n))
            row[n], chosen[n] = best[before] + excess(index, before, n) + costs[index][n], before
        best = row
        back.append(chosen)
    last = min(range(k, count), key=lambda n: best[n] + excess(k, n, count))
    found = [last]
    for chosen in reversed(back):
        found.append(chosen[found[-1]])
    return found[::-1]
