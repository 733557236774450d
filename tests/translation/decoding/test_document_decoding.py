"""Parallel document decoding against sequential decoding."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from docgraph.model.batch import DocumentBatch, DocumentExample
from docgraph.model.config import LinkedConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Memories, Memory
from docgraph.model.output import DecoderOutput
from docgraph.model.systems import context_class
from docgraph.model.tokenizer import SPACE
from docgraph.translation.decoding import document_decoding as decoding
from docgraph.translation.decoding.decoder import BATCH_TOKENS, DecodedDocument, DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import SearchConfig, given_hypotheses
from model.examples import EOS, VOCABULARY, documents, small_config, small_model

DOCUMENTS = documents(7, [3, 0, 5, 2, 6, 1], [4], [1, 6, 2, 2], [2, 7, 3])
SEARCHES = [
    pytest.param(SearchConfig(beams=1, min_length=4), id="greedy"),
    pytest.param(SearchConfig(beams=3, n_best=2, min_length=4), id="beam"),
    pytest.param(SearchConfig(sampling=True), id="sampling"),
]


class Pieces:
    """A tokenizer in which every sub-word is a word."""

    target = SimpleNamespace(pieces=lambda ids: ["" if i <= EOS else f"{SPACE}{i}" for i in ids])


def decoded(model: Any, examples: list[DocumentExample], *options: Any, **others: Any) -> list[DecodedDocument]:
    inputs = [DecoderInput(example) for example in examples]
    return decode_documents(model, Pieces(), inputs, DecodingOptions(*options, **others))  # type: ignore[arg-type]


def translations(found: list[DecodedDocument]) -> list[list[list[tuple[int, ...]]]]:
    return [[[h.tokens for h in sentence] for sentence in document.sentences] for document in found]


def reading_model(seed: int = 0, **fields: Any) -> DocumentTransformer:
    """A small random model that weighs its context more than anything else."""
    config = small_config(transformer={"output_bias": True}, **fields)
    model = small_model(config, seed, open_gates=True)
    with torch.no_grad():
        assert model.embeddings.output_bias is not None
        model.embeddings.output_bias[EOS] = 2.0
        for site in model.integration.decoder:  # type: ignore[union-attr]
            site.attention.output.weight.mul_(6.0)
    return model


@pytest.mark.parametrize("config", SEARCHES)
@pytest.mark.parametrize(
    ("integration", "sides", "nodes"),
    [("hyb", "both", "sentence"), ("post", "target", "sentence"), ("pre", "both", "both")],
)
def test_parallel_is_sequential(config: SearchConfig, integration: str, sides: str, nodes: str) -> None:
    model = reading_model(integration=integration, sides=sides, graph={"nodes": nodes})
    parallel, sequential = (decoded(model, DOCUMENTS, config, mode) for mode in ("parallel", "sequential"))
    assert translations(parallel) == translations(sequential)
    for document, example in zip(parallel, DOCUMENTS, strict=True):
        assert 1 <= document.passes <= len(example.source)
    assert max(document.passes for document in parallel) > 2, "context should change something"
    for one, other in zip(parallel, sequential, strict=True):
        scores = [[[h.score for h in sentence] for sentence in d.sentences] for d in (one, other)]
        np.testing.assert_allclose(*(np.concatenate(s) for s in scores), rtol=1e-4)


@pytest.mark.parametrize("config", SEARCHES)
def test_documents_together_are_documents_alone(config: SearchConfig) -> None:
    model = reading_model(1)
    together = translations(decoded(model, DOCUMENTS, config))
    assert together == [found for each in DOCUMENTS for found in translations(decoded(model, [each], config))]


@pytest.mark.parametrize("nodes", ["sentence", "both"])
@pytest.mark.parametrize("mode", ["parallel", "sequential"])
def test_windows_keep_the_whole_memory(mode: str, nodes: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model, config = reading_model(2, graph={"nodes": nodes}), SearchConfig(beams=1)
    texts = [*documents(7, [4]), *documents(3, [4, 3, 5, 2, 6, 1, 0, 4])]
    whole = translations(decoded(model, texts, config, mode))
    encoded: list[int] = []
    source_memory = model.source_memory
    monkeypatch.setattr(
        model, "source_memory", lambda batch: encoded.append(len(batch.context_index)) or source_memory(batch)
    )
    monkeypatch.setitem(BATCH_TOKENS, "cpu", 12)
    assert translations(decoded(model, texts, config, mode)) == whole
    assert encoded == [1, 8], "the memory of a document in windows is made once"


@pytest.mark.parametrize("sides", [None, "source"])
def test_a_system_that_does_not_read_translations_needs_one_pass(sides: str | None) -> None:
    model = small_model(small_config(context=False) if sides is None else small_config(sides=sides))
    found = decoded(model, DOCUMENTS, SearchConfig(beams=2))
    assert [document.passes for document in found] == [1] * len(DOCUMENTS)
    assert translations(found) == translations(decoded(model, DOCUMENTS, SearchConfig(beams=2), "sequential"))


def test_the_source_is_encoded_once_and_progress_ends_at_the_total(monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls, told = reading_model(), [], []
    encode = model.encode
    monkeypatch.setattr(model, "encode", lambda *arguments: calls.append(1) or encode(*arguments))
    found = decoded(model, DOCUMENTS, SearchConfig(), "parallel", progress=lambda *numbers: told.append(numbers))
    assert len(calls) == 1
    assert found[0].passes > 1
    assert [final for final, _ in told] == sorted({final for final, _ in told}), "every pass makes some final"
    assert told[-1] == (14, 14)
    assert {total for _, total in told} == {14}
    assert decoded(model, []) == []
    [nothing] = decoded(model, [DocumentExample([])])
    assert nothing == DecodedDocument([], 0)


class Said(Memory):
    """[S]: the first token of the translation before each sentence."""

    def of_sentences(self, sentences: Any) -> Said:
        return Said(self.states[sentences])


class Chain:
    """A toy system: the first translation is 3, every other one is that of the sentence before plus 1."""

    def __init__(self) -> None:
        self.config = replace(small_config(), transformer=TransformerConfig(VOCABULARY, VOCABULARY, max_positions=64))
        self.device = torch.device("cpu")
        self.decoded_sentences = 0

    def source_memory(self, batch: DocumentBatch) -> None:
        return None

    def target_memory(self, batch: DocumentBatch) -> Said:
        said = batch.context_target.tokens[batch.context_target.sentences.boundaries[:-1].long()]
        return Said(torch.where(batch.index_of > 0, said[(batch.context_index - 1).clamp(min=0)], EOS))

    def encode(self, batch: DocumentBatch, memories: Memories) -> Tensor:
        return torch.zeros(batch.source.sentences.num_tokens, 1)

    def says(self, sentences: Tensor, time: Tensor, memories: Memories) -> Tensor:
        before = torch.full_like(sentences, EOS) if memories.target is None else memories.target.states[sentences]
        wanted = torch.where(time == 0, before.clamp(max=VOCABULARY - 2) + 1, EOS)
        return torch.nn.functional.one_hot(wanted, VOCABULARY).float() * 20

    def decode(self, batch: DocumentBatch, encoded: Tensor, memories: Memories) -> DecoderOutput:
        packing = batch.target.sentences
        return DecoderOutput(self.says(packing.sequence_of, packing.positions, memories))

    def log_probabilities(self, decoded: DecoderOutput, out: Tensor | None = None) -> Tensor:
        return decoded.hidden.log_softmax(-1)

    def start(self, batch: Any, encoded: Any, memories: Any, beams: int, room: int, sentences: Tensor, _: Any) -> Any:
        self.decoded_sentences += len(sentences)
        state = SimpleNamespace(sentences=sentences, beams=beams, time=0, memories=memories, reader=None)
        state.reorder = lambda rows: None
        state.select = lambda keep: setattr(state, "sentences", state.sentences[keep])
        return state

    def extend(self, tokens: Tensor, state: Any) -> DecoderOutput:
        rows = state.sentences.repeat_interleave(state.beams)
        state.time += 1
        return DecoderOutput(self.says(rows, torch.full_like(rows, state.time - 1), state.memories))


@pytest.mark.parametrize("beams", [1, 4])
def test_a_chain_of_dependent_sentences_takes_one_pass_per_sentence(beams: int) -> None:
    sizes = [9, 1, 5]
    chain = [DocumentExample([np.array([5, EOS])] * size) for size in sizes]
    model = Chain()
    found = decoded(model, chain, SearchConfig(beams=beams))
    assert [[h[0].tokens for h in document.sentences] for document in found] == [
        [(3 + m,) for m in range(size)] for size in sizes
    ]
    assert [document.passes for document in found] == sizes
    assert translations(decoded(Chain(), chain, SearchConfig(beams=beams), "sequential")) == translations(found)


@pytest.mark.parametrize("config", SEARCHES)
@pytest.mark.parametrize("fields", [{}, {"encoder": "linked", "integration": "post", "linked": LinkedConfig(6, 2, 4)}])
def test_the_number_decoded_at_once_does_not_change_the_result(
    config: SearchConfig, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = reading_model(**fields)
    sequential = translations(decoded(model, DOCUMENTS, config, "sequential"))
    for rows in (1, 3, 12):
        monkeypatch.setitem(decoding.AT_ONCE, "cpu", rows)
        assert translations(decoded(model, DOCUMENTS, config, "parallel")) == sequential
    chain = [DocumentExample([np.array([5, EOS])] * size) for size in (9, 1, 5)]
    toy = Chain()
    monkeypatch.setitem(decoding.AT_ONCE, "cpu", 2)
    found = decoded(toy, chain, SearchConfig(beams=2), "parallel")
    assert translations(found) == translations(decoded(Chain(), chain, SearchConfig(beams=2), "sequential"))
    assert ([document.passes for document in found], toy.decoded_sentences) == ([1, 1, 1], 15), (
        "nothing is decoded twice"
    )


def test_only_readers_of_a_changed_translation_are_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Even(Chain):
        """Sentence 2k + 1 reads the translation of 2k."""

        def target_memory(self, batch: DocumentBatch) -> Said:
            return Said(torch.where(batch.index_of % 2 == 1, super().target_memory(batch).states, EOS))

    reads = {m: (m - 1,) if m % 2 else () for m in range(10)}
    model = Even()
    kind = context_class(model.config)
    monkeypatch.setattr(kind, "translations_read", staticmethod(lambda config, document, m: reads[m]))
    [found] = decoded(model, [DocumentExample([np.array([5, EOS])] * 10)], SearchConfig(beams=2))
    assert [h[0].tokens[0] for h in found.sentences] == [3, 4] * 5
    assert (found.passes, model.decoded_sentences) == (2, 15)


def test_base_reads_a_sentence_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model = reading_model(encoder="linked", integration="post", linked=LinkedConfig(6, 3, 4))
    encoded: list[int] = []
    layered = model.encoder.layers[0].forward
    monkeypatch.setattr(
        model.encoder.layers[0], "forward", lambda x, *rest: encoded.append(len(x)) or layered(x, *rest)
    )
    found = decoded(model, DOCUMENTS, SearchConfig(beams=1, min_length=4))
    assert max(document.passes for document in found) > 2
    assert sum(encoded) == sum(map(len, {tuple(ids) for example in DOCUMENTS for ids in example.source}))


def test_passes_may_be_limited() -> None:
    chain = [DocumentExample([np.array([5, EOS])] * size) for size in (9, 1, 5)]
    told: list[tuple[int, int]] = []
    found = decoded(Chain(), chain, SearchConfig(passes=3), progress=lambda *numbers: told.append(numbers))
    whole = translations(decoded(Chain(), chain, SearchConfig()))
    assert [document.passes for document in found] == [3, 1, 3]
    for limited, full in zip(translations(found), whole, strict=True):
        assert limited[:3] == full[:3], "the first sentences have their final context by then"
        assert all(limited)
    assert told[-1] == (15, 15)


def test_a_greedy_pass_decodes_only_unconfirmed_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    class Settled(Chain):
        """Only the second sentence reads the one before it."""

        def target_memory(self, batch: DocumentBatch) -> Said:
            return Said(torch.where(batch.index_of == 1, super().target_memory(batch).states, EOS))

    model = Settled()
    [found] = decoded(model, [DocumentExample([np.array([5, EOS])] * 10)], SearchConfig(beams=1))
    assert [h[0].tokens[0] for h in found.sentences] == [3, 4, *[3] * 8]
    assert (found.passes, model.decoded_sentences) == (3, 11)


@given(
    known=st.lists(st.dictionaries(st.integers(0, 6), st.integers(3, VOCABULARY - 1)), min_size=3, max_size=3),
    again=st.booleans(),
    mode=st.sampled_from(["parallel", "sequential"]),
    tokens=st.sampled_from([1, 6, 20, 1 << 14]),
    beams=st.sampled_from([1, 2]),
)
def test_known_translations_are_context_of_other_sentences(
    known: list[dict[int, int]], again: bool, mode: Any, tokens: int, beams: int
) -> None:
    sizes = [7, 1, 4]
    known = [{m: token for m, token in some.items() if m < size} for some, size in zip(known, sizes, strict=True)]
    inputs = [
        DecoderInput(
            DocumentExample([np.array([5, EOS])] * size),
            {m: given_hypotheses([token]) for m, token in some.items()},
        )
        for size, some in zip(sizes, known, strict=True)
    ]
    told: list[tuple[int, int]] = []
    final: dict[tuple[int, int], tuple[int, ...]] = {}
    model = Chain()
    options = DecodingOptions(
        SearchConfig(beams=beams),
        mode,
        tokens,
        on_final=lambda d, first, part: final.update({(d, m): h[0].tokens for m, h in enumerate(part, start=first)}),
        progress=lambda *numbers: told.append(numbers),
    )
    found = decode_documents(
        model,  # type: ignore[arg-type]
        Pieces(),  # type: ignore[arg-type]
        inputs,
        options,
        redecode_known=again,
    )
    for d, (size, some, document) in enumerate(zip(sizes, known, found, strict=True)):
        before = EOS
        for m in range(size):
            says = min(before, VOCABULARY - 2) + 1
            kept = m in some and not again
            assert document.sentences[m][0].tokens == (some[m] if kept else says,)
            assert kept or final[d, m] == document.sentences[m][0].tokens
            before = some.get(m, says)
        assert document.passes <= size
        if mode == "parallel" and len(some) == size:
            assert document.passes == again, "one pass if known sentences are decoded again, else none"
    decoded_ones = sum(sizes) - (0 if again else sum(map(len, known)))
    assert not decoded_ones or told[-1] == (12, 12)
    if mode == "sequential":
        assert model.decoded_sentences == decoded_ones
