"""The graph benchmark compares equal work, and the runner finds every benchmark."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.__main__ import main, names
from benchmarks.graph_building import build_with_docgraph, build_with_networkx
from benchmarks.synthetic import synthetic_annotation

from docgraph.document import Document


def test_both_build_the_same_graph() -> None:
    annotation = synthetic_annotation(700, seed=3)
    graph = build_with_docgraph(annotation)
    edges, indegree, outdegree = build_with_networkx(annotation)
    assert graph.num_edges == edges
    assert (graph.degrees[0].tolist(), graph.degrees[1].tolist()) == (indegree, outdegree)


def test_synthetic_documents_are_sound_and_seeded() -> None:
    annotation, again = synthetic_annotation(3000), synthetic_annotation(3000)
    annotation.check(Document.from_sentences(["x" * 2000] * annotation.num_sentences))
    assert annotation.num_words == 3000
    assert annotation.forms.to_list() == again.forms.to_list()
    shares = np.sort(np.bincount(annotation.lemmas.ids if annotation.lemmas else []))[::-1] / 3000
    assert 0.03 < shares[0] < 0.08
    assert 15 < 3000 / annotation.num_sentences < 30


def test_the_runner_finds_modules_and_rejects_others(capsys: pytest.CaptureFixture[str]) -> None:
    assert "graph_building" in names()
    assert not any(name.startswith("_") for name in names())
    with pytest.raises(SystemExit, match="there is no benchmark 'speed'"):
        main(["speed"])
