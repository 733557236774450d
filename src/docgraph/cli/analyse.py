"""docgraph analyse: the analyses of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from docgraph.cli.options import AnnotationJobsOption, DeviceOption, ModelPrecision, ModelPrecisionOption, TableFormat
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.buckets import Breakdown
    from docgraph.evaluation.report import Grid
    from docgraph.research.analysis_inputs import Documents, Systems

Analysis = Literal[
    "context-size",
    "document-size",
    "dependency-noise",
    "attention-distance",
    "context-use",
    "evidence",
    "n-best",
    "mechanism",
]
DEV = "dev"
READERS: dict[str, tuple[Analysis, ...]] = {
    "points": ("context-size", "document-size", "dependency-noise", "evidence"),
    "translations": ("context-use", "evidence"),
    "known": ("context-size",),
    "plot": tuple(name for name in get_args(Analysis) if name != "mechanism"),
}
"""The analyses that read an option; the others refuse it."""


def analyse(
    analysis: Annotated[Analysis, typer.Argument(help="The analysis.", show_default=False)],
    models: Annotated[
        list[str], typer.Argument(metavar="[NAME=]MODEL...", help="Model or run folders.", show_default=False)
    ],
    data: Annotated[
        Path | None, typer.Option(metavar="STORE", help="Analyse documents of this prepared corpus.")
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the prepared corpus.")] = "test",
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="Analyse the documents of this file, in place of --data.")
    ] = None,
    reference: Annotated[Path | None, typer.Option("--reference", "-r", help="Translations of --source.")] = None,
    translations: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="Translations by a system, for context-use and evidence; repeatable."),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...", help="Points of a curve: numbers of sentences or, for dependency-noise, rates."
        ),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Random trees for each rate of dependency-noise.")] = 3,
    documents: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Analyse only the first N documents.")
    ] = None,
    beams: Annotated[int, typer.Option(min=1, help="Beam size.")] = 4,
    known: Annotated[
        bool, typer.Option("--known", help="For context-size: use references as the target context.")
    ] = False,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator of --source (default: that of the source language).")
    ] = None,
    jobs: AnnotationJobsOption = None,
    device: DeviceOption = None,
    precision: ModelPrecisionOption = "fp32",
    plot: Annotated[
        Path | None, typer.Option(help="Write plots to STEM-NAME.png (or .svg, .pdf), with their data beside them.")
    ] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Analyse how systems use their context.

    [bold]context-size[/bold]: BLEU with at most N sentences of context before and after each sentence.
    [bold]document-size[/bold]: BLEU of documents that are cut into parts of at most N sentences.
    [bold]dependency-noise[/bold]: BLEU with a share of the words attached to wrong heads.
    [bold]attention-distance[/bold]: attention to context by distance in sentences.
    [bold]context-use[/bold]: loss and BLEU of sentences with and without links to earlier sentences, and of repeated
    rare words, with the right and with another document's context; differences to the first model.
    [bold]evidence[/bold]: loss of the Base of a system with a cache of references, of its own translations, of another
    document's references, or of a few sentences selected by the graph.
    [bold]n-best[/bold]: BLEU of the best of `--beams` translations of each sentence, chosen by the reference among all,
    or among those that differ from the first one only in words with a link to another sentence.
    [bold]mechanism[/bold]: gates, gradients and wrong-context loss of runs, from folders of runs/ or results/.

    [bold]Examples[/bold]

    docgraph analyse context-size hyb=runs/hyb han=runs/han --data prepared/europarl_en-fr --plot plots/europarl.png

    docgraph analyse context-size pointer=runs/pointer --known --data prepared/europarl_en-fr

    docgraph analyse dependency-noise runs/hyb -s test.en -r test.fr --points 0.1,0.5 --draws 5

    docgraph analyse context-use base=runs/base hyb=runs/hyb --data prepared/europarl_en-fr

    docgraph analyse evidence base=runs/base --data prepared/europarl_en-fr --plot plots/europarl.png

    docgraph analyse n-best en-fr -s test.en -r test.fr --beams 16

    docgraph analyse mechanism results/main/*/seed1
    """
    for option, value in {"points": points, "translations": translations, "known": known, "plot": plot}.items():
        if value and analysis not in READERS[option]:
            raise DocgraphError(f"'--{option}' is for {', '.join(READERS[option])}; remove it")
    if analysis == "mechanism":
        _print_mechanism(models, output)
        return
    if plot is not None:
        from docgraph.evaluation.plots import check_plot_path

        check_plot_path(plot)
    inputs = _InputOptions(data, split, source, reference, annotator, jobs, documents)
    settings = _AnalysisOptions(None if points is None else _parse_numbers(points), draws, beams, known)
    tables = _analyse(analysis, models, inputs, settings, translations or [], device, precision)
    _print_tables(tables, output)
    if plot is not None:
        _plot(tables, plot)


@dataclass(frozen=True)
class _InputOptions:
    """The options that choose the documents."""

    data: Path | None
    split: str
    source: Path | None
    reference: Path | None
    annotator: str | None
    jobs: int | None
    documents: int | None

    def read(self, analysis: Analysis, folders: dict[str, Path]) -> Documents:
        """Reads all documents."""
        from docgraph.research.analysis_inputs import read_stored_documents, read_text_documents
        from docgraph.workers import available_cores

        if analysis == "evidence" and (self.data is None or self.split == DEV):
            raise DocgraphError(
                "evidence is fitted on the dev split of a prepared corpus; name it with --data and choose another split"
            )
        if self.data is not None and self.source is None:
            return read_stored_documents(self.data, self.split, folders)
        if self.source is not None and self.reference is not None and self.data is None:
            annotate = analysis in ("dependency-noise", "context-use", "n-best")
            jobs = self.jobs or available_cores()
            return read_text_documents(self.source, self.reference, folders, self.annotator, annotate, jobs)
        raise DocgraphError("name the documents: a prepared corpus with --data, or --source and --reference")


