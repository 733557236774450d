"""A log-linear second look at the tags a neural tagger is unsure of.

The tagger's window is narrow: it does not see that a whole sentence is a title or shouted in capitals, nor how often a
word is capitalised elsewhere. Those decide between common and proper noun, and with it whether a lemma keeps its
capital. For each uncertain word, the tagger's few best tags t are scored as

    score(t) = scale * log p(t) + sum over features f of weight[f, t]

and the best one is taken. Words the tagger is sure of cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

Candidate = tuple[str, float]
"""A tag and the tagger's log-probability of it."""
Weights = dict[str, dict[str, float]]
"""Feature -> tag -> weight."""

CERTAIN = 0.98
"""A tag at least this probable is left alone."""
CANDIDATES = 4
LEAST = -7.0
"""Tags with a smaller log-probability are no candidates."""
_START, _END = "<s>", "</s>"
_STOPS = frozenset(".?!")
_SHAPE_LENGTH = 12


def shape(word: str) -> str:
    """`McDonald's` -> `XxXxx'x`: letter classes, runs cut to two."""
    kinds: list[str] = []
    for letter in word[:_SHAPE_LENGTH]:
        kind = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return "".join(kinds)


def capitals(word: str) -> str:
    """`U` all capitals (two letters or more), `C` a capital first, `l` otherwise."""
    if word.isupper() and len(word) > 1:
        return "U"
    return "C" if word[0].isupper() else "l"


def sentence_style(words: Sequence[str]) -> str:
    """Share of capitalised words (`a`: most are all capitals), length class, and whether a full stop ends it."""
    alphabetic = [word for word in words if word[0].isalpha()]
    shouted = sum(word.isupper() and len(word) > 1 for word in alphabetic)
    if len(alphabetic) > 1 and shouted > 0.6 * len(alphabetic):
        style = "a"
    else:
        rest = alphabetic[1:]
        style = str(int(min(4.0, 5 * sum(word[0].isupper() for word in rest) / max(1, len(rest)))))
    length = "s" if len(words) < 5 else "m" if len(words) < 12 else "l"
    return style + length + ("." if words[-1] in _STOPS else "_")


@dataclass(frozen=True, slots=True)
class WordTables:
    """What is known of words whatever their sentence; keys are lower case."""

    tags: Mapping[str, str]
    """The one or two most frequent tags in the treebanks, as `NN/VB`."""
    capitalised: Mapping[str, str]
    """How often raw text capitalises the word inside sentences: `0` hardly, `1` seldom, `2` mostly, `3` always."""


def features(words: Sequence[str], tags: Sequence[str], i: int, style: str, tables: WordTables) -> list[str]:
    """The features of word i; `style` is that of its sentence."""
    word, lower = words[i], words[i].lower()
    before, tag_before = (words[i - 1], tags[i - 1]) if i else (_START, _START)
    after, tag_after = (words[i + 1], tags[i + 1]) if i + 1 < len(words) else (_END, _END)
    initial = "" if any(other[0].isalpha() for other in words[:i]) else "F"
    case = capitals(word)
    known = tables.tags.get(lower, "")
    neighbours = ("U" if before[0].isupper() else "l") + ("U" if after[0].isupper() else "l")
    return [
        "bias",
        "w=" + word,
        "l=" + lower,
        "s=" + shape(word),
        "3=" + lower[-3:],
        "2=" + lower[-2:],
        "p=" + tag_before,
        "n=" + tag_after,
        f"pn={tag_before} {tag_after}",
        "pw=" + before.lower(),
        "nw=" + after.lower(),
        f"wp={lower} {tag_before}",
        f"wn={lower} {tag_after}",
        "c=" + case + style + initial,
        "r=" + tables.capitalised.get(lower, "-") + case + initial,
        "k=" + known + case,
        f"k2={known} {lower[-2:]} {tag_before}",
        f"k3={known} {shape(before)[:3]} {shape(after)[:3]}",
        "cn=" + case + neighbours + style[0],
    ]


def uncertain(
    logits: NDArray[np.float32], labels: Sequence[str], certain: float = CERTAIN
) -> Iterator[tuple[int, list[Candidate]]]:
    """The words whose best tag is less probable than `certain`, with their candidates; logits: [words, labels]."""
    logp = logits - logits.max(axis=1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(axis=1, keepdims=True))
    for i in np.flatnonzero(logp.max(axis=1) < np.log(certain)).tolist():
        best = np.argsort(-logp[i])[:CANDIDATES]
        yield i, [(labels[j], float(logp[i, j])) for j in best.tolist() if logp[i, j] > LEAST]


class TagReranker:
    """The trained weights, and the choice by them."""

    def __init__(self, scale: float, weights: Weights, tables: WordTables) -> None:
        self.scale, self.weights, self.tables = scale, weights, tables

    def scores(self, active: Sequence[str], candidates: Sequence[Candidate]) -> list[float]:
        """The score of each candidate under the active features."""
        rows = [row for row in map(self.weights.get, active) if row is not None]
        return [self.scale * logp + sum(row.get(tag, 0.0) for row in rows) for tag, logp in candidates]

    def __call__(
        self, words: Sequence[str], tags: Sequence[str], logits: NDArray[np.float32], labels: Sequence[str]
    ) -> list[str]:
        """The tags of one sentence after the second look."""
        result = list(tags)
        style = ""
        for i, candidates in uncertain(logits, labels):
            style = style or sentence_style(words)
            scores = self.scores(features(words, tags, i, style, self.tables), candidates)
            result[i] = candidates[scores.index(max(scores))][0]
        return result
