"""Each relation by hand, and how new ones are registered."""

from __future__ import annotations

import importlib.metadata
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from graph_examples import annotated, nick, pairs

from docgraph.annotation import Annotation
from docgraph.errors import DocgraphError
from docgraph.graph import RELATIONS, Edges, RelationOptions, build_graph, relation, resolve_relations
from docgraph.graph.relations import ENTRY_POINTS


def edges_of(annotation: Annotation, name: str, **options: object) -> list[tuple[int, int]]:
    return pairs(build_graph(annotation, name, RelationOptions(**options)).edges(name))  # type: ignore[arg-type]


def test_membership_skips_empty_sentences() -> None:
    _, annotation = annotated(["a b", "", "c"])
    assert edges_of(annotation, "membership") == [(0, 3), (1, 3), (2, 5)]


def test_adjacency_stops_at_the_sentence() -> None:
    _, annotation = annotated(["a b c", "d", "e f"])
    assert edges_of(annotation, "adjacency") == [(0, 1), (1, 0), (1, 2), (2, 1), (4, 5), (5, 4)]


def test_dependency_has_no_edge_for_a_root() -> None:
    _, annotation = annotated(["she reads old books", "why"], heads=[[1, 1, 3, 1], [0]])
    assert edges_of(annotation, "dependency") == [(1, 0), (1, 3), (3, 2)]


def test_dependency_without_heads_is_empty() -> None:
    _, annotation = annotated(["she reads"])
    assert edges_of(annotation, "dependency") == []


def test_lexical_same_form_or_same_lemma() -> None:
    # saw/see by lemma; saw(verb)/saw(noun) by form though their lemmas differ; 'see' and the noun 'saw' share neither.
    _, annotation = annotated(["he saw her", "see the saw"], lemmas=["he see her", "see the saw"])
    assert edges_of(annotation, "lexical") == [(1, 3), (1, 5)]


def test_lexical_same_form_and_lemma_counts_once() -> None:
    _, annotation = annotated(["cats cat", "cats"], lemmas=["cat cat", "cat"])
    graph = build_graph(annotation, "lexical")
    assert pairs(graph.edges("lexical")) == [(0, 1), (0, 2), (1, 2)]
    assert graph.lexical is not None
    assert len(graph.lexical) == 3


def test_lexical_without_lemmas_goes_by_form() -> None:
    _, annotation = annotated(["a b a", "b A"])
    assert edges_of(annotation, "lexical") == [(0, 2), (1, 3)]


def test_lexical_max_distance() -> None:
    _, annotation = annotated(["a a", "a", "b", "a"])
    assert edges_of(annotation, "lexical", max_distance=0) == [(0, 1)]
    assert edges_of(annotation, "lexical", max_distance=1) == [(0, 1), (0, 2), (1, 2)]
    assert edges_of(annotation, "lexical", max_distance=2) == [(0, 1), (0, 2), (1, 2), (2, 4)]
    assert len(edges_of(annotation, "lexical", max_distance=10**9)) == 6


def test_lexical_skips_function_words_and_punctuation() -> None:
    _, annotation = annotated(["the cat , the", "the cat ,"], upos=["DET NOUN PUNCT DET", "DET NOUN PUNCT"])
    assert edges_of(annotation, "lexical", skip_stop_words=True) == [(1, 5)]


def test_without_tags_only_punctuation_is_skipped() -> None:
    _, annotation = annotated(["the , …", "the , …"])
    assert edges_of(annotation, "lexical", skip_stop_words=True) == [(0, 3)]


def test_coreference_and_its_distance() -> None:
    _, annotation = annotated(["Ann met Bo", "x", "she likes him"], coreference=[(0, 4), (2, 6), (0, 2)])
    assert edges_of(annotation, "coreference") == [(0, 2), (0, 4), (2, 6)]
    assert edges_of(annotation, "coreference", max_distance=1) == [(0, 2)]


def test_tfidf_links_sentences_that_share_rare_words() -> None:
    _, annotation = annotated(["the red fox", "the blue sea", "the red fox ran", "the old sea"])
    words = annotation.num_words
    assert edges_of(annotation, "tfidf") == [(words, words + 2), (words + 1, words + 3)]
    assert edges_of(annotation, "tfidf", max_distance=1) == []


def test_tfidf_ties_go_to_the_later_sentence() -> None:
    _, annotation = annotated(["a x", "a y", "a z", "a", "b"])
    words = annotation.num_words
    one = [(s - words, t - words) for s, t in edges_of(annotation, "tfidf", tfidf_neighbours=1)]
    assert one == [(0, 1), (1, 2), (2, 3)]


