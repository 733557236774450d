"""The paper's analyses on random models."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from experiment_examples import random_documents

from docgraph.errors import DocgraphError
from docgraph.research import analyses
from docgraph.research.analyses import pieces
from docgraph.translation.hypotheses import SearchConfig
from model.examples import SYSTEMS, sites, small_config, small_model

DOCUMENTS = random_documents(5, [3, 2, 5, 1, 4, 3], [4, 2], [2, 6, 3])
GREEDY = SearchConfig(beams=1, min_length=3, max_length_factor=1.0, max_length_constant=3)


def system(**fields: Any) -> dict[str, Any]:
    return {"graph": small_model(small_config(**fields), open_gates=True)}


def quiet(line: str) -> None:
    pass


@pytest.mark.parametrize(("sentences", "size", "lengths"), [(10, 4, [3, 4, 3]), (4, 4, [4]), (3, 1, [1, 1, 1])])
def test_pieces_are_few_and_even(sentences: int, size: int, lengths: list[int]) -> None:
    found = pieces(sentences, size)
    assert sorted(map(len, found)) == sorted(lengths)
    assert [m for piece in found for m in piece] == list(range(sentences))


def test_the_usual_case_has_no_interval_and_no_changed_sentence() -> None:
    part = analyses.context_size(system(), DOCUMENTS, GREEDY, (0, 9), quiet)
    assert part.labels == ("0", "9", "all")
    assert part.counts["graph"][0] > 0
    assert part.counts["graph"][1:] == [0, 0]
    value = part.values["graph"][2]
    assert value is not None
    assert part.intervals["graph"][2] == (value, value)
    assert part.values["graph"][1] == value


def test_documents_of_one_sentence_are_sentences_without_context() -> None:
    sizes = analyses.document_size(system(), DOCUMENTS, GREEDY, (1, 99), quiet)
    reaches = analyses.context_size(system(), DOCUMENTS, GREEDY, (0,), quiet)
    assert sizes.values["graph"][0] == reaches.values["graph"][0]
    assert sizes.values["graph"][1] == sizes.values["graph"][2]


def test_noise_in_trees_reaches_a_system_that_reads_them_and_no_other() -> None:
    systems = {
        **system(graph={"relations": ("dependency",)}),
        "lexical": small_model(small_config(graph={"relations": ("lexical",)}), open_gates=True),
    }
    part = analyses.dependency_noise(systems, DOCUMENTS, GREEDY, (0.9,), 2, quiet)
    assert part.labels[0] == "0%\n(UAS 100.0)"
    assert part.labels[1].startswith("90%\n(UAS ")
    assert part.counts["graph"][1] > 0
    assert part.counts["lexical"] == [0, 0]


def test_noise_without_trees_is_refused() -> None:
    bare = DOCUMENTS.with_annotations(lambda one: replace(one, heads=None))
    with pytest.raises(DocgraphError, match="no syntactic trees"):
        analyses.dependency_noise(system(), bare, GREEDY, (0.1,), 1, quiet)


def test_attention_by_distance_is_one_where_it_is_even() -> None:
    systems = system(sides="both")
    for site in sites(systems["graph"]):
        torch.nn.init.zeros_(site.attention.query.weight)
        torch.nn.init.zeros_(site.attention.query.bias)
    part = analyses.attention_distance(systems, DOCUMENTS, quiet)
    assert list(part.values) == ["graph, source", "graph, target"]
    assert part.labels == tuple(
        [f"{span}\nbefore" for span in ("4–5", "3", "2", "1")] + [f"{span}\nafter" for span in ("1", "2", "3", "4–5")]
    )
    assert part.values["graph, source"] == pytest.approx([1.0] * 8)
    assert part.values["graph, target"][4:] == [None] * 4
    # Six, two and three sentences: as many ordered pairs, and half of them look back.
    assert sum(part.counts["graph, source"]) == 30 + 2 + 6
    assert sum(part.counts["graph, target"]) == (30 + 2 + 6) // 2


def test_attention_by_distance_is_not_even_in_general() -> None:
    part = analyses.attention_distance(system(sides="source"), DOCUMENTS, quiet)
    assert list(part.values) == ["graph, source"]
    assert max(value or 0 for value in part.values["graph, source"]) > 1.0001


@pytest.mark.parametrize(
    "fields", [{"context": False}, SYSTEMS["unified"], {"encoder": "linked"}], ids=["base", "unified", "linked"]
)
def test_systems_that_do_not_attend_to_sentences_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(DocgraphError, match="'graph' has no attention over the sentences"):
        analyses.attention_distance({"graph": small_model(small_config(**fields))}, DOCUMENTS, quiet)
