"""Systems as a whole: freeze policies, a training step, half precision, inspection."""

from __future__ import annotations

import pytest
import torch

from docgraph.model.config import FreezePolicy
from docgraph.model.document_transformer import DocumentTransformer

from .examples import batch_of, documents, small_config, small_model

POLICIES: list[FreezePolicy] = ["base", "base_but_embeddings", "none"]
DOCUMENTS = documents(0, [3, 0, 5, 2], [4, 6])


def trains(name: str, policy: FreezePolicy) -> bool:
    part = name.split(".")[0]
    return part in {"context", "integration"} or policy == "none" or (policy != "base" and part == "embeddings")


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("place", ["hyb", "post", "pre"])
def test_a_training_step_changes_only_what_the_policy_allows(place: str, policy: FreezePolicy) -> None:
    model = small_model(small_config(integration=place, graph={"nodes": "both"}), open_gates=True).train()
    model.freeze(policy)
    assert {name for name, p in model.named_parameters() if p.requires_grad} == {
        name for name, _ in model.named_parameters() if trains(name, policy)
    }
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
    model(batch_of(DOCUMENTS), smoothing=0.1)[0].backward()
    optimizer.step()
    # A shift of all keys alike moves no attention: its gradient is rounding, 0 where the mask leaves one key.
    unmoved = {name for name, parameter in model.named_parameters() if torch.equal(parameter, before[name])}
    assert {name for name in unmoved if not name.endswith("key.bias")} == {
        name for name in before if not trains(name, policy) and not name.endswith("key.bias")
    }
    assert all(parameter.grad is None for parameter in model.parameters() if not parameter.requires_grad)


def test_freezing_again_replaces_the_policy() -> None:
    model = small_model(small_config())
    for policy in POLICIES:
        model.freeze(policy)
    assert all(parameter.requires_grad for parameter in model.parameters())


@pytest.mark.parametrize("place", [None, "hyb", "post", "pre"])
def test_a_few_steps_memorise_a_batch(place: str | None) -> None:
    config = small_config(context=place is not None, **({"integration": place} if place else {}))
    torch.manual_seed(0)
    model = DocumentTransformer(config).train()
    batch = batch_of(DOCUMENTS)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    losses = []
    for _ in range(30):
        optimizer.zero_grad()
        loss, nll = model(batch, smoothing=0.1)
        loss.backward()
        optimizer.step()
        losses.append(float(nll))
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("place", [None, "hyb", "post", "pre"])
def test_bfloat16_under_autocast_is_finite_and_near_float32(place: str | None) -> None:
    changes = {"integration": place, "graph": {"nodes": "both"}} if place else {}
    model = small_model(small_config(context=place is not None, **changes), open_gates=True)
    batch = batch_of(DOCUMENTS)
    exact, _ = model(batch, smoothing=0.1)
    parameters = dict(model.named_parameters())
    wanted = dict(zip(parameters, torch.autograd.grad(exact, list(parameters.values())), strict=True))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough, _ = model(batch, smoothing=0.1)
    found = dict(zip(parameters, torch.autograd.grad(rough, list(parameters.values())), strict=True))
    assert rough.dtype == torch.float32
    torch.testing.assert_close(rough, exact, rtol=0.02, atol=0.0)
    for name, gradient in found.items():
        assert gradient.isfinite().all(), name
    # Small gradients are mostly rounding; together they point the same way.
    flat_found, flat_wanted = (torch.cat([g.flatten() for g in each.values()]) for each in (found, wanted))
    assert (flat_found - flat_wanted).norm() < 0.1 * flat_wanted.norm()


@pytest.mark.parametrize("nodes", ["sentence", "word", "both"])
def test_a_model_in_bfloat16_decodes(nodes: str) -> None:
    model = small_model(small_config(graph={"nodes": nodes}), open_gates=True).bfloat16()
    batch = batch_of(DOCUMENTS)
    with torch.no_grad():
        memories = model.memories(batch)
        state = model.start(batch, model.encode(batch, memories), memories, 2, 3)
        scores = model.step(torch.ones(2 * batch.num_sentences, dtype=torch.int64), state)
    assert scores.isfinite().all()


def test_inspection_covers_every_context_layer_and_only_visible_slots() -> None:
    model = small_model(small_config(), open_gates=True)
    batch = batch_of(DOCUMENTS)
    assert batch.target is not None
    found = model.inspect(batch)
    assert {name: len(recorder.gates) for name, recorder in found.items()} == {"encoder": 2, "decoder": 2}
    for attention, gates in zip(found["decoder"].attention, found["decoder"].gates, strict=True):
        assert attention.shape == (batch.target.sentences.num_tokens, batch.slots.shape[1])
        index = batch.index_of[batch.target.sentences.sequence_of]
        later = torch.arange(attention.shape[1])[None, :] >= index[:, None]
        assert not attention[later].any()
        torch.testing.assert_close(attention.sum(1), (index > 0).float())
        assert (gates[index == 0] == 1).all()
        assert ((gates[index > 0] > 0) & (gates[index > 0] < 1)).all()
    assert small_model(small_config(context=False)).inspect(batch) == {}


def test_added_parameters_are_those_beyond_base() -> None:
    base = sum(p.numel() for p in small_model(small_config(context=False)).parameters())
    model = small_model(small_config())
    assert model.added_parameters() == sum(p.numel() for p in model.parameters()) - base
    assert small_model(small_config(context=False)).added_parameters() == 0
