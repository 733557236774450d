"""Probing a model: the context it sees, cached scores, languages."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from docgraph.annotate.registry import load_pipeline
from docgraph.errors import DocgraphError
from docgraph.evaluation.suites import Contrast, Suite, prober, read_suite
from docgraph.evaluation.suites.accuracy import compute_accuracies
from docgraph.evaluation.suites.prober import ProbeOptions, Prober, score_suite
from docgraph.model.checkpoint import save
from docgraph.model.config import LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.decoder import DecodedDocument, DecoderInput
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.decoding.scoring import score_documents, sentence_score
from model.examples import small_config, small_model
from model.subword_examples import joint_files
from shared_data import SHARED, needs_data

SUITE = Suite(
    "tiny",
    (
        Contrast("it is old", ("elle est", "il est"), ("the house", "a dog"), ("la maison", "un chien")),
        Contrast("it is old", ("il est", "elle est"), ("the house", "a dog"), ("le logis", "un chien")),
        Contrast("it is new", ("elle", "il", "ça va"), ("hello",), ("bonjour",)),
        Contrast("alone", ("un", "deux")),
    ),
    ("en", "fr"),
)
SIZES = {"source_vocabulary": 120, "target_vocabulary": 120}
GRAPH = small_config(transformer=SIZES)
BASE = small_config(transformer=SIZES, context=False)
WORDS = load_pipeline("words:en")


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("subwords")
    joint_files(folder)
    return folder


@pytest.fixture(scope="module")
def tokenizer(tokens: Path) -> Tokenizer:
    return Tokenizer.load(tokens, BASE.transformer)


@pytest.fixture(scope="module")
def model() -> DocumentTransformer:
    return small_model(GRAPH, open_gates=True)


def scores(model: DocumentTransformer, tokenizer: Tokenizer, suite: Suite = SUITE, **options: object) -> list[float]:
    chosen = ProbeOptions(**options)  # type: ignore[arg-type]
    return score_suite(model, tokenizer, suite, chosen, pipeline=WORDS).values


def one_by_one(model: DocumentTransformer, tokenizer: Tokenizer, suite: Suite) -> list[float]:
    """Score each candidate as the last translation of a document of its own."""
    from docgraph.document import Document
    from docgraph.translation.model_input import example_from_text

    found = []
    for contrast in suite.contrasts:
        source = (*contrast.source_context, contrast.source)
        annotation = WORDS(Document.from_sentences(source))
        for candidate in contrast.candidates:
            target = (*contrast.target_context, candidate)
            document = example_from_text(source, tokenizer, annotation, ("all",), target)
            found.append(sentence_score(score_documents(model, [document])[0][-1]))
    return found


def test_gold_context_is_that_of_the_suite(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    ours = scores(model, tokenizer)
    np.testing.assert_allclose(ours, one_by_one(model, tokenizer, SUITE), atol=1e-4)
    assert ours[0] != pytest.approx(ours[3], abs=1e-4)  # the same candidate after another context


def test_source_context_ignores_the_target(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    ours = scores(model, tokenizer, context="source")
    assert ours[:2] == ours[3:1:-1]
    other = tuple(replace(contrast, target_context=()) for contrast in SUITE.contrasts)
    assert ours == scores(model, tokenizer, replace(SUITE, contrasts=other), context="source")
    assert ours[:2] != scores(model, tokenizer, context="none")[:2]


def test_no_context_is_the_sentence_alone(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    alone = tuple(replace(c, source_context=(), target_context=()) for c in SUITE.contrasts)
    expected = one_by_one(model, tokenizer, replace(SUITE, contrasts=alone))
    np.testing.assert_allclose(scores(model, tokenizer, context="none"), expected, atol=1e-4)
    np.testing.assert_allclose(scores(model, tokenizer, max_context=0), expected, atol=1e-4)


def test_max_context_keeps_the_nearest(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    near = tuple(
        replace(c, source_context=c.source_context[-1:], target_context=c.target_context[-1:]) for c in SUITE.contrasts
    )
    ours = scores(model, tokenizer, max_context=1)
    np.testing.assert_allclose(ours, one_by_one(model, tokenizer, replace(SUITE, contrasts=near)), atol=1e-4)


@pytest.fixture
def translated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every model translate the first and third context exactly as the suite does."""
    texts = {3: ["la maison", "un chien", "?"], 2: ["bonjour", "?"], 1: ["?"]}

    def decode(
        model: DocumentTransformer, tokenizer: Tokenizer, documents: Sequence[DecoderInput], *_: object
    ) -> list[DecodedDocument]:
        best = [[tokenizer.target.encode(text)[0][:-1] for text in texts[len(d.example.source)]] for d in documents]
        return [DecodedDocument([[Hypothesis(tuple(map(int, s)), 0.0, 0.0)] for s in d], 1) for d in best]

    monkeypatch.setattr(prober, "decode_documents", decode)


