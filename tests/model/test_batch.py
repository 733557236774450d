"""Batches of whole documents."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.batch import DocumentExample
from docgraph.model.systems.docgraph import own_words, pooled_words

from .examples import (
    BOS,
    EOS,
    batch_of,
    documents,
    random_document,
    seeds,
    sentence_sizes,
    small_config,
    small_model,
    tensors,
)


@settings(max_examples=30)
@given(sizes=st.lists(sentence_sizes, min_size=1, max_size=4), seed=seeds)
def test_sentences_documents_and_graphs_keep_their_order(sizes: list[list[int]], seed: int) -> None:
    rng = np.random.default_rng(seed)
    examples = [random_document(rng, each) for each in sizes]
    batch = batch_of(examples)
    sentences = [(d, m) for d, each in enumerate(sizes) for m in range(len(each))]
    assert list(zip(batch.document_of.tolist(), batch.index_of.tolist(), strict=True)) == sentences
    assert (batch.num_documents, batch.num_sentences) == (len(sizes), len(sentences))
    for number, (document, index) in enumerate(sentences):
        assert batch.used[document, index]
        assert batch.slots[document, index] == number
        source = batch.source.tokens[batch.source.sentences.sequence_of == number]
        assert source.tolist() == examples[document].source[index].tolist()
    assert batch.used.sum() == len(sentences)
    tokens_of = [sum(len(sentence) for sentence in example.source) for example in examples]
    assert batch.source.documents.rows.mask.sum(1).tolist() == tokens_of
    assert batch.graph is not None
    assert batch.graph.structure.num_words == sum(map(sum, sizes))
    assert batch.graph.structure.num_sentences == len(sentences)


def test_the_decoder_reads_the_reference_one_token_late() -> None:
    examples = documents(0, [3, 0], [2])
    batch = batch_of(examples)
    assert batch.target is not None
    assert batch.gold is not None
    references = [target for example in examples for target in example.target]
    assert batch.gold.tolist() == np.concatenate(references).tolist()
    assert batch.target.tokens.tolist() == np.concatenate([[BOS, *target[:-1]] for target in references]).tolist()
    assert batch.target.sentences.mask.sum(1).tolist() == [len(target) for target in references]


def test_words_are_means_of_their_own_sub_words() -> None:
    model = small_model(small_config())
    examples = documents(1, [3, 0, 4], [2])
    batch = batch_of(examples)
    assert batch.graph is not None
    found = pooled_words(batch.graph, model.embeddings, "source")
    base = 0
    for example in examples:
        tokens, owner = np.concatenate(example.source), np.concatenate(example.source_words)
        for word in range(owner.max() + 1):
            pieces = torch.from_numpy(tokens[owner == word])
            expected = model.embeddings.words(pieces, "source").mean(0)
            torch.testing.assert_close(found[base + word], expected)
        base += owner.max() + 1
    assert base == len(found)


def test_a_word_without_sub_words_is_zero() -> None:
    example = documents(1, [3])[0]
    lost = dataclasses.replace(
        example, source_words=[np.where(example.source_words[0] == 1, -1, example.source_words[0])]
    )
    batch = batch_of([lost])
    assert batch.graph is not None
    found = pooled_words(batch.graph, small_model(small_config()).embeddings, "source")
    assert found.any(1).tolist() == [True, False, True]


def test_own_words_are_those_of_each_sentence() -> None:
    batch = batch_of(documents(0, [3, 0], [2]))
    assert batch.graph is not None
    words, mask = own_words(batch.graph)
    assert [row[seen].tolist() for row, seen in zip(words, mask, strict=True)] == [[0, 1, 2], [], [3, 4]]


def test_documents_without_translations_or_graphs() -> None:
    whole, bare = documents(0, [3, 2])[0], documents(1, [4])[0]
    bare = DocumentExample(bare.source)
    batch = batch_of([bare])
    assert (batch.target, batch.gold, batch.graph, batch.target_graph) == (None, None, None, None)
    mixed = batch_of([whole, bare])  # a memory for some of the documents only would mix two systems
    assert (mixed.target, mixed.graph, mixed.target_graph) == (None, None, None)


def test_moving_a_batch_moves_every_tensor() -> None:
    found = tensors(batch_of(documents(0, [3, 2])).to("meta"))
    assert len(found) > 30
    assert all(tensor.is_meta for tensor in found)


def test_end_of_sentence_belongs_to_no_word() -> None:
    batch = batch_of(documents(0, [3, 2]))
    for graph in (batch.graph, batch.target_graph):
        assert graph is not None
        assert EOS not in graph.tokens.tolist()


@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
@pytest.mark.parametrize("nodes", ["sentence", "word", "both"])
def test_a_window_of_a_document_is_translated_as_in_the_whole(place: str, nodes: str) -> None:
    model = small_model(small_config(integration=place, graph={"nodes": nodes}), open_gates=True)
    examples = documents(3, [3, 4, 0, 5, 2, 6], [4, 2], [1, 2, 3])
    windows = [range(2, 5), range(2), range(3, 3)]
    whole = batch_of(examples)
    part = batch_of([dataclasses.replace(e, window=w) for e, w in zip(examples, windows, strict=True)])
    kept = [2, 3, 4, 6, 7]
    assert part.context_index.tolist() == kept
    assert part.index_of.tolist() == [2, 3, 4, 0, 1]
    assert part.num_sentences == 5
    assert torch.equal(part.context_source.tokens, whole.source.tokens)
    assert whole.gold is not None
    assert part.context_target is not None
    assert torch.equal(part.context_target.tokens, whole.gold)
    states, all_states = (model.states(batch, model.memories(batch)).hidden for batch in (part, whole))
    assert whole.target is not None
    rows = torch.isin(whole.target.sentences.sequence_of, torch.tensor(kept))
    torch.testing.assert_close(states, all_states[rows])


def test_untranslated_sentences_are_not_in_the_target_memory() -> None:
    example = documents(4, [3, 2, 4])[0]
    nothing = np.empty(0, np.int64)
    begun = dataclasses.replace(
        example, target=[example.target[0], nothing, nothing], target_words=[example.target_words[0], nothing, nothing]
    )
    model = small_model(small_config(integration="hyb"), open_gates=True)
    batches = [batch_of([dataclasses.replace(e, window=range(1, 2))]) for e in (example, begun)]
    states = [model.start(b, model.encode(b, m := model.memories(b)), m, 1, 5) for b in batches]
    scores = [model.step(torch.tensor([BOS]), state) for state in states]
    torch.testing.assert_close(*scores)
