"""A light word aligner of our own: lexical translation with a diagonal prior, both directions trained to agree.

Each target word is translated from one source word or from nothing: p(a_j = i) falls as exp(-tension |i/m - j/n|), the
reparameterised model 2 of Dyer et al. (2013), and so in the other direction. The two models are estimated together on
the product of their posteriors (Liang et al. 2006), with a sparse Dirichlet prior on the translation tables
(variational Bayes). A link is kept where that product passes a threshold: links are few and sure.

All links i-j of all sentence pairs lie in flat arrays; an iteration is a handful of sums over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from docgraph.annotation import IntArray
from docgraph.graph.links import Integers, LongArray, ragged_ranges

Floats = npt.NDArray[np.float64]
BLOCK = 1 << 22
"""Links at work at once."""


@dataclass(frozen=True, slots=True)
class AlignerConfig:
    """Settings of the aligner; the defaults were chosen on Europarl (docs/evaluation.md)."""

    independent: int = 2
    """Iterations in which each direction learns alone."""
    agreeing: int = 5
    """Iterations on the product of the posteriors."""
    tension: float = 4.0
    """How much links keep to the diagonal."""
    null: float = 0.08
    """Prior probability that a word translates nothing."""
    alpha: float = 0.01
    """Concentration of the Dirichlet prior."""

    def __str__(self) -> str:
        return f"diagonal-agreement({self.independent}+{self.agreeing})"


@dataclass(frozen=True, eq=False)
class Bitext:
    """Sentence pairs as word ids, one after another: sentence s has words offsets[s] .. offsets[s+1]-1 of each side."""

    source: IntArray
    target: IntArray
    source_offsets: LongArray
    target_offsets: LongArray

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Bitext:
        """From words; equal words get equal ids."""
        sides = []
        for side in range(2):
            ids: dict[str, int] = {}
            words = [ids.setdefault(word, len(ids)) for pair in pairs for word in pair[side]]
            offsets = np.cumsum([0, *(len(pair[side]) for pair in pairs)])
            sides.append((np.array(words, dtype=np.int32), offsets))
        (source, source_offsets), (target, target_offsets) = sides
        return cls(source, target, source_offsets, target_offsets)

    def __len__(self) -> int:
        return len(self.source_offsets) - 1


@dataclass(frozen=True, eq=False)
class Links:
    """All links of some sentence pairs, [L] each: global word positions and the diagonal distance."""

    source: LongArray
    target: LongArray
    distance: Floats


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Candidate links [L] by word positions of the bitext, and the product of the posteriors of the two directions."""

    source: LongArray
    target: LongArray
    agreement: Floats

    def best_target(self, num_source: int, threshold: float = 0.0) -> LongArray:
        """[num_source]: the target word of the best link of each source word, -1 without one above `threshold`."""
        best = np.full(num_source, -1, dtype=np.int64)
        order = np.argsort(self.agreement, kind="stable")
        order = order[self.agreement[order] > threshold]
        best[self.source[order]] = self.target[order]  # the last one written is the largest
        return best

    def where(self, mask: npt.NDArray[np.bool_]) -> Posteriors:
        return Posteriors(self.source[mask], self.target[mask], self.agreement[mask])


