"""docgraph case-study: a term that one system translates in several ways and another always as expected."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from docgraph.cli.options import AnnotationJobsOption
from docgraph.errors import DocgraphError

RelationName = Literal["definition", "lexical"]


def case_study(
    systems: Annotated[
        list[str],
        typer.Argument(
            metavar="[NAME=]FILE...", help="Translations by two systems: Base, then ours.", show_default=False
        ),
    ],
    source: Annotated[Path, typer.Option("--source", "-s", help="Source text.", show_default=False)],
    reference: Annotated[Path, typer.Option("--reference", "-r", help="Reference translation.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML page to write.", show_default=False)],
    relation: Annotated[
        RelationName,
        typer.Option(help="Links of a term: its definition, which prints the translation, or repetitions of a noun."),
    ] = "lexical",
    languages: Annotated[str, typer.Option("--langs", help="Source and target language.")] = "en-fr",
    annotator: Annotated[
        str | None, typer.Option(help="Annotator spec of the source (default: by the source language).")
    ] = None,
    licence: Annotated[str, typer.Option(help="Attribution to print below the page.")] = "",
    jobs: AnnotationJobsOption = None,
) -> None:
    """Write a page about a term that one system translates in several ways and another always as the reference does.

    The page states the rule that chose the term, and how often the systems change places. Files have one sentence per
    line and blank lines between documents.

    [bold]Examples[/bold]

    docgraph case-study base=base.fr hints=hints.fr -s test.en -r test.fr --relation definition -o case.html

    docgraph case-study base=base.de hyb=hyb.de -s test.en -r test.de --langs en-de -o case.html
    """
    from docgraph.annotate.runner import default_cache_folder
    from docgraph.cli.evaluate import system_files
    from docgraph.evaluation.alignment import BitextAnnotator
    from docgraph.evaluation.evaluation_set import read_evaluation_set
    from docgraph.files import replacing
    from docgraph.research.case_study import study
    from docgraph.research.case_study_page import to_html
    from docgraph.workers import available_cores

    files = system_files(systems)
    if len(files) != 2:
        raise DocgraphError(f"a case study compares two systems, and {len(files)} are given; name Base, then ours")
    data = read_evaluation_set(files, reference, source)
    source_language, _, target_language = languages.partition("-")
    bitext = BitextAnnotator(
        annotator or source_language, target_language, default_cache_folder(), jobs or available_cores()
    )
    found = study(data, bitext, relation)
    with replacing(out) as path:
        path.write_text(to_html(found, licence, (source_language, target_language)), encoding="utf-8")
    first, second = found.systems
    typer.echo(f"{found.chains:,} terms with three or more uses, in {found.documents:,} documents")
    cases = f"as expected by {first} sometimes, by {second} always: {found.cases:,}"
    typer.echo(f"{cases}; the other way round: {found.opposite:,}")
    if found.chosen is None:
        typer.echo("no term fits the rule")
    else:
        typer.echo(f"shown: '{found.chosen.term}', {len(found.chosen.uses)} uses; wrote {out}")
