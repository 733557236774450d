"""Context attention: equations 8 to 10 by hand, the empty memory, the two gates."""

from __future__ import annotations

import math
from typing import Literal

import pytest
import torch
from torch import Tensor

from docgraph.model.context_attention import ContextAttention
from docgraph.model.memory import Queries, SlotMemory
from docgraph.model.packing import Blocks, Packing

DIMENSION, HEADS = 16, 4
GATES: list[Literal["paper", "identity"]] = ["paper", "identity"]


def site(gate: Literal["paper", "identity"], pre_norm: bool = False, opened: bool = False) -> ContextAttention:
    torch.manual_seed(0)
    made = ContextAttention(DIMENSION, HEADS, 0.1, gate, pre_norm).double().eval()
    if opened:
        torch.nn.init.xavier_uniform_(made.attention.output.weight)
    return made


def two_documents() -> tuple[SlotMemory, Queries, Tensor]:
    """Documents of 3 and 2 sentences, each reading those before it; 2 rows a sentence; one state in no slot."""
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
def test_one_memory_a_sentence(gate: Literal["paper", "identity"]) -> None:
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


def test_a_slot_nobody_sees_gets_no_gradient() -> None:
    made = site("paper")
    memory, queries, x = two_documents()
    memory.states.requires_grad_()
    made(x, made.project(memory), memory.layout(queries)).sum().backward()
    gradient = memory.states.grad
    assert gradient is not None
    # The last sentence of each document, and the state that is in no slot.
    assert gradient.any(1).tolist() == [True, True, False, False, True, False]
