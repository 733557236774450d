"""Breakdowns as pictures (PNG, SVG or PDF by the name of the file), their data beside them as JSON and CSV."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.breakdown import Breakdown
from docgraph.files import replacing

SUFFIXES = (".png", ".svg", ".pdf")
COLOURS = ("#4269d0", "#ff725c", "#3ca951", "#a463f2", "#9c6b4e", "#6cc5b0", "#ff8ab7", "#97bbf5")
INK, GREY = "#333333", "#d4d4d0"


def check_plot_path(path: Path) -> None:
    """Fail before the work, and not after it."""
    if path.suffix.lower() not in SUFFIXES:
        raise DocgraphError(f"a picture is one of {', '.join(SUFFIXES)} by its name; choose another", path=path)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise DocgraphError("plots need matplotlib, which is not installed; pip install 'docgraph[plots]'") from None


def write_plot(part: Breakdown, path: Path, *, lines: bool = False) -> list[Path]:
    """The picture STEM-NAME.SUFFIX of a breakdown, and the same name in .json and .csv; the files written.

    With `lines`, the points of a system are joined: buckets are steps of one quantity.
    """
    picture = path.with_stem(f"{path.stem}-{part.name}")
    data, rows = picture.with_suffix(".json"), picture.with_suffix(".csv")
    with replacing(picture) as temporary:
        _draw(part, temporary, picture.suffix.lower().removeprefix("."), lines)
    with replacing(data) as temporary:
        temporary.write_text(json.dumps(part.to_json(), ensure_ascii=False, indent=1) + "\n", "utf-8")
    with replacing(rows) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["system", part.axis, part.metric, "from", "to", part.counted])
        for system, values in part.values.items():
            ends = [pair or (None, None) for pair in part.intervals[system]]
            for label, value, pair, count in zip(part.labels, values, ends, part.counts[system], strict=True):
                writer.writerow([system, label, value, *pair, count])
    return [picture, data, rows]


def _draw(part: Breakdown, path: Path, form: str, lines: bool) -> None:
    """Points with intervals above, how much each bucket holds below; systems side by side within a bucket."""
    import matplotlib
    from matplotlib.figure import Figure

    style: Any = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "docgraph", "font.size": 9}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(max(5.0, 0.9 * len(part.labels) + 1.5), 4.2), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        width = 0.7 / len(part.values)
        for number, system in enumerate(part.values):
            shift = (number - (len(part.values) - 1) / 2) * width
            kept = [place for place, value in enumerate(part.values[system]) if value is not None]
            places = [place + shift for place in kept]
            points = [place + shift / 4 for place in kept] if lines else places  # a line leans where its points do
            colour = COLOURS[number % len(COLOURS)]
            heights = [part.values[system][place] or 0.0 for place in kept]
            look: Any = {"fmt": "o-" if lines else "o", "ms": 5, "capsize": 2, "lw": 1.2, "color": colour}
            above.errorbar(points, heights, _bars(part, system, kept), label=system, **look)
            below.bar(places, [part.counts[system][place] for place in kept], 0.9 * width, color=colour, alpha=0.45)
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


def _bars(part: Breakdown, system: str, places: list[int]) -> list[list[float]]:
    """How far the interval of each bucket reaches below and above its value."""
    reach: list[list[float]] = [[], []]
    for place in places:
        value, ends = part.values[system][place] or 0.0, part.intervals[system][place]
        reach[0].append(max(value - ends[0], 0.0) if ends is not None else 0.0)
        reach[1].append(max(ends[1] - value, 0.0) if ends is not None else 0.0)
    return reach
