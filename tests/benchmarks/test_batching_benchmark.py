"""The batching benchmark counts padding correctly."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import batching


def test_padding_is_what_exceeds_the_real_lengths() -> None:
    lengths = np.array([[2, 4], [4, 4], [1, 2], [1, 6]])
    parts = batching.groups(np.array([1, 0, 3, 2]), lengths, tokens=8)
    assert [part.tolist() for part in parts] == [[1, 0], [3, 2]]
    assert batching.padded_share(lengths, [np.array([0, 1]), np.array([2, 3])]) == pytest.approx(
        1 - 24 / (2 * 8 + 2 * 7)
    )
    assert batching.padded_share(lengths, [np.array([index]) for index in range(4)]) == 0


def test_it_runs_without_a_store(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    made = batching.random_store
    monkeypatch.setattr(batching, "random_store", lambda folder, documents: made(folder, 4, (3, 6)))
    batching.main(["--tokens", "500", "--workers", "0", "--seconds", "0.01"])
    printed = capsys.readouterr().out
    assert "synthetic: 4 documents" in printed
    assert "padding  0.0%  words of a sentence" in printed
    assert "0 workers:" in printed
