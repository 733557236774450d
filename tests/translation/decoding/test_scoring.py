"""Forced decoding: batches and shared documents give the scores of the logits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from docgraph.model.batch import DocumentExample
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.translation.decoding.scoring import ScoringTask, score_candidates, score_documents, sentence_score
from model.examples import batch_of, documents, rewritten, small_config, small_model

DOCUMENTS = documents(3, [3, 5, 2, 4], [4], [2, 6, 3])
SYSTEMS = {
    "base": small_config(context=False),
    "hyb": small_config(),
    "pre, source": small_config(integration="pre", sides="source"),
    "post, words and sentences": small_config(integration="post", graph={"nodes": "both"}),
}


@pytest.fixture(params=SYSTEMS, scope="module")
def model(request: pytest.FixtureRequest) -> DocumentTransformer:
    return small_model(SYSTEMS[request.param], open_gates=True)


def last_sentence(document: DocumentExample, count: int, seed: int = 0, context: bool = True) -> ScoringTask:
    """Random translations of the last sentence of a document; the other sentences are context."""
    rng = np.random.default_rng(seed)
    candidates = [np.append(rng.integers(3, 50, rng.integers(1, 7)), 2) for _ in range(count)]
    window = range(len(document.source) - 1, len(document.source))
    document = replace(document, window=window)
    return ScoringTask(document if context else replace(document, target=(), target_words=()), [candidates])


def test_scores_are_those_of_the_logits(model: DocumentTransformer) -> None:
    batch = batch_of(DOCUMENTS)
    with torch.no_grad():
        expected = model.logits(batch).log_softmax(-1)[torch.arange(len(batch.gold)), batch.gold]
    for tokens in (1, 30, 10_000):
        scored = score_documents(model, DOCUMENTS, tokens)
        assert [len(document) for document in scored] == [4, 1, 3]
        flat = np.concatenate([sentence for document in scored for sentence in document])
        np.testing.assert_allclose(flat, expected.numpy(), atol=2e-5)


def test_candidates_together_score_as_alone(model: DocumentTransformer) -> None:
    tasks = [last_sentence(document, 2 + index, index) for index, document in enumerate(DOCUMENTS)]
    for task, scored in zip(tasks, score_candidates(model, tasks), strict=True):
        for candidate, values in zip(task.translations[0], scored[0], strict=True):
            target = [*task.document.target[:-1], candidate]
            words = [*task.document.target_words[:-1], np.append(np.arange(len(candidate) - 1), -1)]
            alone = replace(task.document, target=target, target_words=words, window=None)
            np.testing.assert_allclose(values, score_documents(model, [alone])[0][-1], atol=2e-5)


def test_target_context_changes_the_scores() -> None:
    model = small_model(SYSTEMS["hyb"], open_gates=True)
    task, blind = last_sentence(DOCUMENTS[0], 2), last_sentence(DOCUMENTS[0], 2, context=False)
    other = replace(task, document=rewritten(task.document, "target", 1))
    ours, theirs, without = (score_candidates(model, [t])[0][0][0] for t in (task, other, blind))
    assert not np.allclose(ours, theirs)
    assert not np.allclose(ours, without)


def test_the_first_sentence_needs_no_target_context() -> None:
    model = small_model(SYSTEMS["hyb"], open_gates=True)
    first = last_sentence(DOCUMENTS[1], 3), last_sentence(DOCUMENTS[1], 3, context=False)
    ours, theirs = (score_candidates(model, [task])[0][0] for task in first)
    assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(ours, theirs, strict=True))


def test_progress_counts_candidates_and_an_empty_list_is_fine() -> None:
    model = small_model(SYSTEMS["base"])
    heard: list[int] = []
    tasks = [last_sentence(document, 3, index) for index, document in enumerate(DOCUMENTS)]
    score_candidates(model, tasks, tokens=40, on_batch=heard.append)
    assert sum(heard) == 9
    assert len(heard) > 1
    assert score_documents(model, []) == []


def test_half_precision_is_near_single() -> None:
    tasks = [last_sentence(document, 2, index) for index, document in enumerate(DOCUMENTS)]
    precise = score_candidates(small_model(SYSTEMS["hyb"], open_gates=True), tasks)
    rough = score_candidates(small_model(SYSTEMS["hyb"], open_gates=True).bfloat16(), tasks)
    for ours, theirs in zip(precise, rough, strict=True):
        assert sentence_score(ours[0][0]) == pytest.approx(sentence_score(theirs[0][0]), rel=0.05)


def test_sum_and_mean() -> None:
    values = np.array([-1.0, -3.0], dtype=np.float32)
    assert sentence_score(values) == -4
    assert sentence_score(values, normalise=True) == -2
