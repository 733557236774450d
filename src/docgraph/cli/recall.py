"""docgraph recall: a memory of known translations for a model without context."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer


def recall(
    model: Annotated[
        str,
        typer.Argument(metavar="MODEL", help="A model folder or a run folder, without context.", show_default=False),
    ],
    folder: Annotated[Path, typer.Argument(metavar="OUT", help="The model folder to write.", show_default=False)],
    sentences: Annotated[
        int, typer.Option(min=1, help="Sentences whose known translations a sentence reads, the most linked first.")
    ] = 8,
    own_weight: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="How far it trusts translations of its own: 0 reads known ones alone, 1 both alike."
        ),
    ] = 0.0,
    precision: Annotated[
        Literal["float32", "float16", "int8"] | None,
        typer.Option(help="Of the weights on disk; that of MODEL otherwise.", show_default=False),
    ] = None,
) -> None:
    """Let a model without context recall known translations: nothing is trained.

    Where words of a sentence occurred in sentences whose translations are known, their translations are recalled; the
    document graph tells where. With nothing known it translates exactly as MODEL, unless it may read its own.

    [bold]Examples[/bold]

    docgraph recall models/opus-mt-en-fr models/recall-en-fr

    docgraph translate talk.txt -o talk.fr.txt --known corrected.txt --model models/recall-en-fr
    """
    from docgraph.model.checkpoint import read_languages
    from docgraph.model.config import LinkedConfig
    from docgraph.model.recalling import add_recall
    from docgraph.translation.models import find_model

    linked = LinkedConfig(sentences=sentences, own_weight=own_weight)
    add_recall(find_model(model), folder, linked, precision)
    typer.echo(f"{folder}: recalls translations of {sentences} linked sentences; give them with translate --known")
    if read_languages(folder) is None:
        typer.echo(f"{folder}: its languages are not known; translate with --annotator, such as words:fr", err=True)
