"""scripts/minimum_risk.py: expected rewards, and training that makes better candidates more likely."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from minimum_risk import (
    Item,
    TokenLogProbabilities,
    batches,
    contrasting,
    expected_reward,
    losses,
    parse,
    read_candidates,
)
from model.examples import small_config, small_model
from model.subword_examples import joint_files

ITEMS = [
    Item([11, 12, 13, 2], [21, 22, 2], ([21, 22], [23], [24, 25, 26]), (0.9, 0.2, 0.4)),
    Item([14, 2], [27, 28, 29, 2], ([27], [27, 28]), (0.1, 0.6)),
]


def gradients(values: tuple[Tensor, Tensor], slopes: tuple[Tensor, Tensor], inputs: tuple[Tensor, ...]) -> list[Tensor]:
    total = sum((value * slope).sum() for value, slope in zip(values, slopes, strict=True))
    assert isinstance(total, Tensor)
    return [*torch.autograd.grad(total, inputs)]


def test_log_probabilities_of_tokens_and_their_gradients_equal_those_of_softmax() -> None:
    torch.manual_seed(1)
    hidden, weight = (torch.randn(size, 8, requires_grad=True) for size in (700, 40))
    gold, slopes = torch.randint(40, (700,)), (torch.randn(700), torch.randn(700))
    logs = F.linear(hidden, weight).log_softmax(-1)
    plain = logs.gather(-1, gold[:, None])[:, 0], logs.mean(-1)
    fast = TokenLogProbabilities.apply(hidden, weight, gold)  # type: ignore[no-untyped-call]
    for one, other in zip(fast, plain, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(
        gradients(fast, slopes, (hidden, weight)), gradients(plain, slopes, (hidden, weight)), strict=True
    ):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


def test_the_expected_reward_is_that_of_a_softmax_over_the_candidates_of_each_sentence() -> None:
    scores, rewards = torch.tensor([1.0, -2.0, 0.5, 300.0, 299.0]), torch.tensor([0.2, 0.9, 0.4, 1.0, 0.0])
    found = expected_reward(scores, rewards, torch.tensor([0, 0, 0, 1, 1]), 2)
    wanted = [(scores[part].softmax(0) * rewards[part]).sum() for part in (slice(3), slice(3, 5))]
    torch.testing.assert_close(found, torch.stack(wanted))


def model() -> DocumentTransformer:
    return small_model(small_config(context=False, transformer={"max_positions": 16}))


def test_losses_do_not_depend_on_the_other_sentences_of_a_batch() -> None:
    base = model()
    together, alone = losses(base, ITEMS, 2.0), [losses(base, [item], 2.0) for item in ITEMS]
    tokens = [len(item.reference) for item in ITEMS]
    nll = sum(nll * count for (nll, _), count in zip(alone, tokens, strict=True)) / sum(tokens)
    torch.testing.assert_close(together[0], nll)
    torch.testing.assert_close(together[1], torch.stack([reward for _, reward in alone]).mean())
    examples = [Item(item.source, item.reference) for item in ITEMS]
    torch.testing.assert_close(losses(base, examples, 2.0)[0], together[0])


def test_updates_raise_the_expected_reward() -> None:
    base = model()
    optimizer = torch.optim.SGD(base.parameters(), lr=0.5)
    rewards = []
    for _ in range(4):
        _, reward = losses(base, ITEMS, 2.0)
        rewards.append(float(reward.detach()))
        optimizer.zero_grad()
        (-reward).backward()
        optimizer.step()
    assert rewards == sorted(rewards)
    assert rewards[-1] > rewards[0]


def test_the_best_and_the_worst_candidate_are_always_used() -> None:
    rewards = [0.5, 0.1, 0.4, 0.9, 0.3, 0.2, 0.6, 0.7]
    for seed in range(5):
        chosen = contrasting(rewards, 4, random.Random(seed))
        assert chosen == sorted({*chosen})
        assert len(chosen) == 4
        assert {0, 1, 3} <= {*chosen}


def test_every_sentence_is_in_one_batch_of_an_epoch() -> None:
    items = [Item([n] * (1 + n % 5), [n]) for n in range(30)]
    found = batches(items, 20, random.Random(3))
    seen: list[int] = []
    while len(seen) < 30:
        batch = next(found)
        assert sum(item.size for item in batch) <= 20
        seen += [item.source[0] for item in batch]
    assert sorted(seen) == [*range(30)]


def test_a_trained_model_folder_prefers_the_better_candidates(tmp_path: Path) -> None:
    joint_files(tmp_path)
    config = small_config(context=False, transformer={"source_vocabulary": 120, "target_vocabulary": 120})
    checkpoint.save(small_model(config), tmp_path / "before", [tmp_path / "joint.spm"], languages=("en", "fr"))
    rows = [
        {"source": each.source, "reference": each.reference, "candidates": each.candidates, "rewards": each.rewards}
        for each in ITEMS
    ]
    (tmp_path / "candidates.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["train", str(tmp_path / "before"), str(tmp_path / "candidates.jsonl"), "--out", str(tmp_path / "after")]
    arguments = parse([*words, "--count", "2", "--updates", "8", "--peak", "0.01", "--alpha", "0"])
    arguments.run(arguments)
    items = read_candidates(tmp_path / "candidates.jsonl", 2, random.Random(0))
    before, after = (losses(checkpoint.load(tmp_path / name), items, 4.0)[1].item() for name in ("before", "after"))
    assert after > before + 0.01


def test_candidates_that_are_equally_good_are_left_out(tmp_path: Path) -> None:
    row = {"source": [5, 2], "reference": [6, 2], "candidates": [[6], [7]], "rewards": [0.5, 0.51]}
    (tmp_path / "candidates.jsonl").write_text(json.dumps(row) + "\n")
    assert read_candidates(tmp_path / "candidates.jsonl", 2, random.Random(0)) == []
    with pytest.raises(SystemExit):
        parse(["train", "en-fr"])
