"""docgraph graph: the document graph of a file, as a summary, a page, a picture or data."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from rich.console import Console

    from docgraph.annotation import Annotation
    from docgraph.document import Document
    from docgraph.graph import DocumentGraph, RelationOptions

Pair = tuple["Document", "Annotation"]


def graph(
    file: Annotated[Path, typer.Argument(help="A document; .conllu brings its own annotation.", show_default=False)],
    relations: Annotated[str, typer.Option(help="Relations or groups (intra, inter, all), with commas.")] = "all",
    language: Annotated[str, typer.Option("--lang", help="Language of the file: takes its default annotator.")] = "en",
    annotator: Annotated[
        str | None, typer.Option(help="Annotator by spec, such as spacy:fr_core_news_sm+coref:fr.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="Format of the file; by its name otherwise.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an interactive page, self-contained.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Write a picture.")] = None,
    png: Annotated[Path | None, typer.Option(help="Write a picture (needs matplotlib).")] = None,
    graphml: Annotated[Path | None, typer.Option(help="Write GraphML, for Gephi, yEd, igraph, networkx.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the graph as JSON; the summary goes to stderr.")] = False,
    expand: Annotated[bool, typer.Option("--expand", help="List lexical edges one by one in the JSON.")] = False,
    skip_stop_words: Annotated[
        bool, typer.Option("--skip-stop-words", help="No lexical links of punctuation and function words.")
    ] = False,
    max_distance: Annotated[
        int | None, typer.Option(min=0, help="Longest link between sentences; no limit otherwise.")
    ] = None,
    document: Annotated[
        int | None, typer.Option(min=1, help="Which document of the file to draw and export; the first otherwise.")
    ] = None,
) -> None:
    """Link the words of a document into a graph, and look at it.

    Prints what the graph holds: edges by relation, the longest links, the most connected words, coreference chains.

    [bold]Examples[/bold]

    docgraph graph letter.docx --html letter.html

    docgraph graph parsed.conllu --relations inter --max-distance 20 --svg links.svg

    docgraph graph talk.txt --lang fr --json | jq .edges.coreference
    """
    from rich.console import Console

    from docgraph.graph import RelationOptions, resolve_relations

    console = Console(stderr=json)
    options = RelationOptions(skip_stop_words=skip_stop_words, max_distance=max_distance)
    resolve_relations(relations)  # a misspelt name is told before the annotation, which may take a while
    pairs = list(_annotated(file, format, language, annotator, document))
    chosen = _summarise(console, pairs, relations, options, document)
    if chosen is None:
        raise DocgraphError("holds no document; give a file with text in it", path=file)
    made, (source, annotation) = chosen
    title = source.id or file.name
    if len(pairs) > 1 and any((html, svg, png, graphml, json)):
        console.print(f"This is document 1 of {len(pairs)}; --document N draws and exports another.", highlight=False)
    _draw(made, source, annotation, title, html, svg, png)
    _export(made, graphml, json, expand)
    for path in (html, svg, png, graphml):
        if path is not None:
            console.print(f"wrote {path}", highlight=False, markup=False)


def _annotated(
    file: Path, format: str | None, language: str, annotator: str | None, chosen: int | None
) -> Iterator[Pair]:
    """The documents of a file with their annotations: all, or the chosen one alone."""
    if annotator is None and (format == "conllu" or (format is None and file.suffix.lower() == ".conllu")):
        from docgraph.annotate import conllu

        pairs = conllu.read(file)
        yield from pairs[_choose(len(pairs), chosen, file)]
        return
    from docgraph.annotate.registry import load_pipeline
    from docgraph.formats import read

    documents = read(file, format, language=language.replace("_", "-").partition("-")[0])
    pipeline = load_pipeline(annotator or language)
    wanted = documents[_choose(len(documents), chosen, file)]
    for document in _with_progress(wanted):
        yield document, pipeline(document)


def _with_progress(documents: list[Document]) -> Iterable[Document]:
    """The documents, with a bar on a terminal where there are several."""
    from rich.console import Console
    from rich.progress import track

    if len(documents) < 2 or not sys.stderr.isatty():
        return documents
    return track(documents, "annotating", console=Console(stderr=True), transient=True)


def _choose(count: int, chosen: int | None, file: Path) -> slice:
    """Which of the documents of a file are wanted."""
    if chosen is None:
        return slice(None)
    if chosen > count:
        number = f"{count} documents" if count != 1 else "1 document"
        raise DocgraphError(f"has {number}, so there is no document {chosen}; choose a smaller --document", path=file)
    return slice(chosen - 1, chosen)


def _summarise(
    console: Console, pairs: list[Pair], relations: str, options: RelationOptions, chosen: int | None
) -> tuple[DocumentGraph, Pair] | None:
    """Print the summary: of one document in full, of several a line each; give back the first graph."""
    from docgraph.graph import build_graph
    from docgraph.graph.summary import render, render_many, summarise

    first, summaries = None, []
    for document, annotation in pairs:
        if options.skip_stop_words and annotation.upos is None:
            annotation = annotation.with_notes("without parts of speech, only punctuation is left out of lexical links")
        made = build_graph(annotation, relations, options)
        first = first or (made, (document, annotation))
        summaries.append((document.id, summarise(made, annotation)))
    if len(summaries) > 1:
        console.print(render_many(summaries))
    if summaries:
        title, summary = summaries[0]
        for part in render(summary, title):
            console.print(part, highlight=False)
    return first


def _draw(
    made: DocumentGraph,
    document: Document,
    annotation: Annotation,
    title: str,
    html: Path | None,
    svg: Path | None,
    png: Path | None,
) -> None:
    from docgraph.files import replacing

    if html is not None:
        from docgraph.graph.page import to_html

        with replacing(html) as path:
            path.write_text(to_html(made, document, annotation, title), "utf-8")
    if svg is not None:
        from docgraph.graph.draw import to_svg

        with replacing(svg) as path:
            path.write_text(to_svg(made, document, annotation, title), "utf-8")
    if png is not None:
        from docgraph.graph.draw import write_png

        with replacing(png) as path:
            write_png(path, made, document, annotation, title)


def _export(made: DocumentGraph, graphml: Path | None, json: bool, expand: bool) -> None:
    from docgraph.files import replacing

    if graphml is not None:
        from docgraph.graph.export import to_graphml

        with replacing(graphml) as path:
            path.write_text(to_graphml(made), "utf-8")
    if json:
        from json import dumps

        from docgraph.graph.export import to_json

        sys.stdout.write(dumps(to_json(made, expand=expand), ensure_ascii=False) + "\n")
