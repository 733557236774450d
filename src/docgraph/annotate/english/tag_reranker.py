"""A log-linear reranker for tags that the neural tagger is uncertain about.

The tagger sees a narrow window. It does not see that a sentence is a title or all in capitals, nor how often a word is
capitalised elsewhere. These facts decide between common and proper noun, and therefore whether a lemma keeps its
capital. For each uncertain word, the tagger's best tags t are scored as

    score(t) = scale * log p(t) + sum over features f of weight[f, t]

and the softmax of the scores is their probability. Certain words are skipped.
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
"""A tag and its log-probability by the tagger."""
Weights = dict[str, dict[str, float]]
"""Feature -> tag -> weight."""

CERTAIN = 0.98
"""Tags with at least this probability are not reranked."""
MAX_CANDIDATES = 4
MIN_LOG_PROBABILITY = -7.0
"""Tags with a smaller log-probability are not candidates."""
ALL_CAPS = "a"
"""The first letter of the style of a sentence in capitals."""
_START, _END = "<s>", "</s>"
_STOPS = frozenset(".?!")
_SHAPE_LENGTH = 12


@lru_cache(maxsize=1 << 14)
def shape(word: str) -> str:
    """Returns the letter classes of a word, with runs cut to two: `McDonald's` -> `XxXxx'x`."""
    kinds: list[str] = []
    for letter in word[:_SHAPE_LENGTH]:
        kind = "X" if letter.isupper() else "x" if letter.islower() else "d" if letter.isdigit() else letter
        if kinds[-2:] != [kind, kind]:
            kinds.append(kind)
    return "".join(kinds)


def capitals(word: str) -> str:
    """Returns `U` for two or more capitals only, `C` for a capital first, `l` otherwise."""
    if word.isupper() and len(word) > 1:
        return "U"
    return "C" if word[0].isupper() else "l"


def sentence_style(words: Sequence[str]) -> str:
    """Returns a code of three letters: share of capitalised words, length class, and whether a full stop ends it.

    The first letter is `ALL_CAPS` if most words are all capitals.
    """
    alphabetic = [word for word in words if word[0].isalpha()]
    all_caps = sum(word.isupper() and len(word) > 1 for word in alphabetic)
    if len(alphabetic) > 1 and all_caps > 0.6 * len(alphabetic):
        style = ALL_CAPS
    else:
        rest = alphabetic[1:]
        style = str(int(min(4.0, 5 * sum(word[0].isupper() for word in rest) / max(1, len(rest)))))
    length = "s" if len(words) < 5 else "m" if len(words) < 12 else "l"
    return style + length + ("." if words[-1] in _STOPS else "_")


class TaggedSentence:
    """The words of a sentence with the tagger's tags, and attributes of the whole sentence."""

    def __init__(self, words: Sequence[str], tags: Sequence[str]) -> None:
        self.words, self.tags = words, tags
        self.style = sentence_style(words)
        self.is_all_caps = self.style[0] == ALL_CAPS
        """Whether most words are in capitals."""
        self.initial = next((i for i, word in enumerate(words) if word[0].isalpha()), 0)
        """Index of the first word that begins with a letter."""


@dataclass(frozen=True, slots=True)
class WordTables:
    """Attributes of words that do not depend on the sentence; keys are lower case."""

    tags: Mapping[str, str]
    """The one or two most frequent tags in the treebanks, such as `NN/VB`."""
    capitalised: Mapping[str, str]
    """How often raw text capitalises the word inside sentences: `0` hardly ever, `1` rarely, `2` mostly, `3` always."""


def features(sentence: TaggedSentence, i: int, candidates: Sequence[Candidate], tables: WordTables) -> list[str]:
    """Returns the features of word i."""
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


def uncertain_words(logits: NDArray[np.float32], labels: Sequence[str]) -> Iterator[tuple[int, list[Candidate]]]:
    """Yields the words whose best tag is less probable than `CERTAIN`, with their candidates.

    `logits`: [words, labels].
    """
    logp = logits - logits.max(axis=1, keepdims=True)
    logp -= np.log(np.exp(logp).sum(axis=1, keepdims=True))
    rows = np.flatnonzero(logp.max(axis=1) < np.log(CERTAIN))
    columns = np.argsort(-logp[rows], axis=1)[:, :MAX_CANDIDATES]
    values = np.take_along_axis(logp[rows], columns, axis=1).tolist()
    for i, best, scores in zip(rows.tolist(), columns.tolist(), values, strict=True):
        yield i, [(labels[j], score) for j, score in zip(best, scores, strict=True) if score > MIN_LOG_PROBABILITY]


class TagReranker:
    """Trained weights that rescore the tags of uncertain words."""

    def __init__(self, scale: float, weights: Weights, tables: WordTables) -> None:
        self.scale, self.weights, self.tables = scale, weights, tables

    def scores(self, active: Sequence[str], candidates: Sequence[Candidate]) -> list[float]:
        """Returns the score of each candidate given the active features."""
        totals = {tag: self.scale * logp for tag, logp in candidates}
        for row in filter(None, map(self.weights.get, active)):
            for tag in totals.keys() & row.keys():
                totals[tag] += row[tag]
        return list(totals.values())

    def __call__(
        self, sentence: TaggedSentence, logits: NDArray[np.float32], labels: Sequence[str]
    ) -> Iterator[tuple[int, dict[str, float]]]:
        """Yields the uncertain words of a sentence with the probabilities of their candidate tags."""
        for i, candidates in uncertain_words(logits, labels):
            scores = self.scores(features(sentence, i, candidates, self.tables), candidates)
            yield i, dict(zip((tag for tag, _ in candidates), softmax(scores), strict=True))


def softmax(scores: Sequence[float]) -> list[float]:
    """Returns probabilities from scores."""
    highest = max(scores)
    exponents = [math.exp(score - highest) for score in scores]
    total = sum(exponents)
    return [exponent / total for exponent in exponents]
