"""Draw the pictures of docs/results from stored runs and from the tables of the pages.

    python scripts/plot_results.py                     # all pictures, to docs/images; needs docgraph[plots]
    python scripts/plot_results.py main pairs -o /tmp  # some of them, to another folder

Differences in BLEU come from results/NAME with the middle 95% of 1,000 resamples of documents. Pictures of pages whose
runs are not stored are drawn from the tables of the pages, so that a picture and its table cannot differ.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from docgraph.evaluation.plots import GREY, INK
from docgraph.evaluation.significance import confidence_interval, resample
from docgraph.files import replacing
from docgraph.research.experiment import Experiment
from docgraph.research.rendered_table import RenderedTable
from docgraph.research.run_results import PooledScore
from docgraph.research.table_config import find_table

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "results"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9")
"""Okabe and Ito's colours, which colour-blind readers can tell apart; markers differ, too."""
MARKERS = ("o", "s", "^", "D", "v")
STYLE: dict[str, Any] = {
    "text.parse_math": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "docgraph",
    "font.size": 9,
    "font.family": "DejaVu Sans",
}
SAMPLES = 1000


@dataclass(frozen=True)
class Points:
    """The values of a series, one for each label of an axis, with intervals where they are known."""

    values: list[float | None]
    intervals: list[tuple[float, float] | None] = field(default_factory=list)


def number(cell: str) -> float | None:
    """Returns the number that a cell of a table begins with; None if it begins with none."""
    found = re.match(r"[+-]?[\d,]*\.?\d+", cell.strip("* ").replace("−", "-"))
    return float(found[0].replace(",", "")) if found else None


def read_table(page: str, *columns: str) -> dict[str, list[str]]:
    """Returns the cells of the first table of a page that has these columns, by the first cell of their row."""
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        for line in (PAGES / page).read_text("utf-8").splitlines()
    ]
    for place, head in enumerate(rows):
        if set(columns) <= set(head):
            end = rows.index([], place)
            indices = [head.index(column) for column in columns]
            return {row[0].strip("* "): [row[index] for index in indices] for row in rows[place + 2 : end]}
    raise SystemExit(f"{page} has no table with the columns {', '.join(columns)}")


def differences(table: RenderedTable, role: str, set_name: str, names: Sequence[str]) -> Points:
    """Returns BLEU minus that of the row of a role, over their common seeds, with intervals over documents."""
    other = table.compared_row(role, set_name)
    values: list[float | None] = []
    intervals: list[tuple[float, float] | None] = []
    for name in names:
        pair = table.results[name].common_seeds(other, set_name) if other else ()
        scores = [PooledScore.from_scores("bleu", set_name, [*one.scores.values()]) for one in pair]
        if len(scores) < 2 or scores[0] is None or scores[1] is None:
            values.append(None)
            intervals.append(None)
            continue
        ours, theirs = (one.score("bleu", set_name) for one in pair)
        draws = [resample(score.statistics, score.scorer, SAMPLES) for score in scores if score is not None]
        values.append(statistics.mean(ours) - statistics.mean(theirs))
        intervals.append(confidence_interval(draws[0] - draws[1]))
    return Points(values, intervals)


def draw_rows(axes: Axes, labels: Sequence[str], series: Mapping[str, Points], *, zero: bool = True) -> None:
    """Draws series as points on one line per label, the first label on top."""
    for index, (name, points) in enumerate(series.items()):
        shift = (index - (len(series) - 1) / 2) * min(0.2, 0.8 / len(series))
        colour, marker = COLOURS[index % len(COLOURS)], MARKERS[index % len(MARKERS)]
        for place, value in enumerate(points.values):
            interval = points.intervals[place] if points.intervals else None
            if value is not None and interval is not None:
                axes.plot(interval, [place + shift] * 2, color=colour, lw=1.4, alpha=0.6)
        known = [(value, place + shift) for place, value in enumerate(points.values) if value is not None]
        axes.plot(*zip(*known, strict=True), marker, color=colour, ms=5.5, label=name) if known else None
    if zero:
        axes.axvline(0, color=INK, lw=0.8)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(axis="both", color=GREY, lw=0.6)
    finish(axes)


def finish(axes: Axes) -> None:
    """Removes what distracts from the data."""
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)


