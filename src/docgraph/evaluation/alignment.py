"""Word alignment of an evaluation set, by a light unsupervised aligner.

The aligner is the reparameterised IBM model 2 of Dyer et al. (2013): each target word is translated from one source
word or from nothing, with p(a_j = i) falling as exp(-tension |i/m - j/n|); likewise in the other direction. The two
models are trained to agree (Liang et al. 2006), that is, on the product of their posteriors, with a sparse Dirichlet
prior on the translation tables (variational Bayes). A link needs a product of posteriors above a threshold, so links
are few and reliable.

All candidate links i-j of all sentence pairs lie in flat arrays; an iteration is a handful of sums over them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from docgraph.annotate.runner import annotate_all
from docgraph.annotation import Annotation, BoolArray, IntArray
from docgraph.document import Document
from docgraph.evaluation.evaluation_set import EvaluationSet, read_evaluation_set
from docgraph.graph.links import Integers, LongArray, ragged_ranges
from docgraph.graph.relations import is_function_word

Floats = npt.NDArray[np.float64]
SentencePairs = list[tuple[list[str], list[str]]]
"""The words of the two sides of each sentence pair."""
THRESHOLD = 0.1
"""A word is aligned if the product of posteriors of its best link exceeds this."""
BLOCK = 1 << 22
"""Candidate links processed at once."""

# Hyperparameters, chosen on Europarl (docs/evaluation.md).
INDEPENDENT, AGREEING = 2, 5
"""Iterations in which each direction is trained alone, then on the product of the posteriors."""
TENSION = 4.0
"""How strongly links keep to the diagonal."""
NULL = 0.08
"""Prior probability that a word is a translation of nothing."""
ALPHA = 0.01
"""Concentration of the Dirichlet prior."""
ALIGNER = f"diagonal-agreement({INDEPENDENT}+{AGREEING})"
"""The name of the aligner in signatures."""


@dataclass(frozen=True, eq=False)
class Bitext:
    """Sentence pairs as concatenated word ids: pair s has words offsets[s] .. offsets[s+1]-1 on each side."""

    source: IntArray
    target: IntArray
    source_offsets: LongArray
    target_offsets: LongArray

    @classmethod
    def of(cls, pairs: Sequence[tuple[Sequence[str], Sequence[str]]]) -> Bitext:
        """Numbers the words of sentence pairs."""
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
class CandidateLinks:
    """All word pairs of some sentence pairs, [L] each: positions in the bitext and distance from the diagonal."""

    source: LongArray
    target: LongArray
    distance: Floats


@dataclass(frozen=True, eq=False)
class Posteriors:
    """Links [L] by word positions of the bitext, and the product of the posteriors of the two directions."""

    source: LongArray
    target: LongArray
    agreement: Floats

    def best_target(self, num_source: int, threshold: float = 0.0) -> LongArray:
        """Returns [num_source]: the target word of each source word's best link, -1 if none is above `threshold`."""
        best = np.full(num_source, -1, dtype=np.int64)
        order = np.argsort(self.agreement, kind="stable")
        order = order[self.agreement[order] > threshold]
        best[self.source[order]] = self.target[order]  # the last assignment to a place, the largest, wins
        return best

    def where(self, mask: BoolArray) -> Posteriors:
        """Returns the links at which `mask` [L] is True."""
        return Posteriors(self.source[mask], self.target[mask], self.agreement[mask])


