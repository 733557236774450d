"""Hypothesis strategies for documents with arbitrary valid annotations."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from docgraph.annotate.builder import document_from_lines
from docgraph.annotation import STRING_COLUMNS, Annotation, Strings, int_array
from docgraph.document import Document

CHARACTERS = st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp"))
FORM = st.text(CHARACTERS, min_size=1, max_size=6).filter(lambda form: not any(c.isspace() for c in form))
CELL = FORM.filter(lambda cell: cell != "_")
SPACE = st.sampled_from([" ", "", "  ", "\u00a0", " \u2003"])


@st.composite
def sentences(draw: st.DrawFn) -> tuple[str, list[tuple[int, int, str]]]:
    """(text, words as (start, end, form)): words may touch, share characters, or leave characters out."""
    text, words = draw(SPACE), []
    for _ in range(draw(st.integers(0, 6))):
        if draw(st.integers(0, 5)) == 0:
            text += draw(FORM) + draw(SPACE)  # characters that belong to no word
        form = draw(FORM)
        start = len(text)
        text += form
        shared = draw(st.lists(FORM, min_size=2, max_size=3)) if draw(st.integers(0, 5)) == 0 else [form]
        words.extend((start, len(text), part) for part in shared)
        text += draw(SPACE)
    return text, words


@st.composite
def forests(draw: st.DrawFn, lengths: list[int]) -> list[int]:
    """Acyclic heads [W], each in its sentence."""
    heads: list[int] = []
    for length in lengths:
        base = len(heads)
        order = draw(st.permutations(range(length)))
        head = list(range(length))
        for rank, word in enumerate(order):
            parent = draw(st.integers(0, rank))
            head[word] = order[parent] if parent < rank else word
        heads.extend(base + word for word in head)
    return heads


@st.composite
def annotated_documents(draw: st.DrawFn) -> tuple[Document, Annotation]:
    """Documents of up to four sentences with any combination of layers."""
    found = draw(st.lists(sentences(), max_size=4))
    lengths = [len(words) for _, words in found]
    words = [word for _, sentence in found for word in sentence]
    count = len(words)
    columns: dict[str, Any] = {}

    def strings(cells: st.SearchStrategy[str]) -> Strings:
        return Strings.of(draw(st.lists(cells, min_size=count, max_size=count)))

    if draw(st.booleans()):
        columns["lemmas"] = strings(FORM if count and all(form == "_" for _, _, form in words) else CELL)
    if draw(st.booleans()):
        columns["upos"] = strings(CELL | st.just(""))
        columns["feats"] = strings(CELL | st.just("")) if draw(st.booleans()) else None
    if draw(st.booleans()):
        columns["heads"] = int_array(draw(forests(lengths)))
        columns["deprels"] = strings(CELL) if draw(st.booleans()) else None
    if draw(st.booleans()):
        pairs = st.tuples(st.integers(0, max(count - 1, 0)), st.integers(0, max(count - 1, 0)))
        links = {(b, a) for a, b in draw(st.lists(pairs, max_size=6)) if a < b < count}
        columns["coreference"] = np.array(sorted(links), dtype=np.int32).reshape(-1, 2)[:, ::-1].copy()
    document = document_from_lines(
        [text for text, _ in found],
        draw(st.text("abc-1", max_size=4)),
        draw(st.lists(st.none() | CELL, min_size=len(found), max_size=len(found))),
        [0] * len(found),
    )
    offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int32)
    starts, ends = int_array(start for start, _, _ in words), int_array(end for _, end, _ in words)
    annotation = Annotation(offsets, starts, ends, Strings.of(form for _, _, form in words), **columns)
    annotation.check(document)
    return document, annotation


def assert_same(found: Annotation, expected: Annotation) -> None:
    """Asserts that all columns are equal."""
    for name in ("offsets", "starts", "ends", "heads", "coreference"):
        mine, other = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (other is None), name
        assert mine is None or np.array_equal(mine, other), name
    for name in STRING_COLUMNS:
        mine, other = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (other is None), name
        assert mine is None or mine.to_list() == other.to_list(), name
