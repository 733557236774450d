"""torch.compile captures the training step as one graph with the same result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from functorch.compile import make_boxed_func
from torch import Tensor
from torch._dynamo.backends.common import aot_autograd
from torch._ops import OpOverload
from torch.fx import GraphModule

from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.padding import capacity, fill_up

from .examples import SYSTEMS, batch_of, documents, small_config, small_model

ONE_LAYER = {"encoder_layers": 1, "decoder_layers": 1}


@pytest.fixture(autouse=True)
def _fresh_compiler() -> Iterator[None]:
    torch.compiler.reset()
    yield
    torch.compiler.reset()


def system(place: str | None, nodes: str = "sentence") -> DocumentTransformer:
    changes = {"integration": place, "sides": "both", "graph": {"nodes": nodes}} if place else {}
    return small_model(small_config(context=place is not None, transformer=ONE_LAYER, **changes), open_gates=True)


@pytest.mark.parametrize(
    ("place", "nodes", "backend"),
    [
        pytest.param(None, "sentence", "eager", id="base"),
        pytest.param("hyb", "both", "aot_eager", id="hyb"),  # the backward pass traced too
        pytest.param("post", "sentence", "eager", id="post"),
        pytest.param("pre", "word", "eager", id="pre"),
    ],
)
def test_the_training_step_is_one_graph(place: str | None, nodes: str, backend: str) -> None:
    model = system(place, nodes)
    plain = batch_of(documents(0, [3, 0, 5], [4]))
    batch = fill_up(plain, capacity([plain]), pad=0)
    assert batch is not None
    parameters = list(model.parameters())
    expected, _ = model(batch, 0.1)
    wanted = torch.autograd.grad(expected, parameters)
    compiled = torch.compile(model, backend=backend, fullgraph=True)  # a graph break is an error
    found, _ = compiled(batch, 0.1)
    torch.testing.assert_close(found, expected)
    for ours, theirs in zip(torch.autograd.grad(found, parameters), wanted, strict=True):
        torch.testing.assert_close(ours, theirs)


SEARCHING = ("ctx", "han", "hm_gdc", "unified")
"""Systems that compute the sequence of each token on the device."""


@pytest.mark.parametrize("name", [*SEARCHING, "selective"])
def test_other_systems_are_one_graph_that_searches_no_view(name: str) -> None:
    """In PyTorch before 2.13, a compiled searchsorted of a slice fails or returns wrong results on a GPU."""
    searched: list[object] = []

    def look(graph: GraphModule, _: list[Tensor]) -> Callable[..., object]:
        found = graph.graph.find_nodes(op="call_function", target=torch.ops.aten.searchsorted.Tensor)
        searched.extend(node.args[0].target for node in found)
        return make_boxed_func(graph.forward)

    model = small_model(small_config(transformer=ONE_LAYER, **SYSTEMS[name]), open_gates=True)
    plain = batch_of(documents(0, [3, 0, 5], [4]))
    batch = fill_up(plain, capacity([plain]), pad=0)
    assert batch is not None
    compiled = torch.compile(model.logits, backend=aot_autograd(fw_compiler=look), fullgraph=True, dynamic=False)
    with torch.no_grad():
        torch.testing.assert_close(compiled(batch), model.logits(batch))
    assert bool(searched) == (name in SEARCHING)
    assert not [target for target in searched if isinstance(target, OpOverload) and target.is_view]


def test_compiled_parts_serve_batches_of_every_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    """After two batches nothing is recompiled, and there are no graph breaks."""
    monkeypatch.setattr(torch, "compile", partial(torch.compile, backend="eager", fullgraph=True))
    config = torch._dynamo.config
    reference, model = system("hyb"), system("hyb")
    with config.patch(recompile_limit=8):  # what compile_parts sets is undone afterwards
        model.compile_parts()
        for seed, sizes in enumerate([([3, 4, 5], [4, 2]), ([6, 2, 3, 4], [5, 3]), ([9, 0, 7, 6], [4], [5, 2])]):
            batch = batch_of(documents(seed, *sizes))
            with config.patch(error_on_recompile=seed >= 2):
                torch.testing.assert_close(model(batch, 0.1)[0], reference(batch, 0.1)[0])
