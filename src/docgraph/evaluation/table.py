"""A report as text for a terminal, as Markdown, as LaTeX: systems in rows, metrics in columns, signatures below."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from docgraph.evaluation.breakdown import Breakdown
from docgraph.evaluation.metrics import Score
from docgraph.evaluation.report import Report

if TYPE_CHECKING:
    from rich.console import RenderableType

Grid = list[list[str]]
"""Rows of cells, the first row being the header."""
LEVELS = ((0.01, "**"), (0.05, "*"))
"""p-values below which a difference to the baseline is marked, and the marks."""
_LATEX = str.maketrans(
    {
        "_": r"\_",
        "%": r"\%",
        "&": r"\&",
        "#": r"\#",
        "$": r"\$",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "\\": r"\textbackslash{}",
        "–": "--",
        "↓": r"$\downarrow$",
        ">": "$>$",
        "|": r"\textbar\allowbreak{}",
        "±": r"$\pm$",
    }
)


def mark(score: Score, same: bool) -> str:
    """Stars where the score differs significantly from the baseline's; none where it is the `same`.

    sacreBLEU, whose p-values these are, gives two equal systems the least p there is.
    """
    if score.p_value is None or same:
        return ""
    return next((stars for level, stars in LEVELS if score.p_value < level), "")


def score_grid(report: Report) -> Grid:
    """Systems by metrics."""
    metrics = {score.metric: f"{score.metric} ↓" if score.lower_is_better else score.metric for score in report.scores}
    test = report.significance
    own = {score.metric: score.value for score in report.scores if test is not None and score.system == test.baseline}
    cells = {
        (score.system, score.metric): f"{score.value:.2f}{mark(score, score.value == own.get(score.metric))}"
        for score in report.scores
    }
    systems = dict.fromkeys(score.system for score in report.scores)
    rows = [[system, *(cells.get((system, metric), "") for metric in metrics)] for system in systems]
    return [["system", *metrics.values()], *rows]


def breakdown_grid(part: Breakdown, *beside: Breakdown) -> Grid:
    """Buckets by systems, and how much each bucket holds; other numbers of the same buckets beside."""

    def cell(one: Breakdown, system: str, bucket: int) -> str:
        value, ends, (digits, rough) = one.values[system][bucket], one.intervals[system][bucket], one.digits
        if value is None:
            return ""
        return f"{value:.{digits}f}" + ("" if ends is None else f" [{ends[0]:.{rough}f}, {ends[1]:.{rough}f}]")

    def count(bucket: int) -> str:
        numbers = sorted({numbers[bucket] for numbers in part.counts.values()})
        return "–".join(f"{number:,}" for number in (numbers if len(numbers) < 2 else (numbers[0], numbers[-1])))

    columns = [(one, system) for one in (part, *beside) for system in one.values]
    rows = [[label, *(cell(*column, k) for column in columns), count(k)] for k, label in enumerate(part.labels)]
    return [[part.axis, *(system for _, system in columns), part.counted], *rows]


def legend(report: Report) -> list[str]:
    """Lines below the table: sizes, marks, notes, and the signature of each number."""
    lines = [f"{report.sentences:,} sentences in {report.documents:,} documents"]
    test = report.significance
    if test is not None:
        marks = ", ".join(f"{stars} p < {level:g}" for level, stars in reversed(LEVELS))
        kind = "paired bootstrap" if test.test == "bootstrap" else "approximate randomisation"
        lines.append(f"against {test.baseline}: {marks} ({kind})")
    return [*lines, *report.notes]


def signatures(report: Report) -> list[tuple[str, str]]:
    """(metric, signature) of every column."""
    return list({score.metric: score.signature for score in report.scores}.items())


def title(part: Breakdown) -> str:
    return f"{part.metric} by {part.axis}"


def text(report: Report) -> list[RenderableType]:
    """What a terminal shows."""
    from rich.text import Text

    parts: list[RenderableType] = [text_table(score_grid(report))] if report.scores else []
    parts += [Text(line) for line in legend(report)]
    parts += [Text(f"{metric}|{signature}", style="dim") for metric, signature in signatures(report)]
    for part in report.breakdowns:
        parts += [text_table(breakdown_grid(part), title(part)), Text(f"{part.metric}|{part.signature}", style="dim")]
    return parts


def text_table(grid: Grid, heading: str | None = None) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    made = Table(title=heading, title_justify="left")
    for index, name in enumerate(grid[0]):
        made.add_column(Text(name), justify="left" if index == 0 else "right", no_wrap=True)
    for row in grid[1:]:
        made.add_row(*(Text(cell) for cell in row))
    return made


def markdown(report: Report) -> str:
    """Tables in the Markdown of GitHub."""
    lines = markdown_table(score_grid(report)) if report.scores else []
    lines += ["", *(line.replace("*", r"\*") + "  " for line in legend(report)), ""]
    lines += [f"- `{metric}|{signature}`" for metric, signature in signatures(report)]
    for part in report.breakdowns:
        lines += ["", f"**{title(part)}**", "", *markdown_table(breakdown_grid(part)), ""]
        lines += [f"- `{part.metric}|{part.signature}`"]
    return "\n".join(lines) + "\n"


def markdown_table(grid: Grid) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|").replace("*", r"\*") for cell in cells) + " |"

    rule = "|" + "|".join(["---", *["---:"] * (len(grid[0]) - 1)]) + "|"
    return [line(grid[0]), rule, *map(line, grid[1:])]


def latex(report: Report) -> str:
    """Tables with booktabs; signatures below each."""
    parts = []
    if report.scores:
        below = [*legend(report), *(f"{metric}|{signature}" for metric, signature in signatures(report))]
        parts.append(_latex_table(score_grid(report), "", below))
    for part in report.breakdowns:
        parts += [_latex_table(breakdown_grid(part), title(part), [f"{part.metric}|{part.signature}"])]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(parts)


def _latex_table(grid: Grid, caption: str, below: Sequence[str]) -> str:
    def line(cells: Sequence[str]) -> str:
        escaped = [cell.translate(_LATEX) for cell in cells]
        return (
            " & ".join(
                cell.replace("**", "$^{**}$") if "**" in cell else cell.replace("*", "$^{*}$") for cell in escaped
            )
            + r" \\"
        )

    notes = [rf"{{\footnotesize\ttfamily {one.translate(_LATEX)}\par}}" for one in below]
    body = [r"\toprule", line(grid[0]), r"\midrule", *map(line, grid[1:]), r"\bottomrule"]
    table = [rf"\begin{{tabular}}{{l{'r' * (len(grid[0]) - 1)}}}", *body, r"\end{tabular}"]
    head = [r"\begin{table}", r"\centering", *([rf"\caption{{{caption.translate(_LATEX)}}}"] if caption else [])]
    return "\n".join([*head, *table, *notes, r"\end{table}", ""])
