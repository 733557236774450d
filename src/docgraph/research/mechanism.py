"""Is context used at all: what runs logged of their gates, their context's gradient and the wrong context's loss."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.report import Grid
from docgraph.training.metrics import Record, read_metrics

FILES = ("metrics.jsonl", "metrics.jsonl.xz")
"""In run folders, and in result folders."""


@dataclass(frozen=True)
class Mechanism:
    """A run by the last that it logged; None or nothing where it has no context."""

    update: int | None
    """Of the last look at the dev split."""
    nll: float | None
    wrong_context_nll: float | None
    gates: dict[str, list[float]]
    """By stack, of each site: 1 lets no context in."""
    gradient_norms: dict[str, float | None]
    """By part of the model, of the last update logged."""

    @classmethod
    def of(cls, records: Sequence[Record]) -> Mechanism:
        seen: dict[str, Record] = {record["kind"]: record for record in records}
        dev, train = seen.get("validation", {}), seen.get("train", {})
        found = dev.get("step"), dev.get("nll"), dev.get("wrong_context_nll")
        return cls(*found, dev.get("gates", {}), train.get("gradient_norms", {}))

    @property
    def difference(self) -> float | None:
        """How much worse another document's context is; 0 where context is not used."""
        return None if self.nll is None or self.wrong_context_nll is None else self.wrong_context_nll - self.nll

    @property
    def context_gradient(self) -> float | None:
        """The norm over all parameters of the context: its encoder and its sites."""
        parts = [norm for part, norm in self.gradient_norms.items() if part != "base"]
        return math.hypot(*(norm for norm in parts if norm is not None)) if parts and None not in parts else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"difference": self.difference, "context_gradient": self.context_gradient}


def mechanisms(runs: Sequence[str]) -> dict[str, Mechanism]:
    """Of run or result folders, NAME=FOLDER or FOLDER alone: then its path without what all have in common."""
    parts = [text.partition("=") for text in runs]
    paths = [Path(place if equals else name).absolute() for name, equals, place in parts]
    shared = os.path.commonpath([path.parent for path in paths])
    found: dict[str, Mechanism] = {}
    for (name, equals, _), path in zip(parts, paths, strict=True):
        file = next((path / file for file in FILES if (path / file).is_file()), None)
        if file is None:
            raise DocgraphError(f"there is no {FILES[0]} here; name a run folder or a result folder", path=path)
        label = name if equals else os.path.relpath(path, shared)
        if label in found:
            raise DocgraphError(f"the name '{label}' is taken; name this run by NAME=FOLDER", path=path)
        found[label] = Mechanism.of(read_metrics(file))
    return found


def mechanism_grid(found: dict[str, Mechanism]) -> Grid:
    """A row a run."""
    stacks = list(dict.fromkeys(stack for one in found.values() for stack in one.gates))
    head = ["run", "update", "dev NLL", "wrong context", "wrong − own", "context gradient"]
    rows = [[*head, *(f"{stack} gates" for stack in stacks)]]
    for name, one in found.items():
        numbers = (
            (one.nll, ".4f"),
            (one.wrong_context_nll, ".4f"),
            (one.difference, "+.4f"),
            (one.context_gradient, ".3g"),
        )
        cells = ["-" if value is None else format(value, form) for value, form in numbers]
        gates = [" ".join(f"{gate:.3f}" for gate in one.gates.get(stack, [])) or "-" for stack in stacks]
        rows.append([name, "-" if one.update is None else f"{one.update:,}", *cells, *gates])
    return rows
