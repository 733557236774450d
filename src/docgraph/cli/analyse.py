"""docgraph analyse: the analyses of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.buckets import Breakdown
    from docgraph.evaluation.report import Grid
    from docgraph.research.analyses import Systems
    from docgraph.research.documents import Documents

Analysis = Literal[
    "context-size", "document-size", "dependency-noise", "attention-distance", "context-use", "evidence", "mechanism"
]
DEV = "dev"
AnalysisFormat = Literal["text", "json", "markdown"]
PrecisionName = Literal["fp32", "bf16"]


def analyse(
    analysis: Annotated[Analysis, typer.Argument(help="What to look at.", show_default=False)],
    models: Annotated[
        list[str], typer.Argument(metavar="[NAME=]MODEL...", help="Model or run folders.", show_default=False)
    ],
    data: Annotated[Path | None, typer.Option(metavar="STORE", help="Documents of this prepared corpus.")] = None,
    split: Annotated[str, typer.Option(help="The split of it.")] = "test",
    source: Annotated[
        Path | None, typer.Option("--source", "-s", help="Documents of a file, in place of a store.")
    ] = None,
    reference: Annotated[Path | None, typer.Option("--reference", "-r", help="Their translations.")] = None,
    translations: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=FILE", help="A system's translations, for context-use and evidence; repeatable."),
    ] = None,
    points: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Sentences of context, of a document, of a cache, or rates of noise."),
    ] = None,
    draws: Annotated[int, typer.Option(min=1, help="Trees drawn at each rate of noise.")] = 3,
    documents: Annotated[int | None, typer.Option(min=1, help="Look at the first so many only.")] = None,
    beams: Annotated[int, typer.Option(min=1, help="Beams of the search.")] = 4,
    known: Annotated[
        bool, typer.Option("--known", help="With context-size: references of earlier sentences are their context.")
    ] = False,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator of --source; the source language's default otherwise.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that annotate; all cores otherwise.")] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; a GPU where there is one otherwise.")] = None,
    precision: Annotated[PrecisionName, typer.Option(help="bf16 is faster on a GPU.")] = "fp32",
    plot: Annotated[Path | None, typer.Option(help="Draw it: STEM-NAME.png (or .svg, .pdf), data beside it.")] = None,
    output: Annotated[AnalysisFormat, typer.Option("--format", help="How to print.")] = "text",
) -> None:
    """Look at what a system makes of its context, as the paper does.

    [bold]context-size[/bold]: BLEU where each sentence sees only so many sentences before and after it.
    [bold]document-size[/bold]: BLEU where documents are cut into pieces of at most so many sentences.
    [bold]dependency-noise[/bold]: BLEU where words hang on another head of their tree at some rate.
    [bold]attention-distance[/bold]: how much attention goes to context by its distance.
    [bold]context-use[/bold]: loss (and BLEU) of sentences with and without links to earlier ones, of repeated rare
    words and of others, with the document's own and with another document's context; differences to the first model.
    [bold]evidence[/bold]: what earlier translations could tell the Base of a system: its loss with a cache of
    references, of its own translations, of another document's, and of few sentences that the graph chooses.
    [bold]mechanism[/bold]: what runs (folders of runs/ or results/) logged of gates, gradients and wrong context.

    [bold]Examples[/bold]

    docgraph analyse context-size hyb=runs/hyb han=runs/han --data prepared/europarl_en-fr --plot plots/europarl.png

    docgraph analyse context-size pointer=runs/pointer --known --data prepared/europarl_en-fr

    docgraph analyse dependency-noise runs/hyb -s test.en -r test.fr --points 0.1,0.5 --draws 5

    docgraph analyse context-use base=runs/base hyb=runs/hyb --data prepared/europarl_en-fr

    docgraph analyse evidence base=runs/base --data prepared/europarl_en-fr --plot plots/europarl.png

    docgraph analyse mechanism results/main/*/seed1
    """
    if analysis == "mechanism":
        _print_mechanism(models, output)
        return
    if known and analysis != "context-size":
        raise DocgraphError("'--known' is for context-size; leave it out")
    import torch

    from docgraph.evaluation.plots import check_plot_path, write_plot
    from docgraph.research.loading import (
        find_models,
        load_systems,
        read_translations,
        stored_documents,
        text_documents,
    )
    from docgraph.workers import available_cores

    if plot is not None:
        check_plot_path(plot)
    folders = find_models(models)
    if data is not None and source is None:
        found = stored_documents(data, split, folders)
    elif source is not None and reference is not None and data is None:
        trees = analysis in ("dependency-noise", "context-use")
        found = text_documents(source, reference, folders, annotator, trees, jobs or available_cores())
    else:
        raise DocgraphError("name the documents: a prepared corpus with --data, or --source and --reference")
    if analysis == "evidence" and (data is None or split == DEV):
        raise DocgraphError("evidence is fitted on the dev split of a prepared corpus; name with --data another split")
    numbers = None if points is None else _numbers(points)
    texts = read_translations(translations or [], found, documents)
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    systems, found = load_systems(folders, device, dtype), found.first(documents)
    if analysis == "context-use":
        from docgraph.research.context_use import context_use

        tables = context_use(systems, found, texts, _say)
    elif analysis == "evidence":
        from docgraph.research.evidence import COUNTS, evidence
        from docgraph.translation.hypotheses import SearchConfig

        assert data is not None
        dev, counts = stored_documents(data, DEV, folders).first(documents), _counts(numbers, 1) or COUNTS
        tables = evidence(systems, found, dev, texts, SearchConfig(beams=beams), counts, _say)
    else:
        tables = [(_run(analysis, systems, found, numbers, draws, beams, known),)]
    _print(tables, output)
    if plot is not None:
        from docgraph.research.context_use import AXIS

        for part in [part for table in tables for part in table]:
            written = write_plot(part, plot, lines=part.axis != AXIS)
            typer.echo(f"wrote {', '.join(map(str, written))}", err=True)


def _numbers(text: str) -> list[float]:
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise DocgraphError(f"'--points {text}' is no list of numbers; write them with commas") from None
    if min(numbers) < 0:
        raise DocgraphError("'--points' must not be negative")
    return numbers


def _counts(points: list[float] | None, least: int) -> list[int] | None:
    counts = None if points is None else [int(point) for point in points]
    if counts != points or min(counts or [least]) < least:
        raise DocgraphError("'--points' of this analysis are numbers of sentences")
    return counts


def _say(line: str) -> None:
    typer.echo(line, err=True)


def _run(
    analysis: Analysis,
    systems: Systems,
    documents: Documents,
    points: list[float] | None,
    draws: int,
    beams: int,
    known: bool,
) -> Breakdown:
    from docgraph.research import analyses
    from docgraph.translation.hypotheses import SearchConfig

    search = SearchConfig(beams=beams)
    if analysis == "attention-distance":
        return analyses.attention_distance(systems, documents, _say)
    if analysis == "dependency-noise":
        return analyses.dependency_noise(systems, documents, search, points or analyses.RATES, draws, _say)
    counts = _counts(points, 1 if analysis == "document-size" else 0)
    if analysis == "context-size":
        return analyses.context_size(systems, documents, search, counts or analyses.REACHES, _say, known=known)
    return analyses.document_size(systems, documents, search, counts or analyses.SIZES, _say)


def _print(tables: Sequence[tuple[Breakdown, ...]], output: AnalysisFormat) -> None:
    from docgraph.evaluation.report import breakdown_grid

    if output == "json":
        found = [part.to_json() for table in tables for part in table]
        _echo_json(found[0] if len(found) == 1 else found)
        return
    for number, parts in enumerate(tables):
        typer.echo("\n" if number else "", nl=False)
        grid = [[cell.replace("\n", " ") for cell in row] for row in breakdown_grid(*parts)]
        _print_grid(grid, output, parts[0].title, parts[-1].signature)


def _print_mechanism(runs: list[str], output: AnalysisFormat) -> None:
    from docgraph.research.mechanism import mechanism_grid, mechanisms

    found = mechanisms(runs)
    if output == "json":
        _echo_json({name: one.to_json() for name, one in found.items()})
    else:
        _print_grid(mechanism_grid(found), output)


def _echo_json(values: object) -> None:
    from json import dumps

    typer.echo(dumps(values, ensure_ascii=False, indent=1))


def _print_grid(grid: Grid, output: AnalysisFormat, heading: str | None = None, signature: str | None = None) -> None:
    from docgraph.evaluation.report import markdown_table, text_table

    if output == "markdown":
        typer.echo("\n".join([*markdown_table(grid), *([f"\n- `{signature}`"] if signature else [])]))
        return
    from rich.console import Console

    console = Console(width=1000)
    for line in (text_table(grid, heading), *([signature] if signature else [])):
        console.print(line, highlight=False)
