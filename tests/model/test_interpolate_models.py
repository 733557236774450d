"""scripts/interpolate_models.py: weights between those of two models."""

from __future__ import annotations

import pytest
import torch

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.config import ModelConfig, TransformerConfig
from interpolate_models import interpolate


def config(layers: int = 1) -> ModelConfig:
    return ModelConfig(
        TransformerConfig(
            16, 16, dimension=8, feed_forward=16, heads=2, encoder_layers=layers, decoder_layers=1, max_positions=8
        )
    )


def test_weights_lie_between_the_two_models() -> None:
    first, second = checkpoint.blank(config()), checkpoint.blank(config())
    for number, model in enumerate((first, second)):
        torch.manual_seed(number)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter)
    for share, expected in ((0.0, first), (1.0, second)):
        found = interpolate(first, second, share).state_dict()
        assert all(torch.equal(found[name], tensor) for name, tensor in expected.state_dict().items())
    for name, tensor in interpolate(first, second, 0.25).state_dict().items():
        torch.testing.assert_close(tensor, 0.75 * first.state_dict()[name] + 0.25 * second.state_dict()[name])


def test_models_of_other_sizes_are_refused() -> None:
    with pytest.raises(DocgraphError, match="train it from the first"):
        interpolate(checkpoint.blank(config()), checkpoint.blank(config(layers=2)), 0.5)
