"""Linked words: each sentence reads what the graph links it with, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from docgraph.graph.selection import select
from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.config import LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.padding import capacity, fill_up
from docgraph.model.systems import context_class
from docgraph.model.systems.linked import LinkedWords
from docgraph.model.tokenizer import SPACE
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig

from ..examples import assert_steps_as_forced, batch_of, documents, rewritten, small_config, small_model

SIZES = LinkedConfig(words=5, sentences=2, length=3)


def selected(example: DocumentExample) -> DocumentExample:
    assert example.graph is not None
    return replace(example, selection=select(example.graph, SIZES.words, SIZES.sentences))


def model_of(place: str, sides: str = "both") -> DocumentTransformer:
    config = small_config(encoder="linked", integration=place, sides=sides, linked=SIZES)
    return small_model(config, open_gates=True)


def states(model: DocumentTransformer, batch: DocumentBatch) -> torch.Tensor:
    return model.states(batch, model.memories(batch)).hidden


DOCUMENTS = [selected(example) for example in documents(5, [3, 4, 5, 2, 6], [4, 2, 3])]


@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_a_sentence_reads_only_linked_sentences(place: str) -> None:
    model, example = model_of(place), DOCUMENTS[0]
    assert example.selection is not None
    assert example.graph is not None
    before = states(model, batch_of([example]))
    rows = batch_of([example]).target
    assert rows is not None
    read = 0
    for changed in range(len(example.source)):
        if len(example.target[changed]) < 2:
            continue
        after = states(model, batch_of([rewritten(example, "target", changed)]))
        for m in range(len(example.source)):
            if m != changed:
                mine = rows.sentences.sequence_of == m
                linked = changed in context_class(model.config).translations_read(model.config, example, m)
                assert torch.equal(after[mine], before[mine]) != linked
                read += linked
    assert read > 3


def test_source_words_are_encoder_states() -> None:
    model, batch = model_of("post"), batch_of(DOCUMENTS)
    assert isinstance(model.context, LinkedWords)
    memory = model.context.source_memory(batch, model)
    assert memory is not None
    assert batch.graph is not None
    base = model.encode(batch, Memories())
    pieces = torch.from_numpy(np.flatnonzero(np.concatenate(DOCUMENTS[0].source_words) == 4))
    torch.testing.assert_close(memory.states[4], base[pieces].mean(0))
    assert not memory.states.requires_grad


def test_a_key_is_the_state_that_predicted_the_value() -> None:
    model, batch = model_of("post"), batch_of(DOCUMENTS)
    assert isinstance(model.context, LinkedWords)
    memory = model.context.target_memory(batch, model)
    assert memory is not None
    assert batch.gold is not None
    plain = model.decode(batch, model.encode(batch, Memories()), Memories())
    torch.testing.assert_close(memory.states, plain.hidden)
    torch.testing.assert_close(memory.values, model.embeddings.words(batch.gold, "target"))


@pytest.mark.parametrize("sides", ["source", "target", "both"])
@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_windows_padding_and_blocks_change_nothing(place: str, sides: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docgraph.model.padding.WIDTHS", {"document": 8, "sentence": 2})
    model, whole = model_of(place, sides), batch_of(DOCUMENTS)
    part = batch_of([replace(DOCUMENTS[0], window=range(2, 4)), replace(DOCUMENTS[1], window=range(1))])
    assert whole.target is not None
    rows = torch.isin(whole.target.sentences.sequence_of, torch.tensor([2, 3, 5]))
    torch.testing.assert_close(states(model, part), states(model, whole)[rows])
    filled = fill_up(whole, capacity([whole]), pad=0)
    assert filled is not None
    torch.testing.assert_close(model(filled)[0], model(whole)[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_step_by_step_is_teacher_forcing(place: str) -> None:
    assert_steps_as_forced(model_of(place), batch_of(DOCUMENTS))


def test_without_links_it_is_base() -> None:
    alone = [selected(example) for example in documents(6, [3], [1])]
    model, batch = model_of("hyb"), batch_of(alone)
    base = model.decode(batch, model.encode(batch, Memories()), Memories())
    assert torch.equal(states(model, batch), base.hidden)


@pytest.mark.parametrize("beams", [1, 2])
def test_parallel_decoding_equals_sequential(beams: int) -> None:
    tokenizer: Any = SimpleNamespace(target=SimpleNamespace(pieces=lambda ids: [f"{SPACE}{i}" for i in ids]))
    model, config = model_of("post"), SearchConfig(beams=beams, min_length=3, max_length_factor=0.0)
    inputs = [DecoderInput(example) for example in DOCUMENTS]
    at_once, in_order = (
        decode_documents(model, tokenizer, inputs, DecodingOptions(config, mode)) for mode in ("parallel", "sequential")
    )
    found = [
        [[h.tokens for h in best] for document in way for best in document.sentences] for way in (at_once, in_order)
    ]
    assert found[0] == found[1]
    assert max(document.passes for document in at_once) > 1
