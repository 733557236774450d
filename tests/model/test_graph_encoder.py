"""The graph encoder against dense matrices (equations 6 and 7), and what its memories are like at the start."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphEncoder
from docgraph.model.graph_structure import source_structure, target_structure

from . import dense_reference
from .examples import EOS, batch_of, random_annotation, seeds, sentence_sizes, zipfian_annotation

SETTINGS: list[dict[str, Any]] = [
    {},
    {"activation": "sigmoid", "residual": False},
    {"activation": "relu"},
    {"fusion": "gating"},
    {"fusion": "gating", "activation": "sigmoid", "residual": False, "share_layers": False},
    {"share_layers": False, "layers": 3},
    {"layers": 1},
]


def encoder_of(fields: dict[str, Any], seed: int = 0) -> GraphEncoder:
    """An encoder in evaluation mode with every parameter away from its trivial start."""
    torch.manual_seed(seed)
    encoder = GraphEncoder(8, GraphConfig(**fields)).eval()
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return encoder


@pytest.mark.parametrize("fields", SETTINGS, ids=str)
def test_equations_6_and_7(fields: dict[str, Any]) -> None:
    annotation = random_annotation(np.random.default_rng(0), [4, 0, 6, 1])
    encoder = encoder_of(fields).double()
    words = torch.randn(annotation.num_words, 8, dtype=torch.float64)
    activation = fields.get("activation", "tanh")
    matrix = dense_reference.adjacency(annotation)
    expected = dense_reference.encode(encoder, activation, words.numpy(), annotation.sentence_of, matrix)
    found = encoder(words, source_structure(build_graph(annotation, "all")))
    torch.testing.assert_close(found.detach(), torch.from_numpy(expected), atol=1e-6, rtol=1e-6)


def test_complete_target_sentences() -> None:
    sizes = [3, 0, 1, 5]
    encoder = encoder_of({}).double()
    words = torch.randn(sum(sizes), 8, dtype=torch.float64)
    matrix, owner = dense_reference.complete_adjacency(sizes), np.repeat(np.arange(4), sizes)
    expected = dense_reference.encode(encoder, "tanh", words.numpy(), owner, matrix)
    found = encoder(words, target_structure(np.array(sizes)))
    torch.testing.assert_close(found.detach(), torch.from_numpy(expected), atol=1e-6, rtol=1e-6)


@settings(max_examples=40, deadline=None)
@given(sizes=sentence_sizes, seed=seeds, fields=st.sampled_from(SETTINGS), target=st.booleans(), alone=st.booleans())
def test_linear_and_plain_paths_agree_through_the_encoder(
    sizes: list[int], seed: int, fields: dict[str, Any], target: bool, alone: bool
) -> None:
    """States, of sentences alone or of all nodes, and the gradients of words and parameters, to 1e-5."""
    encoder = encoder_of(fields)
    graph = build_graph(random_annotation(np.random.default_rng(seed), sizes), "all")
    results = []
    words = torch.randn(graph.num_words, 8, requires_grad=True)
    upstream = torch.randn(graph.num_sentences if alone else graph.num_nodes, 8)
    for plain in (False, True):
        structure = (
            target_structure(np.array(sizes, dtype=np.int64), plain) if target else source_structure(graph, plain)
        )
        states = encoder(words, structure, alone)
        gradients = torch.autograd.grad(states, [words, *encoder.parameters()], upstream / len(upstream))
        results.append([states, *gradients])
    for linear, reference in zip(*results, strict=True):
        torch.testing.assert_close(linear, reference, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("fields", SETTINGS, ids=str)
def test_sentences_alone_are_as_among_all_nodes(fields: dict[str, Any]) -> None:
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [4, 0, 6, 1]), "all"))
    encoder, words = encoder_of(fields), torch.randn(11, 8)
    torch.testing.assert_close(encoder(words, structure, True), encoder(words, structure)[11:])


def test_nothing_goes_back_through_the_sums_over_frozen_words() -> None:
    """The first layer's sums, which are most of what a graph costs, are no part of the gradient."""
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [4, 3, 6]), "all"))
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        encoder_of({})(torch.randn(13, 8), structure, True).sum().backward()
    counts = {entry.key: entry.count for entry in profile.key_averages()}
    assert counts["docgraph::neighbour_sums"] == 2


def test_shared_layers_share_their_parameters() -> None:
    shared, apart = (GraphEncoder(8, GraphConfig(layers=3, share_layers=share)) for share in (True, False))
    assert 3 * sum(p.numel() for p in shared.parameters()) == sum(p.numel() for p in apart.parameters())


def test_shared_layers_are_applied_as_often_as_the_config_says() -> None:
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [4, 3]), "all"))
    words = torch.randn(7, 8)
    once, thrice = encoder_of({"layers": 1}), encoder_of({"layers": 3})
    layer = once.layers[0]
    expected = layer(layer(once(words, structure), structure), structure)
    torch.testing.assert_close(thrice(words, structure), expected)


def sentence_cosine(graph: GraphConfig) -> tuple[float, float]:
    """Mean cosine between memories of different sentences of a document at the start: source side, target side."""
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 40, 60).tolist()
    kinds = 3000
    annotation = zipfian_annotation(rng, sizes, kinds)
    source = [np.append(ids + 3, EOS) for ids in np.split(annotation.forms.ids, annotation.offsets[1:-1])]
    places = np.split(np.arange(annotation.num_words), annotation.offsets[1:-1])
    owners = [np.append(place, -1) for place in places]
    inside = [np.append(np.arange(len(place)), -1) for place in places]
    example = DocumentExample(source, source, build_graph(annotation, "all"), owners, inside)
    transformer = TransformerConfig(kinds + 3, kinds + 3, encoder_layers=1, decoder_layers=1)
    torch.manual_seed(0)
    model = DocumentTransformer(ModelConfig(transformer, ContextConfig(graph=graph))).eval()
    cosines = []
    with torch.no_grad():
        memories = model.memories(batch_of([example]))
    for memory in (memories.source, memories.target):
        assert memory is not None
        assert memory.states.shape == (60, 512)
        unit = F.normalize(memory.states, dim=-1)
        cosines.append(float((unit @ unit.T)[~torch.eye(60, dtype=torch.bool)].mean()))
    return cosines[0], cosines[1]


def test_memories_of_different_sentences_differ_at_initialisation() -> None:
    source, target = sentence_cosine(GraphConfig())
    assert source < 0.5
    assert target < 0.5


def test_the_printed_sigmoid_makes_all_memories_alike() -> None:
    source, target = sentence_cosine(GraphConfig.paper_literal())
    assert source > 0.95
    assert target > 0.95