class Aligner:
    """Translation tables of both directions over co-occurring word pairs, trained on a bitext."""

    def __init__(self, bitext: Bitext) -> None:
        self._bitext = bitext
        self._pairs, keys = _co_occurrences(bitext)
        width = int(bitext.target.max(initial=0)) + 1
        self._words = keys // width, keys % width
        self._unigrams = tuple(np.bincount(words) / max(len(words), 1) for words in (bitext.source, bitext.target))
        counts = np.bincount(self._pairs, minlength=len(keys)).astype(np.float64)
        self._tables = tuple(counts / sum_by(words, counts)[words] for words in self._words)
        for iteration in range(INDEPENDENT + AGREEING):
            self._train(agree=iteration >= INDEPENDENT)

    def _train(self, agree: bool) -> None:
        """Runs one iteration of expectation maximisation."""
        counts = np.zeros(len(self._words[0])), np.zeros(len(self._words[0]))
        for links, pairs in self._blocks():
            forward, backward = self._posteriors(links, pairs)
            if agree:
                forward = backward = forward * backward
            for total, posterior in zip(counts, (forward, backward), strict=True):
                total += sum_by(pairs, posterior, len(total))
        self._tables = tuple(_estimate(count, words) for count, words in zip(counts, self._words, strict=True))

    def _blocks(self) -> Iterator[tuple[CandidateLinks, IntArray]]:
        """Yields candidate links and their word pairs, block by block."""
        begin = 0
        for links in _candidate_links(self._bitext):
            yield links, self._pairs[begin : begin + len(links.source)]
            begin += len(links.source)

    def _posteriors(self, links: CandidateLinks, pairs: IntArray) -> tuple[Floats, Floats]:
        """Returns p(a_j = i) and p(b_i = j) of the links, [L] each."""
        diagonal = np.exp(-TENSION * links.distance)
        words = self._bitext.source, self._bitext.target
        posteriors = []
        # Forward, each target word chooses a source word; backward, each source word chooses a target word.
        for side, chooser in ((1, links.target), (0, links.source)):
            first = int(chooser.min()) if len(chooser) else 0
            index = chooser - first
            prior = (1 - NULL) * diagonal / sum_by(index, diagonal)[index]
            joint = prior * self._tables[1 - side][pairs]
            choosers = words[side][first : first + int(index.max(initial=-1)) + 1]
            nothing = NULL * self._unigrams[side][choosers]
            posteriors.append(joint / (sum_by(index, joint) + nothing)[index])
        return posteriors[0], posteriors[1]

    def posteriors(self, first: int = 0, least: float = 1e-4) -> Posteriors:
        """Returns the links above `least` of the sentence pairs from number `first` on."""
        parts = [Posteriors(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        boundary = self._bitext.source_offsets[first]
        for links, pairs in self._blocks():
            if len(links.source) and links.source[-1] >= boundary:
                forward, backward = self._posteriors(links, pairs)
                both = Posteriors(links.source, links.target, forward * backward)
                parts.append(both.where((both.agreement > least) & (links.source >= boundary)))
        return Posteriors(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in ("source", "target", "agreement"))
        )


def _candidate_links(bitext: Bitext) -> Iterator[CandidateLinks]:
    """Yields all candidate links by target word, then source word, in blocks of whole sentence pairs."""
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
        source_place = (source - bitext.source_offsets[pair] + 0.5) / m[pair]
        target_place = (target - bitext.target_offsets[pair] + 0.5) / n[pair]
        yield CandidateLinks(source, target, np.abs(source_place - target_place))
        begin = end


def _co_occurrences(bitext: Bitext) -> tuple[IntArray, LongArray]:
    """Returns the word pair of every candidate link [L], and the key (source * width + target) of every pair [P]."""
    width = int(bitext.target.max(initial=0)) + 1
    blocks = [
        bitext.source[links.source].astype(np.int64) * width + bitext.target[links.target]
        for links in _candidate_links(bitext)
    ]
    keys = np.unique(np.concatenate([np.empty(0, np.int64), *map(np.unique, blocks)]))
    pairs = [np.searchsorted(keys, block).astype(np.int32) for block in blocks]
    return np.concatenate([np.empty(0, np.int32), *pairs]), keys


def sum_by(index: Integers, values: npt.NDArray[Any], size: int = 0) -> Floats:
    """Returns [max(index) + 1, at least `size`]: the sum of the values [K] of each index [K]."""
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


def _estimate(counts: Floats, words: LongArray) -> Floats:
    """Returns [P]: p(other word | word) under a Dirichlet prior, as the exponential of the expected logarithm."""
    smoothed = counts + ALPHA
    totals = np.maximum(sum_by(words, smoothed), ALPHA)  # some words have no pairs
    return np.exp(_digamma(smoothed) - _digamma(totals)[words])


def _digamma(x: Floats) -> Floats:
    """Returns the derivative of log gamma for x > 0, to about 1e-9: the asymptotic series at x + 6, shifted down."""
    down = sum(1 / (x + step) for step in range(6))
    y = x + 6
    square = 1 / (y * y)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))
    return np.asarray(np.log(y) - 0.5 / y - series - down)


