"""Properties of every graph, checked against the plain definition; batching."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from graph_examples import annotated, annotations, nick, pairs
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotation import Annotation
from docgraph.graph import DocumentGraph, Edges, RelationOptions, batch_graphs, build_graph
from docgraph.graph.relations import is_function_word

options = st.builds(
    RelationOptions,
    skip_stop_words=st.booleans(),
    max_distance=st.none() | st.integers(0, 4),
    tfidf_neighbours=st.integers(1, 3),
)
EVERY = ("all", "tfidf")


def plain_lexical(annotation: Annotation, chosen: RelationOptions) -> set[tuple[int, int]]:
    """The definition: a double loop over the words."""
    forms = annotation.forms.to_list()
    lemmas = annotation.lemmas.to_list() if annotation.lemmas is not None else forms
    skip = is_function_word(annotation) if chosen.skip_stop_words else np.zeros(len(forms), bool)
    limit = chosen.max_distance if chosen.max_distance is not None else len(forms)
    sentence = annotation.sentence_of.tolist()
    return {
        (a, b)
        for b in range(len(forms))
        for a in range(b)
        if (forms[a] == forms[b] or lemmas[a] == lemmas[b])
        and not skip[a]
        and not skip[b]
        and sentence[b] - sentence[a] <= limit
    }


def plain_union(graph: DocumentGraph) -> set[tuple[int, int]]:
    return {pair for name in graph.relations for pair in pairs(graph.edges(name)) if pair[0] != pair[1]}


@given(annotations(), options)
def test_lexical_links_equal_the_double_loop(annotation: Annotation, chosen: RelationOptions) -> None:
    edges = pairs(build_graph(annotation, "lexical", chosen).edges("lexical"))
    assert len(edges) == len(set(edges))
    assert set(edges) == plain_lexical(annotation, chosen)
    assert all(a < b for a, b in edges)


@given(annotations(), options)
def test_no_edge_leaves_the_document(annotation: Annotation, chosen: RelationOptions) -> None:
    graph = build_graph(annotation, EVERY, chosen)
    words = graph.num_words
    for name in graph.relations:
        for a, b in pairs(graph.edges(name)):
            assert (a >= words) == (name == "tfidf")
            assert (b >= words) == (name in ("membership", "tfidf"))
            assert 0 <= a < graph.num_nodes
            assert 0 <= b < graph.num_nodes


@given(annotations())
def test_dependencies_are_one_tree_per_sentence(annotation: Annotation) -> None:
    edges = pairs(build_graph(annotation, "dependency").edges("dependency"))
    head = {b: a for a, b in edges}
    assert len(head) == len(edges)
    if annotation.heads is None:
        assert not edges
        return
    for start, end in pairwise(annotation.offsets.tolist()):
        roots = [word for word in range(start, end) if word not in head]
        assert len(roots) == min(end - start, 1)
        for word in range(start, end):
            steps = 0
            while word in head:
                word, steps = head[word], steps + 1
                assert start <= word < end
                assert steps <= end - start


@given(annotations(), options)
def test_union_counts_and_degrees(annotation: Annotation, chosen: RelationOptions) -> None:
    graph = build_graph(annotation, EVERY, chosen)
    union = pairs(graph.union())
    assert len(union) == len(set(union)) == graph.num_edges
    assert set(union) == plain_union(graph)
    explicit, lexical = pairs(graph.explicit), pairs(graph.edges("lexical"))
    assert sorted([*explicit, *lexical]) == union
    indegree, outdegree = graph.degrees
    assert indegree.tolist() == [sum(b == node for _, b in union) for node in range(graph.num_nodes)]
    assert outdegree.tolist() == [sum(a == node for a, _ in union) for node in range(graph.num_nodes)]


@given(annotations())
def test_union_is_ordered_by_target(annotation: Annotation) -> None:
    union = build_graph(annotation).union()
    keys = list(zip(union.target.tolist(), union.source.tolist(), strict=True))
    assert keys == sorted(keys)


@given(annotations(), options)
def test_options_are_respected(annotation: Annotation, chosen: RelationOptions) -> None:
    graph = build_graph(annotation, EVERY, chosen)
    where, skip = graph.sentence_of_node, is_function_word(annotation)
    for name in ("lexical", "coreference", "tfidf"):
        for a, b in pairs(graph.edges(name)):
            assert chosen.max_distance is None or where[b] - where[a] <= chosen.max_distance
            assert not (name == "lexical" and chosen.skip_stop_words and (skip[a] or skip[b]))


@given(st.lists(annotations(), max_size=4), options)
def test_a_batch_is_block_diagonal(parts: list[Annotation], chosen: RelationOptions) -> None:
    graphs = [build_graph(part, EVERY, chosen) for part in parts]
    batch = batch_graphs(graphs)
    words, sentences = sum(graph.num_words for graph in graphs), 0
    expected: dict[str, list[tuple[int, int]]] = {name: [] for graph in graphs for name in graph.relations}
    indegree, outdegree = np.zeros(batch.num_nodes, np.int64), np.zeros(batch.num_nodes, np.int64)
    place, bounds = 0, [0]
    for graph in graphs:
        inner = [*range(place, place + graph.num_words)]
        inner += range(words + sentences, words + sentences + graph.num_sentences)
        for name in graph.relations:
            expected[name] += [(inner[a], inner[b]) for a, b in pairs(graph.edges(name))]
        indegree[inner], outdegree[inner] = graph.degrees
        place, sentences = place + graph.num_words, sentences + graph.num_sentences
        bounds.append(sentences)
    assert {name: pairs(batch.edges(name)) for name in batch.relations} == {
        name: sorted(edges) for name, edges in expected.items()
    }
    assert (batch.num_words, batch.num_sentences) == (words, sentences)
    assert batch.documents is not None
    assert batch.documents.tolist() == bounds
    assert batch.num_edges == sum(graph.num_edges for graph in graphs) == len(batch.union())
    assert batch.degrees[0].tolist() == indegree.tolist()
    assert batch.degrees[1].tolist() == outdegree.tolist()


def test_graphs_of_different_relations_cannot_be_batched() -> None:
    _, annotation = nick()
    with pytest.raises(ValueError, match="'adjacency' is in some"):
        batch_graphs([build_graph(annotation, "intra"), build_graph(annotation, "inter")])
    near, far = (build_graph(annotation, "lexical", RelationOptions(max_distance=d)) for d in (1, None))
    with pytest.raises(ValueError, match="different maximum distances"):
        batch_graphs([near, far])


def test_text_and_place() -> None:
    _, annotation = annotated(["a b", "", "c d"])
    graph = build_graph(annotation)
    assert [graph.text(node) for node in range(7)] == ["a", "b", "c", "d", "", "", ""]
    assert graph.place_in_sentence.tolist() == [0, 1, 0, 1]
    assert graph.sentence_of_node.tolist() == [0, 0, 2, 2, 0, 1, 2]


def test_memory_stays_linear() -> None:
    _, annotation = annotated(["the " * 50] * 200)
    graph = build_graph(annotation)
    assert graph.num_edges > 49_000_000
    assert graph.lexical is not None
    held = sum(cliques.nodes.nbytes + cliques.first.nbytes + cliques.last.nbytes for _, cliques in graph.lexical.signed)
    assert held <= 3 * 12 * annotation.num_words
    assert int(graph.degrees[0].sum()) == graph.num_edges


def test_ids_above_16_bits_are_grouped() -> None:
    from docgraph.graph import Cliques

    keys = np.array([70_000, 5, 2**30, 70_000, 5 + 2**16, 2**30, 5], dtype=np.int32)
    cliques = Cliques.of_keys(np.arange(7), [keys])
    assert sorted(cliques.groups()) == [[0, 3], [1, 6], [2, 5]]
    assert pairs(cliques.consecutive()) == pairs(cliques.expand()) == [(0, 3), (1, 6), (2, 5)]


def test_unique_drops_duplicates_and_self_loops() -> None:
    edges = Edges(np.array([2, 0, 2, 1, 0], np.int32), np.array([0, 2, 0, 1, 1], np.int32))
    assert pairs(edges.unique()) == [(0, 1), (0, 2), (2, 0)]
