"""From a file or text to its document graph: read, annotate, build."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.graph import DocumentGraph, build_graph
from docgraph.graph.relations import RelationOptions, resolve_relations

Source = str | Path | Document
Progress = Callable[[list[Document]], Iterable[Document]]


def read_graph(
    source: Source,
    relations: str | Iterable[str] = "all",
    options: RelationOptions = RelationOptions(),
    *,
    language: str = "en",
    annotator: str | None = None,
    format: str | None = None,
    document: int | None = None,
) -> DocumentGraph:
    """The graph of one document: of a file, of a text, or of a Document.

    A string is a file name if such a file exists, if it has no white space, or if it ends as the files of a known
    format do; any other string is text. A file with several documents needs `document`, the number of one of them
    from 1. See `read_graphs` for the other arguments.
    """
    graphs = read_graphs(
        source, relations, options, language=language, annotator=annotator, format=format, document=document
    )
    if len(graphs) > 1:
        raise DocgraphError(f"has {len(graphs)} documents; pass document=N or call read_graphs", path=_name(source))
    return graphs[0]


def read_graphs(
    source: Source,
    relations: str | Iterable[str] = "all",
    options: RelationOptions = RelationOptions(),
    *,
    language: str = "en",
    annotator: str | None = None,
    format: str | None = None,
    document: int | None = None,
    progress: Progress = iter,
) -> list[DocumentGraph]:
    """The graphs of all documents of a file, or of document number `document` (from 1) only.

    The documents are annotated by `annotator`, a spec such as `spacy:fr_core_news_sm+coref:fr`, or by the default
    annotator of `language`. A CoNLL-U file brings its own annotation, which is used unless an annotator is given.
    `format` overrides the format that the file name suggests. `progress` wraps the documents while they are annotated
    (for instance `tqdm.tqdm`).
    """
    names = resolve_relations(relations)  # an unknown relation fails before the annotation, which can take long
    graphs = [
        build_graph(_with_note(annotation, options), names, options, text)
        for text, annotation in _annotate(source, language, annotator, format, document, progress)
    ]
    if not graphs:
        raise DocgraphError("holds no document; give a file with text in it", path=_name(source))
    return graphs


def _annotate(
    source: Source, language: str, annotator: str | None, format: str | None, number: int | None, progress: Progress
) -> Iterator[tuple[Document, Annotation]]:
    """Yield the documents of `source`, or the chosen one, with their annotations."""
    if annotator is None and not isinstance(source, Document) and _is_conllu(source, format):
        from docgraph.annotate import conllu

        pairs = conllu.read(source)
        yield from pairs[_chosen(number, len(pairs), source)]
        return
    from docgraph.annotate.registry import load_pipeline

    documents = _documents(source, format, language.replace("_", "-").partition("-")[0])
    pipeline = load_pipeline(annotator or language)
    for document in progress(documents[_chosen(number, len(documents), source)]):
        yield document, pipeline(document)


def _is_conllu(source: str | Path, format: str | None) -> bool:
    return format == "conllu" or (format is None and _is_path(source) and Path(source).suffix.lower() == ".conllu")


def _documents(source: Source, format: str | None, language: str) -> list[Document]:
    from docgraph import formats

    if isinstance(source, Document):
        return [source]
    if _is_path(source):
        return formats.read(source, format, language=language)
    return formats.read(io.StringIO(str(source)), format or "text", language=language)


def _is_path(source: str | Path) -> bool:
    from docgraph.formats import by_extension

    if isinstance(source, Path):
        return True
    if len(words := source.split()) < 2:
        return bool(words)
    try:
        return Path(source).exists() or Path(source).suffix == ".conllu" or by_extension(source) is not None
    except OSError:  # longer than a file name can be
        return False


def _name(source: Source) -> str:
    """How an error names the source."""
    if isinstance(source, Document):
        return source.id or "<document>"
    return str(source) if _is_path(source) else "<text>"


def _chosen(number: int | None, count: int, source: Source) -> slice:
    """The slice of `count` documents that holds document `number`, or all of them."""
    if number is None:
        return slice(None)
    if not 1 <= number <= count:
        size = "1 document" if count == 1 else f"{count} documents"
        raise DocgraphError(
            f"has {size}, so there is no document {number}; choose a smaller number", path=_name(source)
        )
    return slice(number - 1, number)


def _with_note(annotation: Annotation, options: RelationOptions) -> Annotation:
    if options.skip_stop_words and annotation.upos is None:
        return annotation.with_notes("without parts of speech, only punctuation is left out of lexical links")
    return annotation
