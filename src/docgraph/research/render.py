"""A table of what the runs left behind, the paper's figures beside ours; what is missing is a dash."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from docgraph.evaluation.report import Grid, markdown_table
from docgraph.evaluation.significance import Significance
from docgraph.research.results import SCORES, SIGNATURE, SUITES
from docgraph.research.runner import Experiment
from docgraph.research.scoring import Pooled
from docgraph.research.tables import PLAIN, SCORED, Column, Row

DASH = "-"
AGAINST = {"base": "Base", "control": "control", "baseline": "best baseline"}
LABELS = {
    "bleu": "BLEU",
    "d-bleu": "d-BLEU",
    "chrf": "chrF2",
    "ltcr": "LTCR",
    "delta": "Δ BLEU",
    "p": "p",
    "nll": "dev NLL",
    "wrong-nll": "dev NLL, wrong context",
    "parameters": "added, M",
    "speed": "speed",
    "minutes": "minutes",
}


@dataclass(frozen=True)
class Value:
    """A number of a row: the mean over its seeds, their standard deviation, and the paper's."""

    value: float | None
    spread: float | None = None
    paper: float | None = None
    seeds: tuple[float, ...] = ()
    """Of each seed."""


@dataclass(frozen=True, eq=False)
class Found:
    """What the runs of a row left behind, by seed."""

    row: Row
    signatures: dict[int, dict[str, Any]] = field(default_factory=dict)
    scores: dict[int, dict[str, Any]] = field(default_factory=dict)
    suites: dict[int, dict[str, Any]] = field(default_factory=dict)

    def scored(self, measure: str, name: str) -> list[float]:
        """A measure of each seed."""
        return [seed[name][measure]["value"] for seed in self.scores.values() if measure in seed.get(name, {})]

    def beside(self, other: Found, name: str) -> tuple[Found, Found]:
        """Both, of the seeds whose translations of a set both have scored: a seed is that of the Base beneath, too."""
        both = [s for s, one in self.scores.items() if name in one and name in other.scores.get(s, {})]
        ours, theirs = (replace(found, scores={s: found.scores[s] for s in both}) for found in (self, other))
        return ours, theirs


