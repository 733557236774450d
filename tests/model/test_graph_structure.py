"""The linear-time adjacency against the plain sparse one, and that against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from docgraph.annotation import Annotation, Strings, int_array
from docgraph.graph import RelationOptions, batch_graphs, build_graph
from docgraph.model.graph_structure import GraphStructure, source_structure, target_structure

from .dense_reference import adjacency, complete_adjacency, normalised
from .examples import random_annotation, seeds, sentence_sizes, zipfian_annotation

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
    """Both aggregate alike, forward and backward."""
    assert left.num_nodes == right.num_nodes
    x, upstream = (torch.randn(left.num_nodes, dimension) for _ in range(2))
    for direction in DIRECTIONS:
        for found, wanted in zip(
            aggregated(left, direction, x, upstream), aggregated(right, direction, x, upstream), strict=True
        ):
            torch.testing.assert_close(found, wanted, **CLOSE)


def assert_dense(structure: GraphStructure, matrix: np.ndarray) -> None:
    """`structure` multiplies as equation 6 says, with A = `matrix`."""
    x = torch.randn(structure.num_nodes, 4)
    for direction in DIRECTIONS:
        expected = torch.from_numpy(normalised(matrix, ("in", "out")[direction])) @ x.double()
        torch.testing.assert_close(structure.aggregate(x)[direction], expected.float(), **CLOSE)
    ones = structure.aggregate(torch.ones(structure.num_nodes, 1))
    for found, wanted in zip((structure.mass_in, structure.mass_out), ones, strict=True):
        torch.testing.assert_close(found, wanted, **CLOSE)


@settings(max_examples=80, deadline=None)
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


@settings(max_examples=25, deadline=None)
@given(sizes=st.lists(sentence_sizes, min_size=1, max_size=4), seed=seeds, reach=distances)
def test_documents_in_a_batch_aggregate_as_each_alone(sizes: list[list[int]], seed: int, reach: int | None) -> None:
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


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 6), max_size=6))
def test_complete_target_sentences_are_means(sizes: list[int]) -> None:
    words = np.array(sizes, dtype=np.int64)
    linear, plain = target_structure(words), target_structure(words, plain=True)
    assert_same(linear, plain)
    assert_dense(plain, complete_adjacency(sizes))
    assert_dense(linear, complete_adjacency(sizes))


@pytest.mark.parametrize("relations", ["intra", "inter", "lexical", "dependency", "coreference", "all"])
def test_every_choice_of_relations_has_both_paths(relations: str) -> None:
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


def test_sentence_means_divide_by_the_words_there_are() -> None:
    structure = source_structure(build_graph(random_annotation(np.random.default_rng(0), [2, 0, 3]), "all"))
    words = torch.randn(5, 4)
    expected = torch.stack([words[:2].mean(0), torch.zeros(4), words[2:].mean(0)])
    torch.testing.assert_close(structure.sentence_means(words), expected)
