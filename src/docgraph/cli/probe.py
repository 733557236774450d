"""docgraph probe: contrastive suites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from docgraph.cli.progress import Bars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.evaluation.probe import Prober
    from docgraph.evaluation.suites import Suite
    from docgraph.evaluation.suites.scoring import Progress

ContextName = Literal["gold", "source", "own", "none"]
PrecisionName = Literal["fp32", "bf16"]
OutputFormat = Literal["text", "json", "markdown"]


def probe(
    suites: Annotated[
        list[Path], typer.Argument(metavar="SUITE...", help="Files or folders of suites.", show_default=False)
    ],
    model: Annotated[
        str | None,
        typer.Option("--model", "-m", help="A model folder, a run folder, or the name of a model.", show_default=False),
    ] = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="Another system's scores, one a line; lower is better, as the suites' scripts have it."),
    ] = None,
    maximise: Annotated[bool, typer.Option("--maximise", help="In --scores, higher is better.")] = False,
    context: Annotated[
        ContextName,
        typer.Option(help="The suite's source and target, its source alone, its source and own translations, or none."),
    ] = "gold",
    max_context: Annotated[
        int | None, typer.Option(min=0, help="Most sentences of context; all the suite has otherwise.")
    ] = None,
    normalise: Annotated[bool, typer.Option("--normalise", help="Compare means over sub-words, not sums.")] = False,
    annotator: Annotated[
        str | None, typer.Option(help="An annotator's spec; the default of the source language otherwise.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu or cuda; a GPU where there is one otherwise.")] = None,
    precision: Annotated[PrecisionName, typer.Option(help="bf16 is faster on a GPU.")] = "fp32",
    tokens: Annotated[int, typer.Option(min=1, help="Sub-words of a batch.")] = 16_000,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that annotate; all cores otherwise.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder of finished annotations and scores; in the user's cache otherwise.")
    ] = None,
    save_scores: Annotated[
        Path | None, typer.Option(help="Write negative log-probabilities, as the suites' scripts read them.")
    ] = None,
    export: Annotated[Path | None, typer.Option(help="Write the suite in docgraph's own format (JSON lines).")] = None,
    output: Annotated[OutputFormat, typer.Option("--format", help="How to print.")] = "text",
) -> None:
    """Ask a model which of several translations fits the context; count as the authors of each suite do.

    A suite is a file of Voita et al. 2019 (En-Ru), Bawden et al. 2018 (En-Fr) or ContraPro (En-De, En-Fr), as their
    authors publish it, or one of your own in JSON lines.

    [bold]Examples[/bold]

    docgraph probe deixis_test.json lex_cohesion_test.json --model models/en-ru

    docgraph probe anaphora.json --model models/en-fr --context source --format json

    docgraph probe anaphora.json --scores other-system.scores
    """
    from docgraph.evaluation.suites import jsonl, read_suite

    if (model is not None) + (scores is not None) + (export is not None) != 1:
        raise DocgraphError("give a model to probe with --model, or scores with --scores, or a file to --export to")
    found = [read_suite(path) for path in suites]
    if len(found) > 1 and (scores or save_scores or export):
        raise DocgraphError(f"one file is for one suite, and {len(found)} are named; probe them one by one")
    if export is not None:
        jsonl.write(found[0], export)
    elif scores is not None:
        _print([_judge_file(found[0], scores, maximise)], output)
    elif model is not None:
        from docgraph.evaluation.probe import Prober
        from docgraph.evaluation.suites.scoring import ProbeOptions
        from docgraph.model.model_folder import find_model
        from docgraph.workers import keep_freed_memory

        keep_freed_memory()
        options = ProbeOptions(context, max_context, normalise, precision)
        prober = Prober(find_model(model), options, device or _default_device(), annotator, cache)
        with Bars("items") as bars:

            def progress(stage: str, done: int, total: int) -> None:
                bars.update(stage, done, done, total)

            results = [_judge_model(suite, prober, jobs, tokens, progress, save_scores) for suite in found]
        _print(results, output)


def _default_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _judge_file(suite: Suite, path: Path, maximise: bool) -> dict[str, Any]:
    from docgraph.evaluation.probe import signature
    from docgraph.evaluation.suites.accuracy import judge, read_scores

    accuracies = judge(suite, read_scores(path, suite), maximise)
    line = signature(suite, scores=path.name, better="higher" if maximise else "lower")
    return {"suite": suite.name, **accuracies.to_dict(), "signature": line}


def _judge_model(
    suite: Suite, prober: Prober, jobs: int | None, tokens: int, progress: Progress, save_scores: Path | None
) -> dict[str, Any]:
    from docgraph.evaluation.suites.accuracy import judge, write_scores
    from docgraph.workers import available_cores

    scores = prober(suite, jobs=jobs or available_cores(), tokens=tokens, progress=progress)
    if save_scores is not None:
        write_scores(save_scores, [-value for value in scores.values])
    accuracies = judge(suite, scores.values, maximise=True)
    speed = {"scored": scores.scored, "seconds": scores.seconds, "candidates_per_second": scores.rate}
    speed |= {"preparation_seconds": scores.preparation}
    return {"suite": suite.name, **accuracies.to_dict(), "signature": prober.signature(suite), **speed}


def _print(results: list[dict[str, Any]], output: OutputFormat) -> None:
    if output == "json":
        import json

        typer.echo(json.dumps(results, indent=2, ensure_ascii=False))
        return
    for result in results:
        rows = [("all", "", result)]
        rows += [("blocks", "all right", result["blocks"])] if "blocks" in result else []
        rows += [(kind, value, count) for kind, found in result["by"].items() for value, count in found.items()]
        _print_rows(result["suite"], rows, output)
        if result.get("scored"):
            typer.echo(
                f"{result['scored']:,} candidates scored in {result['seconds']:.2f} s, "
                f"{result['candidates_per_second']:,.0f}/s, after {result['preparation_seconds']:.1f} s of preparation"
            )
        elif "scored" in result:
            typer.echo("the scores were on disk")
        typer.echo(f"{result['signature']}\n")


def _print_rows(suite: str, rows: list[tuple[str, str, dict[str, Any]]], output: OutputFormat) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    markdown = output == "markdown"
    table = Table(
        title=None if markdown else suite, title_justify="left", box=box.MARKDOWN if markdown else box.ROUNDED
    )
    for name in (suite if markdown else "by", "", "right", "of", "accuracy"):
        table.add_column(name, justify="right" if name in ("right", "of", "accuracy") else "left")
    for kind, value, count in rows:
        table.add_row(kind, value, f"{count['right']:,}", f"{count['total']:,}", f"{count['accuracy']:.1f}")
    Console().print(table)
