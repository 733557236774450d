"""Excerpts: some sentences of a document with everything they read, so that they translate as in the document."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from docgraph.graph.selection import Selection
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.hints import Hint, hints_by_sentence, referents
from docgraph.model.systems import prepare
from docgraph.translation.decoding.decoder import DecoderInput
from docgraph.translation.decoding.document_draft import untranslated


def with_referents(hints: Iterable[Hint], sentences: Iterable[int], known: Container[int]) -> list[int]:
    """Returns sentences and, transitively, those without a known translation that their hints read, in order."""
    read, found, waiting = referents(hints), set[int](), [*sentences]
    while waiting:
        if (m := waiting.pop()) not in found:
            found.add(m)
            waiting += (other for other in read.get(m, ()) if other not in known)
    return sorted(found)


def excerpt(whole: DecoderInput, sentences: Sequence[int], config: ModelConfig) -> tuple[DecoderInput, list[int]]:
    """Returns `sentences` as a document, followed by those whose translations they read, and their indices.

    For a model that does not read whole documents. The graph of the whole document selects the given translations that
    the sentences read. Hints contain translations that are known, or translations of other sentences of the excerpt
    (`with_referents`). So the sentences are translated as in the whole document.
    """
    document, known = whole.example, whole.known
    rows, selection = list(sentences), None
    if not (document.graph is None and document.selection is None and document.memory_sentences is None):
        selection = prepare(untranslated(document, known), config).selection
    table = np.full((len(rows), 0), -1) if selection is None else selection.sentences[rows]
    place_of = {m: place for place, m in reversed([*enumerate(rows)]) if m not in known}
    hints = hints_by_sentence(document.hints if config.hints is not None else ())
    said = set().union(*referents(hint for m in {*rows} for hint in hints.get(m, ())).values())
    read = np.unique([*table[table >= 0].tolist(), *(m for m in said if m not in place_of and m in known)])
    read = read.astype(np.int64)
    place_of |= {m: len(rows) + k for k, m in enumerate(read.tolist())}
    origins = [*rows, *read.tolist()]
    moved_hints = [
        each
        for place, m in enumerate(origins)
        for hint in hints.get(m, ())
        if (each := _moved(hint, place, place_of if place < len(rows) else {})) is not None
    ]
    lookups = hints_by_sentence(document.lookups)
    moved_lookups = [replace(hint, sentence=place) for place, m in enumerate(rows) for hint in lookups.get(m, ())]
    source = [document.source[m] for m in origins]
    example = DocumentExample(source, hints=moved_hints, lookups=moved_lookups)
    if not len(read) and document.memory_sentences is None:
        return DecoderInput(example), origins
    example = replace(example, window=range(len(rows)))
    if selection is not None:
        moved = np.where(table >= 0, np.searchsorted(read, table) + len(rows), -1)
        moved = np.pad(moved, ((0, len(read)), (0, 0)), constant_values=-1).astype(np.int32)
        words = np.full((len(origins), selection.words.shape[1]), -1, dtype=np.int32)
        example = replace(example, ahead=True, selection=Selection(words, moved))
    own = {place: known[m] for place, m in enumerate(origins) if place >= len(rows)}
    return DecoderInput(example, own), origins


def _moved(hint: Hint, sentence: int, place_of: Mapping[int, int]) -> Hint | None:
    """Returns the hint of a sentence in an excerpt; None if it is open and the excerpt lacks its referent."""
    if not hint.is_open or hint.referent is None:
        return replace(hint, sentence=sentence)
    if (place := place_of.get(hint.referent.sentence)) is None:
        return None
    return replace(hint, sentence=sentence, referent=replace(hint.referent, sentence=place))