def legend(figure: Figure, axes: Axes) -> None:
    """Puts the legend of a panel above the figure."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=4 if len(labels) <= 4 else 3, loc="outside upper left")


def rendered(name: str) -> RenderedTable:
    """Returns a table of `docgraph experiment` with its stored results."""
    return RenderedTable(Experiment(find_table(name)))


def main_table() -> Figure:
    """BLEU minus that of the control on Europarl, on Europarl with earlier translations known, and on TED."""
    table = rendered("main")
    left_out = ("base_continued", "pointer_trained")  # the control itself, and a row three BLEU below all others
    names = [name for name, row in table.results.items() if row.score("bleu", "test") and name not in left_out]
    labels = [table.results[name].row.label for name in names]
    figure = Figure(figsize=(9, 5.6), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    titles = {"test": "Europarl", "test_known": "Europarl, earlier translations known", "ted": "TED tst2010"}
    for axes, (set_name, title) in zip(panels, titles.items(), strict=True):
        draw_rows(axes, labels, {"": differences(table, "control", set_name, names)})
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("BLEU minus control")
    return figure


def paper_ablations() -> Figure:
    """BLEU minus that of Base for the settings of the paper's ablations, ours beside the paper's."""
    names = ("relations", "tfidf", "sides")
    tables = {name: rendered(name) for name in names}
    labels, ours, intervals, paper = list[str](), list[float | None](), list[Any](), list[float | None]()
    for name, table in tables.items():
        rows = [row for row in table.results if table.results[row] is not table.base]
        points = differences(table, "base", "test", rows)
        labels += [f"{name}: {table.results[row].row.label}".replace(" (", "\n(") for row in rows]
        ours += points.values
        intervals += points.intervals
        column = [column.measure for column in table.table.columns].index("delta")
        paper += [table.values[row][column].paper for row in rows]
    figure = Figure(figsize=(7.5, 5.2), layout="constrained")
    axes = figure.subplots()
    draw_rows(axes, labels, {"here (95% over documents)": Points(ours, intervals), "paper": Points(paper)})
    axes.set_xlabel("BLEU minus Base")
    legend(figure, axes)
    return figure


def language_pairs() -> Figure:
    """BLEU minus that of Base for each language pair, ours beside the paper's, for the rows that were translated."""
    tables = {name: rendered(name) for name in ("en-de", "en-ru", "zh-en")}
    first = tables["en-de"]
    common = [row for row in first.results if all(row in table.results for table in tables.values())]
    measured = [differences(table, "base", "test", common).values for table in tables.values()]
    rows = [
        row
        for row, *values in zip(common, *measured, strict=True)
        if any(value is not None for value in values) and first.results[row] is not first.base
    ]
    labels = [first.results[row].row.label for row in rows]
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (name, table) in zip(panels, tables.items(), strict=True):
        column = [column.measure for column in table.table.columns].index("delta")
        paper = Points([table.values[row][column].paper for row in rows])
        series = {"here (95% over documents)": differences(table, "base", "test", rows), "paper": paper}
        draw_rows(axes, labels, series)
        axes.set_title(name, fontsize=9)
        axes.set_xlabel("BLEU minus Base")
    legend(figure, panels[0])
    return figure


