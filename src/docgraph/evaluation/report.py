"""A whole evaluation: scores of all systems and breakdowns, and their tables as text, Markdown or LaTeX.

Tables have systems in rows and metrics in columns, with the signature of every metric below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from docgraph.errors import DocgraphError
from docgraph.evaluation.alignment import BitextAnnotator, SentencePairs
from docgraph.evaluation.buckets import Breakdown, by_distance, by_length
from docgraph.evaluation.document_measures import REFERENCE, DocumentMeasures
from docgraph.evaluation.evaluation_set import EvaluationSet
from docgraph.evaluation.metrics import COMET_MODEL, MetricOptions, Score, measure, measure_comet
from docgraph.evaluation.significance import Significance, score_systems

if TYPE_CHECKING:
    from rich.console import RenderableType

BreakdownName = Literal["length", "distance"]
Progress = Callable[[str], None]
Grid = list[list[str]]
"""Rows of cells; the first row is the header."""
LEVELS = ((0.01, "**"), (0.05, "*"))
"""Significance levels and their marks."""


@dataclass(frozen=True, slots=True)
class EvaluationRequest:
    """The measures to compute."""

    metrics: tuple[str, ...] = ("bleu", "d-bleu", "chrf", "ter")
    options: MetricOptions = field(default_factory=MetricOptions)
    comet_model: str = COMET_MODEL
    significance: Significance | None = None
    by: tuple[BreakdownName, ...] = ()
    """Breakdowns of BLEU."""
    consistency: bool = False
    """Measure lexical translation consistency."""
    pronouns: str | None = None
    """The language pair of the pronoun table; None measures no pronouns."""
    annotator: BitextAnnotator = field(default_factory=lambda: BitextAnnotator("en", "fr"))
    align_corpus: SentencePairs = field(default_factory=list)
    """More sentence pairs to train the word aligner on."""

    @property
    def needs_source(self) -> bool:
        """True if the source text must be known."""
        return self.consistency or self.pronouns is not None or "distance" in self.by


@dataclass(frozen=True, slots=True)
class EvaluationReport:
    """The results of an evaluation."""

    sentences: int
    documents: int
    scores: tuple[Score, ...]
    breakdowns: tuple[Breakdown, ...] = ()
    significance: Significance | None = None
    notes: tuple[str, ...] = ()
    details: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By name and system: share of aligned words, cases of pronouns."""

    def to_json(self) -> dict[str, Any]:
        """Returns all fields, unrounded."""
        return asdict(self)


def evaluate(
    data: EvaluationSet, request: EvaluationRequest, progress: Progress = lambda stage: None
) -> EvaluationReport:
    """Measures all systems of a set; `progress` is called with the name of each stage."""
    if request.needs_source and data.source is None:
        raise DocgraphError("consistency, pronouns and distance need the source text; pass --source")
    scores, notes = _metric_scores(data, request, progress)
    breakdowns = _bleu_breakdowns(data, request, progress)
    details: dict[str, dict[str, Any]] = {}
    if request.consistency or request.pronouns is not None:
        progress("annotating the source")
        measures = DocumentMeasures(data, request.annotator, request.pronouns)
        for system in (*data.systems, *((REFERENCE,) if request.consistency else ())):
            progress(f"aligning {system}")
            measures.add(system, request.align_corpus)
        for ratio in measures.ratios(consistency=request.consistency):
            scores += score_systems(ratio.measurement(), data, request.significance)
            breakdowns += ratio.breakdown(data)
        details = measures.details
    sizes = len(data.reference), data.num_documents
    return EvaluationReport(*sizes, tuple(scores), tuple(breakdowns), request.significance, tuple(notes), details)


