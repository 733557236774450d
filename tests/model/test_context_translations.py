"""Translations in place of references as context affect later sentences only through context."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from docgraph.graph.selection import select
from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.config import LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.padding import capacity, fill_up, sizes_of
from docgraph.model.systems.pointer import Pointer

from .examples import SYSTEMS, VOCABULARY, batch_of, documents, small_config, small_model

LINKED = LinkedConfig(words=5, sentences=2, length=8)
READERS: dict[str, dict[str, Any]] = {
    **{name: SYSTEMS[name] for name in ("docgraph", "han", "selective")},
    "linked": {"encoder": "linked", "integration": "post", "linked": LINKED},
    "pointer": {"encoder": "pointer", "integration": "post", "linked": LINKED},
}
SIZES = [3, 4, 5, 2, 6], [4, 2, 3]
FIRST = 1
"""The sentence of the first document whose translation is changed."""


@pytest.fixture(params=READERS)
def model(request: pytest.FixtureRequest) -> DocumentTransformer:
    built = small_model(small_config(**READERS[request.param]), open_gates=True)
    for module in built.modules():
        if isinstance(module, Pointer):
            module.gate_outer.bias.data.fill_(1.5)
            module.slope.data.fill_(2.0)
    return built


def examples() -> list[DocumentExample]:
    found = documents(5, *SIZES)
    assert all(example.graph is not None for example in found)
    return [replace(one, selection=select(one.graph, LINKED.words, LINKED.sentences)) for one in found]  # type: ignore[arg-type]


def showing(example: DocumentExample, sentence: int | None = None) -> DocumentExample:
    """The document with its references as context translations, one of them replaced by a longer one."""
    shown, words = list(example.target), list(example.target_words)
    if sentence is not None:
        other = 3 + (shown[sentence][:-1] + 14) % (VOCABULARY - 3)
        shown[sentence] = np.concatenate([other, [7, 9], shown[sentence][-1:]])
        words[sentence] = np.append(np.arange(len(shown[sentence]) - 1), -1)
    return replace(example, context_translations=shown, target_words=words, given=np.zeros(len(shown), dtype=bool))


def losses(model: DocumentTransformer, batch: DocumentBatch) -> Tensor:
    """[S]: the loss of each translated sentence."""
    assert batch.target is not None
    assert batch.gold is not None
    with torch.no_grad():
        following = model.logits(batch).log_softmax(-1).gather(1, batch.gold[:, None])[:, 0]
    return torch.zeros(batch.num_sentences).index_add(0, batch.target.sentences.sequence_of, -following)


def test_references_as_translations_change_nothing(model: DocumentTransformer) -> None:
    plain = examples()
    shown = batch_of([showing(example) for example in plain])
    torch.testing.assert_close(losses(model, shown), losses(model, batch_of(plain)), rtol=1e-6, atol=1e-5)


def test_another_translation_changes_only_the_losses_of_later_sentences(model: DocumentTransformer) -> None:
    plain, other = examples()
    before, after = (losses(model, batch_of([one, other])) for one in (plain, showing(plain, FIRST)))
    changed = (after - before).abs() > 1e-5
    assert not changed[: FIRST + 1].any()
    assert changed[FIRST + 1 : len(SIZES[0])].any()
    assert not changed[len(SIZES[0]) :].any()  # the other document


def test_windows_and_padding_see_the_same_translations(model: DocumentTransformer) -> None:
    plain, other = (showing(example, FIRST) for example in examples())
    batch = batch_of([plain, other])
    expected = losses(model, batch)
    parts = [batch_of([replace(plain, window=window), other]) for window in (range(2), range(2, 5))]
    found = torch.cat([losses(model, parts[0])[:2], losses(model, parts[1])])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-4)
    room = capacity([batch])
    filled = fill_up(batch, room, 0)
    assert filled is not None
    assert sizes_of(filled) == room
    torch.testing.assert_close(losses(model, filled)[: len(expected)], expected, rtol=1e-5, atol=1e-4)
