"""The interactive page: one self-contained HTML file, which loads nothing and runs no text of the document."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import numpy as np

from docgraph.annotation import Annotation, BoolArray
from docgraph.document import Document
from docgraph.graph.graph import DocumentGraph
from docgraph.graph.links import Edges
from docgraph.graph.overview import SPARSE, STRONGEST, drawn_edges, sentence_pairs
from docgraph.graph.relations import RELATIONS
from docgraph.graph.stopwords import is_function_word
from docgraph.graph.summary import missing


def to_html(graph: DocumentGraph, document: Document, annotation: Annotation, title: str) -> str:
    """The page of one document graph."""
    folder = files("docgraph") / "data"
    # Inside a script element only "<" could end it; JSON may write any character as an escape.
    data = json.dumps(_payload(graph, document, annotation, title), ensure_ascii=False).replace("<", "\\u003c")
    parts = {"title": html.escape(title), "data": data, "script": (folder / "graph_page.js").read_text("utf-8")}
    template = (folder / "graph_page.html").read_text("utf-8")
    return re.sub(r"\{\{(title|data|script)\}\}", lambda match: parts[match[1]], template)


def _payload(graph: DocumentGraph, document: Document, annotation: Annotation, title: str) -> dict[str, Any]:
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
        "notes": [*annotation.notes, *missing(graph, annotation)],
    }


def _sentences(document: Document, annotation: Annotation) -> Iterator[dict[str, Any]]:
    """Each sentence cut into what stands before its first word, that word, what stands before the second, and so on.

    Words that share their characters (the parts of a contraction) are told by their numbers in `parts` and show their
    form; in pieces, for a browser counts characters in other units than we do.
    """
    starts, ends, bounds = annotation.starts.tolist(), annotation.ends.tolist(), annotation.offsets.tolist()
    for text, first, last in zip(document.texts, bounds[:-1], bounds[1:], strict=True):
        pieces, parts, cursor = [], [], 0
        for word in range(first, last):
            shared = starts[word] < cursor
            pieces += [
                text[cursor : starts[word]],
                annotation.forms[word] if shared else text[starts[word] : ends[word]],
            ]
            parts += [word] if shared else []
            cursor = max(cursor, ends[word])
        yield {"pieces": [*pieces, text[cursor:]], "parts": parts}


def _relation(graph: DocumentGraph, name: str, content: BoolArray) -> dict[str, Any]:
    """A relation with the edges and the sentence pairs the page draws."""
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
