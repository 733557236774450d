"""docgraph probe: contrastive suites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from docgraph.cli.options import AnnotationJobsOption, DeviceOption, ModelPrecisionOption, TableFormat
from docgraph.cli.progress import ProgressBars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.suites import Suite
    from docgraph.evaluation.suites.prober import Prober, Progress

ContextName = Literal["gold", "source", "own", "none"]


def probe(
    suites: Annotated[
        list[Path], typer.Argument(metavar="SUITE", help="Files or folders of suites.", show_default=False)
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="Model folder, run folder, or name of a model.", show_default=False),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="Scores of another system, one per line; lower is better, as in the suites' scripts."),
    ] = None,
    maximise: Annotated[bool, typer.Option("--maximise", help="Higher is better in --scores.")] = False,
    context: Annotated[
        ContextName,
        typer.Option(
            help="Context: the suite's source and target (gold), its source (source), its source and the model's own "
            "translation of it (own), or none."
        ),
    ] = "gold",
    max_context: Annotated[
        int | None, typer.Option(min=0, help="Maximum number of context sentences (default: no limit).")
    ] = None,
    normalise: Annotated[
        bool, typer.Option("--normalise", help="Compare mean log-probabilities per sub-word, not sums.")
    ] = False,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator spec (default: by the suite's source language).")
    ] = None,
    device: DeviceOption = None,
    precision: ModelPrecisionOption = "fp32",
    tokens: Annotated[int, typer.Option(min=1, help="Sub-words per batch.")] = 16_000,
    jobs: AnnotationJobsOption = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of cached annotations and scores (default: the user's cache folder).")
    ] = None,
    save_scores: Annotated[
        Path | None, typer.Option(help="Write negative log-probabilities, for the suites' scripts.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help="Write the suite in docgraph's format (JSON lines).")] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = "text",
) -> None:
    """Test a model on contrastive suites.

    A suite asks which of several translations fits the context. Suites of Voita et al. 2019 (En-Ru), Bawden et al. 2018
    (En-Fr) and ContraPro (En-De, En-Fr) are read as published and counted as their authors do; a suite of your own is
    written in JSON lines.

    [bold]Examples[/bold]

    docgraph probe deixis_test.json lex_cohesion_test.json --model models/en-ru

    docgraph probe anaphora.json --model models/en-fr --context source --format json

    docgraph probe anaphora.json --scores other-system.scores
    """
    from docgraph.evaluation.suites import read_suite, write_suite

    if (model is not None) + (scores is not None) + (export is not None) != 1:
        raise DocgraphError("pass one of --model (probe a model), --scores (count scores) and --export (convert)")
    parsed = [read_suite(path) for path in suites]
    if len(parsed) > 1 and (scores or save_scores or export):
        raise DocgraphError(f"one file holds one suite, and {len(parsed)} are given; run the command for each suite")
    if export is not None:
        write_suite(parsed[0], export)
    elif scores is not None:
        _print([_count_scores(parsed[0], scores, maximise)], output)
    elif model is not None:
        from docgraph.evaluation.suites.prober import ProbeOptions, Prober
        from docgraph.model.device import find_device
        from docgraph.model.model_folder import find_model
        from docgraph.workers import keep_freed_memory

        keep_freed_memory()
        options = ProbeOptions(context, max_context, normalise, precision)
        prober = Prober(find_model(model), options, str(find_device(device)), annotator, cache)
        with ProgressBars("items") as bars:

            def progress(stage: str, done: int, total: int) -> None:
                bars.update(stage, done, done, total)

            results = [_probe_model(suite, prober, jobs, tokens, progress, save_scores) for suite in parsed]
        _print(results, output)


def _count_scores(suite: Suite, path: Path, maximise: bool) -> dict[str, Any]:
    from docgraph.evaluation.suites.accuracy import compute_accuracies, read_scores
    from docgraph.evaluation.suites.prober import suite_signature

    accuracies = compute_accuracies(suite, read_scores(path, suite), maximise)
    signature = suite_signature(suite, scores=path.name, better="higher" if maximise else "lower")
    return {"suite": suite.name, **accuracies.to_dict(), "signature": signature}


def _probe_model(
    suite: Suite, prober: Prober, jobs: int | None, tokens: int, progress: Progress, save_scores: Path | None
) -> dict[str, Any]:
    from docgraph.evaluation.suites.accuracy import compute_accuracies, write_scores
    from docgraph.workers import available_cores

    scores = prober(suite, jobs=jobs or available_cores(), tokens=tokens, progress=progress)
    if save_scores is not None:
        write_scores(save_scores, [-value for value in scores.values])
    accuracies = compute_accuracies(suite, scores.values, maximise=True)
    speed = {"scored": scores.scored, "seconds": scores.seconds, "candidates_per_second": scores.rate}
    speed |= {"preparation_seconds": scores.preparation}
    return {"suite": suite.name, **accuracies.to_dict(), "signature": prober.signature(suite), **speed}


def _print(results: list[dict[str, Any]], output: TableFormat) -> None:
    if output == "json":
        import json

        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
        return
    from rich.console import Console

    from docgraph.evaluation.report import markdown_table, text_table

    for result in results:
        rows = [("all", "", result)]
        rows += [("blocks", "all right", result["blocks"])] if "blocks" in result else []
        rows += [(kind, value, count) for kind, counts in result["by"].items() for value, count in counts.items()]
        grid = [[result["suite"], "", "right", "of", "accuracy"]]
        for kind, value, count in rows:
            grid.append([kind, value, f"{count['right']:,}", f"{count['total']:,}", f"{count['accuracy']:.1f}"])
        if output == "markdown":
            typer.echo("\n".join(markdown_table(grid)) + "\n")
        else:
            Console().print(text_table(grid))
        if result.get("scored"):
            typer.echo(
                f"{result['scored']:,} candidates scored in {result['seconds']:.2f} s, "
                f"{result['candidates_per_second']:,.0f}/s, after {result['preparation_seconds']:.1f} s of preparation"
            )
        elif "scored" in result:
            typer.echo("the scores were cached")
        typer.echo(f"{result['signature']}\n")
