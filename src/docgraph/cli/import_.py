"""docgraph import: models made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

app = typer.Typer(no_args_is_help=True, rich_markup_mode="rich")


@app.callback()
def group() -> None:
    """Convert models made elsewhere into model folders.

    [bold]Example[/bold]

    docgraph import marian Helsinki-NLP/opus-mt-en-fr models/opus-mt-en-fr
    """


@app.command("marian")
def marian(
    source: Annotated[
        str,
        typer.Argument(metavar="PATH|NAME", help="A Marian folder, or a model's name on the Hub.", show_default=False),
    ],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The model folder to write.", show_default=False)],
    precision: Annotated[
        Literal["float32", "float16", "int8"], typer.Option(help="Of the weights on disk.")
    ] = "float32",
) -> None:
    """Convert a Marian (OPUS-MT) checkpoint of the Hugging Face.

    It translates sentences. Next, [bold]docgraph recall[/bold] lets it use known translations, with nothing to train;
    [bold]docgraph train[/bold] gives it document context.

    [bold]Examples[/bold]

    docgraph import marian Helsinki-NLP/opus-mt-en-fr models/opus-mt-en-fr

    docgraph import marian downloads/opus-mt-en-de models/opus-mt-en-de --precision float16
    """
    from docgraph.model.marian import import_marian

    model = import_marian(source, folder, precision)
    config = model.config.transformer
    size = sum(parameter.numel() for parameter in model.parameters())
    typer.echo(
        f"{folder}: {size / 1e6:.1f}M parameters, {config.encoder_layers}+{config.decoder_layers} layers of "
        f"{config.dimension}, vocabulary {config.target_vocabulary:,}"
    )
