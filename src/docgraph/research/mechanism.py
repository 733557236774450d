"""Whether a system uses its context, from the metrics of its run: gates, gradients, and the wrong context's loss."""

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
"""The metrics in run folders, and in result folders."""


@dataclass(frozen=True)
class Mechanism:
    """The last logged values of a run; None or empty for a system without context."""

    update: int | None
    """The update of the last validation."""
    nll: float | None
    wrong_context_nll: float | None
    gates: dict[str, list[float]]
    """The gate of each layer with context attention, by stack; 1 lets no context in."""
    gradient_norms: dict[str, float | None]
    """By part of the model, of the last logged update."""

    @classmethod
    def from_records(cls, records: Sequence[Record]) -> Mechanism:
        """Returns the values of the last train record and the last validation record."""
        last: dict[str, Record] = {record["kind"]: record for record in records}
        validation, train = last.get("validation", {}), last.get("train", {})
        losses = validation.get("step"), validation.get("nll"), validation.get("wrong_context_nll")
        return cls(*losses, validation.get("gates", {}), train.get("gradient_norms", {}))

    @property
    def difference(self) -> float | None:
        """The loss with the context of another document minus that with its own; 0 if context is not used."""
        return None if self.nll is None or self.wrong_context_nll is None else self.wrong_context_nll - self.nll

    @property
    def context_gradient(self) -> float | None:
        """The gradient norm over all parameters of the context: its encoder and its attentions."""
        norms = [norm for part, norm in self.gradient_norms.items() if part != "base"]
        return math.hypot(*(norm for norm in norms if norm is not None)) if norms and None not in norms else None

    def to_json(self) -> dict[str, Any]:
        """Returns all values."""
        return asdict(self) | {"difference": self.difference, "context_gradient": self.context_gradient}


def read_mechanisms(runs: Sequence[str]) -> dict[str, Mechanism]:
    """Returns the values of runs by name, from NAME=FOLDER or FOLDER of runs or results.

    The name of a plain FOLDER is its path below the common parent.
    """
    parts = [text.partition("=") for text in runs]
    paths = [Path(folder if equals else name).absolute() for name, equals, folder in parts]
    parent = os.path.commonpath([path.parent for path in paths])
    mechanisms: dict[str, Mechanism] = {}
    for (name, equals, _), path in zip(parts, paths, strict=True):
        file = next((path / file for file in FILES if (path / file).is_file()), None)
        if file is None:
            raise DocgraphError(f"there is no {FILES[0]} here; name a run folder or a result folder", path=path)
        label = name if equals else os.path.relpath(path, parent)
        if label in mechanisms:
            raise DocgraphError(f"the name '{label}' is taken; name this run by NAME=FOLDER", path=path)
        mechanisms[label] = Mechanism.from_records(read_metrics(file))
    return mechanisms


def mechanism_grid(mechanisms: dict[str, Mechanism]) -> Grid:
    """Returns a table with a row per run."""
    stacks = list(dict.fromkeys(stack for one in mechanisms.values() for stack in one.gates))
    head = ["run", "update", "dev NLL", "wrong context", "wrong − own", "context gradient"]
    rows = [[*head, *(f"{stack} gates" for stack in stacks)]]
    for name, one in mechanisms.items():
        numbers = (
            (one.update, ","),
            (one.nll, ".4f"),
            (one.wrong_context_nll, ".4f"),
            (one.difference, "+.4f"),
            (one.context_gradient, ".3g"),
        )
        cells = ["-" if value is None else format(value, form) for value, form in numbers]
        gates = [" ".join(f"{gate:.3f}" for gate in one.gates.get(stack, [])) or "-" for stack in stacks]
        rows.append([name, *cells, *gates])
    return rows
