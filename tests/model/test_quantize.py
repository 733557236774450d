"""Packed CPU layers compute what the layers they replace compute, independent of the rest of the batch."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from docgraph.model.config import ModelConfig
from docgraph.model.graph_encoder import GraphLayer
from docgraph.model.quantize import Int8Linear, PackedLinear, pack_for_cpu
from model.examples import batch_of, documents, small_config, small_model

DOCUMENTS = documents(0, [3, 0, 5, 2], [4], [1, 6])
pytestmark = pytest.mark.skipif(not torch._C._has_mkldnn, reason="this PyTorch is built without oneDNN")


@pytest.mark.parametrize("shape", [(1, 16), (5, 16), (2, 3, 16), (0, 16)], ids=str)
@torch.no_grad()
def test_a_layer_is_the_linear_layer_it_replaces(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(16, 24), torch.randn(shape)
    expected = linear(x)
    torch.testing.assert_close(PackedLinear(linear.weight, linear.bias)(x), expected)
    torch.testing.assert_close(PackedLinear(linear.weight, None)(x), expected - linear.bias)
    for bias in (linear.bias, None):
        found = Int8Linear(linear.weight, bias)(x)
        torch.testing.assert_close(found, linear(x) - (0 if bias is not None else linear.bias), atol=0.03, rtol=0.03)


@torch.no_grad()
def test_int8_rows_do_not_depend_on_their_neighbours() -> None:
    torch.manual_seed(0)
    layer = Int8Linear(torch.randn(40, 32), torch.randn(40))
    x = torch.randn(9, 32) * torch.logspace(-3, 3, 9)[:, None]
    assert torch.equal(layer(x), torch.cat([layer(row[None]) for row in x]))
    assert torch.equal(layer(torch.zeros(2, 32)), layer.bias.expand(2, -1))


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("int8", 0.15)])
@torch.no_grad()
def test_a_packed_model_has_nearly_the_same_scores(norm: str, precision: str, tolerance: float) -> None:
    config: ModelConfig = small_config(norm, transformer={"output_bias": True})
    model = small_model(config, open_gates=True)
    batch = batch_of(DOCUMENTS)
    expected = model.logits(batch)
    ready = pack_for_cpu(copy.deepcopy(model), precision)  # type: ignore[arg-type]
    whole = [module for module in ready.modules() if not isinstance(module, GraphLayer)]
    assert not any(isinstance(child, nn.Linear) for module in whole for child in module.children())
    assert pack_for_cpu(ready) is ready
    torch.testing.assert_close(ready.logits(batch), expected, atol=tolerance, rtol=0)
    assert not torch.equal(ready.logits(batch), expected) or precision == "float32"
