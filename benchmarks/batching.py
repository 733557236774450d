"""Padding of batches, beside padded batches of sentences, and speed of the batch loader.

    python -m benchmarks.batching [STORE] [--tokens 16000] [--workers 0,1,2]

STORE is a folder of `docgraph prepare`; without one, documents are synthetic. Padding is the share of computed
positions without a token. Sentences are packed, so attention within them has none on a GPU. A document system pads the
rows of a document that read its memory (to the longest document of the batch), and the slots of that memory.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.synthetic import random_store
from docgraph.corpus.batches import BatchBuilder, BatchConfig, BatchLoader, BatchSampler
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ContextConfig, ModelConfig

SYSTEMS = {"document": ModelConfig(context=ContextConfig()), "sentence": ModelConfig()}
HOLD = 1 << 28
LongArray = npt.NDArray[np.int64]


def padded_share(lengths: LongArray, groups: list[LongArray]) -> float:
    """Returns the padding if both sides of each group of sentences, lengths [S, 2], are padded to its longest."""
    places = sum(len(group) * int(lengths[group].max(0).sum()) for group in groups)
    return 1 - int(lengths.sum()) / places


def groups(order: LongArray, lengths: LongArray, tokens: int) -> list[LongArray]:
    """Returns sentences in order, in groups of `tokens` target sub-words."""
    ends = np.cumsum(lengths[order, 1])
    bounds = np.unique([0, *np.searchsorted(ends, np.arange(tokens, ends[-1], tokens), "right").tolist(), len(order)])
    return [order[begin:end] for begin, end in pairwise(bounds.tolist())]


def sentence_padding(corpus: PreparedCorpus, tokens: int) -> dict[str, float]:
    """Returns the padding of padded batches of the same sentences, by the order of the sentences."""
    lengths = np.stack([corpus.flat("source_lengths"), corpus.flat("target_lengths")], axis=1).astype(np.int64)
    mixed = np.random.default_rng(0).permutation(len(lengths))
    by_length = np.lexsort((lengths[:, 0], lengths[:, 1]))
    orders = {"documents in order": np.arange(len(lengths)), "random": mixed, "sorted by length": by_length}
    return {name: padded_share(lengths, groups(order, lengths, tokens)) for name, order in orders.items()}


def document_padding(batches: Iterator[DocumentBatch]) -> dict[str, float]:
    """Returns the padding of batches of whole documents, by kind of position."""
    sums: dict[str, LongArray] = {}
    for batch in batches:
        assert batch.target is not None
        for name, mask in (
            ("rows of context attention, source", batch.source.documents.rows.mask),
            ("rows of context attention, target", batch.target.documents.rows.mask),
            ("slots of the memories", batch.used),
        ):
            sums[name] = sums.get(name, 0) + np.array([int(mask.sum()), mask.numel()])
    return {name: 1 - int(real) / int(places) for name, (real, places) in sums.items()}


def rate(loader: BatchLoader, seconds: float = 10.0) -> tuple[float, float]:
    """Returns batches per second and CPU milliseconds of this process per batch, once workers have started."""
    steps = loader.steps()
    for _ in islice(steps, 4 * loader.workers + 4):
        pass
    began, busy, made = time.perf_counter(), time.process_time(), 0
    while not made or time.perf_counter() < began + seconds:
        next(steps)
        made += 1
    wall, busy = time.perf_counter() - began, time.process_time() - busy
    steps.close()
    return made / wall, busy / made * 1e3


def measure(corpus: PreparedCorpus, tokens: int, workers: list[int], seconds: float) -> None:
    for unit, model in SYSTEMS.items():
        batches = BatchSampler(corpus, BatchConfig(tokens, unit), seed=1)  # type: ignore[arg-type]
        plan = batches.plan(0)
        fill = [int(batches.sizes(spans).sum()) / tokens for spans in plan]
        print(f"\nBatches of {unit}s: {len(plan):,} per epoch, {np.mean(fill):.1%} of the budget filled")
        builder = BatchBuilder(corpus, model, unit)
        print("  padding  0.0%  words of a sentence (packed)")
        if unit == "document":
            built = (batch for spans in plan[:200] if (batch := builder(spans)) is not None)
            for name, share in document_padding(built).items():
                print(f"  padding {share:5.1%}  {name}")
        for count in workers:
            speed, busy = rate(BatchLoader(batches, builder, workers=count), seconds)
            print(f"  {count} workers: {speed:6.1f} batches/s, {1e3 / speed:5.1f} ms each, {busy:5.1f} of this process")
    print("\nThe same sentences, both sides padded to the longest of the batch")
    for name, share in sentence_padding(corpus, tokens).items():
        print(f"  padding {share:5.1%}  {name}")


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("store", nargs="?", help="prepared corpus (default: synthetic documents)")
    parser.add_argument("--split", default="train")
    parser.add_argument("--tokens", type=int, default=16000)
    parser.add_argument("--workers", default="0,1,2")
    parser.add_argument("--seconds", type=float, default=10.0, help="measuring time per loader")
    options = parser.parse_args(arguments or [])
    with tempfile.TemporaryDirectory() as folder:
        store = options.store or random_store(Path(folder) / "store", documents=200).folder
        corpus = PreparedCorpus.open(store, options.split, HOLD)
        sizes = corpus.sizes
        print(
            f"{options.store or 'synthetic'}: {len(corpus):,} documents, {sizes.sentences.sum():,} sentences, "
            f"{sizes.target_tokens.sum():,} target sub-words; batches of {options.tokens:,}"
        )
        measure(corpus, options.tokens, [int(count) for count in options.workers.split(",")], options.seconds)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
