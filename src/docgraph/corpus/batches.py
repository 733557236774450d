"""Batches to a token budget: which sentences of which documents each step of an epoch sees.

A piece is a run of consecutive sentences of a document: all of it, a window of a long one, or a single sentence. The
batches of an epoch are a function of the corpus, the config, the seed and the epoch alone, so (epoch, step) is all that
a resumed run must know, and however many processes share a batch, together they see the same one.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt

from docgraph.config import Flag, Size, config_class
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError
from docgraph.graph.links import ragged_ranges

Pieces = npt.NDArray[np.int64]
"""[K, 3]: document, first sentence, one past the last."""
LongArray = npt.NDArray[np.int64]
OPEN = 32
"""Batches that wait for documents while an epoch is packed, and batches' worth of documents that are sorted by size."""


@config_class
class BatchConfig:
    """How a corpus is cut into batches."""

    tokens: Size = 16000
    """Target sub-words of a batch at most, ends of sentences included; there is no padding to count."""
    unit: Literal["document", "sentence"] = "document"
    """What is shuffled: whole documents, or, for a model without context, sentences of all documents."""
    window: Size | None = None
    """A document of more target sub-words comes in windows of consecutive sentences, each with the memory of the whole
    document; by default where it exceeds a batch."""
    max_length: Size = 256
    """A sentence of more sub-words, on either side, is not trained on; it stays part of its document's memory."""
    shuffle: Flag = True
    """Another order every epoch; otherwise that of the corpus."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window > self.tokens:
            raise ValueError(f"'window' is {self.window}; it must be at most 'tokens', {self.tokens}")


class Batches:
    """The batches of every epoch over a corpus."""

    def __init__(self, corpus: PreparedCorpus, config: BatchConfig = BatchConfig(), seed: int = 0) -> None:
        self.config, self.seed = config, seed
        source, target = corpus.flat("source_lengths"), corpus.flat("target_lengths")
        counts = corpus.sizes.sentences.astype(np.int64)
        self._first: LongArray = np.cumsum(counts) - counts
        self._ends: LongArray = np.concatenate([[0], np.cumsum(target, dtype=np.int64)])
        kept = np.maximum(source, target) <= config.max_length
        self.dropped = int((~kept).sum())
        """Sentences longer than `max_length`."""
        if not kept.any():
            raise DocgraphError(f"no sentence has at most {config.max_length} sub-words; raise 'max_length'")
        if config.unit == "sentence":
            document_of = np.repeat(np.arange(len(counts)), counts)
            index_of = np.arange(len(kept)) - self._first[document_of]
            self.pieces = np.stack([document_of, index_of, index_of + 1], axis=1)[kept]
        else:
            self.pieces = self._runs(kept, counts)

    def _runs(self, kept: npt.NDArray[np.bool_], counts: LongArray) -> Pieces:
        """Whole documents; those with a sentence to drop, or too long, as runs of sentences."""
        whole = np.stack([np.arange(len(counts)), np.zeros_like(counts), counts], axis=1)[counts > 0]
        limit = self.config.window or self.config.tokens
        dropped = np.concatenate([[0], np.cumsum(~kept)])
        ends = self._first + counts
        cut = (self.sizes(whole) > limit) | (dropped[ends] > dropped[self._first])[whole[:, 0]]
        lengths = np.diff(self._ends)
        pieces = [whole[~cut]]
        for document in whole[cut, 0].tolist():
            sentences = slice(self._first[document], ends[document])
            runs = windows(kept[sentences].tolist(), lengths[sentences].tolist(), limit)
            pieces.append(np.array([(document, *run) for run in runs], dtype=np.int64).reshape(-1, 3))
        together = np.concatenate(pieces)
        return together[np.lexsort((together[:, 1], together[:, 0]))]

    def sizes(self, pieces: Pieces) -> LongArray:
        """[K]: the target sub-words of each piece."""
        first = self._first[pieces[:, 0]]
        sizes: LongArray = self._ends[first + pieces[:, 2]] - self._ends[first + pieces[:, 1]]
        return sizes

    def plan(self, epoch: int) -> list[Pieces]:
        """The batches of an epoch, in order; every sentence that is not dropped is in one of them."""
        if not self.config.shuffle:
            return self._filled(self.pieces)
        draw = np.random.PCG64(np.random.SeedSequence([self.seed, epoch]))
        pieces = self.pieces[_shuffled(draw, len(self.pieces))]
        if self.config.unit == "sentence":
            return self._filled(pieces)
        pieces = pieces[by_size(self.sizes(pieces), OPEN * self.config.tokens)]
        batches = best_fit(self.sizes(pieces).tolist(), self.config.tokens)
        return [pieces[batches[index]] for index in _shuffled(draw, len(batches)).tolist()]

    def sample(self, count: int) -> list[Pieces]:
        """At most `count` batches of the first epoch, evenly spaced."""
        plan = self.plan(0)
        return plan[:: max(1, len(plan) // count)][:count]

    def _filled(self, pieces: Pieces) -> list[Pieces]:
        """Batches filled one after another, in the order of the pieces."""
        ends = np.cumsum(self.sizes(pieces))
        bounds, total = [0], 0
        while bounds[-1] < len(pieces):
            fitting = int(np.searchsorted(ends, total + self.config.tokens, side="right"))
            bounds.append(max(fitting, bounds[-1] + 1))
            total = int(ends[bounds[-1] - 1])
        return [pieces[begin:end] for begin, end in pairwise(bounds)]

    def share(self, pieces: Pieces, rank: int, world: int) -> Pieces:
        """The part of a batch that process `rank` of `world` computes.

        Parts are equal in target sub-words to within a sentence: the batch is cut between sentences, a document in it
        too, for its windows keep its memory. A part is empty only where there are fewer sentences than processes.
        """
        if world == 1:
            return pieces
        counts = pieces[:, 2] - pieces[:, 1]
        ends = np.cumsum(counts)
        sentences = ragged_ranges(self._first[pieces[:, 0]] + pieces[:, 1], counts)
        tokens = np.cumsum(np.diff(self._ends)[sentences])
        ranks = np.arange(world + 1)
        cuts = np.searchsorted(tokens, ranks * int(tokens[-1]) // world, side="right")
        cuts = np.maximum.accumulate(cuts - ranks) + ranks  # a sentence for everyone,
        cuts = np.maximum(np.minimum(cuts, len(tokens) - (world - ranks)), 0)  # the last included
        part = pieces.copy()
        part[:, 1] += np.maximum(cuts[rank] - (ends - counts), 0)
        part[:, 2] -= np.maximum(ends - cuts[rank + 1], 0)
        return part[part[:, 1] < part[:, 2]]


def windows(kept: list[bool], sizes: list[int], limit: int) -> list[tuple[int, int]]:
    """Runs (begin, end) of the sentences to keep, each as long as fits in `limit` and of one sentence at least."""
    runs, begin, total = [], 0, 0
    for index, (keep, size) in enumerate(zip(kept, sizes, strict=True)):
        if not keep or (index > begin and total + size > limit):
            runs.append((begin, index))
            begin, total = (index, 0) if keep else (index + 1, 0)
        total += size if keep else 0
    runs.append((begin, len(kept)))
    return [run for run in runs if run[0] < run[1]]


def by_size(sizes: LongArray, pool: int) -> LongArray:
    """[K]: an order by size within pools of `pool` sub-words, falling and rising in turn, so that neighbours are alike.

    The rows of a batch's documents are padded to its longest where they read their memories.
    """
    pools = np.cumsum(sizes) // pool
    return np.lexsort((np.where(pools % 2, sizes, -sizes), pools))


def best_fit(sizes: list[int], budget: int) -> list[list[int]]:
    """Items in their order, each put in the fullest of the open batches that has room for it."""
    batches: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (what still fits, batch), ascending
    for item, size in enumerate(sizes):
        place = bisect_left(rooms, (size, -1))
        if place < len(rooms):
            room, batch = rooms.pop(place)
        else:
            room, batch = budget, len(batches)
            batches.append([])
            if len(rooms) == OPEN:
                del rooms[0]  # the fullest
        batches[batch].append(item)
        insort(rooms, (room - size, batch))
    return batches


def _shuffled(draw: np.random.PCG64, count: int) -> LongArray:
    """A permutation of 0..count-1: NumPy fixes what a bit generator draws, not how its shuffles use it."""
    return np.argsort(draw.random_raw(count), kind="stable")
