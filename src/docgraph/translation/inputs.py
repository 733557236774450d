"""Text to what the model takes: sub-words, the words they belong to, and the graph its config asks for."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from docgraph.annotation import Annotation
from docgraph.corpus.subwords import encode_source, encode_target
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.tokenizer import Ids, Tokenizer

if TYPE_CHECKING:
    from docgraph.translation.translation_memory import TranslationMemory


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


def with_memory(
    example: DocumentExample,
    texts: Sequence[str],
    known: Container[int],
    memory: TranslationMemory,
    tokenizer: Tokenizer,
    longest: int,
    tag: str | None = None,
) -> tuple[DocumentExample, dict[int, Ids]]:
    """A document of these texts with the entries of a memory behind them that its texts, but for `known` ones, are
    likest to, each of at most `longest` sub-words; and what these entries say, by their places."""
    from docgraph.translation.translation_memory import ENTRIES

    found = [[] if place in known else memory.nearest(text) for place, text in enumerate(texts)]
    entries = {entry: len(texts) + rank for rank, entry in enumerate(sorted({e for row in found for e in row}))}
    table = np.full((len(texts) + len(entries), ENTRIES), -1)
    for row, chosen in zip(table, found, strict=False):
        row[: len(chosen)] = [entries[entry] for entry in chosen]
    ids = [tokenizer.source.encode(memory.sources[entry], tag)[0] for entry in entries]
    shown = [np.append(each[: longest - 1], each[-1]) if len(each) > longest else each for each in ids]
    said = tokenizer.target.ids([memory.targets[entry] for entry in entries])
    words = [*example.source_words, *(np.full(len(each), -1) for each in shown)] if example.source_words else ()
    everything = [*example.source, *shown]
    example = replace(example, source=everything, source_words=words, window=range(len(texts)), memory_sentences=table)
    return example, dict(zip(entries.values(), said, strict=True))
