"""docgraph model, recall and import: inspect a model folder, add recall to one, or convert one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from docgraph.research.parameter_report import ParameterReport

DiskPrecision = Literal["float32", "float16", "int8"]
OutputFolder = Annotated[Path, typer.Argument(metavar="OUT", help="Model folder to write.", show_default=False)]


def model(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="CONFIG|MODEL",
            help="YAML model config, model folder, run folder, or name of an embedded model.",
            show_default=False,
        ),
    ],
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Count the parameters of a model, module by module, and the parameters that each system adds to Base.

    The added parameters are compared with the figures of the paper.

    [bold]Examples[/bold]

    docgraph model configs/model/docgraph_hyb.yaml

    docgraph model en-fr --json
    """
    from docgraph.model.model_folder import find_model
    from docgraph.research.parameter_report import read_model_config, report

    counts = report(read_model_config(source if source.is_file() else find_model(source)))
    if json:
        from json import dumps

        typer.echo(dumps(counts.to_dict(), indent=2))
        return
    from rich.console import Console

    console = Console()
    console.print(_module_table(counts))
    console.print(_system_table(counts))
    console.print(counts.comparison)


def _module_table(report: ParameterReport) -> Table:
    from rich.table import Table

    share = "all trains in stage 1" if report.system == "base" else f"stage 2, freeze: {report.freeze}"
    table = Table(title=f"{report.system} ({share})", show_footer=True)
    table.add_column("module", "total", overflow="fold")
    table.add_column("shape")
    table.add_column("modules", justify="right")
    table.add_column("parameters", f"{report.total:,}", justify="right")
    table.add_column("trainable", f"{report.trainable:,}", justify="right")
    for row in report.modules:
        trainable = f"{row.parameters:,}" if row.trainable else "-"
        table.add_row(row.module, row.shape, str(row.count), f"{row.parameters:,}", trainable)
    return table


def _system_table(report: ParameterReport) -> Table:
    from rich.table import Table

    table = Table(title="Parameters added to Base, in millions")
    for column in ("system", "context encoder", "context attention", "ours", "paper"):
        table.add_column(column, justify="left" if column == "system" else "right")
    for row in report.systems:
        parts = (row.context_encoder, row.context_attention, row.total)
        paper = "" if row.paper_millions is None else f"{row.paper_millions:.2f}"
        table.add_row(row.system, *(f"{part / 1e6:.2f}" for part in parts), paper)
    return table


def recall(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL", help="Model folder or run folder of a model without context.", show_default=False
        ),
    ],
    folder: OutputFolder,
    sentences: Annotated[
        int, typer.Option(min=1, help="Maximum number of known translations a sentence reads, most linked first.")
    ] = 8,
    own_weight: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Weight of the model's own translations: 0 ignores them, 1 treats them like known ones."
        ),
    ] = 0.0,
    precision: Annotated[
        DiskPrecision | None,
        typer.Option(help="Precision of the weights on disk (default: that of MODEL).", show_default=False),
    ] = None,
) -> None:
    """Make a model without context read known translations, without training.

    When a word of a sentence also occurs in sentences with known translations, the model looks up how it was translated
    there. The document graph selects those sentences. Without known translations the result equals MODEL's, unless
    --own-weight is above 0.

    [bold]Examples[/bold]

    docgraph recall models/opus-mt-en-fr models/recall-en-fr

    docgraph translate talk.txt -o talk.fr.txt --known corrected.txt --model models/recall-en-fr
    """
    from docgraph.model.config import LinkedConfig
    from docgraph.model.model_folder import ModelFolder, find_model
    from docgraph.model.systems.pointer import add_recall

    linked = LinkedConfig(sentences=sentences, own_weight=own_weight)
    add_recall(find_model(model), folder, linked, precision)
    typer.echo(
        f"{folder}: reads known translations of up to {sentences} linked sentences; pass them with translate --known"
    )
    if ModelFolder(folder).languages is None:
        typer.echo(f"{folder}: its languages are unknown; translate with --annotator, such as words:fr", err=True)


import_app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@import_app.callback()
def import_group() -> None:
    """Convert models of other toolkits into model folders.

    [bold]Example[/bold]

    docgraph import marian Helsinki-NLP/opus-mt-en-fr models/opus-mt-en-fr
    """


@import_app.command("marian")
def import_marian(
    source: Annotated[
        str,
        typer.Argument(
            metavar="PATH|NAME",
            help="Folder of a Marian model, or its name on the Hugging Face Hub.",
            show_default=False,
        ),
    ],
    folder: OutputFolder,
    precision: Annotated[DiskPrecision, typer.Option(help="Precision of the weights on disk.")] = "float32",
    tag: Annotated[
        str | None,
        typer.Option(help="Target language of a model with several, such as '>>cmn_Hans<<'; translate uses it."),
    ] = None,
) -> None:
    """Convert a Marian (OPUS-MT) checkpoint from Hugging Face.

    The result translates sentences one by one. [bold]docgraph recall[/bold] makes it read known translations, without
    training; [bold]docgraph train[/bold] gives it document context.

    [bold]Examples[/bold]

    docgraph import marian Helsinki-NLP/opus-mt-en-fr models/opus-mt-en-fr

    docgraph import marian downloads/opus-mt-en-de models/opus-mt-en-de --precision float16

    docgraph import marian Helsinki-NLP/opus-mt-en-zh models/opus-mt-en-zh --tag '>>cmn_Hans<<'
    """
    from docgraph.model import marian

    model = marian.import_marian(source, folder, precision, tag)
    config = model.config.transformer
    size = sum(parameter.numel() for parameter in model.parameters())
    typer.echo(
        f"{folder}: {size / 1e6:.1f}M parameters, {config.encoder_layers}+{config.decoder_layers} layers of "
        f"{config.dimension}, vocabulary {config.target_vocabulary:,}"
    )