def test_tfidf_does_not_depend_on_the_block_size(monkeypatch: pytest.MonkeyPatch) -> None:
    from docgraph.graph import relations

    rng = np.random.default_rng(0)
    _, annotation = annotated([" ".join(rng.choice(list("abcdefgh"), size=4)) for _ in range(40)])
    whole = edges_of(annotation, "tfidf")
    monkeypatch.setattr(relations, "BLOCK", 7)
    assert edges_of(annotation, "tfidf") == whole
    assert len(whole) > 40


def test_options_are_checked() -> None:
    with pytest.raises(DocgraphError, match="0 or more sentences, not -1"):
        RelationOptions(max_distance=-1)
    with pytest.raises(DocgraphError, match="tfidf_neighbours must be at least 1"):
        RelationOptions(tfidf_neighbours=0)


def test_groups_and_names() -> None:
    assert resolve_relations("intra") == ("membership", "adjacency", "dependency")
    assert resolve_relations("inter, adjacency") == ("membership", "lexical", "coreference", "adjacency")
    assert resolve_relations(["all", "lexical", "tfidf"])[1:] == (
        "adjacency",
        "dependency",
        "lexical",
        "coreference",
        "tfidf",
    )
    with pytest.raises(DocgraphError, match="no relation 'syntax'; choose from intra, inter, all, membership"):
        resolve_relations("syntax")


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    from docgraph.graph import relations

    for module in (relations, sys.modules[__name__]):
        monkeypatch.setattr(module, "RELATIONS", RELATIONS.copy())
    monkeypatch.setattr("docgraph.graph.graph.RELATIONS", relations.RELATIONS)


def first_words(annotation: Annotation, options: RelationOptions) -> Edges:
    """First word of a sentence -> first word of the next."""
    first = annotation.offsets[:-1][np.diff(annotation.offsets) > 0]
    return Edges(first[:-1], first[1:])


@pytest.mark.usefixtures("registry")
def test_a_new_relation_joins_the_graph() -> None:
    relation("first_words", requires="words", scope="inter")(first_words)
    _, annotation = nick()
    graph = build_graph(annotation, "all, first_words")
    assert pairs(graph.edges("first_words")) == [(0, 8)]
    assert graph.num_edges == 42
    with pytest.raises(ValueError, match="already registered"):
        relation("first_words", requires="words", scope="inter")(first_words)


@pytest.mark.usefixtures("registry")
def test_a_relation_that_leaves_the_document_is_named() -> None:
    for name, node in (("beyond", 15), ("before", -1)):
        edges = Edges(np.array([0], np.int32), np.array([node], np.int32))
        relation(name, requires="words", scope="inter")(lambda annotation, options, edges=edges: edges)
        with pytest.raises(DocgraphError, match=f"'{name}' made an edge to a node outside 0..14"):
            build_graph(nick()[1], name)


def promise(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    """Install an entry point as a package would."""
    entry = importlib.metadata.EntryPoint(name, value, ENTRY_POINTS)

    def entry_points(**chosen: str) -> list[importlib.metadata.EntryPoint]:
        return [entry] if chosen == {"group": ENTRY_POINTS, "name": name} else []

    monkeypatch.setattr("docgraph.graph.relations.entry_points", entry_points)


@pytest.mark.usefixtures("registry")
def test_a_relation_is_loaded_from_an_entry_point(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "docgraph_plugin.py").write_text(
        "from docgraph.graph import Edges, relation\n"
        "@relation('backwards', requires='words', scope='intra')\n"
        "def backwards(annotation, options):\n"
        "    return Edges.empty()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    promise(monkeypatch, "backwards", "docgraph_plugin")
    assert resolve_relations("backwards") == ("membership", "backwards")
    assert len(build_graph(nick()[1], "backwards").edges("backwards")) == 0
    monkeypatch.delitem(sys.modules, "docgraph_plugin")


@pytest.mark.usefixtures("registry")
def test_a_failing_entry_point_is_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    promise(monkeypatch, "ghost", "docgraph_no_such_package")
    with pytest.raises(DocgraphError, match="declared by 'docgraph_no_such_package', which cannot be imported"):
        resolve_relations("ghost")
    monkeypatch.setitem(sys.modules, "docgraph_idle", types.ModuleType("docgraph_idle"))
    promise(monkeypatch, "idle", "docgraph_idle")
    with pytest.raises(DocgraphError, match="'docgraph_idle' declares the relation 'idle' but does not register it"):
        resolve_relations("idle")
