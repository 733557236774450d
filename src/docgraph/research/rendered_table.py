"""Renders a table from result folders, the paper's figures beside ours; a missing value is a dash."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from docgraph.evaluation.report import Grid, markdown_table
from docgraph.evaluation.significance import Significance
from docgraph.research.experiment import Experiment
from docgraph.research.run_results import SCORES, SIGNATURE, SUITES, PooledScore
from docgraph.research.table_config import RUN_MEASURES, TEXT_MEASURES, Column, Row

DASH, MARK = "-", "†"
ROLE_LABELS = {"base": "Base", "control": "control", "baseline": "best baseline"}
MEASURE_LABELS = {
    "bleu": "BLEU",
    "d-bleu": "d-BLEU",
    "chrf": "chrF2",
    "ltcr": "LTCR",
    "delta": "Δ BLEU",
    "p": "p",
    "update": "update",
    "nll": "dev NLL",
    "wrong-nll": "dev NLL, wrong context",
    "parameters": "added, M",
    "speed": "speed",
    "minutes": "minutes",
}


@dataclass(frozen=True)
class Value:
    """A number of a row: the mean over its seeds, their standard deviation, and the paper's figure."""

    value: float | None
    spread: float | None = None
    paper: float | None = None
    seeds: tuple[float, ...] = ()
    """The value of each seed."""


@dataclass(frozen=True, eq=False)
class RowResults:
    """The results of a row, by seed."""

    row: Row
    signatures: dict[int, dict[str, Any]] = field(default_factory=dict)
    scores: dict[int, dict[str, Any]] = field(default_factory=dict)
    suites: dict[int, dict[str, Any]] = field(default_factory=dict)
    updates: dict[int, int] = field(default_factory=dict)
    """The update of the checkpoint that was translated."""

    def score(self, metric: str, set_name: str) -> list[float]:
        """Returns the score of each seed that has one."""
        return [seed[set_name][metric]["value"] for seed in self.scores.values() if metric in seed.get(set_name, {})]

    def common_seeds(self, other: RowResults, set_name: str) -> tuple[RowResults, RowResults]:
        """Returns both, restricted to the seeds that both have scored; systems of a seed start from the same Base."""
        seeds = [s for s, scores in self.scores.items() if set_name in scores and set_name in other.scores.get(s, {})]
        ours, theirs = (replace(one, scores={s: one.scores[s] for s in seeds}) for one in (self, other))
        return ours, theirs


