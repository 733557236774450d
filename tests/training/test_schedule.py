"""Learning rates by step."""

from __future__ import annotations

import pytest

from docgraph.training.config import ScheduleConfig
from docgraph.training.schedule import learning_rate


@pytest.mark.parametrize("kind", ["inverse_sqrt", "cosine", "constant"])
def test_warm_up_is_linear_and_reaches_the_peak(kind: str) -> None:
    config = ScheduleConfig(kind, 8e-4, 4)  # type: ignore[arg-type]
    assert [learning_rate(config, step, 100) for step in range(1, 5)] == pytest.approx([2e-4, 4e-4, 6e-4, 8e-4])
    assert learning_rate(ScheduleConfig(kind, 8e-4, 0), 1, 100) == pytest.approx(8e-4, rel=0.01)  # type: ignore[arg-type]


def test_what_follows_the_peak() -> None:
    assert learning_rate(ScheduleConfig("inverse_sqrt", 1.0, 100), 400, 1000) == pytest.approx(0.5)
    assert learning_rate(ScheduleConfig("inverse_sqrt", 1.0, 100, 0.8), 400, 1000) == pytest.approx(0.8)
    cosine = ScheduleConfig("cosine", 1.0, 100, 0.2)
    assert [learning_rate(cosine, step, 300) for step in (200, 300, 301)] == pytest.approx([0.6, 0.2, 0.2])
    assert learning_rate(ScheduleConfig("constant", 1.0, 100), 900, 1000) == 1.0
