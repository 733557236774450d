"""Export to other tools, and the JSON round trip."""

from __future__ import annotations

import io
import json
import sys
import types
from functools import partial
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from graph_examples import annotated, annotations, nick, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.annotation import Annotation
from docgraph.errors import DocgraphError
from docgraph.graph import DocumentGraph, RelationOptions, build_graph
from docgraph.graph.export import from_json, to_graphml, to_json, to_networkx, to_pyg
from docgraph.graph.links import LexicalLinks


def same(one: DocumentGraph, two: DocumentGraph) -> None:
    assert (one.num_words, one.num_sentences) == (two.num_words, two.num_sentences)
    assert one.sentence_of.tolist() == two.sentence_of.tolist()
    assert {name: pairs(one.edges(name)) for name in one.relations} == {
        name: pairs(two.edges(name)) for name in two.relations
    }
    assert one.num_edges == two.num_edges
    assert [one.text(node) for node in range(one.num_nodes)] == [two.text(node) for node in range(two.num_nodes)]


@given(annotations(), st.none() | st.integers(0, 3), st.booleans())
@settings(max_examples=60)
def test_json_round_trip(annotation: Annotation, distance: int | None, expand: bool) -> None:
    graph = build_graph(annotation, ("all", "tfidf"), RelationOptions(max_distance=distance))
    again = from_json(json.loads(json.dumps(to_json(graph, expand=expand))))
    same(graph, again)
    assert (again.lexical is None) == expand
    assert again.degrees[0].tolist() == graph.degrees[0].tolist()


def test_json_schema() -> None:
    _, annotation = annotated(["a b a"], lemmas=["x x y"], heads=[[1, 1, 1]])
    assert to_json(build_graph(annotation, "dependency, lexical", RelationOptions(max_distance=4))) == {
        "format": "docgraph-graph",
        "version": 1,
        "words": 3,
        "sentences": 1,
        "nodes": [
            {"id": 0, "kind": "word", "sentence": 0, "position": 0, "text": "a"},
            {"id": 1, "kind": "word", "sentence": 0, "position": 1, "text": "b"},
            {"id": 2, "kind": "word", "sentence": 0, "position": 2, "text": "a"},
            {"id": 3, "kind": "sentence", "sentence": 0},
        ],
        "edges": {"membership": [[0, 3], [1, 3], [2, 3]], "dependency": [[1, 0], [1, 2]]},
        "lexical": {"form": [[0, 2]], "lemma": [[0, 1]], "max_distance": 4},
    }


def damaged(**changes: Any) -> dict[str, Any]:
    return {**to_json(build_graph(nick()[1])), **changes}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "is not a docgraph-graph"),
        (damaged(version=2), "is not a docgraph-graph of version 1"),
        (damaged(nodes=[]), "damaged"),
        (damaged(edges={"adjacency": [[0, 99]]}), "an edge of 'adjacency' has a node outside the document"),
        (damaged(edges={"adjacency": [[0, -1]]}), "has a node outside the document"),
        (damaged(edges={"adjacency": [[0, 10**12]]}), "damaged"),
        (damaged(edges={"adjacency": [[0]]}), "damaged"),
        (damaged(lexical={"form": [[0, 77]], "lemma": [], "max_distance": None}), "a member that is not a word"),
        (damaged(lexical={}), "damaged"),
        (damaged(words="many"), "damaged"),
    ],
)
def test_damaged_json_is_one_clear_error(value: Any, message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        from_json(value)


def test_networkx_holds_every_relation_and_the_union() -> None:
    _, annotation = nick()
    graph = build_graph(annotation)
    found = to_networkx(graph)
    assert found.nodes[0] == {"kind": "word", "sentence": 0, "position": 0, "text": "Nick"}
    assert found.nodes[14] == {"kind": "sentence", "sentence": 1}
    for name in graph.relations:
        assert sorted((a, b) for a, b, key in found.edges(keys=True) if key == name) == pairs(graph.edges(name))
    assert sorted(networkx.DiGraph(found).edges) == pairs(graph.union())


def test_long_edge_lists_are_refused_before_they_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = build_graph(annotated([" ".join(["the"] * 4_000)])[1], "lexical")
    assert len(graph.relations["lexical"]) == 4_000 * 3_999 // 2
    monkeypatch.setattr(LexicalLinks, "expand", lambda _: pytest.fail("the links were listed"))
    for export in (to_graphml, partial(to_json, expand=True)):
        with pytest.raises(DocgraphError, match=r"the graph has 8,002,000 edges and a list may have 5,000,000; pass"):
            export(graph)
    assert to_json(graph)["lexical"]["form"] == [list(range(4_000))]


def test_networkx_reads_the_graphml() -> None:
    _, annotation = annotated(["<b> & 'it' \"q\" ]]> 🦊", "\x00\x1b[31m שלום <b>"])
    graph = build_graph(annotation)
    found = networkx.read_graphml(io.BytesIO("".join(to_graphml(graph)).encode()), force_multigraph=True)
    assert found.number_of_edges() == sum(len(links) for links in graph.relations.values())
    texts = [found.nodes[f"n{node}"]["text"] for node in range(graph.num_words)]
    assert texts == ["<b>", "&", "'it'", '"q"', "]]>", "🦊", "\ufffd\ufffd[31m", "שלום", "<b>"]
    relations = sorted(data["relation"] for _, _, data in found.edges(data=True))
    assert relations == sorted(name for name, links in graph.relations.items() for _ in range(len(links)))


def check_pyg(data: Any, graph: DocumentGraph) -> None:
    assert data.edge_index.dtype == torch.int64
    assert sorted(map(tuple, data.edge_index.T.tolist())) == pairs(graph.union())
    edges = [tuple(edge) for edge in data.edge_index.T.tolist()]
    for column, name in enumerate(data.relation_names):
        held = sorted(edge for edge, holds in zip(edges, data.edge_relations[:, column].tolist(), strict=True) if holds)
        assert held == pairs(graph.edges(name))
    assert data.num_nodes == graph.num_nodes
    assert data.is_word.sum() == graph.num_words
    assert data.sentence.tolist() == graph.sentence_of_node.tolist()


def test_pyg_with_a_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("torch_geometric.data")
    module.Data = types.SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_geometric", types.ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", module)
    graph = build_graph(nick()[1])
    check_pyg(to_pyg(graph), graph)


def test_pyg() -> None:
    pytest.importorskip("torch_geometric", reason="PyTorch Geometric is not installed")
    graph = build_graph(nick()[1])
    check_pyg(to_pyg(graph), graph)


@pytest.mark.parametrize(("export", "package"), [(to_networkx, "networkx"), (to_pyg, "torch_geometric")])
def test_a_missing_package_is_one_clear_error(export: Any, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.data", None)
    with pytest.raises(DocgraphError, match="is not installed; run pip install"):
        export(build_graph(nick()[1]))


def test_many_repetitions_are_exported_as_groups() -> None:
    _, annotation = annotated(["a " * 100] * 50)
    value = to_json(build_graph(annotation))
    assert value["lexical"]["form"] == [list(range(5000))]
    assert np.sum([len(edges) for edges in value["edges"].values()]) < 20_000
