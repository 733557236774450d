"""BatchSampler: each sentence once per epoch, token budgets, an order set by (seed, epoch) alone, fair shares."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from corpus_examples import stored_corpus
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.corpus.batches import BatchConfig, BatchSampler, Spans, best_fit
from docgraph.corpus.store import PreparedCorpus
from docgraph.errors import DocgraphError

Lengths = list[list[tuple[int, int]]]
sentence_lengths = st.tuples(st.integers(1, 12), st.integers(1, 12))
corpora = st.lists(st.lists(sentence_lengths, min_size=1, max_size=9), min_size=1, max_size=12)
configs = st.builds(
    BatchConfig,
    tokens=st.integers(12, 60),
    unit=st.sampled_from(["document", "sentence"]),
    window=st.none() | st.integers(1, 12),
    max_length=st.integers(9, 12),
    shuffle=st.booleans(),
)


def sentences(spans: Spans) -> list[tuple[int, int]]:
    return [(document, sentence) for document, begin, end in spans.tolist() for sentence in range(begin, end)]


def trained_on(lengths: Lengths, config: BatchConfig) -> list[tuple[int, int]]:
    return [
        (document, index)
        for document, pairs in enumerate(lengths)
        for index, pair in enumerate(pairs)
        if max(pair) <= config.max_length
    ]


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    rng = np.random.default_rng(0)
    lengths = [[(int(n), int(n) + 1) for n in rng.integers(2, 9, rng.integers(3, 20))] for _ in range(60)]
    return stored_corpus(tmp_path_factory.mktemp("talks"), lengths)


@settings(max_examples=60)
@given(lengths=corpora, config=configs, seed=st.integers(0, 2**63), epoch=st.integers(0, 1000))
def test_every_sentence_is_in_one_batch_of_an_epoch(
    tmp_path_factory: pytest.TempPathFactory, lengths: Lengths, config: BatchConfig, seed: int, epoch: int
) -> None:
    corpus, expected = stored_corpus(tmp_path_factory.mktemp("store"), lengths), trained_on(lengths, config)
    if not expected:
        with pytest.raises(DocgraphError, match=r"raise 'batches\.max_length'"):
            BatchSampler(corpus, config, seed)
        return
    batches = BatchSampler(corpus, config, seed)
    plan = batches.plan(epoch)
    assert sorted(sentence for spans in plan for sentence in sentences(spans)) == expected
    assert batches.dropped == sum(map(len, lengths)) - len(expected)
    for spans in plan:
        sizes = [sum(lengths[d][m][1] for m in range(begin, end)) for d, begin, end in spans.tolist()]
        assert batches.sizes(spans).tolist() == sizes
        assert 0 < sum(sizes) <= config.tokens
        limit = config.window or config.tokens
        assert all(size <= limit or end - begin == 1 for size, (_, begin, end) in zip(sizes, spans, strict=True))
    if not config.shuffle:
        assert [sentence for spans in plan for sentence in sentences(spans)] == expected


@settings(max_examples=60)
@given(lengths=corpora, config=configs, world=st.integers(1, 5))
def test_processes_share_a_batch_fairly(
    tmp_path_factory: pytest.TempPathFactory, lengths: Lengths, config: BatchConfig, world: int
) -> None:
    corpus = stored_corpus(tmp_path_factory.mktemp("store"), lengths)
    if not trained_on(lengths, config):
        return
    batches = BatchSampler(corpus, config)
    longest = max(pair[1] for document in lengths for pair in document)
    for spans in batches.plan(0):
        shares = [batches.share(spans, rank, world) for rank in range(world)]
        assert [sentence for share in shares for sentence in sentences(share)] == sentences(spans)
        if len(sentences(spans)) >= world:
            assert all(len(share) for share in shares)
        tokens = [int(batches.sizes(share).sum()) for share in shares]
        assert max(tokens) <= sum(tokens) / world + longest


def test_long_documents_are_cut_into_full_windows(tmp_path: Path) -> None:
    corpus = stored_corpus(tmp_path, [[(3, 5)] * 10, [(3, 5)] * 2])
    batches = BatchSampler(corpus, BatchConfig(tokens=40, window=20))
    assert batches.spans.tolist() == [[0, 0, 4], [0, 4, 8], [0, 8, 10], [1, 0, 2]]


def test_dropped_sentences_split_their_documents(tmp_path: Path) -> None:
    corpus = stored_corpus(tmp_path, [[(3, 3), (9, 3), (3, 3), (3, 3)], [(3, 9)], [(3, 3)]])
    assert BatchSampler(corpus, BatchConfig(max_length=8)).spans.tolist() == [[0, 0, 1], [0, 2, 4], [2, 0, 1]]


def test_order_depends_on_epoch_and_seed(talks: PreparedCorpus) -> None:
    for unit in ("document", "sentence"):
        config = BatchConfig(tokens=200, unit=unit)  # type: ignore[arg-type]
        orders = [
            [spans.tolist() for spans in BatchSampler(talks, config, seed).plan(epoch)]
            for seed, epoch in ((1, 0), (1, 1), (2, 0))
        ]
        assert orders[0] != orders[1] != orders[2] != orders[0]
        again = BatchSampler(talks, config, 1)
        again.plan(7)  # what was planned before plays no part
        assert [spans.tolist() for spans in again.plan(0)] == orders[0]


def test_another_process_makes_the_same_plan(talks: PreparedCorpus) -> None:
    code = (
        "import sys; from docgraph.corpus.store import PreparedCorpus; from docgraph.corpus.batches import *;"
        "plan = BatchSampler(PreparedCorpus.open(sys.argv[1]), BatchConfig(tokens=200), 5).plan(3);"
        "print([spans.tolist() for spans in plan])"
    )
    found = subprocess.run([sys.executable, "-c", code, talks.folder], capture_output=True, text=True, check=True)
    plan = BatchSampler(talks, BatchConfig(tokens=200), 5).plan(3)
    assert found.stdout.strip() == str([spans.tolist() for spans in plan])


def test_order_is_the_same_on_any_platform_and_version(tmp_path: Path) -> None:
    # PCG64's stream is part of NumPy's promise; a run begun elsewhere resumes here with the same batches.
    batches = BatchSampler(stored_corpus(tmp_path, [[(3, 5)]] * 8), BatchConfig(tokens=10), seed=3)
    assert [spans[:, 0].tolist() for spans in batches.plan(2)] == [[7, 6], [4, 0], [5, 3], [1, 2]]


@given(st.lists(st.integers(1, 50), max_size=300))
def test_documents_fill_batches(sizes: list[int]) -> None:
    batches = best_fit(sizes, 50)
    assert sorted(item for batch in batches for item in batch) == list(range(len(sizes)))
    totals = [sum(sizes[item] for item in batch) for batch in batches]
    assert all(0 < total <= 50 for total in totals)
    assert sum(total <= 25 for total in totals) <= 1  # two such batches would have been one


def test_whole_documents_fill_most_of_the_budget(talks: PreparedCorpus) -> None:
    batches = BatchSampler(talks, BatchConfig(tokens=300))
    plan = batches.plan(0)
    assert sum(int(batches.sizes(spans).sum()) for spans in plan) > 0.85 * 300 * len(plan)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"tokens": 0}, "'tokens' is 0; it must be at least 1"),
        ({"window": 0}, "'window' is 0; it must be at least 1"),
        ({"tokens": 10, "window": 11}, "'window' is 11; it must be at most 'tokens', 10"),
    ],
)
def test_impossible_sizes_are_refused(fields: dict[str, int], error: str) -> None:
    with pytest.raises(DocgraphError, match=error):
        BatchConfig(**fields)  # type: ignore[arg-type]
