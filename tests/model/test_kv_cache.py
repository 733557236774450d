"""Cached step-by-step decoding equals decoding the whole prefix at once."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest
import torch
from torch import Tensor

from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.model.memory import Memories

from .examples import BOS, EOS, VOCABULARY, batch_of, documents, small_config, small_model
from .examples import SYSTEMS as BASELINES

BEAMS, STEPS = 3, 6
DOCUMENTS = documents(0, [3, 0, 5, 2], [4], [1, 6])
SENTENCES = 7
SYSTEMS = [pytest.param(small_config(norm, context=False), id=f"base-{norm}-norm") for norm in ("post", "pre")] + [
    pytest.param(
        small_config(integration=integration, sides=sides, graph={"nodes": nodes}), id=f"{integration}-{sides}-{nodes}"
    )
    for integration, sides, nodes in (
        ("hyb", "both", "sentence"),
        ("post", "source", "word"),
        ("pre", "source", "both"),
        ("hyb", "source", "sentence"),
        ("post", "target", "sentence"),
    )
]
SYSTEMS += [pytest.param(small_config(**fields), id=name) for name, fields in BASELINES.items() if name != "docgraph"]


class Decoding:
    """A model that has decoded the hypotheses `prefix` [R, t]; every row starts with BOS."""

    def __init__(self, config: ModelConfig, seed: int = 0, steps: int = STEPS) -> None:
        self.model: DocumentTransformer = small_model(config, seed, open_gates=True).double()
        self.batch = batch_of(DOCUMENTS)
        self.memories: Memories = self.model.memories(self.batch)
        self.encoded = self.model.encode(self.batch, self.memories)
        self.state: DecodingState = self.model.start(self.batch, self.encoded, self.memories, BEAMS, steps + 1)
        self.prefix = torch.full((SENTENCES * BEAMS, 1), BOS)
        self.sentences = torch.arange(SENTENCES)
        self.rng = np.random.default_rng(seed)

    def step(self) -> Tensor:
        """Returns the scores after the prefix and appends a random token to each row."""
        scores = self.model.step(self.prefix[:, -1], self.state)
        chosen = torch.from_numpy(self.rng.integers(3, VOCABULARY, (len(self.prefix), 1)))
        self.prefix = torch.cat([self.prefix, chosen], dim=1)
        return scores

    def reorder(self) -> None:
        """Reorders the beams of a sentence; some are duplicated."""
        within = torch.from_numpy(self.rng.integers(0, BEAMS, (len(self.sentences), BEAMS)))
        rows = (torch.arange(len(self.sentences))[:, None] * BEAMS + within).flatten()
        self.state.reorder(rows)
        self.prefix = self.prefix[rows]

    def select(self, keep: list[int]) -> None:
        chosen = torch.tensor(keep)
        self.state.select(chosen)
        self.sentences = self.sentences[chosen]
        self.prefix = self.prefix.view(-1, BEAMS, self.prefix.shape[1])[chosen].flatten(0, 1)

    def recomputed(self) -> Tensor:
        """The scores after the last but one token of every row, from decoding each whole prefix."""
        scores = torch.empty(len(self.prefix), VOCABULARY, dtype=torch.float64)
        for beam in range(BEAMS):
            prefixes = [np.array([EOS])] * SENTENCES
            for row, sentence in enumerate(self.sentences.tolist()):
                prefixes[sentence] = np.append(self.prefix[row * BEAMS + beam, 1:-1].numpy(), EOS)
            forced, start = [], 0
            for document in DOCUMENTS:
                target = prefixes[start : start + len(document.source)]
                forced.append(dataclasses.replace(document, target=target, target_words=()))
                start += len(target)
            batch = batch_of(forced)
            assert batch.target is not None
            scored = self.model.scores(self.model.decode(batch, self.encoded, self.memories))
            last = scored[batch.target.sentences.boundaries[1:].long() - 1]
            scores[beam::BEAMS] = last[self.sentences]
        return scores


@pytest.mark.parametrize("config", SYSTEMS)
@torch.no_grad()
def test_steps_with_beams_equal_teacher_forcing(config: ModelConfig) -> None:
    decoding = Decoding(config)
    for _ in range(STEPS):
        found = decoding.step()
        torch.testing.assert_close(found, decoding.recomputed())


@pytest.mark.parametrize("config", SYSTEMS)
@torch.no_grad()
def test_a_reordered_cache_is_that_of_the_reordered_hypotheses(config: ModelConfig) -> None:
    decoding = Decoding(config, seed=1)
    for _ in range(STEPS):
        found = decoding.step()
        torch.testing.assert_close(found, decoding.recomputed())
        decoding.reorder()


@pytest.mark.parametrize("config", SYSTEMS)
@torch.no_grad()
def test_sentences_that_leave_do_not_disturb_the_others(config: ModelConfig) -> None:
    decoding = Decoding(config, seed=2)
    for keep in ([0, 1, 2, 4, 5, 6], [1, 2, 3, 5], [0, 3], [1]):  # the second document leaves whole, the others in part
        torch.testing.assert_close(decoding.step(), decoding.recomputed())
        decoding.reorder()
        decoding.select(keep)
    torch.testing.assert_close(decoding.step(), decoding.recomputed())
    assert decoding.sentences.tolist() == [6]


@torch.no_grad()
def test_beams_read_one_copy_of_the_source_and_nothing_grows() -> None:
    decoding = Decoding(small_config(context=False))
    layer = decoding.state.cache.layers[0]
    assert len(layer.source_key) == SENTENCES
    before = layer.key.data_ptr(), layer.key.shape, layer.source_key.shape
    for _ in range(STEPS):
        decoding.step()
        decoding.reorder()
    assert (layer.key.data_ptr(), layer.key.shape, layer.source_key.shape) == before
    assert decoding.state.cache.length == STEPS


@torch.no_grad()
def test_the_cache_grows_with_translations_that_are_much_longer_than_their_source() -> None:
    decoding = Decoding(small_config(context=False), seed=3, steps=30)
    room = decoding.state.cache.layers[0].key.shape[2]
    for step in range(30):
        torch.testing.assert_close(decoding.step(), decoding.recomputed())
        decoding.reorder()
        if step == 20:
            decoding.select([0, 2, 5])
    assert room < 30 * BEAMS <= decoding.state.cache.layers[0].key.shape[2] <= 31 * BEAMS


@torch.no_grad()
def test_groups_of_different_lengths_take_a_step_together() -> None:
    parts = [Decoding(small_config(context=False), seed=seed) for seed in range(3)]
    for steps, decoding in enumerate(parts):
        for _ in range(steps):
            decoding.step()
            decoding.reorder()
    parts[1].select([0, 3, 4])
    model, tokens = parts[0].model, [decoding.prefix[:, -1] for decoding in parts]
    expected = [model.step(own, copy.deepcopy(part.state)) for own, part in zip(tokens, parts, strict=True)]
    together = model.scores(model.extend_all(tokens, [decoding.state for decoding in parts]))
    torch.testing.assert_close(together, torch.cat(expected))
    assert [decoding.state.cache.length for decoding in parts] == [1, 2, 3]
