"""The baselines translate and score documents through the same functions as the document graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.model.batch import DocumentExample
from docgraph.model.config import ConcatenationConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.systems import prepare
from docgraph.model.tokenizer import SPACE
from docgraph.translation.decoding.decoder import BATCH_TOKENS, DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import Known, SearchConfig, given_hypotheses
from docgraph.translation.decoding.scoring import ScoringTask, score_candidates, score_documents
from model.examples import EOS, SYSTEMS, batch_of, context_layers, documents, small_config, small_model

DOCUMENTS = documents(7, [3, 1, 5, 2, 6, 1], [4], [1, 6, 2, 2])
PIECES = SimpleNamespace(target=SimpleNamespace(pieces=lambda ids: ["" if i <= EOS else f"{SPACE}{i}" for i in ids]))
SEPARATOR = 3


def translations(model: DocumentTransformer, mode: str = "parallel") -> tuple[list[list[tuple[int, ...]]], int]:
    """Returns the best translation of every sentence and the maximum number of passes."""
    inputs = [DecoderInput(example) for example in DOCUMENTS]
    found = decode_documents(model, PIECES, inputs, DecodingOptions(SearchConfig(beams=2), mode))  # type: ignore[arg-type]
    return [[s[0].tokens for s in document.sentences] for document in found], max(d.passes for d in found)


def ending(model: DocumentTransformer) -> DocumentTransformer:
    """Returns the model, biased to end sentences and to weigh context."""
    with torch.no_grad():
        assert model.embeddings.output_bias is not None
        model.embeddings.output_bias[EOS] = 2.0
        for site in context_layers(model):
            site.last.weight.mul_(6.0)
    return model


@pytest.mark.parametrize("name", SYSTEMS)
def test_parallel_and_windowed_decoding_are_sequential(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config(transformer={"output_bias": True}, **SYSTEMS[name])
    model = ending(small_model(config, open_gates=True))
    sequential, _ = translations(model, "sequential")
    parallel, passes = translations(model)
    assert parallel == sequential
    assert (passes > 1) == (name in ("docgraph", "han", "selective", "noise"))
    monkeypatch.setitem(BATCH_TOKENS, "cpu", 12)
    assert translations(model)[0] == sequential


@pytest.mark.parametrize("name", SYSTEMS)
def test_known_translations_are_context(name: str) -> None:
    config = small_config(transformer={"output_bias": True}, **SYSTEMS[name])
    model = ending(small_model(config, open_gates=True))

    def decoded(known: Sequence[Known], again: bool, mode: str = "parallel", tokens: int | None = None) -> list[Any]:
        config = SearchConfig(beams=2, min_length=2, max_length_factor=1.0, max_length_constant=2)
        inputs = [DecoderInput(*pair) for pair in zip(DOCUMENTS[: len(known)], known, strict=True)]
        options = DecodingOptions(config, mode, tokens)
        found = decode_documents(model, PIECES, inputs, options, redecode_known=again)  # type: ignore[arg-type]
        return [[best.tokens for best, *_ in document.sentences] for document in found]

    everything = [{m: given_hypotheses(ids[:-1].tolist()) for m, ids in enumerate(d.target)} for d in DOCUMENTS]
    rng = np.random.default_rng(0)
    for known in (everything, [{m: h for m, h in d.items() if rng.random() < 0.5} for d in everything]):
        for again in (False, True):
            found = decoded(known, again)
            assert decoded(known, again, "sequential") == found
            assert decoded(known, again, tokens=12) == found
        for m in known[0]:
            [without] = decoded([{k: known[0][k] for k in known[0] if k < m}], False)
            assert without[m] == found[0][m], "the same as if this and the following translations were unknown"
    reads = name in ("docgraph", "han", "selective")
    assert (decoded(everything, True) != decoded([{}] * len(DOCUMENTS), True)) == reads


def concatenating(source: int, target: int) -> DocumentTransformer:
    config = small_config(context=False, transformer={"output_bias": True})
    return ending(small_model(replace(config, concatenation=ConcatenationConfig(source, target, SEPARATOR))))


@pytest.mark.parametrize(("source", "target"), [(2, 1), (3, 1), (2, 2)])
def test_concatenation_keeps_the_sentences(source: int, target: int) -> None:
    model = concatenating(source, target)
    with torch.no_grad():
        model.embeddings.output_bias[SEPARATOR] = 2.0  # type: ignore[index]  # so that translations have several parts
    found, passes = translations(model)
    assert passes == 1
    assert [len(document) for document in found] == [len(example.source) for example in DOCUMENTS]
    assert not any(SEPARATOR in tokens for document in found for tokens in document)


def test_concatenated_candidates_follow_the_translations_before_them() -> None:
    model, example = concatenating(2, 2), DOCUMENTS[0]
    base = small_model(replace(model.config, concatenation=None))
    base.load_state_dict(model.state_dict())
    found = score_documents(model, DOCUMENTS)
    joined = [prepare(example, model.config) for example in DOCUMENTS]
    for ours, theirs, document in zip(found, score_documents(base, joined), DOCUMENTS, strict=True):
        for sentence, whole, ids in zip(ours, theirs, document.target, strict=True):
            assert len(sentence) == len(ids)
            np.testing.assert_allclose(sentence, whole[len(whole) - len(ids) :], rtol=1e-5)
    bare = replace(example, target=())
    [scored] = score_candidates(model, [ScoringTask(bare, [[ids] for ids in example.target])])
    assert [len(sentence[0]) for sentence in scored] == [len(ids) for ids in example.target]


@pytest.mark.parametrize("name", SYSTEMS)
def test_scores_are_those_of_the_logits(name: str) -> None:
    model = small_model(small_config(**SYSTEMS[name]), open_gates=True)
    found = np.concatenate([np.concatenate(document) for document in score_documents(model, DOCUMENTS)])
    batch = batch_of(DOCUMENTS)
    assert batch.gold is not None
    with torch.no_grad():
        logits = model.logits(batch).log_softmax(-1)
    np.testing.assert_allclose(found, logits.gather(1, batch.gold[:, None])[:, 0], atol=1e-4)


def test_a_document_may_have_one_sentence() -> None:
    example = DocumentExample(DOCUMENTS[0].source[:1], DOCUMENTS[0].target[:1])
    for fields in SYSTEMS.values():
        model = small_model(small_config(**fields), open_gates=True)
        assert np.isfinite(score_documents(model, [example])[0][0]).all()
