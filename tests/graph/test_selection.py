"""Linked words and sentences: the strongest links first, nothing of the sentence itself, every link a real one."""

from __future__ import annotations

import numpy as np
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
    assert sorted(words[2]) == []  # "the" and "." stand in every sentence
    assert chosen.words[3].tolist() == [0, 6, 3]  # of two occurrences of "sea" the nearer first
    assert chosen.sentences.tolist() == [[-1, -1], [0, -1], [1, 0], [0, 1]]


def test_an_antecedent_is_linked_both_ways() -> None:
    _, annotation = annotated(["Nick left .", "nobody knew !", "he came back ?"], coreference=[(0, 6)])
    chosen = select(build_graph(annotation, "inter"), words=2, sentences=1)
    assert chosen.words.tolist() == [[6, -1], [-1, -1], [0, -1]]
    assert chosen.sentences.tolist() == [[-1], [0], [0]]


@settings(max_examples=60, deadline=None)
@given(annotation=annotations())
def test_what_is_chosen_is_linked_and_elsewhere(annotation: Annotation) -> None:
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


def strengths(graph: DocumentGraph, sentence: int, among: set[int]) -> dict[int, float]:
    """How strongly a sentence is linked with earlier ones, word by word; 0 where it is not."""
    size, place = graph.num_sentences, graph.sentence_of.tolist()
    found = dict.fromkeys((m for m in among if m < sentence), 0.0)
    assert graph.lexical is not None
    links = [(w, v, np.log(size)) for v, w in zip(*vars(graph.edges("coreference")).values(), strict=True)]
    for cliques in (graph.lexical.form, graph.lexical.lemma):
        for rank, word in enumerate(cliques.nodes.tolist()):
            same = cliques.nodes[cliques.first[rank] : cliques.last[rank]].tolist()
            before = [other for other in same if other < word and place[other] in among]
            links += [(word, other, np.log(size / min(len(same), size))) for other in before[-REACH:]]
    for word, other, weight in links:
        if place[word] == sentence and place[other] in found:
            found[place[other]] += weight / (1 + np.log(sentence - place[other]))
    return found


@settings(max_examples=60, deadline=None)
@given(seed=seeds, size=st.integers(0, 25), share=st.floats(0, 1))
def test_the_strongest_of_those_that_may_be_chosen(seed: int, size: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    graph = build_graph(random_annotation(rng, rng.integers(0, 8, size).tolist(), kinds=16), "inter")
    among = rng.random(size) < share
    everything, some = select(graph, 5, 3), select(graph, 5, 3, among)
    np.testing.assert_array_equal(some.words, everything.words)
    np.testing.assert_array_equal(select(graph, 5, 3, np.ones(size, bool)).sentences, everything.sentences)
    for chosen, allowed in ((everything, set(range(size))), (some, set(np.flatnonzero(among).tolist()))):
        for sentence in range(size):
            weights = strengths(graph, sentence, allowed)
            best = sorted(weights, key=lambda m: (-round(weights[m], 8), -m))[:3]
            assert chosen.sentences[sentence].tolist() == best + [-1] * (3 - len(best))
