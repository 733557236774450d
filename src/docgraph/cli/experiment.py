"""docgraph experiment: the tables of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docgraph.cli.options import AnnotationJobsOption, TableFormat

if TYPE_CHECKING:
    from docgraph.research.experiment import Experiment
    from docgraph.research.table_config import Row


def experiment(
    table: Annotated[
        str,
        typer.Argument(
            metavar="TABLE", help="Name of a table in configs/experiments, or a YAML file.", show_default=False
        ),
    ],
    results: Annotated[Path, typer.Option(help="Folder of the results that tables are made from.")] = Path("results"),
    runs: Annotated[Path, typer.Option(help="Folder of the run folders.")] = Path("runs"),
    data: Annotated[
        str | None, typer.Option(metavar="STORE", help="Train on this store in place of the table's.")
    ] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Run only this row; repeatable.")] = None,
    seeds: Annotated[
        list[int] | None, typer.Option("--seed", min=1, help="Run only this seed of the rows; repeatable.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a field of all training configs; repeatable."),
    ] = None,
    dry: Annotated[
        bool, typer.Option("--dry-run", help="List every row, its config and its missing steps; run nothing.")
    ] = False,
    render: Annotated[
        bool, typer.Option("--render", help="Print the table of the existing results; run nothing.")
    ] = False,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator for scores and suites (default: that of the source language).")
    ] = None,
    parallel: Annotated[
        int, typer.Option(min=1, help="Train, translate and probe this many runs at a time, each in its own process.")
    ] = 1,
    jobs: AnnotationJobsOption = None,
    output: Annotated[TableFormat, typer.Option("--format", help="Output format.")] = "markdown",
) -> None:
    """Run the missing steps of a table (train, translate, score, probe) and print it beside the paper's figures.

    Existing results are kept, and an interrupted run resumes. A step that this machine cannot do (no suite files, no
    annotator) is skipped with a message; the same command on another machine does it, given the results folder and,
    for suites, the models.

    [bold]Examples[/bold]

    docgraph experiment main --dry-run

    docgraph experiment main --only base --only docgraph_hyb_both

    docgraph experiment en-ru --parallel 8

    docgraph experiment relations --render --format json
    """
    from docgraph.research.experiment import Experiment
    from docgraph.research.table_config import find_table
    from docgraph.workers import available_cores

    found = find_table(table)
    changes = [*([f"data={data}"] if data else []), *(overrides or [])]

    def log(line: str) -> None:
        typer.echo(line, err=True)

    plan = Experiment(found, runs, results, changes, annotator, jobs or available_cores(), seeds or (), log)
    rows = None if only is None else [found.row(name) for name in only]
    if dry:
        _print_plan(plan, rows)
        return
    if not render:
        plan.run(rows, parallel)
    _print_table(plan, output)


def _print_plan(plan: Experiment, rows: list[Row] | None) -> None:
    for run in plan.table.runs(rows):
        config = run.read_config(plan.run_root, plan.overrides)
        parts = [run.row.name, f"seed {run.seed}", str(run.config_path), f"{config.steps:,} updates"]
        typer.echo("\t".join([*parts, ", ".join(plan.missing_steps(run)) or "done"]))
        if message := plan.describe_config_change(run):
            plan.log(message)


def _print_table(plan: Experiment, output: TableFormat) -> None:
    from docgraph.research.rendered_table import RenderedTable

    rendered = RenderedTable(plan)
    if output == "json":
        from json import dumps

        typer.echo(dumps(rendered.to_json(), ensure_ascii=False, indent=1))
    elif output == "markdown":
        typer.echo(rendered.markdown(), nl=False)
    else:
        from rich.console import Console

        from docgraph.evaluation.report import text_table

        console = Console(width=1000)
        for part in (text_table(rendered.grid(), plan.table.config.title), *rendered.notes()):
            console.print(part, highlight=False)
