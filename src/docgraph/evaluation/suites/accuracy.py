"""Accuracies of a suite from one score a candidate, as its authors' script counts them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.base import Contrast, Suite, read_lines
from docgraph.files import replacing


@dataclass
class Count:
    """How many are right."""

    right: int = 0
    total: int = 0

    @property
    def accuracy(self) -> float:
        """In per cent."""
        return 100 * self.right / self.total if self.total else 0.0

    def add(self, right: bool) -> None:
        self.right += right
        self.total += 1

    def to_dict(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy, "right": self.right, "total": self.total}


@dataclass(frozen=True)
class Accuracies:
    """Accuracy over all contrasts, by each kind of label, by distance, and of whole blocks."""

    overall: Count
    by: dict[str, dict[str, Count]]
    """By kind ("pronoun", "distance") and value ("it:er", "2")."""
    blocks: Count | None

    def to_dict(self) -> dict[str, Any]:
        by = {kind: {value: count.to_dict() for value, count in found.items()} for kind, found in self.by.items()}
        blocks = {} if self.blocks is None else {"blocks": self.blocks.to_dict()}
        return {**self.overall.to_dict(), **blocks, "by": by}


def judge(suite: Suite, scores: Sequence[float], maximise: bool = False) -> Accuracies:
    """Count what scores, one a candidate in the order of the suite, get right; lower is better unless `maximise`."""
    overall, by, blocks = Count(), dict[str, dict[str, Count]](), dict[str, bool]()
    begin = 0
    for contrast in suite.contrasts:
        end = begin + len(contrast.candidates)
        losses = [-score if maximise else score for score in scores[begin:end]]
        right, begin = _is_right(losses, contrast.correct, suite.ties), end
        overall.add(right)
        for kind, value in _classes(contrast, suite.far):
            by.setdefault(kind, {}).setdefault(value, Count()).add(right)
        if contrast.block is not None:
            blocks[contrast.block] = blocks.get(contrast.block, True) and right
    ordered = {kind: dict(sorted(found.items(), key=lambda item: _order(item[0]))) for kind, found in by.items()}
    return Accuracies(overall, ordered, Count(sum(blocks.values()), len(blocks)) if blocks else None)


def _is_right(losses: list[float], correct: int, ties: str) -> bool:
    if ties == "first":
        return losses.index(min(losses)) == correct
    return all(losses[correct] < loss for index, loss in enumerate(losses) if index != correct)


def _classes(contrast: Contrast, far: int | None) -> list[tuple[str, str]]:
    classes = list(contrast.labels.items())
    if contrast.distance is not None:
        beyond = far is not None and contrast.distance > far
        classes.append(("distance", f">{far}" if beyond else str(contrast.distance)))
    return classes


def _order(value: str) -> tuple[float, str]:
    """Distances by number, `>3` after them; other values by letter."""
    try:
        return float(value), ""
    except ValueError:
        return math.inf, value


def read_scores(path: str | Path, suite: Suite) -> list[float]:
    """One number a line, a line a candidate, in the order of the suite."""
    scores = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            scores.append(float(line))
        except ValueError:
            raise DocgraphError(f"'{line[:40]}' is no number; write one score a line", path=path, line=number) from None
        if math.isnan(scores[-1]):
            raise DocgraphError("a score that is not a number (nan) cannot be compared", path=path, line=number)
    if len(scores) != suite.num_candidates:
        counts = f"{len(scores):,} scores, and '{suite.name}' has {suite.num_candidates:,} candidates"
        raise DocgraphError(f"there are {counts}; write one a line, in the order of the suite", path=path)
    return scores


def write_scores(path: str | Path, scores: Sequence[float]) -> None:
    """Write scores as the authors' scripts read them."""
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{score!r}\n" for score in scores), encoding="utf-8")
