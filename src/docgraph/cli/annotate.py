"""docgraph annotate: annotate documents with words, lemmas, heads and coreference, as CoNLL-U or Arrow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from docgraph.cli.options import JobsOption
from docgraph.cli.progress import ProgressBars
from docgraph.errors import DocgraphError

if TYPE_CHECKING:
    from docgraph.annotate.runner import StoredChunk
    from docgraph.annotation import Annotation
    from docgraph.document import Document

OutputFormat = Literal["conllu", "arrow"]
ARROW_SUFFIXES = (".arrow", ".ipc", ".feather")


def annotate(
    files: Annotated[list[Path], typer.Argument(help="Documents to annotate.", show_default=False)],
    output: Annotated[
        str, typer.Option("-o", "--output", help="Output file; - for standard output.", show_default=False)
    ],
    language: Annotated[
        str, typer.Option("--lang", help="Language of the documents; selects the default annotator.")
    ] = "en",
    annotator: Annotated[
        str | None,
        typer.Option(help="Annotator spec, such as spacy:fr_core_news_sm+coref:fr or conllu:parsed.conllu."),
    ] = None,
    to: Annotated[
        OutputFormat | None,
        typer.Option(help="Output format (default: arrow if the output ends in .arrow, else conllu)."),
    ] = None,
    jobs: JobsOption = None,
    format: Annotated[str | None, typer.Option(help="Input format (default: detected from the file names).")] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Cache folder for finished annotations (default: $DOCGRAPH_CACHE or the user's cache folder)."
        ),
    ] = None,
) -> None:
    """Annotate documents with words, lemmas, dependency heads and coreference.

    After an interruption, run the same command again: it resumes from the cache.

    [bold]Examples[/bold]

    docgraph annotate report.docx -o report.conllu

    docgraph annotate talks/*.txt --lang fr -o talks.arrow --jobs 8

    docgraph annotate book.txt --annotator conllu:corenlp-output.conllu -o -
    """
    from docgraph.annotate.runner import annotate_all, default_cache_folder
    from docgraph.formats import read
    from docgraph.languages import base_language
    from docgraph.workers import available_cores

    output_format = to or ("arrow" if Path(output).suffix in ARROW_SUFFIXES else "conllu")
    if output_format == "arrow" and output == "-":
        raise DocgraphError("cannot write Arrow to standard output; name a file with -o or use --to conllu")
    if Path(output).is_dir():
        raise DocgraphError("this is a folder; name an output file with -o", path=output)
    code = base_language(language)
    documents = [document for path in files for document in read(path, format, language=code)]
    with _Progress() as progress:
        annotations = annotate_all(
            documents,
            annotator or language,
            jobs=jobs or available_cores(),
            cache=cache or default_cache_folder(),
            on_start=progress.begin,
            on_done=progress.advance,
        )
    _write(output_format, output, documents, _echo_notes(annotations))


def _write(
    output_format: OutputFormat, output: str, documents: list[Document], annotations: Iterator[Annotation]
) -> None:
    from docgraph.annotate import arrow, conllu_writer

    pairs = zip(documents, annotations, strict=True)
    if output_format == "arrow":
        arrow.write(output, pairs)
    elif output == "-":
        conllu_writer.dump(sys.stdout.buffer, pairs)
    else:
        conllu_writer.write(output, pairs)


def _echo_notes(annotations: Iterator[Annotation]) -> Iterator[Annotation]:
    """Passes annotations through, then prints each distinct note once to standard error."""
    notes: dict[str, None] = {}
    for annotation in annotations:
        notes.update(dict.fromkeys(annotation.notes))
        yield annotation
    for note in notes:
        typer.echo(f"docgraph: note: {note}", err=True)


class _Progress(ProgressBars):
    """A progress bar over documents, with words per second."""

    def __init__(self) -> None:
        super().__init__("words")
        self._words = self._documents = self._total = 0

    def begin(self, documents: int) -> None:
        """Shows the bar for `documents` documents."""
        self._total = documents
        self.update("annotating", 0, 0, documents)

    def advance(self, chunk: StoredChunk) -> None:
        """Advances the bar by a finished chunk."""
        self._words += chunk.words
        self._documents += chunk.documents
        self.update("annotating", self._words, self._documents, self._total)