def _metric_scores(
    data: EvaluationSet, request: EvaluationRequest, progress: Progress
) -> tuple[list[Score], list[str]]:
    """Returns the scores of the metrics, and a note if COMET was skipped."""
    scores: list[Score] = []
    notes: list[str] = []
    for name in request.metrics:
        progress(name)
        try:
            comet = name == "comet"
            measurement = measure_comet(data, request.comet_model) if comet else measure(name, data, request.options)
        except DocgraphError as error:
            if name != "comet" or len(request.metrics) == 1:
                raise
            notes.append(str(error))
            continue
        scores += score_systems(measurement, data, request.significance)
    return scores, notes


def _bleu_breakdowns(data: EvaluationSet, request: EvaluationRequest, progress: Progress) -> list[Breakdown]:
    if not request.by:
        return []
    progress("buckets")
    measurement = measure("bleu", data, request.options)
    breakdowns = []
    if "length" in request.by:
        breakdowns += by_length(measurement, data, request.significance.baseline if request.significance else None)
    if "distance" in request.by:
        assert data.source is not None
        annotations = request.annotator.annotate(data.split_documents(data.source))
        breakdowns.append(by_distance(measurement, data, annotations))
    return breakdowns


def score_grid(report: EvaluationReport) -> Grid:
    """Returns a table of systems by metrics, with significance marks."""
    metrics = {score.metric: f"{score.metric} ↓" if score.lower_is_better else score.metric for score in report.scores}
    baseline = report.significance.baseline if report.significance is not None else None
    baseline_values = {score.metric: score.value for score in report.scores if score.system == baseline}
    cells = {
        (score.system, score.metric): f"{score.value:.2f}{_mark(score, baseline_values.get(score.metric))}"
        for score in report.scores
    }
    systems = dict.fromkeys(score.system for score in report.scores)
    rows = [[system, *(cells.get((system, metric), "") for metric in metrics)] for system in systems]
    return [["system", *metrics.values()], *rows]


def _mark(score: Score, baseline: float | None) -> str:
    """Returns asterisks by p-value; none if the score equals the baseline's (sacreBLEU's p-value is then minimal)."""
    if score.p_value is None or score.value == baseline:
        return ""
    return next((mark for level, mark in LEVELS if score.p_value < level), "")


def breakdown_grid(part: Breakdown, *others: Breakdown) -> Grid:
    """Returns a table of buckets by systems, with the size of each bucket; `others` of the same buckets add columns."""

    def cell(breakdown: Breakdown, system: str, bucket: int) -> str:
        value, interval = breakdown.values[system][bucket], breakdown.intervals[system][bucket]
        digits, interval_digits = breakdown.digits
        if value is None:
            return ""
        if interval is None:
            return f"{value:.{digits}f}"
        return f"{value:.{digits}f} [{interval[0]:.{interval_digits}f}, {interval[1]:.{interval_digits}f}]"

    def count(bucket: int) -> str:
        numbers = sorted({numbers[bucket] for numbers in part.counts.values()})
        return "–".join(f"{number:,}" for number in (numbers if len(numbers) < 2 else (numbers[0], numbers[-1])))

    columns = [(breakdown, system) for breakdown in (part, *others) for system in breakdown.values]
    rows = [[label, *(cell(*column, k) for column in columns), count(k)] for k, label in enumerate(part.labels)]
    return [[part.axis, *(system for _, system in columns), part.counted], *rows]


def legend(report: EvaluationReport) -> list[str]:
    """Returns the lines below the table of scores: sizes, marks, notes."""
    counts = ((report.sentences, "sentence"), (report.documents, "document"))
    lines = [" in ".join(f"{count:,} {noun}{'' if count == 1 else 's'}" for count, noun in counts)]
    test = report.significance
    if test is not None:
        marks = ", ".join(f"{mark} p < {level:g}" for level, mark in reversed(LEVELS))
        kind = "paired bootstrap" if test.test == "bootstrap" else "approximate randomisation"
        lines.append(f"against {test.baseline}: {marks} ({kind}, p-values as defined by sacreBLEU)")
    return [*lines, *report.notes]


