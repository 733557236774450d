"""From a file or text to its document graph: read, annotate, build."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

from docgraph import formats
from docgraph.annotate import conllu, registry
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.graph.graph import DocumentGraph, build_graph
from docgraph.graph.relations import RelationOptions, resolve_relations
from docgraph.languages import base_language

T = TypeVar("T")
Source = str | Path | Document
"""A file name, text, or a document; `read_graph` says which strings are file names."""
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
    """Returns the graph of one document: of a file, of a text, or of a Document.

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
    """Returns the graphs of all documents of a file, or of document number `document` (from 1) only.

    The documents are annotated by `annotator`, a spec such as `spacy:fr_core_news_sm+coref:fr`, or by the default
    annotator of `language`. A CoNLL-U file brings its own annotation, which is used unless an annotator is given.
    `format` overrides the format that the file name suggests. `progress` wraps the documents while they are annotated
    (for instance `tqdm.tqdm`).
    """
    names = resolve_relations(relations)  # an unknown relation fails before the annotation, which can take long
    pairs: Iterable[tuple[Document, Annotation]]
    if annotator is None and _is_conllu(source, format):
        pairs = _choose(conllu.read(str(source)), document, source)
    else:
        documents = _choose(_read_documents(source, format, language), document, source)
        pipeline = registry.load_pipeline(annotator or language)
        pairs = ((text, pipeline(text)) for text in progress(documents))
    graphs = [build_graph(_with_note(annotation, options), names, options, text) for text, annotation in pairs]
    if not graphs:
        raise DocgraphError("holds no document; give a file with text in it", path=_name(source))
    return graphs


def _is_conllu(source: Source, format: str | None) -> bool:
    return _is_path(source) and (
        format == "conllu" or (format is None and Path(str(source)).suffix.lower() == ".conllu")
    )


def _read_documents(source: Source, format: str | None, language: str) -> list[Document]:
    if isinstance(source, Document):
        return [source]
    code = base_language(language)
    if _is_path(source):
        return formats.read(source, format, language=code)
    return formats.read(io.StringIO(str(source)), format or "text", language=code)


def _is_path(source: Source) -> bool:
    """Returns whether the source is a path; `read_graph` documents how a string is interpreted."""
    if not isinstance(source, str):
        return isinstance(source, Path)
    if len(words := source.split()) < 2:
        return bool(words)
    try:
        return Path(source).exists() or source.endswith(".conllu") or formats.by_extension(source) is not None
    except OSError:  # longer than a file name can be
        return False


def _name(source: Source) -> str:
    """Returns the name of the source in errors."""
    if isinstance(source, Document):
        return source.id or "<document>"
    return str(source) if _is_path(source) else "<text>"


def _choose(items: list[T], number: int | None, source: Source) -> list[T]:
    """Returns the item with the given number, from 1, in a list; all items if the number is None."""
    if number is None:
        return items
    if not 1 <= number <= len(items):
        size = "1 document" if len(items) == 1 else f"{len(items)} documents"
        message = f"has {size}, so there is no document {number}; choose a smaller number"
        raise DocgraphError(message, path=_name(source))
    return [items[number - 1]]


def _with_note(annotation: Annotation, options: RelationOptions) -> Annotation:
    if options.skip_stop_words and annotation.upos is None:
        return annotation.with_notes("without parts of speech, only punctuation is left out of lexical links")
    return annotation
