"""docgraph graph: the document graph of a file as a summary, a page, a drawing or data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from docgraph.document import Document
    from docgraph.graph import DocumentGraph


def graph(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Document to read; a CoNLL-U file brings its own annotation.", show_default=False
        ),
    ],
    relations: Annotated[
        str, typer.Option(help="Comma-separated relations or groups of relations (intra, inter, all).")
    ] = "all",
    language: Annotated[
        str, typer.Option("--lang", help="Language of the file; selects the default annotator.")
    ] = "en",
    annotator: Annotated[
        str | None,
        typer.Option(help="Annotator spec, such as spacy:fr_core_news_sm+coref:fr (default: by language)."),
    ] = None,
    format: Annotated[str | None, typer.Option(help="File format (default: by file name).")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an interactive page, one self-contained file.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write a drawing.")] = None,
    graphml: Annotated[Path | None, typer.Option(help="Write GraphML for Gephi, yEd, igraph or networkx.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the graph as JSON; the summary goes to standard error.")
    ] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="In the JSON, list lexical links as edges instead of groups.")
    ] = False,
    skip_stop_words: Annotated[
        bool, typer.Option("--skip-stop-words", help="Exclude punctuation and function words from lexical links.")
    ] = False,
    max_distance: Annotated[
        int | None, typer.Option(min=0, help="Maximum length of a link, in sentences (default: no limit).")
    ] = None,
    document: Annotated[
        int | None,
        typer.Option(min=1, help="Number of the document to read, from 1 (default: all; the first is drawn)."),
    ] = None,
) -> None:
    """Show the graph that links the words of a document.

    Prints the edges of each relation, the longest links, the most connected words and the coreference chains.

    [bold]Examples[/bold]

    docgraph graph letter.docx --html letter.html

    docgraph graph parsed.conllu --relations inter --max-distance 20 --svg links.svg

    docgraph graph talk.txt --lang fr --json | jq .edges.coreference
    """
    from rich.console import Console

    from docgraph.files import replacing
    from docgraph.graph import RelationOptions
    from docgraph.graph.drawing import to_svg
    from docgraph.graph.export import to_graphml, to_json
    from docgraph.graph.page import to_html
    from docgraph.graph.reader import read_graphs

    console = Console(stderr=json)
    graphs = read_graphs(
        file,
        relations,
        RelationOptions(skip_stop_words=skip_stop_words, max_distance=max_distance),
        language=language,
        annotator=annotator,
        format=format,
        document=document,
        progress=_with_progress,
    )
    _print_summary(console, graphs)
    if len(graphs) > 1 and any((html, svg, graphml, json)):
        console.print(f"This is document 1 of {len(graphs)}; --document N draws and exports another.", highlight=False)
    title = graphs[0].annotated_document()[0].id or file.name
    outputs: tuple[tuple[Path | None, Callable[[], Iterable[str]]], ...] = (
        (html, lambda: (to_html(graphs[0], title),)),
        (svg, lambda: (to_svg(graphs[0], title),)),
        (graphml, lambda: to_graphml(graphs[0])),
    )
    for path, render in outputs:
        if path is not None:
            with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as output:
                output.writelines(render())
            console.print(f"wrote {path}", highlight=False, markup=False)
    if json:
        from json import dumps

        sys.stdout.write(dumps(to_json(graphs[0], expand=expand), ensure_ascii=False) + "\n")


def _with_progress(documents: list[Document]) -> Iterable[Document]:
    """Returns the documents, with a progress bar if there are several and standard error is a terminal."""
    from rich.console import Console
    from rich.progress import track

    if len(documents) < 2 or not sys.stderr.isatty():
        return documents
    return track(documents, "annotating", console=Console(stderr=True), transient=True)


def _print_summary(console: Console, graphs: list[DocumentGraph]) -> None:
    """Prints one line per document if there are several, and the first document in full."""
    from docgraph.graph.summary import render, render_many, summarise

    summaries = []
    for graph in graphs:
        document, annotation = graph.annotated_document()
        summaries.append((document.id, summarise(graph, annotation)))
    if len(summaries) > 1:
        console.print(render_many(summaries))
    title, summary = summaries[0]
    for part in render(summary, title):
        console.print(part, highlight=False)
