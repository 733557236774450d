"""The graph encoder and the linear-time adjacency against dense matrices (equations 5 to 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from docgraph.annotation import Annotation, Strings, int_array
from docgraph.graph import Edges, RelationOptions, batch_graphs, build_graph
from docgraph.graph.relations import RELATIONS, Relation
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphEncoder, GraphStructure, source_structure, target_structure

from . import dense_reference
from .dense_reference import adjacency, complete_adjacency, normalised
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
def test_equations_7_to_9(fields: dict[str, Any]) -> None:
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


@settings(max_examples=40)
@given(sizes=sentence_sizes, seed=seeds, fields=st.sampled_from(SETTINGS), target=st.booleans(), alone=st.booleans())
def test_linear_and_plain_paths_agree_through_the_encoder(
    sizes: list[int], seed: int, fields: dict[str, Any], target: bool, alone: bool
) -> None:
    """States of sentence nodes or of all nodes, and gradients of words and parameters, agree to 1e-5."""
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
def test_sentences_only_equal_those_of_all_nodes(fields: dict[str, Any]) -> None:
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [4, 0, 6, 1]), "all"))
    encoder, words = encoder_of(fields), torch.randn(11, 8)
    torch.testing.assert_close(encoder(words, structure, True), encoder(words, structure)[11:])


def plug_in(annotation: Annotation, options: RelationOptions = RelationOptions()) -> Edges:
    """Sentence -> the next sentence and its first word; the first word of the document -> every other sentence."""
    nodes = annotation.num_words + np.arange(annotation.num_sentences, dtype=np.int32)
    firsts = np.zeros_like(nodes[1:])
    return Edges.join([Edges(nodes[:-1], nodes[1:]), Edges(nodes[:1], nodes[:1] * 0), Edges(firsts, nodes[1:])])


@pytest.mark.parametrize("relations", [*RELATIONS, "all", "all,tfidf", "plug-in", "all,plug-in"])
@pytest.mark.parametrize("fields", [{}, {"layers": 1}], ids=str)
def test_sentences_only_equal_dense_matrices_for_every_relation(
    relations: str, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(RELATIONS, "plug-in", Relation("plug-in", plug_in, "words", "inter"))
    annotation = random_annotation(np.random.default_rng(0), [4, 0, 6, 1, 5], kinds=4)
    if "definition" in relations:  # form0 is defined in the first sentence and used in the third
        words = "form0 means form1 form2 form3 form0 form1 form2 form3 form1 form2 form3 form1 form2 form3 form1"
        annotation = replace(annotation, forms=Strings.of(words.split()))
    graph, count = build_graph(annotation, relations), annotation.num_words
    assert all(len(graph.edges(name)) for name in graph.relations)
    encoder = encoder_of(fields).double()
    words = torch.randn(count, 8, dtype=torch.float64, requires_grad=True)
    found = encoder(words, source_structure(graph), True)
    matrix = dense_reference.adjacency_of(graph)
    expected = dense_reference.encode(encoder, "tanh", words.detach().numpy(), annotation.sentence_of, matrix)
    torch.testing.assert_close(found.detach(), torch.from_numpy(expected[count:]), atol=1e-6, rtol=1e-6)
    upstream = torch.randn_like(found)
    plain = encoder(words, source_structure(graph, plain=True))[count:]
    gradients = [torch.autograd.grad(states, words, upstream) for states in (found, plain)]
    torch.testing.assert_close(*gradients, atol=1e-5, rtol=1e-5)


def test_sums_over_frozen_words_are_not_differentiated() -> None:
    """The sums of the first layer, the largest cost of a graph, are not differentiated."""
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


def test_the_printed_sigmoid_makes_all_memories_similar() -> None:
    source, target = sentence_cosine(GraphConfig(activation="sigmoid", residual=False))
    assert source > 0.95
    assert target > 0.95


DIRECTIONS = IN, OUT = 0, 1
distances = st.sampled_from([None, 0, 1, 2])
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def aggregated(structure: GraphStructure, direction: int, x: Tensor, upstream: Tensor) -> tuple[Tensor, Tensor]:
    """The aggregate and the gradient that `upstream` sends through it."""
    leaf = x.clone().requires_grad_()
    result = structure.aggregate(leaf)[direction]
    (gradient,) = torch.autograd.grad(result, leaf, upstream)
    return result.detach(), gradient


def assert_same(left: GraphStructure, right: GraphStructure, dimension: int = 4) -> None:
    """Both have the same aggregates and gradients."""
    assert left.num_nodes == right.num_nodes
    x, upstream = (torch.randn(left.num_nodes, dimension) for _ in range(2))
    for direction in DIRECTIONS:
        for found, wanted in zip(
            aggregated(left, direction, x, upstream), aggregated(right, direction, x, upstream), strict=True
        ):
            torch.testing.assert_close(found, wanted, **CLOSE)


def assert_dense(structure: GraphStructure, matrix: np.ndarray) -> None:
    """`structure` multiplies as equation 7 says, with A = `matrix`."""
    x = torch.randn(structure.num_nodes, 4)
    for direction in DIRECTIONS:
        expected = torch.from_numpy(normalised(matrix, ("in", "out")[direction])) @ x.double()
        torch.testing.assert_close(structure.aggregate(x)[direction], expected.float(), **CLOSE)
    ones = structure.aggregate(torch.ones(structure.num_nodes, 1))
    for found, wanted in zip((structure.mass_in, structure.mass_out), ones, strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


@settings(max_examples=80)
@given(sizes=sentence_sizes, seed=seeds, kinds=st.integers(1, 8), reach=distances)
def test_linear_path_equals_plain_path_equals_dense_matrices(
    sizes: list[int], seed: int, kinds: int, reach: int | None
) -> None:
    annotation = random_annotation(np.random.default_rng(seed), sizes, kinds)
    graph = build_graph(annotation, "all", RelationOptions(max_distance=reach))
    linear, plain = source_structure(graph), source_structure(graph, plain=True)
    assert linear.plain is None
    assert plain.plain is not None
    assert_same(linear, plain)
    matrix = adjacency(annotation, reach)
    assert_dense(plain, matrix)
    assert_dense(linear, matrix)


@settings(max_examples=25)
@given(sizes=st.lists(sentence_sizes, min_size=1, max_size=4), seed=seeds, reach=distances)
def test_a_batch_aggregates_like_single_documents(sizes: list[list[int]], seed: int, reach: int | None) -> None:
    rng = np.random.default_rng(seed)
    options = RelationOptions(max_distance=reach)
    graphs = [build_graph(random_annotation(rng, each), "all", options) for each in sizes]
    joined = batch_graphs(graphs)
    together = source_structure(joined)
    assert_same(together, source_structure(joined, plain=True))
    x = torch.randn(together.num_nodes, 4)
    word = sentence = 0
    for graph in graphs:
        # All words of the batch come first, then all its sentences.
        sentences = together.num_words + sentence + np.arange(graph.num_sentences)
        rows = torch.from_numpy(np.concatenate([word + np.arange(graph.num_words), sentences]))
        alone = source_structure(graph)
        for direction in DIRECTIONS:
            found = together.aggregate(x)[direction][rows]
            torch.testing.assert_close(found, alone.aggregate(x[rows])[direction], **CLOSE)
        word, sentence = word + graph.num_words, sentence + graph.num_sentences


def test_linear_path_equals_plain_path_on_a_long_document() -> None:
    """Cliques of hundreds of members, across many blocks of the scan."""
    rng = np.random.default_rng(0)
    annotation = zipfian_annotation(rng, rng.integers(0, 40, 150).tolist(), kinds=400)
    for reach in (None, 20):
        graph = build_graph(annotation, "all", RelationOptions(max_distance=reach))
        assert_same(source_structure(graph), source_structure(graph, plain=True), dimension=8)


@settings(max_examples=40)
@given(sizes=st.lists(st.integers(0, 6), max_size=6))
def test_complete_target_sentences_are_means(sizes: list[int]) -> None:
    words = np.array(sizes, dtype=np.int64)
    linear, plain = target_structure(words), target_structure(words, plain=True)
    assert_same(linear, plain)
    assert_dense(plain, complete_adjacency(sizes))
    assert_dense(linear, complete_adjacency(sizes))


@pytest.mark.parametrize("relations", ["intra", "inter", "lexical", "dependency", "coreference", "all"])
def test_both_paths_agree_for_every_choice_of_relations(relations: str) -> None:
    graph = build_graph(random_annotation(np.random.default_rng(1), [4, 0, 6, 5]), relations)
    assert_same(source_structure(graph), source_structure(graph, plain=True))


@pytest.mark.parametrize("plain", [False, True])
def test_an_edge_that_all_relations_agree_on_counts_once(plain: bool) -> None:
    """Words 0 and 1 are adjacent, 1 depends on 0, both have one form and one lemma, and 1 refers to 0."""
    annotation = Annotation(
        int_array([0, 2]),
        int_array([0, 5]),
        int_array([4, 9]),
        Strings.of(["that", "that"]),
        lemmas=Strings.of(["that", "that"]),
        heads=int_array([0, 0]),
        coreference=np.array([[0, 1]], dtype=np.int32),
    )
    graph = build_graph(annotation, "all")
    for name in ("adjacency", "dependency", "lexical", "coreference"):
        edges = graph.edges(name)
        assert (0, 1) in set(zip(edges.source.tolist(), edges.target.tolist(), strict=True)), name
    structure = source_structure(graph, plain)
    assert graph.num_edges == 4  # 0 -> 1, 1 -> 0, and two memberships
    incoming = structure.aggregate(torch.eye(3))[IN]
    # Word 1 receives from word 0 alone, once: in-degree 1, weight 1.
    torch.testing.assert_close(incoming[1], torch.tensor([1.0, 0.0, 0.0]))
    torch.testing.assert_close(structure.scale_in[:, 0], torch.tensor([1.0, 1.0, 2**-0.5]))
    # Each word sends to the other word and to the sentence.
    torch.testing.assert_close(structure.scale_out[:, 0], torch.tensor([2**-0.5, 2**-0.5, 1.0]))
    assert_dense(structure, adjacency(annotation))


def test_a_node_without_edges_receives_nothing() -> None:
    graph = build_graph(random_annotation(np.random.default_rng(0), [1, 0]), "all")
    structure = source_structure(graph)
    x = torch.ones(3, 2)
    assert not structure.aggregate(x)[IN][[0, 2]].any()  # the word, the empty sentence
    assert not structure.aggregate(x)[OUT][[1, 2]].any()  # the two sentences
    assert structure.scale_in.isfinite().all()


def test_sentence_means_divide_by_the_number_of_words() -> None:
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [2, 0, 3]), "all"))
    words = torch.randn(5, 4)
    expected = torch.stack([words[:2].mean(0), torch.zeros(4), words[2:].mean(0)])
    torch.testing.assert_close(structure.sentence_means(words), expected)
