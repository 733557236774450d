"""The two-level attention kernels equal plain sparse attention in double precision."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from docgraph.model.device import to_device
from docgraph.model.memory import Queries, SlotLayout
from docgraph.model.packing import Packing
from docgraph.model.padding import capacity, fill_up
from docgraph.model.systems.selective import TwoLevelMemory, sparsemax
from model.examples import SYSTEMS, batch_of, documents, loss_and_gradients, seeds, small_config, small_model
from model.kernel_examples import DEVICE, HALF, INTERPRETED, assert_replayed, needs_kernels

pytestmark = needs_kernels
LEFT_OVER = 3
"""Words in no sentence, after all others."""
Shape = list[tuple[int, list[int]]]
SHAPES: dict[str, Shape] = {
    "one": [(70, [5, 1, 32, 0, 33, 9])],
    "one-word": [(33, [1])],
    "lengths": [(40, [31, 64, 65, 129]), (2, [1000])],
    "many": [(0, []), (1, [1]), (20, []), (0, [5, 2]), (3, [3] * 18), (33, [4, 0, 40]), (5, [0, 0])],
}
"""Rows of each document and the words of its sentences, around those of a tile."""


class Case:
    """Documents whose rows, two heads of them, give weight to few of the sentences they see."""

    def __init__(self, shape: Shape, past: bool, seed: int = 0) -> None:
        """`past`: a sentence is seen from some row on alone, so that the first rows see none."""
        torch.manual_seed(seed)
        self.rows, slots = Packing.of([n for n, _ in shape]), max(1, *(len(sizes) for _, sizes in shape))
        self.lengths = torch.tensor([sizes + [0] * (slots - len(sizes)) for _, sizes in shape])
        self.begins = (self.lengths.flatten().cumsum(0) - self.lengths.flatten()).view(self.lengths.shape)
        document, order = self.rows.sequence_of, torch.arange(slots)
        used, size = (self.lengths > 0).sum(1)[document], self.rows.boundaries.diff()[document]
        seen = order < self.rows.positions[:, None] * (used + 1)[:, None] // size[:, None] if past else order >= 0
        self.visible = seen & (self.lengths[document] > 0)
        scores = torch.randn(len(document), 2, slots).masked_fill(~self.visible[:, None], -1e9)
        self.weights = torch.where(self.visible[:, None], sparsemax(scores), 0)

    def inputs(self, size: int, dtype: torch.dtype) -> list[Tensor]:
        """Queries, keys and values, not contiguous, and the weights of the sentences [N, h, M]."""
        torch.manual_seed(0)
        query = torch.randn(len(self.weights), 5, size, dtype=dtype, device=DEVICE)[:, 1:3]
        words = int(self.lengths.sum()) + LEFT_OVER
        key, value = torch.randn(words, 4, size, dtype=dtype, device=DEVICE).chunk(2, dim=1)
        return [x.detach().requires_grad_() for x in (query, key, value, self.weights.to(DEVICE, dtype))]

    def through_kernels(self) -> Callable[..., Tensor]:
        from docgraph.model.gpu.two_level_attention import TwoLevelLayout

        rows, begins, lengths = to_device((self.rows, self.begins, self.lengths), DEVICE)
        some, longest = self.visible.any(-1, keepdim=True).to(DEVICE), max(int(self.lengths.max()), 1)

        def attend(query: Tensor, key: Tensor, value: Tensor, weights: Tensor) -> Tensor:
            layout = TwoLevelLayout.of(SlotLayout(rows, some, some), rows.boundaries, begins, lengths, longest)
            return layout.attend(query, key, value, rows.pad(weights).transpose(1, 2))

        return attend

    def expected(self, tensors: list[Tensor]) -> list[Tensor]:
        """In double precision; of the weights that are zero, no gradient, which sparsemax does not ask for."""
        query, key, value, weights = exact = [x.detach().cpu().double().requires_grad_() for x in tensors]
        attended, document = 0 * query, self.rows.sequence_of
        for d, m in self.lengths.nonzero().tolist():
            mine, begin = (document == d).nonzero().flatten(), int(self.begins[d, m])
            words = slice(begin, begin + int(self.lengths[d, m]))
            scores = torch.einsum("nhe,the->nht", query[mine], key[words]) * query.shape[-1] ** -0.5
            shares = weights[mine, :, m, None] * sparsemax(scores)
            attended = attended.index_add(0, mine, torch.einsum("nht,the->nhe", shares, value[words]))
        *found, d_weights = with_gradients(attended, exact)
        return [*found, torch.where(weights > 0, d_weights, 0)]


def with_gradients(found: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1)).to(found)
    return [found, *torch.autograd.grad(found, tensors, weights, allow_unused=True, materialize_grads=True)]


def assert_equal(found: list[Tensor], wanted: list[Tensor], dtype: torch.dtype, bound: float = 0.01) -> None:
    for ours, exact in zip(found, wanted, strict=True):
        assert ours.dtype == dtype
        atol = bound * max(float(exact.detach().abs().max()), 1.0) if exact.numel() else 0.0
        torch.testing.assert_close(ours.cpu().double(), exact, rtol=bound, atol=atol)


@pytest.mark.parametrize(
    ("size", "dtype", "bound"),
    [(16, torch.float32, 1e-5), (64, HALF, 0.01)],
    ids=["16-full", "64-half"],
)
@pytest.mark.parametrize("past", [False, True], ids=["all", "past"])
@pytest.mark.parametrize("name", SHAPES)
def test_kernels_compute_attention_and_its_gradient(
    name: str, past: bool, size: int, dtype: torch.dtype, bound: float
) -> None:
    case = Case(SHAPES[name], past)
    tensors = case.inputs(size, dtype)
    found = with_gradients(case.through_kernels()(*tensors), tensors)
    assert_equal(found, case.expected(tensors), dtype, bound)
    blind = (~case.visible.any(-1)).to(DEVICE)
    assert not found[0][blind].any()
    assert not found[1][blind].any()


@settings(max_examples=8)
@given(
    shape=st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(0, 70), max_size=4)), min_size=1, max_size=3),
    past=st.booleans(),
    seed=seeds,
)
def test_documents_of_any_shape(shape: Shape, past: bool, seed: int) -> None:
    case = Case(shape, past, seed)
    tensors = case.inputs(24, torch.float32)
    assert_equal(with_gradients(case.through_kernels()(*tensors), tensors), case.expected(tensors), torch.float32, 1e-5)


@pytest.mark.parametrize("factor", [0.0, 1e-3, 30.0])
def test_shares_of_words_are_exactly_those_of_sparsemax(factor: float) -> None:
    """Values of one word each: the output is its weight; large scores leave most of them exactly nothing."""
    case = Case([(20, [64]), (20, [100])], past=False)
    query, key, _, weights = (x.detach() for x in case.inputs(128, torch.float32))
    order = torch.arange(len(key), device=DEVICE)
    value = torch.eye(128, device=DEVICE)[torch.where(order < 64, order, order - 64) % 128][:, None].expand(-1, 2, -1)
    found = case.through_kernels()(query * factor, key, value, weights)
    for rows, words in ((slice(20), slice(64)), (slice(20, 40), slice(64, 164))):
        wanted = sparsemax(torch.einsum("nhe,the->nht", query[rows] * factor, key[words]) * 128**-0.5)
        shares = found[rows, :, : wanted.shape[-1]]
        torch.testing.assert_close(shares, wanted, rtol=1e-5, atol=1e-5)
        assert ((shares == 0) == (wanted == 0)).float().mean() > 0.999
        assert not found[rows, :, wanted.shape[-1] :].any()


@pytest.mark.parametrize("shape", [[(0, [4])], [(3, [])], [(0, [])]], ids=["no-rows", "no-words", "nothing"])
def test_empty_inputs_give_zeros(shape: Shape) -> None:
    case = Case(shape, past=False)
    tensors = case.inputs(64, HALF)
    assert not any(x.any() for x in with_gradients(case.through_kernels()(*tensors), tensors))


def test_results_are_repeatable() -> None:
    case = Case(SHAPES["one"], past=True)
    tensors = case.inputs(64, HALF)
    runs = [with_gradients(case.through_kernels()(*tensors), tensors) for _ in range(2)]
    assert all(torch.equal(*pair) for pair in zip(*runs, strict=True))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_compiled_graph_holds_the_kernels_unbroken(dynamic: bool) -> None:
    case = Case(SHAPES["many"], past=True)
    tensors = case.inputs(64, HALF)
    compiled = torch.compile(case.through_kernels(), fullgraph=True, dynamic=dynamic)
    assert_equal(with_gradients(compiled(*tensors), tensors), case.expected(tensors), HALF)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_a_captured_graph_replays_the_kernels() -> None:
    case = Case([(700, [30, 5, 64, 100, 1] * 8), (40, [3])], past=True)
    tensors = case.inputs(64, HALF)
    attend, weights = case.through_kernels(), torch.randn(tensors[0].shape, dtype=HALF, device=DEVICE)

    def compute() -> list[Tensor]:
        found = attend(*tensors)
        return [found, *torch.autograd.grad(found, tensors, weights)]

    def change() -> None:
        tensors[0].mul_(0.5)
        tensors[3].mul_((torch.rand(tensors[3].shape, device=DEVICE) < 0.5).to(HALF))  # others are read

    assert_replayed(compute, change)


@pytest.mark.parametrize("filled", [False, True], ids=["as-is", "filled-up"])
def test_a_system_has_the_losses_and_gradients_of_plain_attention(
    filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In single precision, which the kernels are not chosen for by themselves."""
    model = small_model(small_config(**SYSTEMS["selective"]), open_gates=True).to(DEVICE)
    first, second = documents(0, [20, 40, 7], [3, 5, 0, 4])
    batch = batch_of([first, dataclasses.replace(second, window=None if filled else range(1, 3))])
    if filled:
        room = fill_up(batch, capacity([batch]), 0)
        assert room is not None
        batch = room
    batch = batch.to(DEVICE)

    wanted = loss_and_gradients(model, batch)
    monkeypatch.setattr(Queries, "through_kernels", lambda queries, _: queries.fused)
    memory = model.memories(batch).source
    assert isinstance(memory, TwoLevelMemory)
    assert not isinstance(memory.layout(batch.source.queries), SlotLayout)
    for found, exact in zip(loss_and_gradients(model, batch), wanted, strict=True):
        torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-4)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_half_precision_on_a_gpu_takes_the_kernels_in_training_but_not_in_decoding_or_inspection() -> None:
    model = small_model(small_config(**SYSTEMS["selective"]), open_gates=True).to(DEVICE, HALF)
    batch = batch_of(documents(0, [8, 9, 7], [3, 5])).to(DEVICE)
    memories = model.memories(batch)
    assert batch.target is not None
    assert isinstance(memories.target, TwoLevelMemory)
    assert not isinstance(memories.target.layout(batch.target.queries), SlotLayout)
    state = model.start(batch, model.encode(batch, memories), memories, beams=2, max_length=5)
    assert isinstance(memories.target.layout(state.queries), SlotLayout)
    assert model.inspect(batch, memories)["decoder"].attention[0].isfinite().all()