@dataclass(frozen=True)
class _AnalysisOptions:
    """The options of the analyses."""

    points: list[float] | None
    draws: int
    beams: int
    known: bool

    def counts(self, least: int) -> list[int] | None:
        """Returns the points as numbers of sentences."""
        counts = None if self.points is None else [int(point) for point in self.points]
        if counts != self.points or min(counts or [least]) < least:
            raise DocgraphError("'--points' of this analysis are numbers of sentences")
        return counts


def _parse_numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise DocgraphError(f"'--points {text}' is not a list of numbers; separate numbers with commas") from None
    if min(numbers) < 0:
        raise DocgraphError("'--points' must not be negative")
    return numbers


def _analyse(
    analysis: Analysis,
    models: list[str],
    inputs: _InputOptions,
    settings: _AnalysisOptions,
    translations: list[str],
    device: str | None,
    precision: ModelPrecision,
) -> list[tuple[Breakdown, ...]]:
    """Loads the inputs and runs an analysis; returns its tables, each as breakdowns of the same buckets."""
    import torch

    from docgraph.research.analysis_inputs import find_models, load_systems, read_stored_documents, read_translations

    folders = find_models(models)
    all_documents = inputs.read(analysis, folders)
    texts = read_translations(translations, all_documents, inputs.documents)
    systems = load_systems(folders, device, torch.bfloat16 if precision == "bf16" else torch.float32)
    documents = all_documents.first(inputs.documents)
    if analysis == "context-use":
        from docgraph.research.context_use import context_use

        return context_use(systems, documents, texts, _log)
    if analysis == "evidence":
        from docgraph.research.evidence import COUNTS, evidence
        from docgraph.translation.decoding.hypotheses import SearchConfig

        assert inputs.data is not None
        counts = settings.counts(1) or COUNTS
        dev = read_stored_documents(inputs.data, DEV, folders).first(inputs.documents)
        return evidence(systems, documents, dev, texts, SearchConfig(beams=settings.beams), counts, _log)
    return [(_curve(analysis, systems, documents, settings),)]


def _curve(analysis: Analysis, systems: Systems, documents: Documents, settings: _AnalysisOptions) -> Breakdown:
    from docgraph.research import context_ablations
    from docgraph.research.context_use import attention_distance
    from docgraph.translation.decoding.hypotheses import SearchConfig

    search = SearchConfig(beams=settings.beams)
    if analysis == "n-best":
        from docgraph.research.n_best import n_best

        return n_best(systems, documents, replace(search, n_best=settings.beams), _log)
    if analysis == "attention-distance":
        return attention_distance(systems, documents, _log)
    if analysis == "dependency-noise":
        rates = settings.points or context_ablations.RATES
        return context_ablations.dependency_noise(systems, documents, search, rates, settings.draws, _log)
    if analysis == "context-size":
        reaches = settings.counts(0) or context_ablations.REACHES
        return context_ablations.context_size(systems, documents, search, reaches, _log, known=settings.known)
    sizes = settings.counts(1) or context_ablations.SIZES
    return context_ablations.document_size(systems, documents, search, sizes, _log)


def _log(line: str) -> None:
    typer.echo(line, err=True)


def _print_tables(tables: Sequence[tuple[Breakdown, ...]], output: TableFormat) -> None:
    from docgraph.evaluation.report import breakdown_grid

    if output == "json":
        breakdowns = [part.to_json() for table in tables for part in table]
        _echo_json(breakdowns[0] if len(breakdowns) == 1 else breakdowns)
        return
    for number, parts in enumerate(tables):
        typer.echo("\n" if number else "", nl=False)
        grid = [[cell.replace("\n", " ") for cell in row] for row in breakdown_grid(*parts)]
        _print_grid(grid, output, parts[0].title, parts[-1].signature)


def _plot(tables: Sequence[tuple[Breakdown, ...]], path: Path) -> None:
    from docgraph.evaluation.plots import write_plot
    from docgraph.research.context_use import AXIS

    for part in [part for table in tables for part in table]:
        written = write_plot(part, path, lines=part.axis != AXIS)
        typer.echo(f"wrote {', '.join(map(str, written))}", err=True)


def _print_mechanism(runs: list[str], output: TableFormat) -> None:
    from docgraph.research.mechanism import mechanism_grid, read_mechanisms

    mechanisms = read_mechanisms(runs)
    if output == "json":
        _echo_json({name: mechanism.to_json() for name, mechanism in mechanisms.items()})
    else:
        _print_grid(mechanism_grid(mechanisms), output)


def _echo_json(values: object) -> None:
    from json import dumps

    typer.echo(dumps(values, ensure_ascii=False, indent=1))


def _print_grid(grid: Grid, output: TableFormat, heading: str | None = None, signature: str | None = None) -> None:
    from docgraph.evaluation.report import markdown_table, text_table

    if output == "markdown":
        typer.echo("\n".join([*markdown_table(grid), *([f"\n- `{signature}`"] if signature else [])]))
        return
    from rich.console import Console

    console = Console(width=1000)
    for line in (text_table(grid, heading), *([signature] if signature else [])):
        console.print(line, highlight=False)
