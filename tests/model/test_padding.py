"""A padded batch has the requested sizes and unchanged losses and gradients."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from docgraph.graph import RelationOptions, build_graph
from docgraph.model.padding import capacity, fill_up, sizes_of

from .examples import (
    batch_of,
    documents,
    loss_and_gradients,
    random_annotation,
    random_document,
    small_config,
    small_model,
)

PAD = 0
SHAPES = [([3, 0, 5, 2], [4, 6]), ([7, 1], [2, 2, 3], [1]), ([5, 5, 4, 3, 2, 6, 1],)]
CONTRARY = [(1, 60), (40, 12), (100, 5)]
"""Words per sentence and numbers of sentences: many short ones, few long ones."""
BATCHES = [batch_of(documents(seed, *sizes)) for seed, sizes in enumerate(SHAPES)]


@pytest.mark.parametrize("nodes", ["sentence", "word", "both"])
@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_padding_changes_nothing(place: str, nodes: str) -> None:
    model = small_model(small_config(integration=place, graph={"nodes": nodes}), open_gates=True)
    room = capacity(BATCHES)
    for batch in BATCHES:
        filled = fill_up(batch, room, PAD)
        assert filled is not None
        assert sizes_of(filled) == room
        for expected, found in zip(*(loss_and_gradients(model, b) for b in (batch, filled)), strict=True):
            torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("nodes", ["sentence", "both"])
def test_documents_and_sentences_longer_than_a_block(nodes: str) -> None:
    model = small_model(small_config(graph={"nodes": nodes}), open_gates=True)
    batch = batch_of(documents(0, [80, 90, 70, 5], [3, 50], [75, 60, 80]))
    filled = fill_up(batch, capacity([batch]), PAD)
    assert filled is not None
    for blocks, groups in ((filled.source.documents, 3), (filled.source.blocks, batch.num_sentences)):
        assert blocks is not None
        assert blocks.owner is not None
        assert blocks.owner[blocks.rows.mask.any(1)].bincount()[:groups].max() > 1
    for expected, found in zip(*(loss_and_gradients(model, b) for b in (batch, filled)), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_every_batch_of_a_sample_fits() -> None:
    """Also batches with few tokens, which need many blocks of padding."""
    batches = [batch_of(documents(seed, *[[words] * count])) for seed, (words, count) in enumerate(CONTRARY)]
    room = capacity(batches)
    assert all(fill_up(batch, room, PAD) is not None for batch in batches)


def test_links_with_a_maximum_distance() -> None:
    rng = np.random.default_rng(0)
    sizes = [4, 3, 5, 2, 6]
    graph = build_graph(random_annotation(rng, sizes), "all", RelationOptions(max_distance=1))
    batch = batch_of([dataclasses.replace(random_document(rng, sizes), graph=graph)])
    filled = fill_up(batch, capacity([batch]), PAD)
    assert filled is not None
    model = small_model(small_config(), open_gates=True)
    torch.testing.assert_close(*(model(b)[0] for b in (batch, filled)), rtol=1e-5, atol=1e-5)


def test_edges_between_sentences() -> None:
    """Batches without such edges, which are summed differently, have other sizes."""
    rng = np.random.default_rng(0)
    sizes = [4, 3, 5, 2, 6]
    example, annotation = random_document(rng, sizes), random_annotation(rng, sizes, kinds=4)
    batch, without = (
        batch_of([dataclasses.replace(example, graph=build_graph(annotation, relations))])
        for relations in ("all,tfidf", "all")
    )
    room = capacity([batch])
    filled = fill_up(batch, room, PAD)
    assert filled is not None
    assert sizes_of(filled) == room
    assert fill_up(without, room, PAD) is None
    model = small_model(small_config(), open_gates=True)
    for expected, found in zip(*(loss_and_gradients(model, b) for b in (batch, filled)), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_equal_sizes_are_equal_shapes() -> None:
    def shapes(value: object) -> list[object]:
        if isinstance(value, torch.Tensor):
            return [value.shape]
        if isinstance(value, tuple):
            return [shape for part in value for shape in shapes(part)]
        if dataclasses.is_dataclass(value):
            return [shape for field in dataclasses.fields(value) for shape in shapes(getattr(value, field.name))]
        return [value]

    room = capacity(BATCHES)
    first, *others = (shapes(fill_up(batch, room, PAD)) for batch in BATCHES)
    assert all(other == first for other in others)


def test_a_batch_that_does_not_fit_is_refused() -> None:
    small, large = BATCHES[0], BATCHES[2]
    assert fill_up(large, sizes_of(small), PAD) is None
    assert fill_up(small, sizes_of(small), PAD) is None  # no room for a document of padding
    window = batch_of([dataclasses.replace(documents(0, [3, 4])[0], window=range(1))])
    assert fill_up(window, capacity([window]), PAD) is None
    assert fill_up(small, {**capacity(BATCHES), "target tokens of a sentence": 1}, PAD) is None
