"""Regression tests: one for each mistake in the authors' released code, named after the mistake."""

from __future__ import annotations

import re
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import docgraph
from docgraph.graph import build_graph
from docgraph.model.attention import masked_attention
from docgraph.model.batch import DocumentExample
from docgraph.model.config import GraphConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphEncoder, source_structure
from docgraph.model.systems.docgraph import pooled_words
from docgraph.model.transformer import DecoderLayer

from .examples import (
    EOS,
    batch_of,
    context_layers,
    documents,
    random_annotation,
    small_config,
    small_model,
    zipfian_annotation,
)

DOCUMENTS = documents(0, [3, 0, 5, 2], [4, 6])
PLACES = ["hyb", "post", "pre"]


@pytest.mark.parametrize("place", PLACES)
def test_dropout_left_on_at_inference(place: str) -> None:
    model = small_model(small_config(integration=place), open_gates=True)
    batch = batch_of(DOCUMENTS)
    with torch.no_grad():
        assert torch.equal(model.logits(batch), model.logits(batch))
        model.train()
        assert not torch.equal(model.logits(batch), model.logits(batch))


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_the_decoder_gate_reading_the_residual_from_before_self_attention(
    norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gate and the context attention of a decoder layer read the output of its self-attention sublayer."""
    model = small_model(small_config(norm), open_gates=True)
    given: list[Tensor] = []
    read: list[Tensor] = []
    for layer in model.decoder.layers:
        assert isinstance(layer, DecoderLayer)
        layer.around_attention.register_forward_hook(lambda _module, _inputs, output: given.append(output))
    for site in model.integration.decoder:
        site.register_forward_pre_hook(lambda _module, inputs: read.append(inputs[0]))
    gated: list[Tensor] = []
    attention_type = type(context_layers(model)[0])
    original = attention_type.gate_weight

    def gate_weight(self: object, x: Tensor, context: Tensor) -> Tensor:
        gated.append(x)
        return original(self, x, context)  # type: ignore[arg-type]

    monkeypatch.setattr(attention_type, "gate_weight", gate_weight)
    with torch.no_grad():
        model.logits(batch_of(DOCUMENTS))
    assert len(given) == len(read) == 2
    assert all(x is y for x, y in zip(given, read, strict=True))
    for site, x, seen in zip(model.integration.decoder, given, gated[-2:], strict=True):
        torch.testing.assert_close(seen, site.norm(x))


def test_sub_word_means_divided_by_the_padded_length() -> None:
    """A word of one sub-word equals that sub-word's embedding, even beside a word of nine sub-words."""
    source = [np.array([5, *range(10, 19), EOS])]
    words = [np.array([0, *[1] * 9, -1])]
    graph = build_graph(random_annotation(np.random.default_rng(0), [2]), "all")
    batch = batch_of([DocumentExample(source, (), graph, words)])
    assert batch.graph is not None
    embeddings = small_model(small_config()).embeddings
    found = pooled_words(batch.graph, embeddings, "source")
    table = embeddings.words(torch.arange(20), "source")
    torch.testing.assert_close(found, torch.stack([table[5], table[10:19].mean(0)]))


def test_the_attention_scale_computed_and_not_applied() -> None:
    query, key, value = (3 * torch.randn(2, 4, 5, 64, dtype=torch.float64) for _ in range(3))
    scores = query @ key.transpose(-2, -1)
    found = masked_attention(query, key, value, None)
    torch.testing.assert_close(found, (scores / 64**0.5).softmax(-1) @ value)
    assert not torch.allclose(found, scores.softmax(-1) @ value)


@pytest.mark.parametrize("place", PLACES)
def test_context_keys_appended_again_at_each_decoding_step(place: str) -> None:
    model = small_model(small_config(integration=place), open_gates=True)
    batch = batch_of(DOCUMENTS)
    with torch.no_grad():
        memories = model.memories(batch)
        state = model.start(batch, model.encode(batch, memories), memories, 2, 8)
        keys = [site.keywords["projected"].key for site in state.reader.layers]  # type: ignore[attr-defined]
        kept = [key.clone() for key in keys]
        tokens = torch.ones(2 * batch.num_sentences, dtype=torch.int64)
        for _ in range(8):
            model.step(tokens, state)
    for site, key, copy in zip(state.reader.layers, keys, kept, strict=True):  # type: ignore[attr-defined]
        assert site.keywords["projected"].key is key
        assert torch.equal(key, copy)
        assert key.shape[2] == batch.slots.shape[1]  # one slot a sentence of the longest document


class LargestTensor(TorchDispatchMode):
    """Records the size in bytes of the largest tensor made while active, forward or backward."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor):
                self.bytes = max(self.bytes, leaf.untyped_storage().nbytes())
        return result


def test_a_dense_n_by_n_adjacency() -> None:
    """A document of 20,000 words: its dense adjacency would be 441 MB even in single bytes."""
    annotation = zipfian_annotation(np.random.default_rng(0), [20] * 1000, kinds=3000)
    encoder = GraphEncoder(16, GraphConfig())
    nodes = 21_000
    tracemalloc.start()  # numpy tells it of its arrays; torch does not
    try:
        structure = source_structure(build_graph(annotation, "all"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    words = torch.randn(annotation.num_words, 16, requires_grad=True)
    with LargestTensor() as largest:
        encoder(words, structure).sum().backward()
    assert words.grad is not None
    assert words.grad.any()
    # Three kinds of cliques, 64 rows per scan block: nothing takes more than some hundred bytes per node.
    assert peak < nodes * 1024
    assert 0 < largest.bytes < nodes * 1024


def test_an_adjacency_rebuilt_per_batch_in_a_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """`collate` builds the graph structure of a batch; the model builds none."""
    batch = batch_of(DOCUMENTS)
    model = small_model(small_config())

    def never(*arguments: object, **options: object) -> None:
        raise AssertionError("the model built an adjacency")

    for name in ("source_structure", "target_structure", "_structure", "_ordered_cliques"):
        monkeypatch.setattr(f"docgraph.model.graph_encoder.{name}", never)
    monkeypatch.setattr("docgraph.model.sparse.CsrMatrix.of", never)
    assert model(batch)[0].isfinite()


def test_a_cuda_device_hard_coded() -> None:
    sources = sorted(Path(docgraph.__file__).parent.rglob("*.py"))
    assert len(sources) > 20
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert ".cuda(" not in text, path
        for line in text.splitlines():
            named = re.search(r"""(\.to\(|device=)\s*["']cuda""", line)
            assert named is None, f"{path}: {line}"


@pytest.mark.parametrize("place", [None, *PLACES])
def test_the_model_runs_where_its_tensors_are(place: str | None) -> None:
    """On the meta device, a tensor on any other device would raise an error."""
    changes = {"integration": place} if place else {}
    with torch.device("meta"):
        model = DocumentTransformer(small_config(context=place is not None, **changes))
    logits = model.logits(batch_of(DOCUMENTS).to("meta"))
    logits.sum().backward()
    assert logits.is_meta
    assert all(p.grad is not None and p.grad.is_meta for p in model.parameters())


def test_no_graph_builder() -> None:
    """Edges come from annotations: a repeated word links two sentences, and information flows along the link."""
    document = DOCUMENTS[0]
    assert document.graph is not None
    assert document.graph.num_edges > document.graph.num_words  # more than membership
    model = small_model(small_config(sides="source"), open_gates=True)
    bare = replace(
        document, graph=build_graph(random_annotation(np.random.default_rng(9), [3, 0, 5, 2]), "coreference")
    )
    with torch.no_grad():
        assert not torch.allclose(model.logits(batch_of([document])), model.logits(batch_of([bare])))


def test_no_target_graph() -> None:
    """Translations are encoded as complete graphs per sentence, and later sentences read them."""
    batch = batch_of(DOCUMENTS)
    assert batch.target_graph is not None
    structure = batch.target_graph.structure
    assert structure.complete
    lengths = [len(target) - 1 for document in DOCUMENTS for target in document.target]
    assert structure.words_of.offsets.diff().tolist() == lengths
    memory = small_model(small_config()).memories(batch).target
    assert memory is not None
    assert memory.states.shape == (6, 32)
    assert memory.visible.sum(1).tolist() == [0, 1, 2, 3, 0, 1]
