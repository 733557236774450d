"""Corpus statistics: counts equal those of expanded graphs; outliers have line numbers."""

from __future__ import annotations

import numpy as np
import pytest
from corpus_examples import blank_lines, corpus_config, synthetic, write

from docgraph.corpus.prepare import prepare
from docgraph.corpus.statistics import HISTOGRAM, statistics
from docgraph.corpus.store import PreparedCorpus
from docgraph.graph import RelationOptions, build_graph


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder = tmp_path_factory.mktemp("statistics")
    source, target = synthetic(6)
    source[4][2] = "This sentence is much longer than the others are, and so it stands out among them all, 漢字."
    source[5] = ["Alone."]
    target[5] = ["Seul, tout seul, et bien plus long que la source."]
    paths = write(folder, a__en=blank_lines(source), a__fr=blank_lines(target))
    data = {"train": {"source": paths["a__en"], "target": paths["a__fr"]}}
    config = corpus_config(folder, data=data, annotator="words:qu+simplemma:en")
    prepare(config, cache=folder / "cache")
    return PreparedCorpus.open(config.out)


@pytest.mark.parametrize("options", [RelationOptions(), RelationOptions(max_distance=1, skip_stop_words=True)])
def test_counts_equal_those_of_expanded_edges(corpus: PreparedCorpus, options: RelationOptions) -> None:
    found = statistics(corpus, "all", options)
    edges, linked, isolated = {"union": 0}, 0, 0
    for index in range(len(corpus)):
        graph = build_graph(corpus.annotation(index), "all", options)
        for name in graph.relations:
            edges[name] = edges.get(name, 0) + len(graph.edges(name))
        union = graph.union()
        edges["union"] += len(union)
        owner = graph.sentence_of_node
        across = owner[union.source] != owner[union.target]
        linked += len(set(owner[union.source][across].tolist()) | set(owner[union.target][across].tolist()))
        ends = np.concatenate([union.source, union.target])
        isolated += int((np.bincount(ends, minlength=graph.num_nodes)[: graph.num_words] <= 1).sum())
    assert found.edges == edges
    assert found.linked_sentences == linked > 0
    assert found.isolated_words == isolated


def test_sizes_and_histograms_add_up(corpus: PreparedCorpus) -> None:
    found = statistics(corpus)
    assert (found.documents, found.sentences) == (6, 21)
    assert found.source.tokens == int(corpus.sizes.source_tokens.sum())
    assert sum(found.source.histogram) == sum(found.target.histogram) == 21
    assert len(found.source.histogram) == len(HISTOGRAM)
    assert found.source.unknown == 0
    assert found.source.byte_pieces == 0, "the characters are in the training text"
    assert found.words == int(corpus.sizes.words.sum())


def test_outliers_have_line_numbers(corpus: PreparedCorpus) -> None:
    found = statistics(corpus, worst=2).outliers
    assert (found["longest source"][0].line, len(found["longest source"])) == (23, 2)
    assert found["most unequal lengths"][0].line == 26
    assert found["longest document"][0].value == 4
    assert found["longest source"][0].path.endswith("a.en")
