"""Train Base and a context system on text whose words depend on earlier sentences, then translate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from benchmarks.context_corpus import TaskDocument, accuracy
from benchmarks.context_task import base_settings, context_settings, data_settings, dev_documents
from typer.testing import CliRunner

from docgraph.cli import app
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.checkpoint import load
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig


@dataclass(frozen=True)
class Trained:
    """Base, the document graph on it, and documents that neither has seen."""

    base: DocumentTransformer
    context: DocumentTransformer
    corpus: PreparedCorpus
    made: list[TaskDocument]

    def translate(self, model: DocumentTransformer, search: SearchConfig) -> list[list[str]]:
        relations = None if model.config.context is None else model.config.context.graph.relations
        inputs = [DecoderInput(self.corpus.example(index, relations)) for index in range(len(self.made))]
        tokenizer = self.corpus.tokenizer
        decoded = decode_documents(model, tokenizer, inputs, DecodingOptions(search))
        return [[tokenizer.target.decode(found[0].tokens) for found in document.sentences] for document in decoded]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """Both stages, by the commands a user runs."""
    folder = tmp_path_factory.mktemp("context_task")

    def command(verb: str, name: str, settings: dict[str, Any], *options: str) -> None:
        path = folder / f"{name}.yaml"
        path.write_text(yaml.safe_dump(settings), encoding="utf-8")
        result = CliRunner().invoke(app, [verb, str(path), *options], catch_exceptions=False)
        assert result.exit_code == 0, result.output

    data = data_settings(folder, train=200, dev=16)
    command("prepare", "data", data, "--jobs", "1", "--cache", str(folder / "cache"))
    base, context = folder / "base", folder / "context"
    command("train", "base", base_settings(data["out"]), "--run", str(base))
    hyb = {"integration": "hyb", "sides": "both"}
    command("train", "context", context_settings(data["out"], str(base / "best"), hyb), "--run", str(context))
    corpus = PreparedCorpus.open(data["out"], "dev")
    return Trained(load(base / "best"), load(context / "best"), corpus, dev_documents(16))


def test_base_is_at_chance_and_the_document_graph_is_not(trained: Trained) -> None:
    assert accuracy(trained.base, trained.corpus, trained.made) == {"source": 0.5, "target": 0.5}
    found = accuracy(trained.context, trained.corpus, trained.made)
    assert min(found.values()) > 0.95, found


def test_stage_two_does_not_change_the_base(trained: Trained) -> None:
    both = trained.context.state_dict()
    assert all(value.equal(both[name]) for name, value in trained.base.state_dict().items())


def test_translations_follow_the_earlier_source(trained: Trained) -> None:
    def right(model: DocumentTransformer) -> float:
        found = zip(trained.translate(model, SearchConfig(beams=1)), trained.made, strict=True)
        hits = [q.right in texts[q.asked].rstrip(".").split() for texts, made in found for q in made.of("source")]
        return sum(hits) / len(hits)

    assert right(trained.base) == 0.5
    assert right(trained.context) > 0.95


def test_translations_keep_to_their_own_earlier_words(trained: Trained) -> None:
    """What is free is drawn at random, so that Base contradicts itself in about half of the documents."""

    def consistent(model: DocumentTransformer) -> float:
        hits = []
        for seed in range(4):
            found = trained.translate(model, SearchConfig(sampling=True, top_k=2, temperature=0.5, seed=seed))
            for texts, made in zip(found, trained.made, strict=True):
                [question] = made.of("target")
                hits.append((question.right in texts[question.told]) == (question.right in texts[question.asked]))
        return sum(hits) / len(hits)

    assert consistent(trained.base) < 0.75
    assert consistent(trained.context) > 0.95
