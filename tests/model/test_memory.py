"""Spans of packed words before each sentence."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.memory import Spans
from docgraph.model.packing import Packing

from .examples import seeds


@settings(max_examples=60)
@given(
    sizes=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=6), min_size=1, max_size=3),
    far=st.integers(1, 4),
    span=st.integers(0, 3),
    seed=seeds,
)
def test_a_span_is_the_words_before_the_sentence(sizes: list[list[int]], far: int, span: int, seed: int) -> None:
    near = max(far - span, 0)
    rng = np.random.default_rng(seed)
    lengths = [length for document in sizes for length in document]
    sentences = [(sum(map(len, sizes[:d])) + m, m) for d, document in enumerate(sizes) for m in range(len(document))]
    chosen = [pair for pair in sentences if rng.random() < 0.8]
    own, index_of = (
        (torch.tensor(part, dtype=torch.int64) for part in zip(*chosen, strict=True))
        if chosen
        else [torch.empty(0, dtype=torch.int64)] * 2
    )
    words = Packing.of(lengths)
    spans = Spans.before(words, own, index_of, far, near)
    bounds = np.concatenate([[0], np.cumsum(lengths)]).tolist()
    states = torch.randn(words.num_tokens, 3, dtype=torch.float64, requires_grad=True)
    copy = spans.take(states)
    counts = torch.zeros(words.num_tokens)
    for s, (c, m) in enumerate(chosen):
        first, last = c - min(far, m), max(c - near, c - min(far, m) - 1)
        expected = list(range(bounds[first], bounds[last + 1]))
        places = slice(int(spans.packing.boundaries[s]), int(spans.packing.boundaries[s + 1]))
        assert spans.index[places].tolist() == expected
        torch.testing.assert_close(copy[places], states[expected])
        counts[expected] += 1
    assert spans.packing.boundaries[-1] == len(spans.index) == spans.packing.num_tokens
    torch.testing.assert_close(spans.packing.pack(spans.packing.pad(copy)), copy)
    read = torch.arange(len(copy)) < int(spans.lengths.sum())
    (gradient,) = torch.autograd.grad((copy * read[:, None]).sum(), states)
    torch.testing.assert_close(gradient, counts[:, None].expand(-1, 3).double())
