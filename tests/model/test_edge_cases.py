"""Extreme documents: nothing crashes, nothing is NaN."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Queries, SlotMemory
from docgraph.model.packing import Blocks, Packing
from docgraph.model.systems.docgraph import DocumentGraphContext

from .examples import (
    EOS,
    VOCABULARY,
    batch_of,
    context_layers,
    documents,
    random_annotation,
    random_document,
    small_config,
    small_model,
    zipfian_annotation,
)

SYSTEMS = [
    pytest.param(small_config(context=False), id="base"),
    *(
        pytest.param(small_config(integration=place, gate=gate, graph={"nodes": nodes, **graph}), id=f"{place}-{nodes}")
        for place, gate, nodes, graph in (
            ("hyb", "paper", "sentence", {}),
            ("post", "identity", "word", {"activation": "relu", "fusion": "gating"}),
            ("pre", "paper", "both", {"activation": "sigmoid", "residual": False}),
        )
    ),
]
EDGES = {
    "one sentence": [[5]],
    "one word": [[1]],
    "no word": [[0]],
    "no word anywhere": [[0, 0, 0], [0]],
    "words in the last sentence alone": [[0, 0, 4]],
    "one word each": [[1, 1, 1, 1], [1]],
    "short beside long": [[1], [12] * 20],
}


def assert_trains(model: DocumentTransformer, examples: list[DocumentExample]) -> None:
    """Asserts finite loss and gradients in training mode and finite scores in evaluation mode."""
    batch = batch_of(examples)
    model.train()
    loss, nll = model(batch, smoothing=0.1)
    loss.backward()
    assert loss.isfinite()
    assert nll.isfinite()
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name
    model.eval()
    with torch.no_grad():
        assert model.logits(batch).isfinite().all()
        memories = model.memories(batch)
        state = model.start(batch, model.encode(batch, memories), memories, 2, 2)
        assert model.step(torch.ones(2 * batch.num_sentences, dtype=torch.int64), state).isfinite().all()


@pytest.mark.parametrize("sizes", EDGES.values(), ids=EDGES.keys())
@pytest.mark.parametrize("config", SYSTEMS)
def test_small_documents(config: ModelConfig, sizes: list[list[int]]) -> None:
    assert_trains(small_model(config, open_gates=True), documents(0, *sizes))


@pytest.mark.parametrize("config", SYSTEMS)
def test_a_sentence_of_a_thousand_sub_words(config: ModelConfig) -> None:
    """Positions beyond the model's 256 use the last one."""
    document = random_document(np.random.default_rng(0), [660, 3])
    long = np.append(np.random.default_rng(1).integers(3, VOCABULARY, 1000), EOS)
    target = [long, document.target[1]]
    owners = [np.append(np.arange(1000), -1), document.target_words[1]]
    assert len(document.source[0]) > 950
    assert_trains(
        small_model(config, open_gates=True), [dataclasses.replace(document, target=target, target_words=owners)]
    )


def test_a_document_without_sentences() -> None:
    empty = DocumentExample([], [], build_graph(random_annotation(np.random.default_rng(0), []), "all"), [], [])
    beside = documents(0, [3, 2])[0]
    model = small_model(small_config(), open_gates=True)
    with torch.no_grad():
        alone, together = model.logits(batch_of([beside])), model.logits(batch_of([empty, beside]))
        assert model.logits(batch_of([empty])).shape == (0, VOCABULARY)
    torch.testing.assert_close(alone, together)


def test_a_memory_of_five_thousand_sentences() -> None:
    """A long document, read by a few of its sentences."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(0, 6, 5000).tolist()
    graph = build_graph(zipfian_annotation(rng, sizes, kinds=2000), "all")
    owners = np.split(np.arange(graph.num_words), np.cumsum(sizes)[:-1])
    source = [np.append(rng.integers(3, VOCABULARY, len(owner)), EOS) for owner in owners]
    words = [np.append(owner, -1) for owner in owners]
    inside = [np.append(owner - owner[:1], -1) for owner in owners]
    model = small_model(small_config(integration="post"), open_gates=True)
    batch = batch_of([DocumentExample(source, source, graph, words, inside)])
    memories = model.memories(batch)
    queries = Queries.of_beams(torch.tensor([0, 1, 2500, 4999]), 3, batch.document_of, batch.num_documents)
    readers = [
        model.integration.reader("encoder", memories, queries),
        model.integration.reader("decoder", memories, queries),
    ]
    total = torch.zeros(())
    for reader in readers:
        site = reader("post", 0)
        assert site is not None
        total = total + site(torch.randn(12, 32)).sum()
    total.backward()
    assert total.isfinite()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    # Every row of the sentence-position embedding is used; later sentences use the last one.
    assert isinstance(model.context, DocumentGraphContext)
    assert model.context.places is not None
    assert model.context.places.weight.grad is not None
    assert model.context.places.weight.grad.any(1).all()


def test_a_whole_document_of_a_thousand_sentences() -> None:
    """All sentences in one batch, each reading all others."""
    rng = np.random.default_rng(0)
    document = random_document(rng, [1] * 1000)
    model = small_model(small_config(transformer={"encoder_layers": 1, "decoder_layers": 1}), open_gates=True)
    loss, _ = model(batch_of([document]))
    loss.backward()
    assert loss.isfinite()


def test_extreme_states_keep_the_gate_finite() -> None:
    model = small_model(small_config(gate="paper"))
    site = context_layers(model)[0]
    memory = SlotMemory(
        1e4 * torch.randn(3, 32), torch.tensor([[0, 1, 2]]), torch.ones(1, 3, dtype=torch.bool), "document"
    )
    queries = Queries(torch.zeros(4, dtype=torch.int64), Blocks(Packing.of([4])), Packing.of([4]))
    x = (1e4 * torch.randn(4, 32)).requires_grad_()
    found = site(x, site.project(memory), memory.layout(queries))
    found.sum().backward()
    assert found.isfinite().all()
    assert x.grad is not None
    assert x.grad.isfinite().all()
