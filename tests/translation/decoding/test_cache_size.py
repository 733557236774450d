"""How many positions a search on a GPU decodes at once."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from docgraph.translation.decoding import search

GIB = 1 << 30
TRANSFORMER = SimpleNamespace(decoder_layers=6, dimension=512)
POSITION = 2 * 6 * 512 * 2
"""Bytes of keys and values of a position, in bfloat16."""


@pytest.mark.parametrize(
    ("free", "kept", "expected"),
    [
        pytest.param(130 * GIB, 0, 128 * GIB // 16 // POSITION, id="a share of the memory of a GPU that is free"),
        pytest.param(4 * GIB, 2 * GIB, 3 * GIB // POSITION, id="half of what other processes leave"),
        pytest.param(GIB // 100, 0, search.CACHE_POSITIONS["cuda"], id="a minimum"),
    ],
)
def test_the_cache_leaves_memory_to_other_processes(
    free: int, kept: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 128 * GIB))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: kept + GIB)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: GIB)
    weights = [torch.zeros(1, dtype=torch.bfloat16)]
    model: Any = SimpleNamespace(
        device=torch.device("cuda"), config=SimpleNamespace(transformer=TRANSFORMER), parameters=lambda: iter(weights)
    )
    assert search._cache_positions(model) == expected
