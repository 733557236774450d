"""Learning rates by update, and fp32 master weights of a bf16 model."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from docgraph.training.config import ScheduleConfig
from docgraph.training.optimizer import MasterWeights, learning_rate


def test_small_updates_add_up_in_the_masters() -> None:
    model = nn.Linear(4, 4, bias=False).to(torch.bfloat16)
    nn.init.ones_(model.weight)
    masters = MasterWeights(model.parameters())
    optimizer = torch.optim.SGD(masters.parameters, lr=1.0)
    for _ in range(100):  # each update is far below the spacing of bf16 at 1
        model.weight.grad = torch.full_like(model.weight, 1e-3)
        masters.collect_gradients()
        optimizer.step()
        masters.update_model()
    assert torch.allclose(masters.parameters[0], torch.full((4, 4), 0.9), atol=1e-3)
    assert torch.allclose(model.weight.float(), torch.full((4, 4), 0.9), atol=1e-2)
    assert model.weight.grad is None


def test_frozen_and_unused_parameters_are_left_alone() -> None:
    model = nn.ModuleDict({"used": nn.Linear(2, 2), "unused": nn.Linear(2, 2), "frozen": nn.Linear(2, 2)})
    model["frozen"].requires_grad_(False)
    masters = MasterWeights(model.parameters())
    assert len(masters.parameters) == 4
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.Adam(masters.parameters, lr=0.1)
    model["used"](torch.ones(1, 2)).sum().backward()
    masters.collect_gradients()
    optimizer.step()
    masters.update_model()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"used.weight", "used.bias"}


@pytest.mark.parametrize("kind", ["inverse_sqrt", "cosine", "constant"])
def test_warm_up_is_linear_and_reaches_the_peak(kind: str) -> None:
    config = ScheduleConfig(kind, 8e-4, 4)  # type: ignore[arg-type]
    assert [learning_rate(config, step, 100) for step in range(1, 5)] == pytest.approx([2e-4, 4e-4, 6e-4, 8e-4])
    assert learning_rate(ScheduleConfig(kind, 8e-4, 0), 1, 100) == pytest.approx(8e-4, rel=0.01)  # type: ignore[arg-type]


def test_learning_rate_after_the_peak() -> None:
    assert learning_rate(ScheduleConfig("inverse_sqrt", 1.0, 100), 400, 1000) == pytest.approx(0.5)
    assert learning_rate(ScheduleConfig("inverse_sqrt", 1.0, 100, 0.8), 400, 1000) == pytest.approx(0.8)
    cosine = ScheduleConfig("cosine", 1.0, 100, 0.2)
    assert [learning_rate(cosine, step, 300) for step in (200, 300, 301)] == pytest.approx([0.6, 0.2, 0.2])
    assert learning_rate(ScheduleConfig("constant", 1.0, 100), 900, 1000) == 1.0
