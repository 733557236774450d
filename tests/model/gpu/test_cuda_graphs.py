"""A captured step computes the gradients of the plain one; other batch sizes run uncaptured."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.gpu.cuda_graphs import CapturedStep
from docgraph.model.padding import capacity, fill_up, sizes_of
from model.examples import batch_of, documents, small_config, small_model

BATCHES = [batch_of(documents(seed, [3, 0, 5, 2], [4, 6])) for seed in range(3)]


class Gradients:
    """Sums of gradients, written in place."""

    def __init__(self, model: DocumentTransformer) -> None:
        self.model = model
        self.sums = [torch.zeros_like(parameter) for parameter in model.parameters()]

    def __call__(self, batch: DocumentBatch) -> Tensor:
        loss, nll = self.model(batch)
        loss.backward()
        for total, parameter in zip(self.sums, self.model.parameters(), strict=True):
            if parameter.grad is not None:
                total += parameter.grad
                parameter.grad = None
        return torch.stack([loss.detach(), nll])

    def reset(self) -> None:
        torch._foreach_zero_(self.sums)


def test_a_batch_of_other_sizes_runs_without_the_graph() -> None:
    model = small_model(small_config(), open_gates=True)
    direct, through = Gradients(model), Gradients(model)
    captured = CapturedStep(through, capacity(BATCHES), through.reset, torch.device("cpu"))
    for batch in BATCHES:
        assert torch.equal(captured(batch), direct(batch))
    assert captured.missed == len(BATCHES)
    assert all(map(torch.equal, through.sums, direct.sums))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_a_replay_equals_the_plain_computation(place: str) -> None:
    model = small_model(small_config(integration=place), open_gates=True).cuda()
    direct, through = Gradients(model), Gradients(model)
    room = capacity(BATCHES)
    captured = CapturedStep(through, room, through.reset, torch.device("cuda"))
    for batch in BATCHES:
        filled = fill_up(batch, room, pad=0)
        assert filled is not None
        assert sizes_of(filled) == room
        torch.testing.assert_close(captured(filled), direct(batch.to("cuda")), rtol=1e-4, atol=1e-4)
    assert captured.missed == 0
    for found, expected in zip(through.sums, direct.sums, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
