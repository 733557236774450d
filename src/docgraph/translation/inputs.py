"""Text to what the model takes: sub-words, the words they belong to, and the graph its config asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from docgraph.annotation import Annotation
from docgraph.corpus.encoding import encode_source, encode_target
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.tokenizer import Ids, Tokenizer


def example_from_text(
    source: Sequence[str],
    tokenizer: Tokenizer,
    annotation: Annotation | None = None,
    relations: Sequence[str] | None = None,
    target: Sequence[str] = (),
    tag: str | None = None,
) -> DocumentExample:
    """A document of these sentences; with its annotation and relations it has a graph, with `target` a translation."""
    graph, words = None, list[Ids]()
    if annotation is None or relations is None:
        ids = [tokenizer.source.encode(text, tag)[0] for text in source]
    else:
        graph = build_graph(annotation, relations)
        ids, owners = encode_source(source, annotation, tokenizer.source, tag)
        words = [np.where(o < 0, -1, o + base) for o, base in zip(owners, annotation.offsets, strict=False)]
    translated, target_words = encode_target(target, tokenizer.target)
    return DocumentExample(ids, translated, graph, words, target_words)
