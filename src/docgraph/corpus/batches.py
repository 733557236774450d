"""Training batches: which sentences of which documents each step of an epoch contains, and their tensors.

`BatchSampler` fills batches up to a token budget with spans. A span is a run of consecutive sentences of a document:
the whole document, a window of a long document, or a single sentence. The batches of an epoch depend only on the
corpus, the config, the seed and the epoch. A resumed run therefore needs only (epoch, step), and any number of
processes can share a batch.

`BatchBuilder` makes the tensors of a batch. `BatchLoader` yields the batches of a run, built ahead in worker processes.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, groupby, pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from docgraph.config import Flag, Size, config_class
from docgraph.corpus.hints import CorpusHints
from docgraph.corpus.store import Integers, PreparedCorpus
from docgraph.corpus.target_context import ContextTranslations
from docgraph.errors import DocgraphError
from docgraph.graph.links import ragged_ranges
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.config import ModelConfig
from docgraph.model.device import TensorBundle
from docgraph.model.hints import insert
from docgraph.model.packing import windows
from docgraph.model.padding import Sizes, fill_up
from docgraph.model.systems import context_needs, prepare
from docgraph.model.tokenizer import Ids
from docgraph.workers import run_in_processes

Spans = npt.NDArray[np.int64]
"""[K, 3]: document, first sentence, one past the last sentence."""
LongArray = npt.NDArray[np.int64]
OPEN_BATCHES = 32
"""Number of batches that are filled at the same time, and of batches whose documents are sorted by size together."""


@config_class
class BatchConfig:
    """How to cut a corpus into batches."""

    tokens: Size = 16000
    """Maximum target sub-words per batch, including ends of sentences; batches are packed, without padding."""
    unit: Literal["document", "sentence"] = "document"
    """Unit that is shuffled: whole documents or, for a model without context, single sentences."""
    window: Size | None = None
    """A document with more target sub-words is cut into windows of consecutive sentences, each of which has the memory
    of the whole document (default: `tokens`)."""
    max_length: Size = 256
    """A sentence with more sub-words on either side is not trained on, but stays in the memory of its document."""
    shuffle: Flag = True
    """Shuffle anew in every epoch; otherwise keep the order of the corpus."""

    def __post_init__(self) -> None:
        if self.window is not None and self.window > self.tokens:
            raise ValueError(f"'window' is {self.window}; it must be at most 'tokens', {self.tokens}")


class BatchSampler:
    """Plans the batches of every epoch over a corpus."""

    def __init__(self, corpus: PreparedCorpus, config: BatchConfig = BatchConfig(), seed: int = 0) -> None:
        self.config, self.seed = config, seed
        source, target = corpus.flat("source_lengths"), corpus.flat("target_lengths")
        counts = corpus.sizes.sentences.astype(np.int64)
        self._first = corpus.first_sentences
        self._token_offsets: LongArray = np.concatenate([[0], np.cumsum(target, dtype=np.int64)])
        """[S+1]: the target tokens before each sentence of the corpus."""
        kept = np.maximum(source, target) <= config.max_length
        self.dropped = int((~kept).sum())
        """Number of sentences longer than `max_length`."""
        if not kept.any():
            raise DocgraphError(f"no sentence has at most {config.max_length} sub-words; raise 'batches.max_length'")
        if config.unit == "sentence":
            document_of = np.repeat(np.arange(len(counts)), counts)
            index_of = np.arange(len(kept)) - self._first[document_of]
            self.spans = np.stack([document_of, index_of, index_of + 1], axis=1)[kept]
        else:
            self.spans = self._document_spans(kept, counts)

    def _document_spans(self, kept: npt.NDArray[np.bool_], counts: LongArray) -> Spans:
        """Returns whole documents, and windows of documents that are too long or have a sentence to drop."""
        documents = np.stack([np.arange(len(counts)), np.zeros_like(counts), counts], axis=1)[counts > 0]
        limit = self.config.window or self.config.tokens
        dropped = np.concatenate([[0], np.cumsum(~kept)])
        ends = self._first + counts
        cut = (self.sizes(documents) > limit) | (dropped[ends] > dropped[self._first])[documents[:, 0]]
        lengths = np.diff(self._token_offsets)
        spans = [documents[~cut]]
        for document in documents[cut, 0].tolist():
            sentences = slice(self._first[document], ends[document])
            cuts = kept_windows(kept[sentences].tolist(), lengths[sentences].tolist(), limit)
            spans.append(np.array([(document, *window) for window in cuts], dtype=np.int64).reshape(-1, 3))
        joined = np.concatenate(spans)
        return joined[np.lexsort((joined[:, 1], joined[:, 0]))]

    def sizes(self, spans: Spans) -> LongArray:
        """Returns the number of target sub-words of each span, [K]."""
        first = self._first[spans[:, 0]]
        sizes: LongArray = self._token_offsets[first + spans[:, 2]] - self._token_offsets[first + spans[:, 1]]
        return sizes

    def plan(self, epoch: int) -> list[Spans]:
        """Returns the batches of an epoch in order; each sentence that is not dropped is in exactly one of them."""
        if not self.config.shuffle:
            return self._fill_in_order(self.spans)
        generator = np.random.PCG64(np.random.SeedSequence([self.seed, epoch]))
        spans = self.spans[_permutation(generator, len(self.spans))]
        if self.config.unit == "sentence":
            return self._fill_in_order(spans)
        spans = spans[by_size(self.sizes(spans), OPEN_BATCHES * self.config.tokens)]
        batches = best_fit(self.sizes(spans).tolist(), self.config.tokens)
        return [spans[batches[index]] for index in _permutation(generator, len(batches)).tolist()]

    def sample(self, count: int) -> list[Spans]:
        """Returns at most `count` batches of the first epoch, evenly spaced."""
        plan = self.plan(0)
        return plan[:: max(1, len(plan) // count)][:count]

    def _fill_in_order(self, spans: Spans) -> list[Spans]:
        """Fills one batch after another, in the order of the spans."""
        ends = np.cumsum(self.sizes(spans))
        bounds, total = [0], 0
        while bounds[-1] < len(spans):
            fitting = int(np.searchsorted(ends, total + self.config.tokens, side="right"))
            bounds.append(max(fitting, bounds[-1] + 1))
            total = int(ends[bounds[-1] - 1])
        return [spans[begin:end] for begin, end in pairwise(bounds)]

    def share(self, spans: Spans, rank: int, world: int) -> Spans:
        """Returns the part of a batch that process `rank` of `world` computes.

        Parts differ by at most one sentence in target sub-words. The batch is cut between sentences, also inside a
        document, because its windows keep the memory of the whole document. A part is empty only if there are fewer
        sentences than processes.
        """
        if world == 1:
            return spans
        counts = spans[:, 2] - spans[:, 1]
        ends = np.cumsum(counts)
        sentences = ragged_ranges(self._first[spans[:, 0]] + spans[:, 1], counts)
        tokens = np.cumsum(np.diff(self._token_offsets)[sentences])
        ranks = np.arange(world + 1)
        cuts = np.searchsorted(tokens, ranks * int(tokens[-1]) // world, side="right")
        # Each process gets a sentence, the last process included.
        cuts = np.maximum.accumulate(cuts - ranks) + ranks
        cuts = np.maximum(np.minimum(cuts, len(tokens) - (world - ranks)), 0)
        part = spans.copy()
        part[:, 1] += np.maximum(cuts[rank] - (ends - counts), 0)
        part[:, 2] -= np.maximum(ends - cuts[rank + 1], 0)
        return part[part[:, 1] < part[:, 2]]


def kept_windows(kept: Sequence[bool], sizes: Sequence[int], limit: int) -> Iterator[tuple[int, int]]:
    """Cuts the sentences to keep into windows (begin, end) of at most `limit` sub-words or of a single sentence."""
    for keep, group in groupby(range(len(kept)), key=kept.__getitem__):
        if keep:
            run = list(group)
            for window in windows(sizes[run[0] : run[-1] + 1], limit):
                yield run[0] + window.start, run[0] + window.stop


def by_size(sizes: LongArray, pool: int) -> LongArray:
    """Returns an order, [K], that sorts by size within pools of `pool` sub-words, descending and ascending in turn.

    Documents of a batch are then similar in size. That saves padding, because the memories of the documents in a batch
    are padded to the longest.
    """
    pools = np.cumsum(sizes) // pool
    return np.lexsort((np.where(pools % 2, sizes, -sizes), pools))


def best_fit(sizes: list[int], budget: int) -> list[list[int]]:
    """Puts each item, in order, into the fullest open batch that has room for it (best-fit bin packing)."""
    batches: list[list[int]] = []
    rooms: list[tuple[int, int]] = []  # (remaining budget, batch), ascending
    for item, size in enumerate(sizes):
        position = bisect_left(rooms, (size, -1))
        if position < len(rooms):
            room, batch = rooms.pop(position)
        else:
            room, batch = budget, len(batches)
            batches.append([])
            if len(rooms) == OPEN_BATCHES:
                del rooms[0]  # close the fullest batch
        batches[batch].append(item)
        insort(rooms, (room - size, batch))
    return batches


def _permutation(generator: np.random.PCG64, count: int) -> LongArray:
    """Returns a permutation of 0..count-1 that is the same with every NumPy version.

    NumPy guarantees the stream of a bit generator, but not how its shuffle uses the stream.
    """
    return np.argsort(generator.random_raw(count), kind="stable")


@dataclass(frozen=True)
class BatchBuilder:
    """Makes the tensors of a batch."""

    corpus: PreparedCorpus
    model: ModelConfig
    """The config of the model; inputs that the model does not read are not built."""
    unit: str = "document"
    room: Sizes | None = None
    """The sizes to which batches are padded, if they fit; a captured CUDA graph needs fixed sizes."""
    translations: ContextTranslations | None = None
    """Translations that other sentences see as target context instead of the references."""
    hints: CorpusHints | None = None
    """Hints for a model that reads them."""

    def __call__(self, spans: Spans, epoch: int = 0) -> DocumentBatch | None:
        """Returns the batch of the spans in the given epoch, or None if there are no spans."""
        if not len(spans):
            return None
        by_sentence = self.unit == "sentence"
        examples = (
            self._sentences(spans, epoch) if by_sentence else [self._window(epoch, *span) for span in spans.tolist()]
        )
        transformer = self.model.transformer
        batch = collate(examples, transformer.bos)
        padded = None if self.room is None else fill_up(batch, self.room, transformer.pad)
        return batch if padded is None else padded

    def example(self, document: int) -> DocumentExample:
        """Returns a document of the corpus, with its graph if the model reads one."""
        return self.corpus.example(document, self._relations, hints=context_needs(self.model).hints)

    def _window(self, epoch: int, document: int, begin: int, end: int) -> DocumentExample:
        example = self.corpus.example(document, self._relations)
        if self.hints is not None:
            example = replace(example, hints=self.hints.kept(self.hints.document(document), document, epoch))
        example = prepare(example, self.model)
        if self.translations is not None:
            example = self._with_context(example, self.translations.sample(document, epoch))
        window = range(begin, end) if end - begin < len(example.source) else None
        return replace(example, window=window, target_words=example.target_words if self._target_words else ())

    def _with_context(self, example: DocumentExample, translations: Sequence[Ids] | None) -> DocumentExample:
        """Sets the target context of the document to the translations, or to the references if they are None."""
        given = np.full(len(example.source), translations is None)
        if translations is None:
            return replace(example, context_translations=example.target, given=given)
        words = self.corpus.tokenizer.target.words(translations) if self._target_words else ()
        return replace(example, context_translations=translations, given=given, target_words=words)

    @cached_property
    def _relations(self) -> tuple[str, ...] | None:
        return context_needs(self.model).relations if self.unit == "document" else None

    @cached_property
    def _target_words(self) -> bool:
        return context_needs(self.model).target_words

    def _sentences(self, spans: Spans, epoch: int) -> list[DocumentExample]:
        """Returns each sentence as a document of its own, without a graph."""
        indices = self.corpus.first_sentences[spans[:, 0]] + spans[:, 1]
        sides = []
        for ids, offsets in self._flat:
            bounds = zip(offsets[indices].tolist(), offsets[indices + 1].tolist(), strict=True)
            sides.append([ids[begin:end] for begin, end in bounds])
        if self.hints is not None and self.model.hints is not None:
            for index, (document, sentence, _) in enumerate(spans.tolist()):
                hints = self.hints.by_sentence.get((document, sentence), ())
                kept = self.hints.kept(hints, document, epoch)
                sides[0][index], _ = insert(sides[0][index], None, kept, self.model.hints.separator)
        return [DocumentExample([source], [target]) for source, target in zip(*sides, strict=True)]

    @cached_property
    def _flat(self) -> list[tuple[Integers, LongArray]]:
        """For source and target: all sub-words of the corpus, and the offset of each sentence in them, [S+1]."""
        sides = ((self.corpus.flat(side), self.corpus.flat(f"{side}_lengths")) for side in ("source", "target"))
        return [(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])) for ids, lengths in sides]

    def __reduce__(self) -> tuple[Any, ...]:
        # Cached properties are not sent to worker processes.
        return BatchBuilder, (self.corpus, self.model, self.unit, self.room, self.translations, self.hints)


@dataclass(frozen=True, eq=False)
class Step:
    """The batch of a training step, or the part of it that this process computes."""

    epoch: int
    step: int
    tokens: int
    """Target sub-words of the whole batch over all processes: the divisor of the summed loss."""
    batch: DocumentBatch | None
    """None if this process has no sentences (fewer sentences than processes); its gradient is then zero."""


@dataclass(frozen=True)
class BatchLoader:
    """Yields the batches from any (epoch, step) on; they do not depend on the number of workers."""

    sampler: BatchSampler
    builder: BatchBuilder
    rank: int = 0
    world: int = 1
    workers: int = 0
    """Number of processes that build batches ahead; with 0, each batch is built in this process on demand."""
    pin: bool = False
    """Return batches of workers in page-locked memory, for a GPU."""

    def steps(self, epoch: int = 0, step: int = 0, epochs: int | None = None) -> Generator[Step, None, None]:
        """Yields steps from `step` of `epoch` on, for `epochs` epochs or forever; closing it stops the workers."""
        jobs = self._jobs(epoch, step, epochs)
        if not self.workers:
            yield from (replace(job, batch=self.builder(spans, job.epoch)) for job, spans in jobs)
            return
        bundles = run_in_processes(_build, jobs, self.workers, _start_worker, (self.builder,), ordered=True)
        yield from (bundle.unpack(self.pin) for bundle in bundles)

    def _jobs(self, epoch: int, step: int, epochs: int | None) -> Iterator[tuple[Step, Spans]]:
        for number in count(epoch) if epochs is None else range(epoch, epoch + epochs):
            plan = self.sampler.plan(number)
            for index in range(step, len(plan)):
                tokens = int(self.sampler.sizes(plan[index]).sum())
                yield Step(number, index, tokens, None), self.sampler.share(plan[index], self.rank, self.world)
            step = 0


_builder: BatchBuilder | None = None
"""The builder of a worker process."""


def _start_worker(builder: BatchBuilder) -> None:
    global _builder
    _builder = builder


def _build(job: tuple[Step, Spans]) -> TensorBundle:
    assert _builder is not None
    step, spans = job
    return TensorBundle.of(replace(step, batch=_builder(spans, step.epoch)))