def consistency() -> Figure:
    """Accuracy on Voita's suites for each English-Russian system that was probed, ours beside the paper's."""
    table = rendered("en-ru")
    places = {
        column.of: place
        for place, column in enumerate(table.table.columns)
        if column.measure == "accuracy" and not column.against
    }
    rows = [row for row in table.results if table.values[row][places["deixis"]].value is not None]
    labels = [table.results[row].row.label for row in rows]
    figure = Figure(figsize=(9, 4.4), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (name, title) in zip(panels, {"deixis": "deixis", "cohesion": "lexical cohesion"}.items(), strict=True):
        cells = [table.values[row][places[name]] for row in rows]
        series = {"here": Points([cell.value for cell in cells]), "paper": Points([cell.paper for cell in cells])}
        draw_rows(axes, labels, series, zero=False)
        axes.axvline(cells[0].value or 0.0, color=INK, lw=0.8, ls="--")
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("accuracy, %")
    legend(figure, panels[0])
    return figure


def table_rows(page: str, columns: Mapping[str, str], unit: str, without: Sequence[str] = ()) -> Figure:
    """Returns the columns of a page's table as points, a line per row; `columns` maps headings to names of series."""
    table = {name: cells for name, cells in read_table(page, *columns).items() if name not in without}
    labels = [name.replace("*", "").split(" (")[0].rstrip() for name in table]
    series = {
        name: Points([number(cells[index]) for cells in table.values()]) for index, name in enumerate(columns.values())
    }
    figure = Figure(figsize=(7.5, 0.9 + 0.35 * len(labels)), layout="constrained")
    axes = figure.subplots()
    draw_rows(axes, labels, series, zero=False)
    axes.set_xlabel(unit)
    legend(figure, axes)
    return figure


def pronouns() -> Figure:
    """Accuracy on the pronoun suites by training run; the dashed line is chance on Bawden's sets."""
    columns = {
        "Bawden anaphora": "Bawden, anaphora",
        "Bawden coherence": "Bawden, coherence",
        "macro over pronouns": "ContraPro, mean over pronouns",
    }
    figure = table_rows("pronouns.md", columns, "accuracy, %", without=["paper"])
    figure.axes[0].axvline(50, color=INK, lw=0.8, ls="--")
    return figure


def cues() -> Figure:
    """BLEU of ways to translate subtitles."""
    return table_rows("cues.md", {"joined text": "joined text", "cues": "cues"}, "BLEU")


def dialogue() -> Figure:
    """BLEU on lines with *you* if formality is known, minus that of the first translations."""
    columns = {"written, lines with *you*": "written documents", "Wesnoth, lines with *you*": "Wesnoth dialogue"}
    first, *rows = read_table("dialogue.md", *columns).items()
    series = {}
    for index, name in enumerate(columns.values()):
        base = number(first[1][index]) or 0.0
        bounds = [re.findall(r"[+-]\d+\.\d+", cells[index].replace("−", "-")) for _, cells in rows]
        values = [(number(cells[index]) or 0.0) - base for _, cells in rows]
        series[name] = Points([*values], [(float(low), float(high)) for low, high in bounds])
    figure = Figure(figsize=(7.5, 2.4), layout="constrained")
    axes = figure.subplots()
    draw_rows(axes, [name for name, _ in rows], series)
    axes.set_xlabel("BLEU minus first translations, lines with you")
    legend(figure, axes)
    return figure


def known_translations() -> Figure:
    """BLEU by the number of linked sentences that the pointer reads, and by who chose eight of them."""
    table = {name: number(cells[0]) for name, cells in read_table("known-translations.md", "BLEU", "Δ BLEU").items()}
    linked = {0: "Base", **{n: f"{n} linked" for n in (1, 2, 4)}, 8: "8 linked by all relations", 16: "16 linked"}
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    axes = figure.subplots()
    values = [table[name] for name in linked.values()]
    axes.plot(range(len(linked)), values, "o-", color=COLOURS[0], label="linked by the graph")
    others = {"8 linked by coreference": "linked by coreference alone", "the 8 nearest sentences": "the nearest"}
    for index, (name, label) in enumerate(others.items(), start=1):
        axes.plot([list(linked).index(8)], [table[name]], MARKERS[index], color=COLOURS[index], ms=7, label=label)
    axes.set_xticks(range(len(linked)), [str(count) for count in linked])
    axes.set_xlabel("earlier sentences whose references the pointer reads")
    axes.set_ylabel("BLEU, Europarl test")
    axes.grid(axis="y", color=GREY, lw=0.6)
    finish(axes)
    legend(figure, axes)
    return figure


def shipped_model() -> Figure:
    """BLEU of the training runs of the embedded model on its test sets."""
    runs = ("first run", "second trial", "third run", "fourth run", "fifth run")
    return table_rows("shipped-model.md", {run: run for run in runs}, "BLEU")


def reranking() -> Figure:
    """BLEU of oracles over n-best translations minus that of the first translation, by test set."""
    choices = ("oracle", "other words", "linked words", "linked words, as elsewhere", "more consistent, no oracle")
    files = sorted((ROOT / "results" / "n_best").glob("*.json"))
    parts = {path.stem: json.loads(path.read_text("utf-8")) for path in files}
    series = {choice: Points([], []) for choice in choices}
    for part in parts.values():
        [values], [intervals] = part["values"].values(), part["intervals"].values()
        places = {label: place for place, label in enumerate(part["labels"])}
        first = values[places["beam 16"]]
        for choice, points in series.items():
            place = places[choice]
            points.values.append(values[place] - first)
            points.intervals.append((intervals[place][0] - first, intervals[place][1] - first))
    figure = Figure(figsize=(7.5, 1.1 + 0.6 * len(parts)), layout="constrained")
    axes = figure.subplots()
    draw_rows(axes, list(parts), series)
    axes.set_xlabel("BLEU minus the first of 16 translations")
    legend(figure, axes)
    return figure


PICTURES: dict[str, Callable[[], Figure]] = {
    "main": main_table,
    "paper": paper_ablations,
    "pairs": language_pairs,
    "consistency": consistency,
    "pronouns": pronouns,
    "cues": cues,
    "dialogue": dialogue,
    "known": known_translations,
    "shipped": shipped_model,
    "reranking": reranking,
}


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="*", choices=[*PICTURES, []], help="names of pictures (default: all)")
    parser.add_argument("-o", "--out", type=Path, default=ROOT / "docs" / "images", help="folder to write to")
    parser.add_argument("--format", choices=["svg", "png"], default="svg")
    arguments = parser.parse_args()
    with matplotlib.rc_context(STYLE):
        for name in arguments.pictures or PICTURES:
            path = arguments.out / f"results-{name}.{arguments.format}"
            metadata = {"Date": None} if arguments.format == "svg" else None
            with replacing(path) as temporary:
                PICTURES[name]().savefig(temporary, format=arguments.format, dpi=110, metadata=metadata)
            print(path)


if __name__ == "__main__":
    main()
