"""CUDA graph search against the plain search; without a GPU the same steps run uncaptured."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from weakref import ref

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from docgraph.graph.selection import select
from docgraph.model.config import LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.kv_cache import round_up
from docgraph.model.systems import selective
from docgraph.model.systems.pointer import Pointer
from docgraph.translation.decoding import cuda_graph_search as graphs
from docgraph.translation.decoding import search as searching
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig, top_candidates
from docgraph.translation.decoding.search import search
from model.examples import EOS, SYSTEMS, VOCABULARY, batch_of, documents, small_config, small_model

LINKED = LinkedConfig(words=5, sentences=2, length=3, own_weight=0.5)
DOCUMENTS = [
    replace(
        example,
        selection=select(example.graph, LINKED.words, LINKED.sentences),
        given=np.arange(len(example.source)) % 2 == 0,
    )
    for example in documents(0, [3, 0, 5, 2], [4, 7, 2], [1, 6, 3])
    if example.graph is not None
]

SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"beams": 1},
    "greedy, long": {"beams": 1, "min_length": 9},
    "beam": {"beams": 4},
    "n best": {"beams": 3, "n_best": 3, "min_length": 2, "length_penalty": 1.3},
}
MODELS: dict[str, dict[str, Any]] = {
    "base": {"context": False},
    "pre-norm": {"context": False, "norm": "pre"},
    **SYSTEMS,
    "docgraph, words": {"encoder": "docgraph", "integration": "hyb", "graph": {"nodes": "both"}},
    "linked": {"encoder": "linked", "integration": "hyb", "linked": LINKED},
    "pointer": {"encoder": "pointer", "integration": "post", "linked": LINKED},
}
CASES = [("base", name) for name in SEARCHES] + [(name, "n best") for name in MODELS if name != "base"]
CASES.append(("pointer", "greedy"))
READS_HOST = ("_local_scalar_dense", "nonzero", "masked_select", "bincount", "_unique2", "lift_fresh")
"""Operations that synchronise with the host; a captured step must have none."""
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


def model_of(**fields: Any) -> DocumentTransformer:
    """A small random model that does not repeat itself and ends sentences at different times."""
    sizes = {"source_vocabulary": VOCABULARY, "target_vocabulary": VOCABULARY, "share_embeddings": "none"}
    model: DocumentTransformer = small_model(small_config(transformer=sizes, **fields), seed=3, open_gates=True)
    assert model.embeddings.output_table is not None
    with torch.no_grad():
        model.embeddings.output_table.weight.mul_(4.0)[EOS].mul_(1.5)
        for pointer in [module for module in model.modules() if isinstance(module, Pointer)]:
            pointer.gate_outer.bias += 1.5  # states of a random model are not near each other
            pointer.slope.fill_(2.0)
    return model


@torch.no_grad()
def searched(model: DocumentTransformer, config: SearchConfig, device: str = "cpu") -> list[list[Hypothesis]]:
    batch = batch_of(DOCUMENTS).to(device)
    memories = model.memories(batch)
    return search(model, batch, model.encode(batch, memories), memories, config)


def assert_same(ours: list[list[Hypothesis]], plain: list[list[Hypothesis]]) -> None:
    assert [[h.tokens for h in sentence] for sentence in ours] == [[h.tokens for h in sentence] for sentence in plain]
    for one, other in zip(itertools.chain(*ours), itertools.chain(*plain), strict=True):
        assert one.log_probability == pytest.approx(other.log_probability, abs=1e-4)
        assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """Switches between graph search, with layouts so small that sentences move often, and the plain search."""
    for name, value in (("INITIAL_LENGTH", 4), ("CHECK_EVERY", 2), ("MIN_SENTENCES", 1), ("MIN_ROWS_TO_LEAVE", 2)):
        monkeypatch.setattr(graphs, name, value)
    return lambda use: monkeypatch.setattr(searching, "CUDA_GRAPH_DEVICES", ("cpu", "cuda") if use else ())


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_graph_search_equals_plain_search(name: str, kind: str, steps: Callable[[bool], None]) -> None:
    model, config = model_of(**MODELS[name]), SearchConfig(**SEARCHES[kind])
    steps(False)
    plain = searched(model, config)
    steps(True)
    assert_same(searched(model, config), plain)
    assert len({len(sentence[0].tokens) for sentence in plain}) > 2, "the sentences should end at different times"


@torch.inference_mode()
def test_layouts_grow_shrink_and_are_reused(steps: Callable[[bool], None]) -> None:
    model, config = model_of(context=False), SearchConfig(beams=2)
    steps(True)
    first = searched(model, config)
    assert searched(model, config) == first  # now that buffers have their final sizes
    sizes = list(graphs._WORKSPACES[model].graphs)
    assert len({places for places, *_ in sizes}) > 2, "no sentence left early"
    assert len({room for _, _, room, *_ in sizes}) > 2, "no layout grew"
    for buffer in graphs._WORKSPACES[model].buffers.values():
        if buffer.is_floating_point():
            buffer.fill_(torch.nan)  # what an earlier search left must not matter
    assert searched(model, config) == first
    assert list(graphs._WORKSPACES[model].graphs) == sizes
    memory = graphs._workspace_of(model)
    assert graphs._workspace_of(model) is memory
    assert graphs._workspace_of(model.double()) is not memory, "graphs hold the addresses of old weights"


class Recorded:
    """Stands for a graph: replays a step on the tensors that it was captured with."""

    def __init__(self, step: Any) -> None:
        self.search = copy.copy(step.__self__)
        self.search.state = copy.copy(self.search.state)
        cache = self.search.cache = self.search.state.cache = copy.copy(self.search.cache)
        cache.layers = [replace(layer, weak_owner=ref(cache)) for layer in cache.layers]
        self.replays = 0

    def replay(self) -> None:
        self.replays += 1
        graphs._Search.step(self.search)


@pytest.mark.parametrize(
    ("name", "kind"), [*CASES[: len(SEARCHES)], *((name, "n best") for name in ("docgraph", "linked", "pointer"))]
)
def test_a_captured_step_serves_later_searches(
    name: str, kind: str, steps: Callable[[bool], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, made = model_of(**MODELS[name]), []

    def capture(self: graphs._Workspace, step: Any) -> Recorded:
        made.append(Recorded(step))
        return made[-1]

    monkeypatch.setattr(graphs._Workspace, "captures", True)
    monkeypatch.setattr(graphs._Workspace, "capture", capture)
    for penalty in (0.5, 1.0, 0.5):
        config = SearchConfig(**{**SEARCHES[kind], "length_penalty": penalty})
        steps(False)
        plain = searched(model, config)
        steps(True)
        assert_same(searched(model, config), plain)
    assert sum(recorded.replays for recorded in made) > 20
    count = len(made)
    searched(model, config)
    assert (len(made) == count) == (name == "base"), "graphs of a reader serve one search only"


@pytest.mark.parametrize(("count", "places"), [(1, 1), (2, 2), (3, 3), (5, 6), (7, 8), (97, 128), (96, 96)])
def test_rounded(count: int, places: int) -> None:
    assert round_up(count) == places


class NothingRead(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Fails if the host would wait for the device."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        assert name not in READS_HOST, f"{name} in a captured step"
        if name in ("index", "index_put_"):
            assert all(index is None or index.dtype != torch.bool for index in args[1]), "a mask as an index"
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize(("name", "beams"), [("base", 1), *((name, 3) for name in MODELS)])
def test_a_step_does_not_synchronise_with_the_host(name: str, beams: int, steps: Callable[[bool], None]) -> None:
    model, step = model_of(**MODELS[name]), graphs._Search.step
    counted = 0

    def watched(self: graphs._Search) -> None:
        nonlocal counted
        counted += 1
        with NothingRead():  # type: ignore[no-untyped-call]
            step(self)

    steps(True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graphs._Search, "step", watched)
        patch.setattr(selective, "LOOK_FIRST", ())  # as on a GPU
        searched(model, SearchConfig(beams=beams, min_length=2))
    assert counted > 4


def test_a_sentence_at_its_limit_is_extended_by_eos_only() -> None:
    generator = torch.Generator().manual_seed(0)
    values, totals = (torch.randn(3, *sizes, generator=generator) for sizes in ((2, 130), (2,)))
    ending = torch.tensor([True, False, True])
    masked = values.clone()
    masked[ending] = torch.where(torch.arange(130) == EOS, masked[ending], -torch.inf)
    (score, beam, token), expected = (
        top_candidates(values, totals, 4, (ending, EOS)),
        top_candidates(masked, totals, 4),
    )
    finite = expected[0].isfinite()
    assert torch.equal(score, expected[0])
    for found, wanted in zip((beam, token), expected[1:], strict=True):
        assert torch.equal(found[finite], wanted[finite])


@needs_gpu
@pytest.mark.parametrize(("name", "kind"), CASES)
def test_replayed_graphs_equal_plain_search(name: str, kind: str, steps: Callable[[bool], None]) -> None:
    model, config = model_of(**MODELS[name]).cuda(), SearchConfig(**SEARCHES[kind])
    steps(False)
    plain = searched(model, config, "cuda")
    steps(True)
    for _ in range(3):  # run, captured, and replayed from what was kept
        assert_same(searched(model, config, "cuda"), plain)
    if "context" in MODELS[name]:
        assert any(graph is not None for graph in graphs._WORKSPACES[model].graphs.values())
