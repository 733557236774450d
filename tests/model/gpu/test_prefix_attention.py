"""The prefix-attention kernels equal plain attention in double precision."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from docgraph.model.memory import SlotMemory
from docgraph.model.packing import Packing
from docgraph.model.padding import capacity, fill_up
from model.examples import batch_of, documents, loss_and_gradients, small_config, small_model
from model.kernel_examples import DEVICE, HALF, INTERPRETED, assert_replayed, needs_kernels

pytestmark = needs_kernels
LEFT_OVER = 3
"""States after all others that are in no slot."""
Shape = list[tuple[int, int]]
SHAPES: dict[str, Shape] = {
    "one": [(70, 33)],
    "one-slot": [(65, 1)],
    "many": [(0, 0), (1, 1), (64, 0), (0, 5), (63, 64), (129, 32), (0, 0), (5, 300), (64, 65)],
    "parts": [(512, 3), (1100, 70), (513, 3), (0, 2)],
}
"""Rows and slots of each document, around those of a tile and of a part."""


def limits_of(shape: Shape, kind: str) -> Tensor:
    """[N]: all slots of the document, or fewer to begin with, from none on."""
    return torch.cat(
        [torch.full((n,), m) if kind == "all" else torch.arange(n) * (m + 1) // max(n, 1) for n, m in shape]
    )


def inputs(shape: Shape, size: int, dtype: torch.dtype) -> list[Tensor]:
    """Queries, keys and values, not contiguous, two heads of `size`."""
    torch.manual_seed(0)
    rows, slots = (sum(numbers) for numbers in zip(*shape, strict=True))
    query = torch.randn(rows, 5, size, dtype=dtype, device=DEVICE)[:, 1:3]
    key, value = torch.randn(slots + LEFT_OVER, 4, size, dtype=dtype, device=DEVICE).chunk(2, dim=1)
    return [x.detach().requires_grad_() for x in (query, key, value)]


def through_kernels(shape: Shape, limits: Tensor) -> Callable[..., Tensor]:
    from docgraph.model.gpu.prefix_attention import PrefixLayout

    counts = torch.tensor([m for _, m in shape])
    rows, first = Packing.of([n for n, _ in shape]).boundaries, counts.cumsum(0) - counts
    limits, rows, first, counts = (table.to(DEVICE) for table in (limits, rows, first, counts))
    width = max(m for _, m in [*shape, (0, 1)])
    return lambda *tensors: PrefixLayout.of(limits, rows, first, counts, width).attend(*tensors)


def with_gradients(found: Tensor, tensors: list[Tensor]) -> list[Tensor]:
    weights = torch.randn(found.shape, generator=torch.Generator().manual_seed(1)).to(found)
    return [found, *torch.autograd.grad(found, tensors, weights)]


def expected(tensors: list[Tensor], shape: Shape, limits: Tensor) -> list[Tensor]:
    exact = [x.detach().cpu().double().requires_grad_() for x in tensors]
    query, key, value = exact
    document_of, state_of = (
        torch.arange(len(shape)).repeat_interleave(torch.tensor(sizes)) for sizes in zip(*shape, strict=True)
    )
    place = torch.cat([torch.arange(m) for _, m in shape])
    sees = (document_of[:, None] == state_of) & (place < limits[:, None])
    sees = torch.nn.functional.pad(sees, (0, LEFT_OVER))[:, None]
    scores = torch.einsum("nhe,mhe->nhm", query, key) * query.shape[-1] ** -0.5
    weights = scores.masked_fill(~sees, -1e300).softmax(-1) * sees
    return with_gradients(torch.einsum("nhm,mhe->nhe", weights, value), exact)


def assert_equal(found: list[Tensor], wanted: list[Tensor], dtype: torch.dtype, bound: float = 0.01) -> None:
    for ours, exact in zip(found, wanted, strict=True):
        assert ours.dtype == dtype
        assert ours.is_contiguous()
        # Of one slot alone the weight is 1 and its gradient 0, but for rounding.
        atol = bound * max(float(exact.detach().abs().max()), 1.0) if exact.numel() else 0.0
        torch.testing.assert_close(ours.cpu().double(), exact, rtol=bound, atol=atol)


@pytest.mark.parametrize(
    ("size", "dtype", "bound"),
    [(16, torch.float32, 1e-5), (48, HALF, 0.01), (64, HALF, 0.01)],
    ids=["16-full", "48-half", "64-half"],
)
@pytest.mark.parametrize("kind", ["all", "before"])
@pytest.mark.parametrize("name", SHAPES)
def test_kernels_compute_attention_and_its_gradient(
    name: str, kind: str, size: int, dtype: torch.dtype, bound: float
) -> None:
    shape, tensors = SHAPES[name], inputs(SHAPES[name], size, dtype)
    limits = limits_of(shape, kind)
    found = with_gradients(through_kernels(shape, limits)(*tensors), tensors)
    assert_equal(found, expected(tensors, shape, limits), dtype, bound)
    assert not found[0][(limits == 0).to(DEVICE)].any()
    assert not found[1][(limits == 0).to(DEVICE)].any()


@pytest.mark.parametrize("shape", [[(0, 4)], [(3, 0)], [(0, 0)]], ids=["no-rows", "no-slots", "nothing"])
def test_empty_inputs_give_zeros(shape: Shape) -> None:
    tensors = inputs(shape, 64, HALF)
    found = with_gradients(through_kernels(shape, limits_of(shape, "all"))(*tensors), tensors)
    assert not any(x.any() for x in found)


def test_scores_far_below_zero_neither_overflow_nor_vanish() -> None:
    shape, limits = SHAPES["many"], limits_of(SHAPES["many"], "before")
    tensors = [(40 * x).detach().requires_grad_() for x in inputs(shape, 32, torch.float32)]
    found = with_gradients(through_kernels(shape, limits)(*tensors), tensors)
    assert_equal(found, expected(tensors, shape, limits), torch.float32, 1e-3)


def test_results_are_repeatable() -> None:
    shape, tensors = SHAPES["parts"], inputs(SHAPES["parts"], 64, HALF)
    attend = through_kernels(shape, limits_of(shape, "before"))
    runs = [with_gradients(attend(*tensors), tensors) for _ in range(2)]
    assert all(torch.equal(*pair) for pair in zip(*runs, strict=True))


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_compiled_graph_holds_the_kernels_unbroken(dynamic: bool) -> None:
    shape, tensors = SHAPES["many"], inputs(SHAPES["many"], 64, HALF)
    limits = limits_of(shape, "before")
    compiled = torch.compile(through_kernels(shape, limits), fullgraph=True, dynamic=dynamic)
    assert_equal(with_gradients(compiled(*tensors), tensors), expected(tensors, shape, limits), HALF)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_a_captured_graph_replays_the_kernels() -> None:
    shape, tensors = SHAPES["parts"], inputs(SHAPES["parts"], 64, HALF)
    attend = through_kernels(shape, limits_of(shape, "before"))
    weights = torch.randn(tensors[0].shape, dtype=HALF, device=DEVICE)

    def compute() -> list[Tensor]:
        found = attend(*tensors)
        return [found, *torch.autograd.grad(found, tensors, weights)]

    assert_replayed(compute, lambda: tensors[0].mul_(0.5))


@pytest.mark.parametrize("filled", [False, True], ids=["as-is", "filled-up"])
@pytest.mark.parametrize("encoder", ["docgraph", "hm_gdc"])
def test_systems_have_the_losses_and_gradients_of_plain_attention(
    encoder: str, filled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In single precision, which the kernels are not chosen for by themselves."""
    sides = "source" if encoder == "hm_gdc" else "both"
    model = small_model(small_config(encoder=encoder, sides=sides), open_gates=True).to(DEVICE)
    first, second = documents(0, [80, 90, 7], [3, 50, 0, 4])
    batch = batch_of([first, dataclasses.replace(second, window=None if filled else range(1, 3))])
    if filled:
        room = fill_up(batch, capacity([batch]), 0)
        assert room is not None
        batch = room
    batch = batch.to(DEVICE)

    wanted = loss_and_gradients(model, batch)
    asked = []

    def always(memory: SlotMemory, queries: object) -> bool:
        asked.append(memory.prefix)
        return memory.prefix is not None

    monkeypatch.setattr(SlotMemory, "_through_kernel", always)
    for found, exact in zip(loss_and_gradients(model, batch), wanted, strict=True):
        torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-4)
    assert asked
    assert all(prefix is not None for prefix in asked)


@pytest.mark.skipif(INTERPRETED, reason="needs a GPU")
def test_half_precision_on_a_gpu_takes_the_kernels_in_training_but_not_in_decoding_or_inspection() -> None:
    from docgraph.model.gpu.prefix_attention import PrefixLayout
    from docgraph.model.memory import SlotLayout

    model = small_model(small_config(), open_gates=True).to(DEVICE, HALF)
    batch = batch_of(documents(0, [8, 9, 7], [3, 5])).to(DEVICE)
    memories = model.memories(batch)
    assert batch.target is not None
    assert isinstance(memories.target, SlotMemory)
    assert isinstance(memories.target.layout(batch.target.queries), PrefixLayout)
    state = model.start(batch, model.encode(batch, memories), memories, beams=2, max_length=5)
    assert isinstance(memories.target.layout(state.queries), SlotLayout)
    assert model.inspect(batch, memories)["decoder"].attention[0].isfinite().all()