class Aligner:
    """Translation tables of both directions over the word pairs that occur together, learnt from a bitext."""

    def __init__(self, bitext: Bitext, config: AlignerConfig = AlignerConfig()) -> None:
        self._bitext, self._config = bitext, config
        self._pairs, keys = _co_occurrences(bitext)
        width = int(bitext.target.max(initial=0)) + 1
        self._words = keys // width, keys % width
        self._unigrams = tuple(_frequencies(words) for words in (bitext.source, bitext.target))
        counts = np.bincount(self._pairs, minlength=len(keys)).astype(np.float64)
        self._tables = counts / _totals(counts, self._words[0]), counts / _totals(counts, self._words[1])
        for iteration in range(config.independent + config.agreeing):
            self._improve(agree=iteration >= config.independent)

    def _improve(self, agree: bool) -> None:
        """One iteration of expectation and maximisation."""
        counts = np.zeros(len(self._words[0])), np.zeros(len(self._words[0]))
        begin = 0
        for links in _links(self._bitext):
            pairs = self._pairs[begin : begin + len(links.source)]
            begin += len(pairs)
            forward, backward = self._posteriors(links, pairs)
            if agree:
                forward = backward = forward * backward
            for total, posterior in zip(counts, (forward, backward), strict=True):
                total += sum_by(pairs, posterior, len(total))
        alpha = self._config.alpha
        self._tables = _estimate(counts[0], self._words[0], alpha), _estimate(counts[1], self._words[1], alpha)

    def _posteriors(self, links: Links, pairs: IntArray) -> tuple[Floats, Floats]:
        """p(a_j = i) and p(b_i = j) of the links, [L] each."""
        diagonal = np.exp(-self._config.tension * links.distance)
        words = self._bitext.source, self._bitext.target
        found = []
        # Forward, a target word chooses among source words; backward, the other way about.
        for side, chooser in ((1, links.target), (0, links.source)):
            first = int(chooser.min()) if len(chooser) else 0
            index = chooser - first
            prior = (1 - self._config.null) * diagonal / sum_by(index, diagonal)[index]
            joint = prior * self._tables[1 - side][pairs]
            none = self._config.null * self._unigrams[side][words[side][first : first + int(index.max(initial=-1)) + 1]]
            found.append(joint / (sum_by(index, joint) + none)[index])
        return found[0], found[1]

    def posteriors(self, first: int = 0, least: float = 1e-4) -> Posteriors:
        """The links of sentence pairs `first` and after, those above `least`."""
        parts, begin = [], 0
        boundary = self._bitext.source_offsets[first]
        for links in _links(self._bitext):
            pairs = self._pairs[begin : begin + len(links.source)]
            begin += len(pairs)
            if len(links.source) and links.source[-1] >= boundary:
                forward, backward = self._posteriors(links, pairs)
                both = Posteriors(links.source, links.target, forward * backward)
                parts.append(both.where((both.agreement > least) & (links.source >= boundary)))
        if not parts:
            return Posteriors(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return Posteriors(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "agreement"))
        )


def _links(bitext: Bitext) -> Iterator[Links]:
    """All links, whole sentence pairs at a time, by target word, then source word."""
    m, n = np.diff(bitext.source_offsets), np.diff(bitext.target_offsets)
    ends = np.cumsum(m * n)
    begin = 0
    while begin < len(bitext):
        done = ends[begin - 1] if begin else 0
        end = max(int(np.searchsorted(ends, done + BLOCK, side="right")), begin + 1)
        targets = np.arange(bitext.target_offsets[begin], bitext.target_offsets[end])
        owner = np.repeat(np.arange(begin, end), n[begin:end])
        source = ragged_ranges(bitext.source_offsets[owner], m[owner])
        target = np.repeat(targets, m[owner])
        pair = np.repeat(owner, m[owner])
        place = (source - bitext.source_offsets[pair] + 0.5) / m[pair]
        other = (target - bitext.target_offsets[pair] + 0.5) / n[pair]
        yield Links(source, target, np.abs(place - other))
        begin = end


def _co_occurrences(bitext: Bitext) -> tuple[IntArray, LongArray]:
    """The number of the word pair of every link [L], and the key (source id * width + target id) of every pair [P]."""
    width = int(bitext.target.max(initial=0)) + 1
    blocks = [
        bitext.source[links.source].astype(np.int64) * width + bitext.target[links.target] for links in _links(bitext)
    ]
    keys = np.unique(np.concatenate([np.empty(0, np.int64), *map(np.unique, blocks)]))
    pairs = [np.searchsorted(keys, block).astype(np.int32) for block in blocks]
    return np.concatenate([np.empty(0, np.int32), *pairs]), keys


def sum_by(index: Integers, values: npt.NDArray[Any], size: int = 0) -> Floats:
    """[max(index) + 1, or `size`]: the sum of the values [K] of each index [K]."""
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


def _frequencies(words: IntArray) -> Floats:
    return np.bincount(words) / max(len(words), 1)


def _totals(values: Floats, words: LongArray) -> Floats:
    """[P]: the sum of the values of all pairs with the same word."""
    return sum_by(words, values)[words]


def _estimate(counts: Floats, words: LongArray, alpha: float) -> Floats:
    """[P]: p(other word | word) under a Dirichlet prior, exp of the expected logarithm."""
    smoothed = counts + alpha
    totals = np.maximum(sum_by(words, smoothed), alpha)  # a word that never met another has no pairs
    return np.exp(_digamma(smoothed) - _digamma(totals)[words])


def _digamma(x: Floats) -> Floats:
    """The derivative of log gamma, for x > 0, to about 1e-9: the asymptotic series at x + 6, brought back down."""
    down = sum(1 / (x + step) for step in range(6))
    y = x + 6
    square = 1 / (y * y)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return np.asarray(np.log(y) - 0.5 / y - series - down)
