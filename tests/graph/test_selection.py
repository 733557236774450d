"""Linked context: the strongest links first, none within the sentence, none that is not in the graph."""

from __future__ import annotations

import numpy as np
import pytest
from graph_examples import annotated, annotations
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.annotation import Annotation
from docgraph.graph import DocumentGraph, build_graph
from docgraph.graph.selection import REACH, select
from model.examples import random_annotation, seeds


def test_a_rare_name_comes_before_a_common_word() -> None:
    sentences = ["Miguel saw the sea .", "the sea was blue .", "the boat came .", "Miguel slept by the sea ."]
    _, annotation = annotated(sentences)
    chosen = select(build_graph(annotation, "lexical"), words=3, sentences=2)
    words = [[str(annotation.forms[w]) for w in row if w >= 0] for row in chosen.words]
    assert words[3] == ["Miguel", "sea", "sea"]
    assert sorted(words[2]) == []  # "the" and "." are in every sentence
    assert chosen.words[3].tolist() == [0, 6, 3]  # the nearer of two occurrences of "sea" first
    assert chosen.sentences.tolist() == [[-1, -1], [0, -1], [1, 0], [0, 1]]


def test_an_antecedent_is_linked_both_ways() -> None:
    _, annotation = annotated(["Nick left .", "nobody knew !", "he came back ?"], coreference=[(0, 6)])
    chosen = select(build_graph(annotation, "inter"), words=2, sentences=1)
    assert chosen.words.tolist() == [[6, -1], [-1, -1], [0, -1]]
    assert chosen.sentences.tolist() == [[-1], [0], [0]]


@settings(max_examples=60)
@given(annotation=annotations())
def test_selected_words_are_linked_and_in_other_sentences(annotation: Annotation) -> None:
    graph = build_graph(annotation)
    chosen = select(graph, words=5, sentences=3)
    inter = [graph.edges(name) for name in ("lexical", "coreference")]
    linked = {
        frozenset(pair) for edges in inter for pair in zip(edges.source.tolist(), edges.target.tolist(), strict=True)
    }
    for sentence, (words, earlier) in enumerate(zip(chosen.words, chosen.sentences, strict=True)):
        own = np.flatnonzero(graph.sentence_of == sentence).tolist()
        kept = [w for w in words.tolist() if w >= 0]
        assert len(set(kept)) == len(kept)
        assert all(any(frozenset((word, w)) in linked for w in own) for word in kept)
        assert not set(kept) & set(own)
        before = [m for m in earlier.tolist() if m >= 0]
        assert len(set(before)) == len(before) == min(sentence, 3)
        assert all(m < sentence for m in before)


def strengths(graph: DocumentGraph, sentence: int, among: set[int], ahead: bool) -> dict[int, float]:
    """The strength of the links of a sentence with each earlier (or any other) sentence, computed word by word."""
    size, place = graph.num_sentences, graph.sentence_of.tolist()
    found = dict.fromkeys((m for m in among if m < sentence or (ahead and m > sentence)), 0.0)
    assert graph.lexical is not None
    pairs = list(zip(*vars(graph.edges("coreference")).values(), strict=True))
    links = [(w, v, np.log(size)) for pair in pairs for v, w in (pair, pair[::-1])]
    for cliques in (graph.lexical.form, graph.lexical.lemma):
        for rank, word in enumerate(cliques.nodes.tolist()):
            same = cliques.nodes[cliques.first[rank] : cliques.last[rank]].tolist()
            before, after = (
                [other for other in same if place[other] in among and (other - word) * sign > 0] for sign in (-1, 1)
            )
            near = before[-REACH:] + after[:REACH]
            links += [(word, other, np.log(size / min(len(same), size))) for other in near]
    for word, other, weight in links:
        if place[word] == sentence and place[other] in found:
            found[place[other]] += weight / (1 + np.log(abs(sentence - place[other])))
    return found


@settings(max_examples=60)
@given(seed=seeds, size=st.integers(0, 25), share=st.floats(0, 1), ahead=st.booleans())
def test_the_strongest_eligible_sentences_are_selected(seed: int, size: int, share: float, ahead: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = build_graph(random_annotation(rng, rng.integers(0, 8, size).tolist(), kinds=16), "inter")
    among = rng.random(size) < share
    everything, some = (select(graph, 5, 3, allowed, ahead) for allowed in (None, among))
    np.testing.assert_array_equal(some.words, select(graph, 5, 3).words)
    np.testing.assert_array_equal(select(graph, 5, 3, np.ones(size, bool), ahead).sentences, everything.sentences)
    for chosen, allowed in ((everything, set(range(size))), (some, set(np.flatnonzero(among).tolist()))):
        for sentence in range(size):
            weights = strengths(graph, sentence, allowed, ahead)
            best = sorted(weights, key=lambda m: (-round(weights[m], 8), abs(m - sentence), -m))[:3]
            assert chosen.sentences[sentence].tolist() == best + [-1] * (3 - len(best))


@pytest.mark.parametrize("count", [1, 4, 60])
def test_without_links_the_nearest_on_either_side_are_selected(count: int) -> None:
    graph = build_graph(annotated([f"word{m} ." for m in range(100)])[1], "lexical")
    among = np.arange(100) % 3 == 0
    for sentence, row in enumerate(select(graph, 0, count, among, ahead=True).sentences.tolist()):
        others = [m for m in np.flatnonzero(among).tolist() if m != sentence]
        nearest = sorted(others, key=lambda m: (abs(m - sentence), -m))[:count]
        assert row == nearest + [-1] * (count - len(nearest))
