"""docgraph annotate: words, lemmas, heads and coreference of documents, as CoNLL-U or Arrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.cli.progress import Bars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.annotate.runner import Done
    from docgraph.annotation import Annotation
    from docgraph.document import Document

Output = Literal["conllu", "arrow"]
ARROW_SUFFIXES = (".arrow", ".ipc", ".feather")


def annotate(
    files: Annotated[list[Path], typer.Argument(help="Documents to annotate.", show_default=False)],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Where to write; - is the standard output.", show_default=False)
    ],
    language: Annotated[
        str, typer.Option("--lang", help="Language of the documents: takes its default annotator.")
    ] = "en",
    annotator: Annotated[
        str | None,
        typer.Option(help="Annotator by spec, such as spacy:fr_core_news_sm+coref:fr or conllu:parsed.conllu."),
    ] = None,
    to: Annotated[
        Output | None, typer.Option(help="Format to write; by the name of the output otherwise (.arrow, else CoNLL-U).")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Processes at work; all cores otherwise.")] = None,
    format: Annotated[str | None, typer.Option(help="Format of the files; by their names otherwise.")] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps what is done; in the user's cache folder otherwise.")
    ] = None,
) -> None:
    """Find words, lemmas, dependency heads and coreference in documents.

    Interrupted or killed, the same command goes on where it stopped: what was done is in the cache.

    [bold]Examples[/bold]

    docgraph annotate report.docx -o report.conllu

    docgraph annotate talks/*.txt --lang fr -o talks.arrow --jobs 8

    docgraph annotate book.txt --annotator conllu:corenlp-output.conllu -o -
    """
    from docgraph.annotate.cache import default_folder
    from docgraph.annotate.runner import annotate_all
    from docgraph.formats import read
    from docgraph.workers import available_cores

    kind = to or ("arrow" if Path(output).suffix in ARROW_SUFFIXES else "conllu")
    if kind == "arrow" and output == "-":
        raise DocgraphError("Arrow cannot be written to the standard output; name a file with -o, or use --to conllu")
    if Path(output).is_dir():
        raise DocgraphError("this is a folder; name a file to write with -o", path=output)
    code = language.replace("_", "-").partition("-")[0]
    documents = [document for path in files for document in read(path, format, language=code)]
    with _Progress() as progress:
        annotations = annotate_all(
            documents,
            annotator or language,
            jobs=jobs or available_cores(),
            cache=cache or default_folder(),
            on_start=progress.begin,
            on_done=progress.advance,
        )
    _write(kind, output, documents, _noting(annotations))


def _write(kind: Output, output: str, documents: list[Document], annotations: Iterator[Annotation]) -> None:
    from docgraph.annotate import arrow, conllu_writer

    pairs = zip(documents, annotations, strict=True)
    if kind == "arrow":
        arrow.write(output, pairs)
    elif output == "-":
        conllu_writer.dump(sys.stdout.buffer, pairs)
    else:
        conllu_writer.write(output, pairs)


def _noting(annotations: Iterator[Annotation]) -> Iterator[Annotation]:
    """Pass annotations on, and say each of their notes once at the end."""
    notes: dict[str, None] = {}
    for annotation in annotations:
        notes.update(dict.fromkeys(annotation.notes))
        yield annotation
    for note in notes:
        typer.echo(f"docgraph: note: {note}", err=True)


class _Progress(Bars):
    """A bar of documents, with words a second."""

    def __init__(self) -> None:
        super().__init__("words")
        self._words = self._documents = self._total = 0

    def begin(self, documents: int) -> None:
        self._total = documents
        self.update("annotating", 0, 0, documents)

    def advance(self, done: Done) -> None:
        self._words += done.words
        self._documents += done.documents
        self.update("annotating", self._words, self._documents, self._total)
