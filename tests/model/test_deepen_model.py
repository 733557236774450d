"""scripts/deepen_model.py: a deeper encoder that computes the same."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

import deepen_model
from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.model_folder import ModelFolder

from .examples import batch_of, documents, small_config, small_model


def test_the_deeper_model_computes_the_same_and_can_learn() -> None:
    model = small_model(small_config("pre", context=False)).eval()
    layers = model.config.transformer.encoder_layers
    deeper = deepen_model.deepen(model, layers + 2)
    batch = batch_of(documents(2, [4, 3], [5]))
    assert len(deeper.encoder.layers) == layers + 2
    with torch.no_grad():
        assert torch.equal(model.logits(batch), deeper.logits(batch))
    deeper.logits(batch).square().sum().backward()
    for layer in deeper.encoder.layers:
        assert layer.feed_forward.outer.weight.grad.abs().sum() > 0


def test_old_layers_keep_their_order() -> None:
    assert deepen_model.layer_origins(8, 11) == [
        (0, False), (0, True), (1, False), (2, False), (2, True), (3, False), (4, False), (5, False), (5, True),
        (6, False), (7, False),
    ]  # fmt: skip


def test_models_that_cannot_be_deepened_are_refused() -> None:
    with pytest.raises(DocgraphError, match="norm: pre only"):
        deepen_model.deepen(small_model(small_config("post", context=False)), 9)
    with pytest.raises(DocgraphError, match="norm: pre only"):
        deepen_model.deepen(small_model(small_config("pre")), 9)
    with pytest.raises(DocgraphError, match="encoder layers already"):
        deepen_model.deepen(small_model(small_config("pre", context=False)), 1)


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(small_config("pre", context=False))
    checkpoint.save(model, tmp_path / "model", languages=("en", "fr"), trained_length=64)
    layers = model.config.transformer.encoder_layers + 1
    arguments = ["deepen_model", str(tmp_path / "model"), str(tmp_path / "out"), "--encoder-layers", str(layers)]
    monkeypatch.setattr(sys, "argv", arguments)
    deepen_model.main()
    folder = ModelFolder(tmp_path / "out")
    assert (folder.languages, folder.trained_length) == (("en", "fr"), 64)
    assert folder.config.transformer.encoder_layers == layers
