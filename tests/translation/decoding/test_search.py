"""Search against plain references: exhaustive, beam by beam, token by token."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentExample
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.translation.decoding import search as searching
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig, top_candidates
from docgraph.translation.decoding.search import search, verify_greedy
from model.examples import BOS, EOS, VOCABULARY, batch_of, documents, small_config, small_model

DOCUMENTS = documents(0, [3, 0, 5, 2], [4], [1, 6])
SOURCES = [replace(document, target=(), target_words=()) for document in DOCUMENTS]
SHORT = {"max_length_factor": 0.0, "max_length_constant": 7}


def model_of(vocabulary: int = VOCABULARY, end: float = 2.0, pad: float = 9.0, **fields: Any) -> DocumentTransformer:
    """A small random model that prefers padding and often ends."""
    sizes = {"source_vocabulary": vocabulary, "target_vocabulary": vocabulary, "output_bias": True}
    model = small_model(small_config(transformer=sizes, **fields), seed=3, open_gates=True)
    with torch.no_grad():
        model.embeddings.target_table.weight.mul_(0.6)
        model.embeddings.output_bias[0] = pad
        model.embeddings.output_bias[EOS] = end
    return model


def searched(model: DocumentTransformer, examples: list[DocumentExample], **fields: Any) -> list[list[Hypothesis]]:
    with torch.no_grad():
        batch = batch_of(examples)
        memories = model.memories(batch)
        return search(model, batch, model.encode(batch, memories), memories, SearchConfig(**fields))


def tokens(found: list[list[Hypothesis]]) -> list[list[tuple[int, ...]]]:
    return [[hypothesis.tokens for hypothesis in sentence] for sentence in found]


class Reference:
    """Log-probabilities of one sentence after any prefix, with the whole prefix decoded each time."""

    def __init__(self, model: DocumentTransformer, source: np.ndarray) -> None:
        self.model, self.source = model, source
        self.known: dict[tuple[int, ...], np.ndarray] = {}

    @torch.no_grad()
    def following(self, prefix: tuple[int, ...]) -> np.ndarray:
        if prefix not in self.known:
            batch = batch_of([DocumentExample([self.source], [np.array([*prefix, EOS])])])
            scores = self.model.logits(batch)[-1].log_softmax(-1)
            scores[[0, BOS]] = -math.inf
            self.known[prefix] = scores.double().numpy()
        return self.known[prefix]

    def beam_search(self, config: SearchConfig) -> list[tuple[float, tuple[int, ...]]]:
        """Beam search without early stopping: (score, tokens) of the n best."""
        limit = config.max_length(len(self.source), 256)
        beams: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        finished = []
        for time in range(limit + 1):
            extended = []
            for total, prefix in beams:
                for token, value in enumerate(self.following(prefix).tolist()):
                    too_early = token == EOS and time < config.min_length
                    if value > -math.inf and not too_early and (time < limit or token == EOS):
                        extended.append((total + value, (*prefix, token)))
            extended.sort(key=lambda pair: -pair[0])
            finished += [(config.score(s, time), p[:-1]) for s, p in extended[: config.beams] if p[-1] == EOS]
            beams = [pair for pair in extended if pair[1][-1] != EOS][: config.beams]
        return sorted(finished, key=lambda pair: -pair[0])[: config.n_best]


def test_wide_beams_find_every_translation_in_the_order_of_their_scores() -> None:
    model = model_of(vocabulary=6, context=False)
    source = np.array([3, 5, 4, EOS])
    limits = {"max_length_factor": 0.0, "max_length_constant": 4}
    [found] = searched(model, [DocumentExample([source])], beams=130, n_best=121, **limits)
    reference, config = Reference(model, source), SearchConfig()
    expected = []
    for length in range(5):
        for path in itertools.product((3, 4, 5), repeat=length):
            steps = [reference.following(path[:k])[token] for k, token in enumerate((*path, EOS))]
            expected.append((config.score(sum(steps), length), path))
    expected.sort(reverse=True)
    assert [hypothesis.tokens for hypothesis in found] == [path for _, path in expected]
    np.testing.assert_allclose([h.score for h in found], [score for score, _ in expected], atol=1e-4)


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.4])
@pytest.mark.parametrize(("beams", "n_best", "least"), [(2, 1, 0), (4, 4, 0), (3, 2, 3)])
def test_beam_search_equals_its_definition(alpha: float, beams: int, n_best: int, least: int) -> None:
    model = model_of(context=False)
    fields = {"beams": beams, "n_best": n_best, "min_length": least, "length_penalty": alpha, **SHORT}
    found = searched(model, SOURCES, **fields)
    sources = [sentence for document in SOURCES for sentence in document.source]
    for source, hypotheses in zip(sources, found, strict=True):
        expected = Reference(model, source).beam_search(SearchConfig(**fields))
        assert [hypothesis.tokens for hypothesis in hypotheses] == [path for _, path in expected]
        np.testing.assert_allclose([h.score for h in hypotheses], [score for score, _ in expected], atol=1e-4)


def test_greedy_takes_the_most_likely_token() -> None:
    model = model_of(context=False)
    found = searched(model, SOURCES, beams=1, **SHORT)
    for source, [hypothesis] in zip([s for d in SOURCES for s in d.source], found, strict=True):
        reference, path, total = Reference(model, source), (), 0.0
        while len(path) <= 7:
            following = reference.following(path)
            token = int(following.argmax()) if len(path) < 7 else EOS
            total += following[token]
            if token == EOS:
                break
            path = (*path, token)
        assert hypothesis.tokens == path
        assert hypothesis.log_probability == pytest.approx(total, abs=1e-4)


SEARCHES = [
    pytest.param({"beams": 4, "n_best": 3}, id="beam"),
    pytest.param({"beams": 1}, id="greedy"),
    pytest.param({"sampling": True, "n_best": 3, "top_p": 0.9}, id="sampling"),
]


@pytest.mark.parametrize("fields", SEARCHES)
def test_neither_neighbours_nor_order_nor_groups_change_a_translation(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(end=1.0, sides="source")
    together = tokens(searched(model, SOURCES, **fields))
    alone = [sentence for document in SOURCES for sentence in tokens(searched(model, [document], **fields))]
    assert together == alone
    backwards = tokens(searched(model, SOURCES[::-1], **fields))
    assert backwards == together[5:] + together[4:5] + together[:4]
    assert len({len(sentence[0]) for sentence in together}) > 2, "the sentences should end at different times"
    monkeypatch.setitem(searching.CACHE_POSITIONS, "cpu", 1)
    assert tokens(searched(model, SOURCES, **fields)) == together


def test_named_sentences_come_in_the_order_named() -> None:
    model, batch = model_of(context=False), batch_of(SOURCES)
    with torch.no_grad():
        memories = model.memories(batch)
        encoded = model.encode(batch, memories)
    whole = search(model, batch, encoded, memories, SearchConfig())
    assert tokens(search(model, batch, encoded, memories, SearchConfig(), [5, 0, 3])) == tokens(
        [whole[5], whole[0], whole[3]]
    )
    assert search(model, batch, encoded, memories, SearchConfig(), []) == []


@pytest.mark.parametrize("fields", SEARCHES)
def test_lengths_and_forbidden_tokens(fields: dict[str, Any]) -> None:
    for least, most in ((0, 3), (5, 5), (6, 2), (2, 9)):
        limits = {"min_length": least, "max_length_factor": 0.0, "max_length_constant": most}
        for sentence in searched(model_of(), SOURCES, **fields, **limits):
            for hypothesis in sentence:
                assert least <= len(hypothesis.tokens) <= max(least, most)
                assert not {0, BOS, EOS} & set(hypothesis.tokens)
                assert math.isfinite(hypothesis.score)


def test_no_translation_is_longer_than_the_model_has_positions() -> None:
    model = model_of(end=-20.0)
    model.config = replace(model.config, transformer=replace(model.config.transformer, max_positions=9))
    found = searched(model, SOURCES, beams=2)
    assert {len(sentence[0].tokens) for sentence in found} == {8}


def test_more_hypotheses_do_not_change_the_best() -> None:
    model = model_of(end=1.0)
    one, four = (searched(model, SOURCES, n_best=n) for n in (1, 4))
    assert tokens(one) == [sentence[:1] for sentence in tokens(four)]
    for sentence in four:
        scores = [hypothesis.score for hypothesis in sentence]
        assert scores == sorted(scores, reverse=True)
        assert len({hypothesis.tokens for hypothesis in sentence}) == 4


def test_samples_follow_the_model_and_the_seed() -> None:
    model, source = model_of(vocabulary=6, context=False, end=0.0), np.array([3, 5, 4, EOS])
    fields = {"sampling": True, "n_best": 2000, "max_length_factor": 0.0, "max_length_constant": 1}
    [found] = searched(model, [DocumentExample([source])], **fields)
    firsts = np.bincount([h.tokens[0] if h.tokens else EOS for h in found], minlength=6) / len(found)
    allowed = np.exp(Reference(model, source).following(()))
    np.testing.assert_allclose(firsts, allowed / allowed.sum(), atol=0.03)
    [cool] = searched(model, [DocumentExample([source])], **fields, temperature=0.5)
    cooled = np.bincount([h.tokens[0] if h.tokens else EOS for h in cool], minlength=6) / len(found)
    np.testing.assert_allclose(cooled, allowed**2 / (allowed**2).sum(), atol=0.03)
    assert searched(model, [DocumentExample([source])], **fields) == [found]
    assert searched(model, [DocumentExample([source])], **fields, seed=1) != [found]


def test_sampling_only_the_most_likely_token_is_greedy() -> None:
    model = model_of()
    greedy = searched(model, SOURCES, beams=1)
    for cut in ({"top_k": 1}, {"top_p": 1e-9}):
        assert tokens(searched(model, SOURCES, sampling=True, **cut)) == tokens(greedy)


@pytest.mark.parametrize("vocabulary", [5, 64, 130])
def test_candidates_are_the_best_with_ties_in_order(vocabulary: int) -> None:
    rng = np.random.default_rng(vocabulary)
    values = rng.integers(-4, 0, (3, 2, vocabulary)).astype(np.float32)  # many ties
    values[0, 1] = -np.inf
    totals = np.array([[0, -np.inf], [-1, -1], [-2, 0]], dtype=np.float32)
    found = top_candidates(torch.from_numpy(values), torch.from_numpy(totals), 4)
    for sentence in range(3):
        flat = (values[sentence] + totals[sentence][:, None]).ravel()
        best = np.sort(flat)[::-1][:4]
        np.testing.assert_array_equal(found[0][sentence], best)
        places = (found[1][sentence] * vocabulary + found[2][sentence]).tolist()
        np.testing.assert_array_equal(flat[places], best)
        finite = [place for place, value in zip(places, best, strict=True) if value > -np.inf]
        assert finite == sorted(finite, key=lambda place: (-flat[place], place))
        assert len(set(finite)) == len(finite)


@torch.no_grad()
def test_a_greedy_translation_is_confirmed_and_another_is_not() -> None:
    model, config = model_of(end=1.0, sides="source"), SearchConfig(beams=1, min_length=2)
    batch = batch_of(SOURCES)
    memories = model.memories(batch)
    encoded = model.encode(batch, memories)
    found = [sentence[0] for sentence in search(model, batch, encoded, memories, config)]
    given = [np.array([*hypothesis.tokens, EOS]) for hypothesis in found]
    given[2][1] = 3 if given[2][1] != 3 else 4
    given[4] = given[4][:-2]  # cut short, and without its end
    given[5] = np.empty(0, np.int64)
    bounds = [0, 4, 5, 7]
    forced = [replace(d, target=given[a:b]) for d, a, b in zip(SOURCES, bounds, bounds[1:], strict=False)]
    answers = verify_greedy(model, batch_of(forced), encoded, memories, config)
    for index, (answer, hypothesis) in enumerate(zip(answers, found, strict=True)):
        if index in (2, 5):
            assert answer is None
        elif index != 4:
            assert answer is not None
            assert answer.tokens == hypothesis.tokens
            assert answer.score == pytest.approx(hypothesis.score, abs=1e-4)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"beams": 0}, "'beams' is 0; it must be at least 1"),
        ({"n_best": 5}, r".n_best. is 5, more than .beams. \(4\)"),
        ({"length_penalty": -1.0}, "'length_penalty' is -1.0; it must be at least 0"),
        ({"temperature": 0.0}, "'temperature' is 0.0; it must be above 0"),
        ({"top_p": 0.0}, "'top_p' is 0.0; it must be above 0 and at most 1"),
    ],
    ids=["beams", "n_best", "length_penalty", "temperature", "top_p"],
)
def test_invalid_settings_are_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(DocgraphError, match=message):
        SearchConfig(**fields)


@pytest.mark.parametrize("beams", [1, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_phrase_is_repeated(beams: int, size: int) -> None:
    model = model_of(end=-1.0)
    fields = {"beams": beams, "n_best": beams, "max_length_constant": 12}
    repeated = 0
    for free, blocked in zip(
        searched(model, SOURCES, **fields), searched(model, SOURCES, no_repeat_ngram=size, **fields), strict=True
    ):
        for hypothesis in blocked:
            phrases = list(zip(*(hypothesis.tokens[start:] for start in range(size)), strict=False))
            assert len(phrases) == len({*phrases})
        phrases = [*zip(*(free[0].tokens[start:] for start in range(size)), strict=False)]
        repeated += len(phrases) != len({*phrases})
        if beams == 1 and len(phrases) == len({*phrases}):
            assert blocked[0].tokens == free[0].tokens
    assert repeated, "the model repeats phrases unless it is told not to"
