"""The interactive page of a document graph: one self-contained HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from docgraph.annotation import Annotation, BoolArray
from docgraph.document import Document
from docgraph.graph.drawing import SPARSE, STRONGEST, drawn_edges, sentence_pairs
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Edges
from docgraph.graph.relations import RELATIONS, is_function_word
from docgraph.graph.summary import missing_layers
from docgraph.html_page import html_page


def to_html(graph: DocumentGraph, title: str | None = None) -> str:
    """Returns the page of a graph; `title` is by default the document's id."""
    document, annotation = graph.annotated_document()
    title = title if title is not None else document.id
    return html_page("graph_page", _page_data(graph, document, annotation, title), title=title)


def _page_data(graph: DocumentGraph, document: Document, annotation: Annotation, title: str) -> dict[str, Any]:
    """Returns the JSON object that the script of the page reads."""
    lexical, function_words = graph.lexical, is_function_word(annotation)
    indegree, outdegree = (degree[: graph.num_words].tolist() for degree in graph.degrees)
    return {
        "title": title,
        "sentences": list(_sentences(document, annotation)),
        "sentenceOf": graph.sentence_of.tolist(),
        "lemmas": annotation.lemmas.to_list() if annotation.lemmas is not None else None,
        "tags": annotation.upos.to_list() if annotation.upos is not None else None,
        "deprels": annotation.deprels.to_list() if annotation.deprels is not None else None,
        "functionWords": np.flatnonzero(function_words).tolist(),
        "relations": [_relation(graph, name, ~function_words) for name in graph.relations],
        "allPairs": sentence_pairs(graph, "lexical") if lexical is not None else [],
        "strongest": STRONGEST,
        "sparse": SPARSE,
        "lexical": {"form": lexical.form.groups(), "lemma": lexical.lemma.groups(), "maxDistance": lexical.reach}
        if lexical is not None
        else None,
        "numEdges": graph.num_edges,
        "indegree": indegree,
        "outdegree": outdegree,
        "notes": [*annotation.notes, *missing_layers(graph, annotation)],
    }


def _sentences(document: Document, annotation: Annotation) -> Iterator[dict[str, Any]]:
    """Yields each sentence as pieces: the text before the first word, the first word, the text before the second, ...

    Offsets would not do: a browser counts UTF-16 code units, Python counts characters. Words that share characters
    (the parts of a contraction) are listed in `parts` and show their form.
    """
    starts, ends, bounds = annotation.starts.tolist(), annotation.ends.tolist(), annotation.offsets.tolist()
    for text, first, last in zip(document.texts, bounds[:-1], bounds[1:], strict=True):
        pieces, parts, cursor = [], [], 0
        for word in range(first, last):
            shared = starts[word] < cursor
            pieces.append(text[cursor : starts[word]])
            pieces.append(annotation.forms[word] if shared else text[starts[word] : ends[word]])
            parts += [word] if shared else []
            cursor = max(cursor, ends[word])
        yield {"pieces": [*pieces, text[cursor:]], "parts": parts}


def _relation(graph: DocumentGraph, name: str, content: BoolArray) -> dict[str, Any]:
    """Returns a relation with the edges and the sentence pairs that the page draws."""
    drawn = Edges.empty() if name == "membership" else drawn_edges(graph, name)
    known = RELATIONS.get(name)
    return {
        "name": name,
        "doc": known.doc if known else "",
        "scope": known.scope if known else "inter",
        "count": len(graph.relations[name]),
        "edges": np.stack([drawn.source, drawn.target], axis=1).ravel().tolist(),
        "sentencePairs": sentence_pairs(graph, name, content),
    }
