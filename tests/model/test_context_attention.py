"""Context attention, and the integrations: where context enters, which sentences it comes from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import torch
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model.attention import MultiHeadAttention
from docgraph.model.batch import DocumentExample
from docgraph.model.checkpoint import load, save
from docgraph.model.config import ModelConfig
from docgraph.model.context_attention import ContextAttention
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.memory import Queries, SlotMemory
from docgraph.model.packing import Blocks, Packing

from .examples import (
    batch_of,
    context_layers,
    documents,
    rewritten,
    sentence_rows,
    small_config,
    small_model,
    with_base_of,
)

DIMENSION, HEADS = 16, 4
GATES: list[Literal["paper", "identity"]] = ["paper", "identity"]


def site(gate: Literal["paper", "identity"], pre_norm: bool = False, opened: bool = False) -> ContextAttention:
    torch.manual_seed(0)
    made = ContextAttention(DIMENSION, HEADS, 0.1, gate, pre_norm).double().eval()
    if opened:
        torch.nn.init.xavier_uniform_(made.attention.output.weight)
    return made


def two_documents() -> tuple[SlotMemory, Queries, Tensor]:
    """Documents of 3 and 2 sentences that see the sentences before them; 2 rows per sentence; one state in no slot."""
    slots = torch.tensor([[0, 1, 2], [4, 5, 0]])
    index_of = torch.tensor([0, 1, 2, 0, 1])
    visible = torch.arange(3)[None, :] < index_of[:, None]
    memory = SlotMemory(torch.randn(6, DIMENSION, dtype=torch.float64), slots, visible, "document")
    queries = Queries(torch.arange(5).repeat_interleave(2), Blocks(Packing.of([6, 4])), Packing.of([2] * 5))
    return memory, queries, torch.randn(10, DIMENSION, dtype=torch.float64)


def by_hand(made: ContextAttention, row: Tensor, seen: Tensor) -> Tensor:
    """Equations 8, 9 and 10 for one row [d] over the states [m, d] it sees."""
    attention = made.attention
    normed = made.norm(row)
    size = DIMENSION // HEADS
    query, key, value = attention.query(normed), attention.key(seen), attention.value(seen)
    heads = []
    for head in range(HEADS):
        part = slice(head * size, (head + 1) * size)
        scores = key[:, part] @ query[part] / math.sqrt(size)
        heads.append(scores.softmax(0) @ value[:, part])
    context = attention.output(torch.cat(heads))
    weight = torch.sigmoid(made.gate_input(normed) + made.gate_context(context))
    return (row if made.identity_start else weight * row) + (1 - weight) * context


@pytest.mark.parametrize("pre_norm", [False, True])
@pytest.mark.parametrize("gate", GATES)
def test_every_row_reads_what_its_sentence_sees(gate: Literal["paper", "identity"], pre_norm: bool) -> None:
    made = site(gate, pre_norm, opened=True)
    memory, queries, x = two_documents()
    found = made(x, made.project(memory), memory.layout(queries))
    for row, sentence in enumerate(queries.sentence.tolist()):
        states = memory.states[memory.slots[0 if sentence < 3 else 1]][memory.visible[sentence]]
        expected = by_hand(made, x[row], states) if len(states) else x[row]
        torch.testing.assert_close(found[row], expected)


@pytest.mark.parametrize("gate", GATES)
def test_one_memory_per_sentence(gate: Literal["paper", "identity"]) -> None:
    made = site(gate, opened=True)
    states = torch.randn(4, DIMENSION, dtype=torch.float64)
    slots, visible = torch.tensor([[0, 1, 2], [3, 0, 0]]), torch.tensor([[True] * 3, [True, False, False]])
    memory = SlotMemory(states, slots, visible, "sentence")
    queries = Queries(torch.tensor([0, 1, 1]), Blocks(Packing.of([3])), Packing.of([1, 2]))
    x = torch.randn(3, DIMENSION, dtype=torch.float64)
    found = made(x, made.project(memory), memory.layout(queries))
    for row, seen in enumerate((states[:3], states[3:], states[3:])):
        torch.testing.assert_close(found[row], by_hand(made, x[row], seen))


@pytest.mark.parametrize("gate", GATES)
def test_empty_memory_is_the_identity_bit_by_bit(gate: Literal["paper", "identity"]) -> None:
    made = site(gate, opened=True)
    memory, queries, x = two_documents()
    first = (queries.sentence == 0) | (queries.sentence == 3)
    x.requires_grad_()
    found = made(x, made.project(memory), memory.layout(queries))
    assert torch.equal(found[first], x[first])
    assert not torch.isclose(found[~first], x[~first]).all(1).any()
    upstream = torch.randn(int(first.sum()), DIMENSION, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(found[first], x, upstream)
    assert torch.equal(gradient[first], upstream)


def test_identity_start_is_the_identity_with_a_live_gradient() -> None:
    made = site("identity")
    memory, queries, x = two_documents()
    found = made(x, made.project(memory), memory.layout(queries))
    assert torch.equal(found, x)
    found.square().sum().backward()
    gradient = made.attention.output.weight.grad
    assert gradient is not None
    assert gradient.abs().max() > 1e-3


@pytest.mark.parametrize("bias", [1e4, math.inf])
def test_a_closed_paper_gate_is_the_identity(bias: float) -> None:
    made = site("paper")
    torch.nn.init.constant_(made.gate_input.bias, bias)
    memory, queries, x = two_documents()
    assert torch.equal(made(x, made.project(memory), memory.layout(queries)), x)


def test_weights_are_those_attention_uses() -> None:
    made = site("paper")
    memory, queries, x = two_documents()
    projected, layout = made.project(memory), memory.layout(queries)
    attention, gate = made.weights(x, projected, layout)
    visible = memory.visible[queries.sentence]
    some = visible.any(1)
    assert not attention[~visible].any()
    torch.testing.assert_close(attention.sum(1), some.double())
    assert (gate[~some] == 1).all()
    context = made.attend(x, projected, layout)
    torch.testing.assert_close(gate[some], made.gate_weight(x, context).mean(-1)[some])


def test_an_unseen_slot_gets_no_gradient() -> None:
    made = site("paper")
    memory, queries, x = two_documents()
    memory.states.requires_grad_()
    made(x, made.project(memory), memory.layout(queries)).sum().backward()
    gradient = memory.states.grad
    assert gradient is not None
    # The last sentence of each document, and the state that is in no slot.
    assert gradient.any(1).tolist() == [True, True, False, False, True, False]


PLACES, SIDES, NODES = ("hyb", "post", "pre"), ("source", "target", "both"), ("sentence", "word", "both")
GRID = [pytest.param(*point, id="-".join(point)) for point in itertools.product(PLACES, SIDES, NODES)]
DOCUMENTS = documents(4, [5, 4, 0, 6], [3, 7])
"""All sentences except the empty one have a translation that can be changed (seeded; `rewritten` checks)."""


def config_of(place: str, sides: str, nodes: str) -> ModelConfig:
    return small_config(integration=place, sides=sides, graph={"nodes": nodes})


@torch.no_grad()
def logits_by_sentence(model: DocumentTransformer, examples: list[DocumentExample]) -> list[Tensor]:
    lengths = [len(target) for example in examples for target in example.target]
    logits = model.logits(batch_of(examples))
    return [logits[rows] for rows in sentence_rows(lengths)]


def changed(left: list[Tensor], right: list[Tensor]) -> list[bool]:
    """Whether the logits of each sentence differ, beyond rounding."""
    return [float((a - b).abs().max()) > 1e-5 for a, b in zip(left, right, strict=True)]


@pytest.mark.parametrize(("place", "sides", "nodes"), GRID)
def test_the_source_memory_reaches_only_the_sentences_of_its_document(place: str, sides: str, nodes: str) -> None:
    model = small_model(config_of(place, sides, nodes), open_gates=True)
    before = logits_by_sentence(model, DOCUMENTS)
    for sentence in (0, 3):
        after = logits_by_sentence(model, [rewritten(DOCUMENTS[0], "source", sentence), DOCUMENTS[1]])
        found = changed(before, after)
        if sides == "target":
            expected = [index == sentence for index in range(4)]
        else:  # an empty sentence has no words of its own
            expected = [True, True, nodes != "word", True]
        assert found == [*expected, False, False]


@pytest.mark.parametrize(("place", "sides", "nodes"), GRID)
def test_the_target_memory_reaches_only_later_sentences_of_its_document(place: str, sides: str, nodes: str) -> None:
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
def test_a_batch_translates_like_single_documents(place: str, sides: str, nodes: str) -> None:
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
    for site in context_layers(model):
        assert site.attention.output.weight.grad is not None
        assert site.attention.output.weight.grad.abs().max() > 0


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("place", PLACES)
def test_closed_paper_gates_translate_exactly_as_base(place: str, norm: str) -> None:
    base = small_model(small_config(norm, context=False))
    model = with_base_of(small_model(small_config(norm, integration=place, gate="paper"), seed=1), base)
    batch = batch_of(DOCUMENTS)
    assert not torch.allclose(model.logits(batch), base.logits(batch))
    for site in context_layers(model):
        torch.nn.init.constant_(site.gate_input.bias, 1e4)
    assert torch.equal(model.logits(batch), base.logits(batch))


def test_without_a_target_side_the_decoder_reads_the_source_memory() -> None:
    model = small_model(config_of("hyb", "source", "sentence"), open_gates=True)
    batch = batch_of(DOCUMENTS)
    memories = model.memories(batch)
    assert memories.target is None
    assert memories.source is not None
    assert batch.target is not None
    reader = model.integration.reader("decoder", memories, batch.target.queries)
    assert reader.memory is memories.source  # type: ignore[attr-defined]
    recorders = model.inspect(batch)
    assert len(recorders["decoder"].attention) == 2
    # Every token of the first sentence attends to all four sentences of its document, later ones too.
    attention = recorders["decoder"].attention[0][: len(DOCUMENTS[0].target[0])]
    torch.testing.assert_close(attention.sum(1), torch.ones(len(attention)))
    assert (attention[:, :4] > 0).all()
    assert not attention[:, 4:].any()


def test_context_layers_are_where_the_integration_says() -> None:
    counts = {place: len(context_layers(small_model(config_of(place, "both", "sentence")))) for place in PLACES}
    assert counts == {"hyb": 4, "post": 2, "pre": 2}
    target_only = small_model(config_of("hyb", "target", "sentence"))
    assert target_only.integration is not None
    assert (len(target_only.integration.encoder), len(target_only.integration.decoder)) == (0, 2)


class Counter:
    """How often context layers project a memory, and the number of projected rows."""

    def __init__(self, model: DocumentTransformer, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls = self.rows = 0
        watched = {id(site.attention) for site in context_layers(model)}
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
def test_keys_and_values_are_projected_once_per_batch(
    hyb: DocumentTransformer, sizes: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = Counter(hyb, monkeypatch)
    hyb.logits(batch_of(documents(0, *sizes)))
    assert counter.calls == len(context_layers(hyb))
    assert counter.rows == len(context_layers(hyb)) * sum(map(len, sizes))


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
    assert counter.calls == len(context_layers(hyb))


@pytest.mark.parametrize("encoder", ["docgraph", "ctx", "hm_gdc", "han", "selective", "linked"])
@pytest.mark.parametrize("place", PLACES)
def test_source_only_pre_has_no_context_in_the_decoder(encoder: str, place: str) -> None:
    """Unified, the architecture it is added to, has no context on the target side."""
    integration = small_model(small_config(encoder=encoder, integration=place, sides="source")).integration
    layers = {"hyb": (2, 2), "post": (1, 1), "pre": (1, 0)}
    assert (len(integration.encoder), len(integration.decoder)) == layers[place]


def test_a_source_only_pre_model_with_context_in_the_decoder_is_refused(tmp_path: Path) -> None:
    """Older versions made such models; without their decoder layer they would translate differently."""
    model = small_model(small_config(integration="pre", sides="source"))
    model.integration.decoder.append(small_model(small_config(integration="pre")).integration.decoder[0])
    save(model, tmp_path / "model")
    with pytest.raises(
        DocgraphError, match="source-only Pre context attention in the decoder; train it again"
    ) as caught:
        load(tmp_path / "model")
    assert "\n" not in str(caught.value)