def signatures(report: EvaluationReport) -> list[str]:
    """Returns the signature of every metric, after its name."""
    by_metric = {score.metric: score.signature for score in report.scores}
    return [f"{metric}|{signature}" for metric, signature in by_metric.items()]


def text(report: EvaluationReport) -> list[RenderableType]:
    """Returns the report as Rich tables and lines."""
    from rich.text import Text

    parts: list[RenderableType] = [text_table(score_grid(report))] if report.scores else []
    parts += [Text(line) for line in legend(report)]
    parts += [Text(line, style="dim") for line in signatures(report)]
    for part in report.breakdowns:
        parts += [text_table(breakdown_grid(part), part.title), Text(f"{part.metric}|{part.signature}", style="dim")]
    return parts


def text_table(grid: Grid, heading: str | None = None) -> RenderableType:
    """Returns a grid as a Rich table."""
    from rich.table import Table
    from rich.text import Text

    table = Table(title=heading, title_justify="left")
    for index, name in enumerate(grid[0]):
        table.add_column(Text(name), justify="left" if index == 0 else "right", no_wrap=True)
    for row in grid[1:]:
        table.add_row(*(Text(cell) for cell in row))
    return table


def markdown(report: EvaluationReport) -> str:
    """Returns the report in GitHub's Markdown."""
    lines = markdown_table(score_grid(report)) if report.scores else []
    lines += ["", *(line.replace("*", r"\*") + "  " for line in legend(report)), ""]
    lines += [f"- `{line}`" for line in signatures(report)]
    for part in report.breakdowns:
        lines += ["", f"**{part.title}**", "", *markdown_table(breakdown_grid(part)), ""]
        lines += [f"- `{part.metric}|{part.signature}`"]
    return "\n".join(lines) + "\n"


def markdown_table(grid: Grid) -> list[str]:
    """Returns the lines of a grid as a Markdown table."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|").replace("*", r"\*") for cell in cells) + " |"

    rule = "|" + "|".join(["---", *["---:"] * (len(grid[0]) - 1)]) + "|"
    return [line(grid[0]), rule, *map(line, grid[1:])]


def latex(report: EvaluationReport) -> str:
    """Returns the report as LaTeX tables with booktabs."""
    below = [*legend(report), *signatures(report)]
    parts = [_latex_table(score_grid(report), "", below)] if report.scores else []
    parts += [
        _latex_table(breakdown_grid(part), part.title, [f"{part.metric}|{part.signature}"])
        for part in report.breakdowns
    ]
    return "% needs \\usepackage{booktabs}\n" + "\n".join(parts)


_LATEX_ESCAPES = str.maketrans(
    {character: f"\\{character}" for character in "_%&#${}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}", "–": "--"}
    | {"↓": r"$\downarrow$", ">": "$>$", "|": r"\textbar\allowbreak{}", "±": r"$\pm$"}
)


def _latex_table(grid: Grid, caption: str, below: Sequence[str]) -> str:
    def cell(text: str) -> str:
        escaped, mark = text.translate(_LATEX_ESCAPES), "**" if "**" in text else "*"
        return escaped.replace(mark, f"$^{{{mark}}}$")

    def line(cells: Sequence[str]) -> str:
        return " & ".join(map(cell, cells)) + r" \\"

    notes = [rf"{{\footnotesize\ttfamily {note.translate(_LATEX_ESCAPES)}\par}}" for note in below]
    body = [r"\toprule", line(grid[0]), r"\midrule", *map(line, grid[1:]), r"\bottomrule"]
    table = [rf"\begin{{tabular}}{{l{'r' * (len(grid[0]) - 1)}}}", *body, r"\end{tabular}"]
    title = [rf"\caption{{{caption.translate(_LATEX_ESCAPES)}}}"] if caption else []
    return "\n".join([r"\begin{table}", r"\centering", *title, *table, *notes, r"\end{table}", ""])
