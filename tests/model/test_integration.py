"""Integrations: where context comes in, which sentences it comes from, and that it comes at all."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from docgraph.model.attention import MultiHeadAttention
from docgraph.model.batch import DocumentExample
from docgraph.model.config import ModelConfig
from docgraph.model.document_transformer import DocumentTransformer

from .examples import batch_of, documents, rewritten, sentence_rows, sites, small_config, small_model, with_base_of

PLACES, SIDES, NODES = ("hyb", "post", "pre"), ("source", "target", "both"), ("sentence", "word", "both")
GRID = [pytest.param(*point, id="-".join(point)) for point in itertools.product(PLACES, SIDES, NODES)]
DOCUMENTS = documents(4, [5, 4, 0, 6], [3, 7])
"""Every sentence but the empty one has translations to change (seeded; `rewritten` checks)."""


def config_of(place: str, sides: str, nodes: str) -> ModelConfig:
    return small_config(integration=place, sides=sides, graph={"nodes": nodes})


@torch.no_grad()
def logits_by_sentence(model: DocumentTransformer, examples: list[DocumentExample]) -> list[Tensor]:
    lengths = [len(target) for example in examples for target in example.target]
    logits = model.logits(batch_of(examples))
    return [logits[rows] for rows in sentence_rows(lengths)]


def changed(left: list[Tensor], right: list[Tensor]) -> list[bool]:
    """Which sentences have other logits, beyond rounding."""
    return [float((a - b).abs().max()) > 1e-5 for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize(("place", "sides", "nodes"), GRID)
def test_the_source_memory_reaches_all_sentences_of_its_document_alone(place: str, sides: str, nodes: str) -> None:
    model = small_model(config_of(place, sides, nodes), open_gates=True)
    before = logits_by_sentence(model, DOCUMENTS)
    for sentence in (0, 3):
        after = logits_by_sentence(model, [rewritten(DOCUMENTS[0], "source", sentence), DOCUMENTS[1]])
        found = changed(before, after)
        if sides == "target":
            expected = [index == sentence for index in range(4)]
        else:  # an empty sentence has no words of its own to learn by
            expected = [True, True, nodes != "word", True]
        assert found == [*expected, False, False]


@pytest.mark.parametrize(("place", "sides", "nodes"), GRID)
def test_the_target_memory_reaches_later_sentences_of_its_document_alone(place: str, sides: str, nodes: str) -> None:
    model = small_model(config_of(place, sides, nodes), open_gates=True)
    before = logits_by_sentence(model, DOCUMENTS)
    for sentence in (0, 1, 3):
        after = logits_by_sentence(model, [rewritten(DOCUMENTS[0], "target", sentence), DOCUMENTS[1]])
        later = [sides != "source" and index > sentence for index in range(4)]
        later[sentence] = True  # its own words, by teacher forcing
        assert changed(before, after) == [*later, False, False]
        # Nothing of a later translation is seen, not even its first token's scores shift.
        torch.testing.assert_close(before[sentence][0], after[sentence][0], atol=1e-6, rtol=0)


@pytest.mark.parametrize(("place", "sides", "nodes"), GRID)
def test_documents_in_a_batch_are_translated_as_each_alone(place: str, sides: str, nodes: str) -> None:
    model = small_model(config_of(place, sides, nodes), open_gates=True).double()
    together = logits_by_sentence(model, DOCUMENTS)
    alone = [logits for example in DOCUMENTS for logits in logits_by_sentence(model, [example])]
    reversed_order = logits_by_sentence(model, DOCUMENTS[::-1])
    for found, wanted in zip([*together, *reversed_order], [*alone, *alone[4:], *alone[:4]], strict=True):
        torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("nodes", NODES)
def test_linear_and_plain_graphs_translate_alike(place: str, nodes: str) -> None:
    model = small_model(config_of(place, "both", nodes), open_gates=True)
    with torch.no_grad():
        linear, plain = (model.logits(batch_of(DOCUMENTS, plain_graph=plain)) for plain in (False, True))
    torch.testing.assert_close(linear, plain, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("place", PLACES)
def test_identity_start_translates_exactly_as_base(place: str, sides: str, norm: str) -> None:
    base = small_model(small_config(norm, context=False))
    model = with_base_of(small_model(small_config(norm, integration=place, sides=sides), seed=1), base)
    batch = batch_of(DOCUMENTS)
    assert torch.equal(model.logits(batch), base.logits(batch))
    model(batch)[0].backward()
    for site in sites(model):
        assert site.attention.output.weight.grad is not None
        assert site.attention.output.weight.grad.abs().max() > 0


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("place", PLACES)
def test_closed_paper_gates_translate_exactly_as_base(place: str, norm: str) -> None:
    base = small_model(small_config(norm, context=False))
    model = with_base_of(small_model(small_config(norm, integration=place, gate="paper"), seed=1), base)
    batch = batch_of(DOCUMENTS)
    assert not torch.allclose(model.logits(batch), base.logits(batch))
    for site in sites(model):
        torch.nn.init.constant_(site.gate_input.bias, 1e4)
    assert torch.equal(model.logits(batch), base.logits(batch))


def test_without_a_target_side_the_decoder_reads_the_source_memory() -> None:
    model = small_model(config_of("hyb", "source", "sentence"), open_gates=True)
    batch = batch_of(DOCUMENTS)
    memories = model.memories(batch)
    assert memories.target is None
    assert memories.source is not None
    assert batch.target is not None
    reader = model.decoder_reader(batch.target.queries, memories)
    assert reader.memory is memories.source  # type: ignore[attr-defined]
    recorders = model.inspect(batch)
    assert len(recorders["decoder"].attention) == 2
    # Every token of the first sentence attends to all four sentences of its document, later ones too.
    attention = recorders["decoder"].attention[0][: len(DOCUMENTS[0].target[0])]
    torch.testing.assert_close(attention.sum(1), torch.ones(len(attention)))
    assert (attention[:, :4] > 0).all()
    assert not attention[:, 4:].any()


def test_sites_are_where_the_integration_says() -> None:
    counts = {place: len(sites(small_model(config_of(place, "both", "sentence")))) for place in PLACES}
    assert counts == {"hyb": 4, "post": 2, "pre": 2}
    target_only = small_model(config_of("hyb", "target", "sentence"))
    assert target_only.integration is not None
    assert (len(target_only.integration.encoder), len(target_only.integration.decoder)) == (0, 2)


class Counter:
    """How often context sites project a memory, and how many rows they projected."""

    def __init__(self, model: DocumentTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.rows = 0
        watched = {id(site.attention) for site in sites(model)}
        original = MultiHeadAttention.project

        def project(attention: MultiHeadAttention, memory: Tensor) -> tuple[Tensor, Tensor]:
            if id(attention) in watched:
                self.calls += 1
                self.rows += len(memory)
            return original(attention, memory)

        monkeypatch.setattr(MultiHeadAttention, "project", project)


@pytest.fixture
def hyb() -> Iterator[DocumentTransformer]:
    with torch.no_grad():
        yield small_model(config_of("hyb", "both", "sentence"), open_gates=True)


@pytest.mark.parametrize("sizes", [[[3]], [[3, 4, 2, 5, 1]], [[3, 2], [4], [1, 1, 1]]])
def test_keys_and_values_are_projected_once_a_batch(
    hyb: DocumentTransformer, sizes: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(hyb, monkeypatch)
    hyb.logits(batch_of(documents(0, *sizes)))
    assert counter.calls == len(sites(hyb))
    assert counter.rows == len(sites(hyb)) * sum(map(len, sizes))


@pytest.mark.parametrize(("beams", "steps"), [(1, 1), (1, 9), (4, 1), (4, 9)])
def test_beams_and_steps_project_nothing_again(
    hyb: DocumentTransformer, beams: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(hyb, monkeypatch)
    batch = batch_of(DOCUMENTS)
    memories = hyb.memories(batch)
    state = hyb.start(batch, hyb.encode(batch, memories), memories, beams, steps)
    tokens = torch.ones(batch.num_sentences * beams, dtype=torch.int64)
    for _ in range(steps):
        tokens = hyb.step(tokens, state).argmax(-1)
    state.select(torch.tensor([1, 3]))
    assert counter.calls == len(sites(hyb))
