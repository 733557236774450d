"""Model input from text equals that of a prepared corpus."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from docgraph.annotate.registry import load_pipeline
from docgraph.corpus.config import DataConfig, DataEntry, LanguagesConfig, PrepareConfig, SubwordsConfig
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.document import Document
from docgraph.model.config import ContextConfig, ModelConfig
from docgraph.model.systems import context_needs
from docgraph.translation.model_input import example_from_text

SOURCE = ["The house is old.", "A man owns the house.", "He likes old houses."]
TARGET = ["La maison est vieille.", "Un homme a la maison.", "Il aime les vieilles maisons."]


@pytest.fixture
def corpus(tmp_path: Path) -> PreparedCorpus:
    (tmp_path / "a.en").write_text("\n".join(SOURCE))
    (tmp_path / "a.fr").write_text("\n".join(TARGET))
    entry = DataEntry(str(tmp_path / "a.en"), str(tmp_path / "a.fr"))
    config = PrepareConfig(
        DataConfig(train=(entry,)),
        LanguagesConfig("en", "fr"),
        SubwordsConfig(size=300),
        "words:en",
        out=str(tmp_path / "out"),
    )
    prepare(config, cache=tmp_path / "cache")
    return PreparedCorpus.open(config.out)


def test_model_input_from_text_equals_that_of_the_store(corpus: PreparedCorpus) -> None:
    annotation = load_pipeline("words:en")(Document.from_sentences(SOURCE))
    ours, theirs = example_from_text(SOURCE, corpus.tokenizer, annotation, ["all"], TARGET), corpus.example(0)
    for name in ("source", "target", "source_words", "target_words"):
        for mine, stored in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_array_equal(mine, stored)
    assert ours.graph is not None
    assert theirs.graph is not None
    mine, stored = ours.graph.union(), theirs.graph.union()
    np.testing.assert_array_equal(np.stack([mine.source, mine.target]), np.stack([stored.source, stored.target]))
    assert ours.window is None


def test_without_annotation_there_is_no_graph(corpus: PreparedCorpus) -> None:
    example = example_from_text(SOURCE, corpus.tokenizer)
    assert (example.graph, list(example.target), list(example.source_words)) == (None, [], [])
    for mine, stored in zip(example.source, corpus.example(0).source, strict=True):
        np.testing.assert_array_equal(mine, stored)


def test_relations_are_those_the_model_reads() -> None:
    assert context_needs(ModelConfig()).relations is None
    assert context_needs(ModelConfig(context=ContextConfig(sides="target"))).relations is None
    assert context_needs(ModelConfig(context=ContextConfig())).relations == ("all",)
