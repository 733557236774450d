"""Noise in trees, and parts of annotations."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotation import Annotation
from docgraph.graph import build_graph
from docgraph.research.tree_noise import attachment_score, reattach
from model.examples import random_annotation, sentence_sizes


def is_forest(annotation: Annotation) -> bool:
    """Whether every word reaches a root of its own sentence."""
    assert annotation.heads is not None
    reached = np.arange(annotation.num_words)
    for _ in range(annotation.num_words):
        reached = annotation.heads[reached]
    sentences = annotation.sentence_of
    return bool((annotation.heads[reached] == reached).all() and (sentences[reached] == sentences).all())


@given(sentence_sizes, st.integers(0, 99), st.floats(0, 1))
def test_trees_stay_trees_with_the_same_roots(sizes: list[int], seed: int, rate: float) -> None:
    gold = random_annotation(np.random.default_rng(seed), sizes)
    noisy = reattach(gold, rate, seed)
    assert gold.heads is not None
    assert noisy.heads is not None
    assert is_forest(noisy)
    words = np.arange(gold.num_words)
    assert ((gold.heads == words) == (noisy.heads == words)).all()
    assert (reattach(gold, rate, seed).heads == noisy.heads).all()
    assert (reattach(gold, 0.0, seed).heads == gold.heads).all()


def test_the_rate_is_what_is_lost() -> None:
    gold = random_annotation(np.random.default_rng(0), [25] * 80)
    scores = [attachment_score(gold, reattach(gold, rate)) for rate in (0.0, 0.1, 0.5)]
    assert scores[0] == 1.0
    assert abs(scores[1] - 0.9) < 0.03
    assert abs(scores[2] - 0.5) < 0.05


@given(sentence_sizes, st.integers(0, 99), st.data())
def test_the_graph_of_a_part_is_that_part_of_the_graph(sizes: list[int], seed: int, data: st.DataObject) -> None:
    whole = random_annotation(np.random.default_rng(seed), sizes)
    begin = data.draw(st.integers(0, len(sizes)))
    end = data.draw(st.integers(begin, len(sizes)))
    part = whole.part(range(begin, end))
    first, last = int(whole.offsets[begin]), int(whole.offsets[end])
    assert part.forms.to_list() == whole.forms.to_list()[first:last]
    for relation in ("adjacency", "dependency", "lexical", "coreference"):
        edges = build_graph(whole, relation).edges(relation)
        inside = (edges.source >= first) & (edges.source < last) & (edges.target >= first) & (edges.target < last)
        wanted = {
            (a - first, b - first)
            for a, b in zip(edges.source[inside].tolist(), edges.target[inside].tolist(), strict=True)
        }
        found = build_graph(part, relation).edges(relation)
        assert set(zip(found.source.tolist(), found.target.tolist(), strict=True)) == wanted