@dataclass(frozen=True, eq=False)
class Words:
    """The W words of the N sentences of a set, in order."""

    forms: list[str]
    keys: list[str]
    """Lower-cased lemmas, or lower-cased forms if there are no lemmas."""
    tags: list[str] | None
    """Universal parts of speech."""
    relations: list[str] | None
    """Dependency relations."""
    content: BoolArray
    """[W]: False at punctuation and function words."""
    offsets: LongArray
    """[N+1]: the words of sentence n are offsets[n] .. offsets[n+1]-1."""
    documents: LongArray
    """[W]: the document of each word."""

    @classmethod
    def of(cls, annotations: Sequence[Annotation]) -> Words:
        """Returns the words of annotated documents."""

        def column(name: str) -> list[str] | None:
            columns = [getattr(annotation, name) for annotation in annotations]
            return None if None in columns else [text for column in columns for text in column.to_list()]

        forms = column("forms") or []
        lengths = [np.diff(annotation.offsets) for annotation in annotations]
        sizes = [annotation.num_words for annotation in annotations]
        function_words = [is_function_word(annotation) for annotation in annotations]
        return cls(
            forms,
            [key.lower() for key in column("lemmas") or forms],
            column("upos"),
            column("deprels"),
            ~np.concatenate([np.empty(0, np.bool_), *function_words]),
            np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths])),
            np.repeat(np.arange(len(annotations)), sizes),
        )

    @property
    def sentences(self) -> LongArray:
        """[W]: the sentence of each word, numbered through the set."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    def split(self) -> list[list[str]]:
        """Returns the keys of each sentence."""
        return [self.keys[a:b] for a, b in pairwise(self.offsets.tolist())]


@dataclass(frozen=True, slots=True)
class BitextAnnotator:
    """Finds the words of source and target sentences."""

    source: str
    """Annotator spec or language of the source."""
    target: str
    """Language of the translations."""
    cache: Path | None = None
    """Folder of finished annotations."""
    jobs: int = 1
    """Processes that annotate the source."""

    def annotate(self, documents: Sequence[Document]) -> list[Annotation]:
        """Annotates source documents."""
        return list(annotate_all(documents, self.source, jobs=self.jobs, cache=self.cache))

    def source_words(self, data: EvaluationSet) -> Words:
        """Returns the words of the source."""
        assert data.source is not None
        return Words.of(self.annotate(data.split_documents(data.source)))

    def target_words(self, data: EvaluationSet, sentences: Sequence[str]) -> Words:
        """Returns the words of the reference or of a system's output."""
        from docgraph.annotate.registry import load_pipeline

        pipeline = load_pipeline(word_annotator(self.target))
        return Words.of([pipeline(document) for document in data.split_documents(sentences)])

    def read_pairs(self, source: str | Path, target: str | Path) -> SentencePairs:
        """Reads sentence pairs to train the aligner on from two files of one sentence per line."""
        data = read_evaluation_set({}, target, source)
        return _sentence_pairs(self.source_words(data), self.target_words(data, data.reference))


def word_annotator(language: str) -> str:
    """Returns the spec of an annotator of words and lemmas without a parser: fast, and the same for all systems."""
    from docgraph.annotate.rule_based import has_simplemma_dictionary

    if language == "zh":
        return "jieba"
    return f"words:{language}+simplemma:{language}" if has_simplemma_dictionary(language) else f"words:{language}"


def _sentence_pairs(source: Words, target: Words) -> SentencePairs:
    return list(zip(source.split(), target.split(), strict=True))


def align(source: Words, targets: Sequence[Words], corpus: SentencePairs) -> list[Posteriors]:
    """Links of the source with each target, by word positions in the two.

    One model is trained on the corpus and all targets. To keep the alignment of a system independent of which other
    systems are evaluated, pass only that system's output and the reference as targets.
    """
    bitext = Bitext.of(corpus + [pair for target in targets for pair in _sentence_pairs(source, target)])
    posteriors = Aligner(bitext).posteriors(first=len(corpus))
    aligned, sentences = [], len(source.offsets) - 1
    for number in range(len(targets)):
        first = len(corpus) + number * sentences
        begin, end = bitext.source_offsets[first], bitext.source_offsets[first + sentences]
        part = posteriors.where((posteriors.source >= begin) & (posteriors.source < end))
        aligned.append(Posteriors(part.source - begin, part.target - bitext.target_offsets[first], part.agreement))
    return aligned
