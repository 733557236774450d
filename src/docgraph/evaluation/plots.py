"""Plots of breakdowns (PNG, SVG or PDF by file name), with their data as JSON and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.buckets import Breakdown
from docgraph.files import replacing

SUFFIXES = (".png", ".svg", ".pdf")
COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#6cc5b0", "#ff8ab7", "#97bbf5")
INK, GREY = "#333333", "#d4d4d0"


def check_plot_path(path: Path) -> None:
    """Raises a DocgraphError if a plot cannot be written to `path`; call it before the evaluation."""
    if path.suffix.lower() not in SUFFIXES:
        raise DocgraphError(f"a plot is written as {', '.join(SUFFIXES)}; choose one of these suffixes", path=path)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise DocgraphError("plots need matplotlib; run pip install 'docgraph[plots]'") from None


def write_plot(part: Breakdown, path: Path, *, lines: bool = False) -> list[Path]:
    """Writes the plot of a breakdown as STEM-NAME.SUFFIX and its data as .json and .csv; returns the three paths.

    With `lines`, the points of a system are joined.
    """
    plot = path.with_stem(f"{path.stem}-{part.name}")
    data, rows = plot.with_suffix(".json"), plot.with_suffix(".csv")
    with replacing(plot) as temporary:
        _draw(part, temporary, plot.suffix.lower().removeprefix("."), lines)
    with replacing(data) as temporary:
        temporary.write_text(json.dumps(part.to_json(), ensure_ascii=False, indent=1) + "\n", "utf-8")
    with replacing(rows) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system", part.axis, part.metric, "from", "to", part.counted])
        for system, values in part.values.items():
            ends = [pair or (None, None) for pair in part.intervals[system]]
            for label, value, pair, count in zip(part.labels, values, ends, part.counts[system], strict=True):
                writer.writerow([system, label, value, *pair, count])
    return [plot, data, rows]


def _draw(part: Breakdown, path: Path, form: str, lines: bool) -> None:
    """Draws values with intervals above and bucket sizes below, systems side by side within a bucket."""
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "docgraph", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(max(5.0, 0.9 * len(part.labels) + 1.5), 4.2), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        width = 0.7 / len(part.values)
        for number, system in enumerate(part.values):
            shift = (number - (len(part.values) - 1) / 2) * width
            filled = [place for place, value in enumerate(part.values[system]) if value is not None]
            places = [place + shift for place in filled]
            centres = [place + shift / 4 for place in filled] if lines else places  # joined points stay near the tick
            colour = COLOURS[number % len(COLOURS)]
            heights = [part.values[system][place] or 0.0 for place in filled]
            look: Any = {"fmt": "o-" if lines else "o", "ms": 5, "capsize": 2, "lw": 1.2, "color": colour}
            above.errorbar(centres, heights, _error_bars(part, system, filled), label=system, **look)
            below.bar(places, [part.counts[system][place] for place in filled], 0.9 * width, color=colour, alpha=0.45)
        above.set_ylabel(part.metric)
        above.legend(frameon=False, ncols=min(len(part.values), 4), loc="lower left", bbox_to_anchor=(0, 1))
        below.set_ylabel(part.counted.replace(" ", "\n"))
        below.set_xlabel(part.axis)
        below.set_xticks(range(len(part.labels)), part.labels)
        for axes in (above, below):
            axes.grid(axis="y", color=GREY, lw=0.6)
            axes.set_axisbelow(True)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=INK)
        metadata = {"Date": None} if form == "svg" else None
        figure.savefig(path, format=form, dpi=160, metadata=metadata)


def _error_bars(part: Breakdown, system: str, places: list[int]) -> list[list[float]]:
    """Returns [2][buckets]: the reach of the interval below and above the value of each bucket in `places`."""
    reach: list[list[float]] = [[], []]
    for place in places:
        value, ends = part.values[system][place] or 0.0, part.intervals[system][place]
        reach[0].append(max(value - ends[0], 0.0) if ends is not None else 0.0)
        reach[1].append(max(ends[1] - value, 0.0) if ends is not None else 0.0)
    return reach
