"""What drawings keep of dense graphs."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from graph_examples import annotated, annotations, miguel, nick, pairs
from hypothesis import given

from docgraph.annotation import Annotation
from docgraph.graph import build_graph
from docgraph.graph.overview import STRONGEST, drawn_edges, sentence_pairs


def test_cliques_are_drawn_as_chains() -> None:
    _, annotation = miguel()
    graph = build_graph(annotation)
    words = annotation.forms.to_list()
    drawn = [(a, b) for a, b in pairs(drawn_edges(graph, "lexical")) if words[a] == "米格尔"]
    members = [index for index, word in enumerate(words) if word == "米格尔"]
    assert drawn == list(pairwise(members))


def test_adjacency_is_drawn_once() -> None:
    graph = build_graph(nick()[1])
    assert pairs(drawn_edges(graph, "adjacency")) == [(a, b) for a, b in pairs(graph.edges("adjacency")) if a < b]


@given(annotations())
def test_chains_span_the_same_words(annotation: Annotation) -> None:
    graph = build_graph(annotation, "lexical")
    drawn, full = pairs(drawn_edges(graph, "lexical")), pairs(graph.edges("lexical"))
    assert set(drawn) <= set(full)
    assert {word for edge in drawn for word in edge} == {word for edge in full for word in edge}
    assert len(drawn) <= 2 * annotation.num_words


@given(annotations())
def test_sentence_pairs_count_links(annotation: Annotation) -> None:
    graph = build_graph(annotation, "coreference, tfidf")
    for name in ("coreference", "tfidf"):
        where = graph.sentence_of_node
        plain = Counter((int(where[a]), int(where[b])) for a, b in pairs(graph.edges(name)) if where[a] != where[b])
        assert {(one, two): strength for one, two, strength in sentence_pairs(graph, name)} == plain


def test_a_rare_word_weighs_more() -> None:
    _, annotation = annotated(["a x", "a", "a x"])
    graph = build_graph(annotation)
    assert sentence_pairs(graph, "lexical") == [(0, 1, 0.5), (0, 2, 1.5), (1, 2, 0.5)]
    content = annotation.forms.ids != 0
    assert sentence_pairs(graph, "lexical", content) == [(0, 2, 1.0)]


def test_only_the_strongest_are_kept() -> None:
    _, annotation = annotated(["a b"] * 55 + ["rare"] * 2)
    found = sentence_pairs(build_graph(annotation), "lexical")
    assert len(found) == STRONGEST
    assert (55, 56, 1.0) in found


def test_a_common_word_enters_as_a_chain() -> None:
    _, annotation = annotated(["a"] * 70)
    found = sentence_pairs(build_graph(annotation), "lexical")
    assert [(one, two) for one, two, _ in found] == [(index, index + 1) for index in range(69)]
    assert found[0][2] == pytest.approx(1 / 69, abs=1e-3)
