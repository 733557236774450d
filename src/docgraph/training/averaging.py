"""Averages of checkpoints (Vaswani et al. 2017, section 6.1): often better than any one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from docgraph.model.checkpoint import load
from docgraph.model.document_transformer import DocumentTransformer


@torch.no_grad()
def average(folders: Sequence[str | Path]) -> DocumentTransformer:
    """The model whose weights are the mean of those of some model folders of one system, in fp32 on the CPU."""
    model = load(folders[0])
    total = {name: tensor.double() for name, tensor in model.state_dict().items()}
    for folder in folders[1:]:
        for name, tensor in load(folder).state_dict().items():
            total[name] += tensor
    model.load_state_dict({name: tensor / len(folders) for name, tensor in total.items()})
    return model
