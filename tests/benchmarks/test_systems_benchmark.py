"""A system that cannot be measured is reported with the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks import systems


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            RuntimeError("a backend raised:\nTypeError: no\n\nSet VERBOSE=1"),
            "RuntimeError: a backend raised: TypeError: no",
        ),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), "out of memory beside the other"),
    ],
    ids=["failure", "memory"],
)
def test_reasons_are_one_line(monkeypatch: pytest.MonkeyPatch, error: Exception, told: str) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(systems, "measure", fail)
    found = systems.attempt("han", 100, 1, Path("lock"))
    assert isinstance(found, str)
    assert told in found
    assert "\n" not in found
    assert "VERBOSE" not in found
