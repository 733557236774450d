"""Master weights: a bf16 model trains as its single-precision masters say."""

from __future__ import annotations

import torch
from torch import nn

from docgraph.training.precision import MasterWeights


def test_small_updates_add_up_in_the_masters() -> None:
    model = nn.Linear(4, 4, bias=False).to(torch.bfloat16)
    nn.init.ones_(model.weight)
    masters = MasterWeights(model.parameters())
    optimizer = torch.optim.SGD(masters.parameters, lr=1.0)
    for _ in range(100):  # each update is far below the spacing of bf16 at 1
        model.weight.grad = torch.full_like(model.weight, 1e-3)
        masters.take_gradients()
        optimizer.step()
        masters.give_weights()
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
    masters.take_gradients()
    optimizer.step()
    masters.give_weights()
    changed = {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}
    assert changed == {"used.weight", "used.bias"}
