"""Loading the Base of a context system."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from docgraph.errors import DocgraphError
from docgraph.model.checkpoint import load_base, save

from ..examples import small_config, small_model


def test_load_base_fills_the_base_and_leaves_the_context(tmp_path: Path) -> None:
    base = small_model(small_config(context=False), seed=1)
    save(base, tmp_path / "base")
    model = small_model(small_config(integration="post"), seed=2)
    fresh = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    load_base(model, tmp_path / "base")
    theirs = base.state_dict()
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, theirs.get(name, fresh[name]))
    assert any(name not in theirs for name in fresh)


def test_load_base_accepts_other_dropout_but_no_other_config(tmp_path: Path) -> None:
    config = small_config(context=False)
    save(small_model(replace(config, transformer=replace(config.transformer, dropout=0.3))), tmp_path / "base")
    load_base(small_model(small_config()), tmp_path / "base")
    context = small_config()
    for field, value in (("heads", 8), ("feed_forward", 32), ("activation", "gelu"), ("encoder_layers", 1)):
        model = small_model(replace(context, transformer=replace(context.transformer, **{field: value})))
        with pytest.raises(DocgraphError, match=f"base: '{field}' is .* in this base model and {value} in your config"):
            load_base(model, tmp_path / "base")
