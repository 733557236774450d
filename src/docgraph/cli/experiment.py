"""docgraph experiment: the tables of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from docgraph.research.runner import Experiment
    from docgraph.research.tables import Row

TableFormat = Literal["markdown", "json", "text"]


def experiment(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A table in configs/experiments, or a YAML file.", show_default=False)
    ],
    results: Annotated[Path, typer.Option(help="The folder of what runs leave behind for tables.")] = Path("results"),
    runs: Annotated[Path, typer.Option(help="The folder of run folders.")] = Path("runs"),
    data: Annotated[str | None, typer.Option(metavar="STORE", help="Train on this store, not on the table's.")] = None,
    only: Annotated[list[str] | None, typer.Option(metavar="ROW", help="Run these rows only; repeatable.")] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="A.B=C", help="Change a field of all training configs; repeatable."),
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="List every row, its config and what is missing.")] = False,
    render: Annotated[bool, typer.Option("--render", help="Run nothing: the table of what is there.")] = False,
    annotator: Annotated[
        str | None, typer.Option(help="Annotator for scores and suites; the source language's default otherwise.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes that annotate; all cores otherwise.")] = None,
    output: Annotated[TableFormat, typer.Option("--format", help="How to print.")] = "markdown",
) -> None:
    """Run what is missing of a table (train, translate, score, probe), and print it beside the paper's figures.

    Nothing that is there is run again, and a run that was interrupted goes on. What a machine cannot do (no suite
    files, no annotator) is left out with a line, and done by the same command on one that can: the results folder
    travels, and for suites the models.

    [bold]Examples[/bold]

    docgraph experiment main --dry-run

    docgraph experiment main --only base --only docgraph_hyb_both

    docgraph experiment relations --render --format json
    """
    from docgraph.research.runner import Experiment
    from docgraph.research.tables import find_table
    from docgraph.workers import available_cores

    found = find_table(table)
    changes = [*([f"data={data}"] if data else []), *(overrides or [])]

    def say(line: str) -> None:
        typer.echo(line, err=True)

    plan = Experiment(found, runs, results, changes, annotator, jobs or available_cores(), say)
    rows = None if only is None else [found.row(name) for name in only]
    if dry:
        _list(plan, rows)
        return
    if not render:
        plan.run(rows)
    _print(plan, output)


def _list(plan: Experiment, rows: list[Row] | None) -> None:
    for cell in plan.table.cells(rows):
        config = cell.read_config(plan.runs, plan.overrides)
        parts = [cell.row.name, f"seed {cell.seed}", str(cell.config_path), f"{config.steps:,} updates"]
        typer.echo("\t".join([*parts, ", ".join(plan.missing(cell)) or "done"]))
        if line := plan.changed(cell):
            plan.say(line)


def _print(plan: Experiment, output: TableFormat) -> None:
    from docgraph.research.render import Rendered

    rendered = Rendered(plan)
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
