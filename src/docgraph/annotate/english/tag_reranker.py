"""A log-linear second look at the tags a neural tagger is unsure of.

The tagger's window is narrow: it does not see that a whole sentence is a title or shouted in capitals, nor how often a
word is capitalised elsewhere. Those decide between common and proper noun, and with it whether a lemma keeps its
capital. For each uncertain word, the tagger's few best tags t are scored as

    score(t) = scale * log p(t) + sum over features f of weight[f, t]

and the softmax of the scores is their probability. Words the tagger is sure of cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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
SHOUTED = "a"
"""The first letter of the style of a sentence in capitals."""
_START, _END = "<s>", "</s>"
_STOPS = frozenset(".?!")
_SHAPE_LENGTH = 12


@lru_cache(maxsize=1 << 14)
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
    """Share of capitalised words (`SHOUTED` if most are all capitals), length class, whether a full stop ends it."""
    alphabetic = [word for word in words if word[0].isalpha()]
    shouted = sum(word.isupper() and len(word) > 1 for word in alphabetic)
    if len(alphabetic) > 1 and shouted > 0.6 * len(alphabetic):
        style = SHOUTED
    else:
        rest = alphabetic[1:]
        style = str(int(min(4.0, 5 * sum(word[0].isupper() for word in rest) / max(1, len(rest)))))
    length = "s" if len(words) < 5 else "m" if len(words) < 12 else "l"
    return style + length + ("." if words[-1] in _STOPS else "_")


@dataclass(frozen=True, slots=True)
class TaggedSentence:
    """The words of a sentence with the tagger's tags, and what its words say of the whole of it."""

    words: Sequence[str]
    tags: Sequence[str]
    style: str
    initial: int
    """The first word with a letter."""

    @classmethod
    def of(cls, words: Sequence[str], tags: Sequence[str]) -> TaggedSentence:
        """Derive the style and the initial word."""
        initial = next((i for i, word in enumerate(words) if word[0].isalpha()), 0)
        return cls(words, tags, sentence_style(words), initial)

    @property
    def shouted(self) -> bool:
        """Whether most words are in capitals."""
        return self.style[0] == SHOUTED


@dataclass(frozen=True, slots=True)
class WordTables:
    """What is known of words whatever their sentence; keys are lower case."""

    tags: Mapping[str, str]
    """The one or two most frequent tags in the treebanks, as `NN/VB`."""
    capitalised: Mapping[str, str]
    """How often raw text capitalises the word inside sentences: `0` hardly, `1` seldom, `2` mostly, `3` always."""


def features(sentence: TaggedSentence, i: int, candidates: Sequence[Candidate], tables: WordTables) -> list[str]:
    """The features of word i."""
    words, tags, style = sentence.words, sentence.tags, sentence.style
    word, lower = words[i], words[i].lower()
    before, tag_before = (words[i - 1], tags[i - 1]) if i else (_START, _START)
    after, tag_after = (words[i + 1], tags[i + 1]) if i + 1 < len(words) else (_END, _END)
    initial = "F" if i <= sentence.initial else ""
    case = capitals(word)
    known = tables.tags.get(lower, "")
    rivals = "/".join(tag for tag, _ in candidates[:2])
    margin = str(int(min(5.0, 2 * (candidates[0][1] - candidates[1][1])))) if len(candidates) > 1 else ""
    neighbours = ("U" if before[0].isupper() else "l") + ("U" if after[0].isupper() else "l")
    return [
        "bias",
        "l=" + lower,
        "s=" + shape(word),
        "3=" + lower[-3:],
        "2=" + lower[-2:],
        "p=" + tag_before,
        "n=" + tag_after,
        f"pn={tag_before} {tag_after}",
        "pw=" + before.lower(),
        "nw=" + after.lower(),
        "c=" + case + style + initial,
        "r=" + tables.capitalised.get(lower, "-") + case + initial,
        "k=" + known + case,
        f"kn={known} {shape(before)[:3]} {shape(after)[:3]}",
        "cn=" + case + neighbours + style[0],
        "t=" + rivals + margin,
        "tc=" + rivals + style + initial + case,
        "t3=" + rivals + lower[-3:],
    ]


def uncertain(
    logits: NDArray[np.float32], labels: Sequence[str], certain: float = CERTAIN
) -> Iterator[tuple[int, list[Candidate]]]:
    """The words whose best tag is less probable than `certain`, with their candidates; logits: [words, labels]."""
    logp = logits - logits.max(axis=1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(axis=1, keepdims=True))
    rows = np.flatnonzero(logp.max(axis=1) < np.log(certain))
    columns = np.argsort(-logp[rows], axis=1)[:, :CANDIDATES]
    values = np.take_along_axis(logp[rows], columns, axis=1).tolist()
    for i, best, scores in zip(rows.tolist(), columns.tolist(), values, strict=True):
        yield i, [(labels[j], score) for j, score in zip(best, scores, strict=True) if score > LEAST]


class TagReranker:
    """The trained weights, and the choice by them."""

    def __init__(self, scale: float, weights: Weights, tables: WordTables) -> None:
        self.scale, self.weights, self.tables = scale, weights, tables

    def scores(self, active: Sequence[str], candidates: Sequence[Candidate]) -> list[float]:
        """The score of each candidate under the active features."""
        totals = {tag: self.scale * logp for tag, logp in candidates}
        for row in filter(None, map(self.weights.get, active)):
            for tag in totals.keys() & row.keys():
                totals[tag] += row[tag]
        return list(totals.values())

    def __call__(
        self, sentence: TaggedSentence, logits: NDArray[np.float32], labels: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, float]]]:
        """The uncertain words of a sentence, each with the probabilities of its candidate tags."""
        for i, candidates in uncertain(logits, labels):
            scores = self.scores(features(sentence, i, candidates, self.tables), candidates)
            yield i, dict(zip((tag for tag, _ in candidates), softmax(scores), strict=True))


def softmax(scores: Sequence[float]) -> list[float]:
    """Probabilities from scores."""
    highest = max(scores)
    exponents = [math.exp(score - highest) for score in scores]
    total = sum(exponents)
    return [exponent / total for exponent in exponents]
