"""From the plan of an epoch to tensors: batches built ahead, in worker processes where asked."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np

from docgraph.corpus.batches import Batches, LongArray, Pieces
from docgraph.corpus.store import Integers, PreparedCorpus
from docgraph.corpus.target_context import Translations
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.config import ModelConfig
from docgraph.model.device import Parcel
from docgraph.model.padding import Sizes, fill_up
from docgraph.model.systems import context_needs, prepare
from docgraph.model.tokenizer import Ids
from docgraph.workers import run_in_processes


@dataclass(frozen=True)
class Builder:
    """Makes the tensors of a batch."""

    corpus: PreparedCorpus
    model: ModelConfig
    """What it reads, and nothing else, is made."""
    unit: str = "document"
    room: Sizes | None = None
    """The sizes that batches are filled up to, where they fit."""
    translations: Translations | None = None
    """What other sentences see of a sentence, in the place of its reference."""

    def __call__(self, pieces: Pieces, epoch: int = 0) -> DocumentBatch | None:
        """The batch of some pieces, as it is in an epoch; None for none."""
        if not len(pieces):
            return None
        by_sentence = self.unit == "sentence"
        examples = self._sentences(pieces) if by_sentence else [self._window(epoch, *p) for p in pieces.tolist()]
        transformer = self.model.transformer
        batch = collate(examples, transformer.bos)
        filled = None if self.room is None else fill_up(batch, self.room, transformer.pad)
        return batch if filled is None else filled

    def stored(self, document: int) -> DocumentExample:
        """A document of the corpus, with its graph where the model reads one."""
        return self.corpus.example(document, self._relations)

    def _window(self, epoch: int, document: int, begin: int, end: int) -> DocumentExample:
        example = prepare(self.stored(document), self.model)
        if self.translations is not None:
            example = self._showing(example, self.translations.drawn(document, epoch))
        window = range(begin, end) if end - begin < len(example.source) else None
        return replace(example, window=window, target_words=example.target_words if self._target_words else ())

    def _showing(self, example: DocumentExample, translations: Sequence[Ids] | None) -> DocumentExample:
        """The document whose sentences see these translations of each other, or, of None, the references."""
        given = np.full(len(example.source), translations is None)
        if translations is None:
            return replace(example, shown=example.target, given=given)
        words = self.corpus.tokenizer.target.words(translations) if self._target_words else ()
        return replace(example, shown=translations, given=given, target_words=words)

    @cached_property
    def _relations(self) -> tuple[str, ...] | None:
        return context_needs(self.model).relations if self.unit == "document" else None

    @cached_property
    def _target_words(self) -> bool:
        return context_needs(self.model).target_words

    def _sentences(self, pieces: Pieces) -> list[DocumentExample]:
        """Each sentence a document of its own, without a graph."""
        numbers = self._first[pieces[:, 0]] + pieces[:, 1]
        sides = []
        for ids, ends in self._flat:
            spans = zip(ends[numbers].tolist(), ends[numbers + 1].tolist(), strict=True)
            sides.append([ids[begin:end] for begin, end in spans])
        return [DocumentExample([source], [target]) for source, target in zip(*sides, strict=True)]

    @cached_property
    def _first(self) -> LongArray:
        """[D]: the first sentence of each document, among all of the corpus."""
        counts = self.corpus.sizes.sentences
        return np.cumsum(counts, dtype=np.int64) - counts

    @cached_property
    def _flat(self) -> list[tuple[Integers, LongArray]]:
        """For source and target: the sub-words of the corpus end to end, and where each sentence begins, [S+1]."""
        sides = ((self.corpus.flat(side), self.corpus.flat(f"{side}_lengths")) for side in ("source", "target"))
        return [(ids, np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])) for ids, lengths in sides]

    def __reduce__(self) -> tuple[Any, ...]:
        # What is cached stays behind.
        return Builder, (self.corpus, self.model, self.unit, self.room, self.translations)


@dataclass(frozen=True, eq=False)
class Step:
    """The batch of a step, or this process's part of it."""

    epoch: int
    step: int
    tokens: int
    """Target sub-words of the whole batch, over all processes: what the sum of their losses is divided by."""
    batch: DocumentBatch | None
    """None where there are fewer sentences than processes and none is left for this one: it contributes zeros."""


@dataclass(frozen=True)
class Loader:
    """Batches from any (epoch, step) on, the same whatever the number of workers."""

    batches: Batches
    builder: Builder
    rank: int = 0
    world: int = 1
    workers: int = 0
    """Processes that build ahead; 0 builds in this one, when asked for the next."""
    pin: bool = False
    """Hand out page-locked memory, for a GPU; batches of workers only."""

    def steps(self, epoch: int = 0, step: int = 0, epochs: int | None = None) -> Generator[Step, None, None]:
        """The steps from `step` of `epoch` on, to the end of so many epochs or without end; closed, it ends workers."""
        jobs = self._jobs(epoch, step, epochs)
        if not self.workers:
            yield from (replace(job, batch=self.builder(pieces, job.epoch)) for job, pieces in jobs)
            return
        parcels = run_in_processes(_work, jobs, self.workers, _start_worker, (self.builder,), ordered=True)
        yield from (parcel.open(self.pin) for parcel in parcels)

    def _jobs(self, epoch: int, step: int, epochs: int | None) -> Iterator[tuple[Step, Pieces]]:
        for number in count(epoch) if epochs is None else range(epoch, epoch + epochs):
            plan = self.batches.plan(number)
            for index in range(step, len(plan)):
                tokens = int(self.batches.sizes(plan[index]).sum())
                yield Step(number, index, tokens, None), self.batches.share(plan[index], self.rank, self.world)
            step = 0


_builder: Builder | None = None


def _start_worker(builder: Builder) -> None:
    global _builder
    _builder = builder


def _work(job: tuple[Step, Pieces]) -> Parcel:
    assert _builder is not None
    step, pieces = job
    return Parcel.of(replace(step, batch=_builder(pieces, step.epoch)))
