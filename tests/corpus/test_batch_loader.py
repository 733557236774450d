"""BatchLoader: same batches with and without workers and from any step on; shares add up to the whole batch."""

from __future__ import annotations

import dataclasses
import pickle
from itertools import islice
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from corpus_examples import stored_corpus

from docgraph.corpus.batches import BatchBuilder, BatchConfig, BatchLoader, BatchSampler, Step
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig
from docgraph.model.device import ALIGNMENT, TensorBundle
from docgraph.model.document_transformer import DocumentTransformer
from model.examples import tensors

TRANSFORMER = TransformerConfig(50, 50, 32, 64, 4, 1, 1, max_positions=64)
MODEL = ModelConfig(TRANSFORMER, ContextConfig(heads=4, graph=GraphConfig(relations=("adjacency", "lexical"))))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    rng = np.random.default_rng(0)
    lengths = [[(int(n), int(n) + 1) for n in rng.integers(2, 9, rng.integers(2, 15))] for _ in range(20)]
    return stored_corpus(tmp_path_factory.mktemp("store"), lengths)


def loader(corpus: PreparedCorpus, **changes: Any) -> BatchLoader:
    config = BatchConfig(tokens=100, window=60, unit=changes.pop("unit", "document"))
    return BatchLoader(BatchSampler(corpus, config, 3), BatchBuilder(corpus, MODEL, config.unit), **changes)


def same(one: Step, other: Step) -> bool:
    ours, theirs = tensors(one.batch), tensors(other.batch)
    assert len(ours) == len(theirs) > 10
    agree = all(a.dtype == b.dtype and torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))
    return agree and (one.epoch, one.step, one.tokens) == (other.epoch, other.step, other.tokens)


def test_workers_make_the_same_batches_in_the_same_order(corpus: PreparedCorpus) -> None:
    alone = list(loader(corpus).steps(epochs=2))
    steps = loader(corpus, workers=2).steps()
    helped = list(islice(steps, len(alone)))
    assert len(alone) > 20
    assert all(map(same, alone, helped))
    assert active_children()
    steps.close()
    assert not active_children()


def test_steps_resume_anywhere_and_never_end(corpus: PreparedCorpus) -> None:
    whole = list(loader(corpus).steps(epochs=3))
    places = [(step.epoch, step.step) for step in whole]
    assert places == sorted(places)
    middle = next(number for number, place in enumerate(places) if place[0] == 1) + 2
    rest = list(islice(loader(corpus).steps(*places[middle]), len(whole) - middle))
    assert all(map(same, whole[middle:], rest))


def test_losses_of_shares_add_up_to_the_loss_of_the_batch(corpus: PreparedCorpus) -> None:
    torch.manual_seed(0)
    model = DocumentTransformer(MODEL).eval()
    for module in model.modules():  # let context flow: it is shut off at first
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.xavier_uniform_(module.weight)

    def loss(step: Step) -> float:
        assert step.batch is not None
        return float(model(step.batch, 0.1)[0].detach())

    whole = list(islice(loader(corpus).steps(), 4))
    shares = [list(islice(loader(corpus, rank=rank, world=3).steps(), 4)) for rank in range(3)]
    for step, parts in zip(whole, zip(*shares, strict=True), strict=True):
        assert step.batch is not None
        assert {part.tokens for part in parts} == {step.tokens}
        assert step.batch.gold is not None
        assert step.tokens == len(step.batch.gold)
        assert sum(map(loss, parts)) == pytest.approx(loss(step), rel=1e-5)


def test_a_process_without_a_sentence_gets_no_batch(tmp_path: Path) -> None:
    lonely = stored_corpus(tmp_path, [[(3, 4)]])
    parts = [next(loader(lonely, rank=rank, world=2).steps()) for rank in range(2)]
    assert [part.batch is None for part in parts] == [True, False]
    assert [part.tokens for part in parts] == [4, 4]


@pytest.mark.parametrize(
    ("model", "unit", "graphs"),
    [
        (MODEL, "document", (True, True)),
        (dataclasses.replace(MODEL, context=ContextConfig(sides="source", heads=4)), "document", (True, False)),
        (dataclasses.replace(MODEL, context=ContextConfig(sides="target", heads=4)), "document", (False, True)),
        (ModelConfig(TRANSFORMER), "document", (False, False)),
        (MODEL, "sentence", (False, False)),
    ],
    ids=["both", "source", "target", "base", "sentences"],
)
def test_graphs_are_built_only_for_models_that_read_them(
    corpus: PreparedCorpus, model: ModelConfig, unit: str, graphs: tuple[bool, bool]
) -> None:
    build = BatchBuilder(corpus, model, unit)
    batch = build(np.array([[0, 0, 1], [1, 1, 2]]))
    assert batch is not None
    assert (batch.graph is not None, batch.target_graph is not None) == graphs


def test_single_sentences_equal_those_of_the_documents(corpus: PreparedCorpus) -> None:
    spans = np.array([[4, 1, 2], [0, 0, 1], [19, 1, 2]])
    build = BatchBuilder(corpus, ModelConfig(TRANSFORMER), "sentence")
    batch = build(spans)
    assert batch is not None
    assert batch.gold is not None
    expected = [corpus.sentences(d, "source")[0][m] for d, m in ((4, 1), (0, 0), (19, 1))]
    assert batch.source.tokens.tolist() == np.concatenate(expected).tolist()
    expected = [corpus.sentences(d, "target")[0][m] for d, m in ((4, 1), (0, 0), (19, 1))]
    assert batch.gold.tolist() == np.concatenate(expected).tolist()
    assert batch.num_documents == 3
    again = pickle.loads(pickle.dumps(build))(spans)
    assert torch.equal(again.gold, batch.gold)


def test_a_bundle_unpacks_to_what_was_packed(corpus: PreparedCorpus) -> None:
    step = next(loader(corpus).steps())
    bundle = TensorBundle.of(step)
    opened = bundle.unpack()
    assert isinstance(opened.batch, DocumentBatch)
    assert same(step, opened)
    for tensor in tensors(opened):
        assert tensor.untyped_storage().data_ptr() == bundle.buffer.data_ptr()
        assert (tensor.data_ptr() - bundle.buffer.data_ptr()) % ALIGNMENT == 0
        assert not tensor._is_view()
