"""docgraph model: what a model is made of."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from docgraph.research.parameter_report import Report


def model(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG|MODEL",
            help="A YAML model config, a model folder, a run folder, or the name of a model that ships.",
            show_default=False,
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count the parameters of a model, module by module, and what each system adds to Base.

    The added parameters stand beside the figures of the paper, with a word on where they differ.

    [bold]Examples[/bold]

    docgraph model configs/model/docgraph_hyb.yaml

    docgraph model en-fr --json
    """
    from docgraph.research.parameter_report import read_model_config, report
    from docgraph.translation.models import find_model

    found = report(read_model_config(source if source.is_file() else find_model(source)))
    if json:
        from json import dumps

        typer.echo(dumps(found.to_dict(), indent=2))
        return
    from rich.console import Console

    console = Console()
    console.print(_modules(found))
    console.print(_systems(found))
    console.print(found.comparison)


def _modules(found: Report) -> Table:
    from rich.table import Table

    share = "all trains in stage 1" if found.system == "base" else f"stage 2, freeze: {found.freeze}"
    table = Table(title=f"{found.system} ({share})", show_footer=True)
    table.add_column("module", "total", overflow="fold")
    table.add_column("shape")
    table.add_column("modules", justify="right")
    table.add_column("parameters", f"{found.total:,}", justify="right")
    table.add_column("trainable", f"{found.trainable:,}", justify="right")
    for row in found.modules:
        trainable = f"{row.parameters:,}" if row.trainable else "-"
        table.add_row(row.module, row.shape, str(row.count), f"{row.parameters:,}", trainable)
    return table


def _systems(found: Report) -> Table:
    from rich.table import Table

    table = Table(title="Parameters added to Base, in millions")
    for column in ("system", "context encoder", "context attention", "ours", "paper"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for row in found.systems:
        parts = (row.context_encoder, row.context_attention, row.total)
        paper = "" if row.paper_millions is None else f"{row.paper_millions:.2f}"
        table.add_row(row.system, *(f"{part / 1e6:.2f}" for part in parts), paper)
    return table