class RenderedTable:
    """A table with its values."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment, self.table = experiment, experiment.table
        self.results = {row.name: self._read(row) for row in self.table.config.rows}
        self.values = {
            name: [self._value(column, results) for column in self.table.columns]
            for name, results in self.results.items()
        }

    def _read(self, row: Row) -> RowResults:
        results = RowResults(row)
        by_file = {SIGNATURE: results.signatures, SCORES: results.scores, SUITES: results.suites}
        for run in self.table.runs([row]):
            folder = self.experiment.folder(run)
            for name, by_seed in by_file.items():
                if values := folder.read(name):
                    by_seed[run.seed] = values
            if (update := folder.translated_update()) is not None:
                results.updates[run.seed] = update
        return results

    @cached_property
    def base(self) -> RowResults:
        """The results of the `base` row."""
        return self.results[self.table.rows_of_role("base")[0].name]

    def compared_row(self, role: str, set_name: str) -> RowResults | None:
        """Returns the row of a role that others are compared with: the one with the best BLEU."""
        rows = [self.results[row.name] for row in self.table.rows_of_role(role)]
        scored = [results for results in rows if results.score("bleu", set_name)]
        return max(scored, key=lambda results: statistics.mean(results.score("bleu", set_name)), default=None)

    def _value(self, column: Column, results: RowResults) -> Value:
        paper = getattr(results.row.paper, column.of or column.measure, None)
        measure, name = column.measure, column.of
        if measure in TEXT_MEASURES:
            return _mean(results.score(measure, name), paper if measure == "bleu" else None)
        if measure == "accuracy":
            return self._accuracy(column, results, paper)
        if measure == "delta":
            return self._delta(name, results, paper)
        if measure == "p":
            return Value(self._p_value(column, results))
        if measure == "update":
            return replace(_mean([*results.updates.values()], None), spread=None)
        value = _mean(self._run_values(measure, results), paper)
        return value if measure in ("nll", "wrong-nll") else replace(value, spread=None)

    def _accuracy(self, column: Column, results: RowResults, paper: float | None) -> Value:
        """Returns the accuracy on a suite, or on its items of one distance, for which the paper has no figure."""
        suites = [seed[column.of] for seed in results.suites.values() if column.of in seed]
        if not column.against:
            return _mean([suite["accuracy"] for suite in suites], paper)
        counts = [suite["by"].get("distance", {}).get(column.against) for suite in suites]
        return _mean([count["accuracy"] for count in counts if count is not None], None)

    def _delta(self, set_name: str, results: RowResults, paper: float | None) -> Value:
        """Returns the difference in BLEU to Base over their common seeds, and that of the paper."""
        if results is self.base:
            return Value(None)
        ours, base = (one.score("bleu", set_name) for one in results.common_seeds(self.base, set_name))
        paper_base = getattr(self.base.row.paper, set_name, None)
        paper_delta = None if paper is None or paper_base is None else paper - paper_base
        return Value(statistics.mean(ours) - statistics.mean(base) if ours else None, None, paper_delta)

    def _p_value(self, column: Column, results: RowResults) -> float | None:
        other = self.compared_row(column.against, column.of)
        if other is None or other is results:
            return None
        both = results.common_seeds(other, column.of)
        ours, theirs = (PooledScore.from_scores("bleu", column.of, list(one.scores.values())) for one in both)
        return None if ours is None or theirs is None else ours.p_value(theirs)

    def _run_values(self, measure: str, results: RowResults) -> list[float]:
        """Returns a measure of the training run of each seed."""
        base_speeds: dict[str, list[float]] = {}
        for seed in self.base.signatures.values():
            if seed["tokens_per_second"] is not None:
                base_speeds.setdefault(seed["hardware"], []).append(seed["tokens_per_second"])

        def relative_speed(seed: Mapping[str, Any]) -> float | None:
            base, speed = base_speeds.get(seed["hardware"]), seed["tokens_per_second"]
            return speed / statistics.mean(base) if base and speed is not None else None

        functions: dict[str, Callable[[Mapping[str, Any]], float | None]] = {
            "nll": lambda seed: seed["nll"],
            "wrong-nll": lambda seed: seed["wrong_context_nll"],
            "parameters": lambda seed: seed["added"] / 1e6,
            "speed": relative_speed,
            "minutes": lambda seed: seed["seconds"] / 60,
        }
        values = [functions[measure](seed) for seed in results.signatures.values()]
        return [value for value in values if value is not None]

    def heading(self, column: Column) -> str:
        """Returns the heading of a column."""
        if column.measure in RUN_MEASURES:
            return MEASURE_LABELS[column.measure]
        config = self.table.config
        labels = {one.name: one.label or one.name for one in config.sets}
        labels |= {suite.name: suite.label or suite.name for suite in config.suites}
        if column.measure == "accuracy":
            return labels[column.of] + (f", distance {column.against}" if column.against else "")
        text = MEASURE_LABELS[column.measure] + (f" {labels[column.of]}" if len(self.table.sets) > 1 else "")
        if column.measure != "p":
            return text
        best = self.compared_row(column.against, column.of)
        has_choice = len(self.table.rows_of_role(column.against)) > 1
        return f"{text} vs {ROLE_LABELS[column.against]}" + (f" ({best.row.label})" if has_choice and best else "")

    def grid(self) -> Grid:
        """Returns the cells, a row per system, with the paper's figure to the right of ours."""
        columns = list(enumerate(self.table.columns))
        in_paper = {index for index, _ in columns for values in self.values.values() if values[index].paper is not None}
        head = [[self.heading(column), *(["paper"] if index in in_paper else [])] for index, column in columns]
        rows = [["system", *(cell for cells in head for cell in cells), "seeds"]]
        for name, values in self.values.items():
            cells: list[str] = []
            for index, column in columns:
                cells.append(_cell(values[index], column))
                cells += [_number(values[index].paper, column)] if index in in_paper else []
            results = self.results[name]
            label = f"{results.row.label} {MARK}" if results.row.note else results.row.label
            rows.append([label, *cells, str(len(results.signatures)) if results.signatures else DASH])
        return rows

    def notes(self) -> list[str]:
        """Returns the lines below the table: sizes, how systems were compared, marked rows, machines, changes."""
        lines = self._set_sizes()
        measures = {column.measure for column in self.table.columns}
        if "p" in measures:
            test = Significance("", unit="document")
            lines.append(
                f"p: of the difference in BLEU, sacreBLEU's paired bootstrap over documents ({test.samples:,} samples, "
                f"seed {test.seed}): the share of resamples whose absolute difference, less the mean of all absolute "
                "differences, exceeds the difference of the test set; over the common seeds of two systems, the counts "
                "of a document are summed"
            )
        if any(len(results.signatures) > 1 for results in self.results.values()):
            lines.append("several seeds: mean ± standard deviation; Δ is between runs of the same seeds")
        if "update" in measures:
            lines.append("update: of the checkpoint that was translated, the one with the lowest dev loss (by seed)")
        if "speed" in measures:
            lines.append("speed: training tokens per second, relative to Base on the same hardware")
        rows = self.table.config.rows
        lines += [f"{MARK} {row.label}: {row.note}" for row in rows if row.note]
        changes = [self.experiment.describe_config_change(run) for run in self.table.runs()]
        return [*lines, *self._machines(), *filter(None, changes)]

    def _set_sizes(self) -> list[str]:
        lines = []
        for translated in self.table.sets:
            scores = [
                seed[translated.name]
                for results in self.results.values()
                for seed in results.scores.values()
                if translated.name in seed
            ]
            label = translated.label or translated.name
            sizes = sorted({(score["sentences"], score["documents"]) for score in scores})
            lines += [f"{label}: {sentences:,} sentences in {documents:,} documents" for sentences, documents in sizes]
        return lines

    def _machines(self) -> list[str]:
        runs = [seed for results in self.results.values() for seed in results.signatures.values()]
        if not runs:
            return []
        hours = sum(run["seconds"] for run in runs) / 3600
        machines = ", ".join(sorted({run["hardware"] for run in runs}))
        versions = ", ".join(sorted({f"docgraph {run['docgraph']}, torch {run['torch']}" for run in runs}))
        count = f"{len(runs)} run" if len(runs) == 1 else f"{len(runs)} runs"
        return [f"{count}, {hours:.2f} hours of training on {machines}; {versions}"]

    def signatures(self) -> list[str]:
        """Returns the distinct signatures of scores and accuracies; those of accuracies without their models."""
        signatures: list[str] = []
        for results in self.results.values():
            scores = [seed[name] for seed in results.scores.values() for name in seed]
            signatures += [
                score[metric]["signature"] for score in scores for metric in TEXT_MEASURES if metric in score
            ]
            probes = [seed[name]["signature"] for seed in results.suites.values() for name in seed]
            signatures += ["|".join(part for part in one.split("|") if not part.startswith("model:")) for one in probes]
        return list(dict.fromkeys(signatures))

    def markdown(self) -> str:
        """Returns the table, its notes and its signatures as Markdown."""
        lines = [f"**{self.table.config.title}**", "", *markdown_table(self.grid()), ""]
        lines += [f"{note}  " for note in self.notes()]
        return "\n".join([*lines, "", *(f"- `{line}`" for line in self.signatures())]).rstrip() + "\n"

    def to_json(self) -> dict[str, Any]:
        """Returns everything, with unrounded numbers and those of every seed."""
        names = self.table.config.columns
        rows = {
            name: {
                "label": self.results[name].row.label,
                "values": {column: asdict(value) for column, value in zip(names, values, strict=True)},
                "seeds": list(self.results[name].signatures.values()),
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


def _cell(value: Value, column: Column) -> str:
    if column.measure == "update" and value.seeds:
        return ", ".join(dict.fromkeys(f"{update:,}" for update in value.seeds))
    return _number(value.value, column, value.spread)


def _number(value: float | None, column: Column, spread: float | None = None) -> str:
    if value is None:
        return DASH
    sign = "+" if column.measure == "delta" else ""
    text = f"{value:{sign}.{column.digits}f}"
    return text if spread is None else f"{text} ±{spread:.{column.digits}f}"