@pytest.mark.usefixtures("translated")
def test_own_context_is_the_model_s_translation(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    ours, gold = scores(model, tokenizer, context="own"), scores(model, tokenizer)
    assert ours[:2] == pytest.approx(gold[:2], abs=1e-4)
    assert ours[:2] == ours[3:1:-1]  # the suite's own translation of the house is not read
    assert ours[4:] == pytest.approx(gold[4:], abs=1e-4)


@pytest.mark.usefixtures("translated")
def test_own_context_is_trusted_by_own_weight(tokenizer: Tokenizer) -> None:
    found = {}
    for own_weight in (0.0, 0.3, 1.0):
        linked = LinkedConfig(words=5, sentences=2, length=3, own_weight=own_weight)
        config = small_config(transformer=SIZES, encoder="pointer", integration="post", sides="target", linked=linked)
        pointer = small_model(config)
        torch.nn.init.constant_(pointer.integration.output[0].gate_outer.bias, 20.0)
        found[own_weight] = {kind: scores(pointer, tokenizer, context=kind)[:2] for kind in ("gold", "own", "source")}
    assert found[0.0]["gold"] == pytest.approx(found[1.0]["gold"], abs=1e-4)
    assert found[1.0]["own"] == pytest.approx(found[1.0]["gold"], abs=1e-4)
    assert found[0.3]["own"] != pytest.approx(found[1.0]["own"], abs=0.1), "trusted less than given translations"
    assert found[0.3]["own"] != pytest.approx(found[0.3]["source"], abs=0.1)
    assert found[0.0]["own"] == found[0.0]["source"], "not read at all"


def test_normalised_scores_are_means(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    lengths = [len(tokenizer.target.encode(text)[0]) for c in SUITE.contrasts for text in c.candidates]
    sums, means = scores(model, tokenizer), scores(model, tokenizer, normalise=True)
    np.testing.assert_allclose(means, np.array(sums) / lengths, atol=1e-5)


def test_gold_context_needs_a_target_context(model: DocumentTransformer, tokenizer: Tokenizer) -> None:
    suite = Suite("bare", (Contrast("it", ("il", "elle"), ("a dog",)),))
    with pytest.raises(DocgraphError, match="the suite 'bare' has no target context; use --context source"):
        scores(model, tokenizer, suite)


@needs_data
@pytest.mark.parametrize("name", ["anaphora", "lexical-choice"])
def test_base_ignores_context_and_gets_half_of_the_discourse_sets(name: str, tokenizer: Tokenizer) -> None:
    suite = read_suite(SHARED / "suites" / "bawden" / f"{name}.json")
    found = score_suite(small_model(BASE), tokenizer, suite)
    assert found.scored < suite.num_candidates / 1.9
    assert compute_accuracies(suite, found.values, maximise=True).overall.accuracy == 50.0


@pytest.fixture
def folder(tmp_path: Path, tokens: Path, model: DocumentTransformer) -> Path:
    save(model, tmp_path / "model", [tokens / "joint.spm"], languages=("en", "fr"))
    return tmp_path / "model"


def test_scores_are_cached(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def make_prober(**options: object) -> Prober:
        return Prober(folder, ProbeOptions(**options), annotator="words:en", cache=tmp_path / "cache")  # type: ignore[arg-type]

    first = make_prober()(SUITE)
    assert first.scored == 9
    assert first.rate > 0
    [path] = (tmp_path / "cache" / "scores").iterdir()
    assert json.loads(path.read_text())["scores"] == first.values
    again = make_prober()(SUITE)
    assert (again.values, again.scored) == (first.values, 0)
    assert make_prober(context="none")(SUITE).scored == 7  # "il est" and "elle est" once each
    assert len(list((tmp_path / "cache" / "scores").iterdir())) == 2
    path.write_text('{"scores": [1')
    assert make_prober()(SUITE).values == pytest.approx(first.values)
    monkeypatch.setattr(prober, "__version__", "9")
    assert make_prober()(SUITE).scored == 9


def test_the_signature_names_the_settings(folder: Path, tmp_path: Path) -> None:
    line = Prober(folder, ProbeOptions(max_context=2), annotator="words:en").signature(SUITE)
    assert line.startswith("suite:tiny.")
    for part in ("pair:en-fr", "contrasts:4", "candidates:9", "context:gold2", "score:sum", "ties:wrong"):
        assert part in line.split("|")
    base = tmp_path / "base"
    save(small_model(BASE), base, [folder / "joint.spm"])
    assert "context:none" in Prober(base).signature(SUITE).split("|")


def test_a_model_of_another_pair_is_refused(folder: Path, tokens: Path, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match="this model translates en-fr and the suite 'tiny' is en-ru"):
        Prober(folder)(replace(SUITE, languages=("en", "ru")))
    with pytest.raises(DocgraphError, match="does not name its languages; pass --annotator"):
        Prober(folder)(replace(SUITE, languages=None))
    save(small_model(BASE), tmp_path / "silent", [tokens / "joint.spm"])
    assert len(Prober(tmp_path / "silent", cache=tmp_path)(replace(SUITE, languages=("en", "ru"))).values) == 9