class Rendered:
    """A table with its values."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.table = experiment, experiment.table
        self.found = {row.name: self._read(row) for row in self.table.config.rows}
        self.values = {
            name: [self._value(column, found) for column in self.table.columns] for name, found in self.found.items()
        }

    def _read(self, row: Row) -> Found:
        found = Found(row)
        for cell in self.table.cells([row]):
            folder = self.experiment.folder(cell)
            for name, place in ((SIGNATURE, found.signatures), (SCORES, found.scores), (SUITES, found.suites)):
                if values := folder.read(name):
                    place[cell.seed] = values
        return found

    @cached_property
    def base(self) -> Found:
        return self.found[self.table.of_role("base")[0].name]

    def against(self, role: str, name: str) -> Found | None:
        """The row that others are compared with: the one of the role or, of several, the one of the best BLEU."""
        rows = [found for row in self.table.of_role(role) if (found := self.found[row.name]).scored("bleu", name)]
        return max(rows, key=lambda found: statistics.mean(found.scored("bleu", name)), default=None)

    def _value(self, column: Column, found: Found) -> Value:
        paper = getattr(found.row.paper, column.what or column.measure, None)
        measure, name = column.measure, column.what
        if measure in SCORED:
            return _mean(found.scored(measure, name), paper if measure == "bleu" else None)
        if measure == "accuracy":
            return _mean([seed[name]["accuracy"] for seed in found.suites.values() if name in seed], paper)
        if measure == "delta":
            printed = self.base.row.paper
            ours, base = (one.scored("bleu", name) for one in found.beside(self.base, name))
            known = found is not self.base and ours
            theirs = getattr(printed, name, None)
            gain = None if paper is None or theirs is None or found is self.base else paper - theirs
            return Value(statistics.mean(ours) - statistics.mean(base) if known else None, None, gain)
        if measure == "p":
            return Value(self._p_value(column, found))
        told = _mean(list(self._told(measure, found)), paper)
        return told if measure in ("nll", "wrong-nll") else replace(told, spread=None)

    def _p_value(self, column: Column, found: Found) -> float | None:
        other = self.against(column.against, column.what)
        if other is None or other is found:
            return None
        both = found.beside(other, column.what)
        pooled = [Pooled.of("bleu", column.what, list(one.scores.values())) for one in both]
        return None if pooled[0] is None or pooled[1] is None else pooled[0].p_value(pooled[1])

    def _told(self, measure: str, found: Found) -> Iterable[float]:
        """What the runs themselves told."""
        base: dict[str, list[float]] = {}
        for seed in self.base.signatures.values():
            if seed["tokens_per_second"] is not None:
                base.setdefault(seed["hardware"], []).append(seed["tokens_per_second"])

        def speed(seed: Mapping[str, Any]) -> float | None:
            there, here = base.get(seed["hardware"]), seed["tokens_per_second"]  # another machine says nothing
            return here / statistics.mean(there) if there and here is not None else None

        values: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
            "nll": lambda seed: seed["nll"],
            "wrong-nll": lambda seed: seed["wrong_context_nll"],
            "parameters": lambda seed: seed["added"] / 1e6,
            "speed": speed,
            "minutes": lambda seed: seed["seconds"] / 60,
        }
        return (value for seed in found.signatures.values() if (value := values[measure](seed)) is not None)

    def heading(self, column: Column) -> str:
        if column.measure in PLAIN:
            return LABELS[column.measure]
        config = self.table.config
        labels = {one.name: one.label or one.name for one in config.sets}
        labels |= {suite.name: suite.label or suite.name for suite in config.suites}
        if column.measure == "accuracy":
            return labels[column.what]
        several = len(self.table.sets()) > 1
        text = LABELS[column.measure] + (f" {labels[column.what]}" if several else "")
        if column.measure != "p":
            return text
        best = self.against(column.against, column.what)
        several = len(self.table.of_role(column.against)) > 1
        return f"{text} vs {AGAINST[column.against]}" + (f" ({best.row.label})" if several and best else "")

    def grid(self) -> Grid:
        """A row a system; the paper's figure to the right of ours wherever it prints one."""
        columns = list(enumerate(self.table.columns))
        printed = {index for index, _ in columns for values in self.values.values() if values[index].paper is not None}
        head = [[self.heading(column), *(["paper"] if index in printed else [])] for index, column in columns]
        rows = [["system", *(cell for cells in head for cell in cells), "seeds"]]
        for name, values in self.values.items():
            cells: list[str] = []
            for index, column in columns:
                cells.append(_number(values[index].value, column, values[index].spread))
                cells += [_number(values[index].paper, column)] if index in printed else []
            found = self.found[name]
            rows.append([found.row.label, *cells, str(len(found.signatures)) if found.signatures else DASH])
        return rows

    def notes(self) -> list[str]:
        """Sizes, how systems were compared, and the machines."""
        lines = []
        for one in self.table.sets():
            sizes = {
                (s[one.name]["sentences"], s[one.name]["documents"])
                for f in self.found.values()
                for s in f.scores.values()
                if one.name in s
            }
            lines += [f"{one.label or one.name}: {a:,} sentences in {b:,} documents" for a, b in sorted(sizes)]
        if any(column.measure == "p" for column in self.table.columns):
            test = Significance("", unit="document")
            lines.append(
                f"p: of the difference in BLEU, paired bootstrap over documents ({test.samples:,} samples, seed "
                f"{test.seed}); of systems with several seeds, those that both have, the counts of a document summed"
            )
        if any(len(found.signatures) > 1 for found in self.found.values()):
            lines.append("over several seeds: mean ± standard deviation; Δ between runs of the same seeds")
        if any(column.measure == "speed" for column in self.table.columns):
            lines.append("speed: training tokens a second, relative to Base on the same hardware")
        changed = [self.experiment.changed(cell) for cell in self.table.cells()]
        return [*lines, *self._machines(), *filter(None, changed)]

    def _machines(self) -> list[str]:
        runs = [seed for found in self.found.values() for seed in found.signatures.values()]
        if not runs:
            return []
        hours = sum(run["seconds"] for run in runs) / 3600
        places = ", ".join(sorted({run["hardware"] for run in runs}))
        versions = ", ".join(sorted({f"docgraph {run['docgraph']}, torch {run['torch']}" for run in runs}))
        return [f"{len(runs)} runs, {hours:.2f} hours of training on {places}; {versions}"]

    def signatures(self) -> list[str]:
        """Those of all scores and accuracies, each once; what a probe says of its model is left out."""
        found: list[str] = []
        for row in self.found.values():
            scores = [seed[name] for seed in row.scores.values() for name in seed]
            found += [one[measure]["signature"] for one in scores for measure in SCORED if measure in one]
            probes = [seed[name]["signature"] for seed in row.suites.values() for name in seed]
            found += ["|".join(part for part in one.split("|") if not part.startswith("model:")) for one in probes]
        return list(dict.fromkeys(found))

    def markdown(self) -> str:
        lines = [f"**{self.table.config.title}**", "", *markdown_table(self.grid()), ""]
        lines += [f"{note}  " for note in self.notes()]
        return "\n".join([*lines, "", *(f"- `{line}`" for line in self.signatures())]).rstrip() + "\n"

    def to_json(self) -> dict[str, Any]:
        """Everything, numbers unrounded."""
        names = self.table.config.columns
        rows = {
            name: {
                "label": self.found[name].row.label,
                "values": {column: asdict(value) for column, value in zip(names, values, strict=True)},
                "seeds": list(self.found[name].signatures.values()),
            }
            for name, values in self.values.items()
        }
        return {
            "table": self.table.name,
            "title": self.table.config.title,
            "rows": rows,
            "notes": self.notes(),
            "signatures": self.signatures(),
        }


def _mean(values: list[float], paper: float | None) -> Value:
    if not values:
        return Value(None, None, paper)
    spread = statistics.stdev(values) if len(values) > 1 else None
    return Value(statistics.mean(values), spread, paper, tuple(values))


def _number(value: float | None, column: Column, spread: float | None = None) -> str:
    if value is None:
        return DASH
    sign = "+" if column.measure == "delta" else ""
    text = f"{value:{sign}.{column.digits}f}"
    return text if spread is None else f"{text} ±{spread:.{column.digits}f}"
