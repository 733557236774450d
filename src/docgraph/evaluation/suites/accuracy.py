"""Accuracies of a suite from one score per candidate, counted as its authors' script does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.suite import Contrast, Suite, read_lines
from docgraph.files import replacing


@dataclass
class Count:
    """Right ones out of a total."""

    right: int = 0
    total: int = 0

    @property
    def accuracy(self) -> float:
        """Percentage of right ones."""
        return 100 * self.right / self.total if self.total else 0.0

    def add(self, right: bool) -> None:
        """Counts one more."""
        self.right += right
        self.total += 1

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON form."""
        return {"accuracy": self.accuracy, "right": self.right, "total": self.total}


@dataclass(frozen=True)
class Accuracies:
    """Accuracy over all contrasts, by kind of label, by distance, and of blocks."""

    overall: Count
    by: dict[str, dict[str, Count]]
    """By kind ("pronoun", "distance") and value ("it:er", "2")."""
    blocks: Count | None

    def to_dict(self) -> dict[str, Any]:
        """Returns the JSON form."""
        by = {kind: {value: count.to_dict() for value, count in counts.items()} for kind, counts in self.by.items()}
        blocks = {} if self.blocks is None else {"blocks": self.blocks.to_dict()}
        return {**self.overall.to_dict(), **blocks, "by": by}


def compute_accuracies(suite: Suite, scores: Sequence[float], maximise: bool = False) -> Accuracies:
    """Returns accuracies of scores, one per candidate in the order of the suite; lower is better unless `maximise`."""
    overall, by, blocks = Count(), dict[str, dict[str, Count]](), dict[str, bool]()
    begin = 0
    for contrast in suite.contrasts:
        end = begin + len(contrast.candidates)
        losses = [-score if maximise else score for score in scores[begin:end]]
        right, begin = _is_right(losses, contrast.correct, suite.ties), end
        overall.add(right)
        for kind, value in _labels(contrast, suite.far):
            by.setdefault(kind, {}).setdefault(value, Count()).add(right)
        if contrast.block is not None:
            blocks[contrast.block] = blocks.get(contrast.block, True) and right
    ordered = {kind: dict(sorted(counts.items(), key=lambda item: _order(item[0]))) for kind, counts in by.items()}
    return Accuracies(overall, ordered, Count(sum(blocks.values()), len(blocks)) if blocks else None)


def _is_right(losses: list[float], correct: int, ties: str) -> bool:
    if ties == "first":
        return losses.index(min(losses)) == correct
    return all(losses[correct] < loss for index, loss in enumerate(losses) if index != correct)


def _labels(contrast: Contrast, far: int | None) -> list[tuple[str, str]]:
    """Returns (kind, value) of all labels, the distance among them."""
    labels = list(contrast.labels.items())
    if contrast.distance is not None:
        beyond = far is not None and contrast.distance > far
        labels.append(("distance", f">{far}" if beyond else str(contrast.distance)))
    return labels


def _order(value: str) -> tuple[float, str]:
    """Returns a sort key: distances by number, then `>3` and other values alphabetically."""
    try:
        return float(value), ""
    except ValueError:
        return math.inf, value


def read_scores(path: str | Path, suite: Suite) -> list[float]:
    """Reads one number per line, one line per candidate, in the order of the suite."""
    scores = []
    for number, line in enumerate(read_lines(path), 1):
        try:
            scores.append(float(line))
        except ValueError:
            message = f"'{line[:40]}' is not a number; write one score per line"
            raise DocgraphError(message, path=path, line=number) from None
        if math.isnan(scores[-1]):
            raise DocgraphError("a score is nan and cannot be compared; write a number", path=path, line=number)
    if len(scores) != suite.num_candidates:
        counts = f"{len(scores):,} scores, and '{suite.name}' has {suite.num_candidates:,} candidates"
        raise DocgraphError(f"there are {counts}; write one per line, in the order of the suite", path=path)
    return scores


def write_scores(path: str | Path, scores: Sequence[float]) -> None:
    """Writes scores for the authors' scripts, one per line."""
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{score!r}\n" for score in scores), encoding="utf-8")
