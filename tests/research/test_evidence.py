"""Caches of earlier decisions, on small models and documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from experiment_examples import random_documents

from docgraph.errors import DocgraphError
from docgraph.graph import build_graph
from docgraph.graph.selection import select
from docgraph.model.config import ConcatenationConfig, ModelConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.research.analysis_inputs import Documents
from docgraph.research.context_use import token_losses
from docgraph.research.evidence import (
    BASE,
    CALIBRATED,
    CHOICES,
    OTHER,
    OWN,
    REFERENCES,
    SHARPNESS,
    TEMPERATURES,
    CacheFit,
    CachePredictions,
    base_of,
    choose_sentences,
    decoder_states,
    evidence,
    fit_caches,
    log_probabilities,
    look_up,
    mix,
    predict_with_caches,
)
from docgraph.translation.decoding.hypotheses import SearchConfig
from model.examples import SYSTEMS, small_config, small_model

GREEDY = SearchConfig(beams=1, max_length_factor=1.0, max_length_constant=3)
DOCUMENTS = random_documents(5, [3, 2, 5, 1, 4, 3], [4, 2], [2, 6, 3])
MODEL = small_model(small_config(context=False))


def ignorant() -> DocumentTransformer:
    """A model that finds all tokens equally likely, whatever its state."""
    model = small_model(small_config(context=False, transformer={"share_embeddings": "none"}))
    torch.nn.init.zeros_(model.embeddings.output_weight)
    return model


def repeating(seed: int) -> Documents:
    """Documents of five sentences, said three times."""
    sizes = [12, 9, 11, 10, 12]
    once, whole = (random_documents(seed, *[one] * 4) for one in (sizes, sizes * 3))
    sides = ("source", "words", "target", "target_words", "reference")
    said: list[dict[str, Any]] = [
        {side: [*getattr(document, side)] * 3 for side in sides} for document in once.documents
    ]
    pairs = zip(whole.documents, said, strict=True)
    return replace(once, documents=[replace(document, **fields) for document, fields in pairs])


def texts(documents: Documents) -> list[list[str]]:
    return [document.reference for document in documents.documents]


def losses(found: CachePredictions, fit: CacheFit) -> dict[str, Any]:
    return {label: found.losses(label, fit) for label in (BASE, CALIBRATED, *found.similarity)}


def quiet(line: str) -> None:
    pass


def test_repetition_gains_from_its_own_document_only() -> None:
    model = ignorant()
    fit = fit_caches(predict_with_caches(model, repeating(1), texts(repeating(2)), (3, 5)))
    found = losses(predict_with_caches(model, repeating(3), texts(repeating(4)), (3, 5)), fit)
    loss = {label: row.mean() for label, row in found.items()}
    assert loss[BASE] == pytest.approx(np.log(50))
    assert loss[REFERENCES] < loss[BASE] - 1
    assert loss[OWN] == pytest.approx(loss[BASE], abs=0.1)  # these are another document's, too
    assert loss[OTHER] == pytest.approx(loss[BASE], abs=0.1)
    # Said again after five sentences: of three nearest none is the same.
    assert loss["nearest 5"] < loss[REFERENCES] + 0.1 < loss["random 3"] < loss["nearest 3"]
    first = slice(0, len(np.concatenate(repeating(3).documents[0].target)) // 15)
    assert np.array_equal(found[REFERENCES][first], found[CALIBRATED][first])  # nothing is before the first sentence


@pytest.mark.parametrize("similarities", [1, 100, 1 << 24])
def test_the_cache_is_a_softmax_over_visible_tokens_for_any_block_size(
    similarities: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docgraph.research.evidence.SIMILARITIES", similarities)
    document, other = DOCUMENTS.documents[0], random_documents(6, [2, 4, 3, 3, 1, 5]).documents[0]
    monkeypatch.setattr("docgraph.research.evidence.SENTENCES", 4)
    ours, theirs = (decoder_states(MODEL, one.source, one.target) for one in (document, other))
    views = np.stack([np.tri(6, k=-1, dtype=np.bool_), *choose_sentences(document, (2,), 0).values()])
    top, share = look_up(ours, theirs, views, (4, 32))
    queries, keys = F.normalize(ours.hidden, dim=1), F.normalize(theirs.hidden, dim=1)
    home, away = (torch.from_numpy(np.repeat(np.arange(6), one.lengths)) for one in (ours, theirs))
    for place, view in enumerate(torch.from_numpy(views)):
        seen = view[home][:, away]
        similar = (queries @ keys.T).masked_fill(~seen, -torch.inf)
        assert torch.allclose(top[place], similar.amax(1).clamp(min=-1), atol=1e-6)
        for number, beta in enumerate((4, 32)):
            weights = (beta * similar).softmax(1).nan_to_num()
            wanted = (weights * (ours.tokens[:, None] == theirs.tokens)).sum(1)
            assert torch.allclose(share[place, number], wanted, atol=1e-5)


def test_weight_zero_gives_base_and_other_weights_the_mixture() -> None:
    base, share = torch.tensor([0.3, 0.2, 0.1]).double().log(), torch.tensor([0.0, 1.0, 0.5]).double()
    top = torch.tensor([0.9, 0.75, 0.5]).double()
    assert torch.equal(mix(base, top, share, 0.0), -base)
    trust = torch.tensor([0.4 * 0.64, 0.4 * 0.25, 0.0]).double()
    assert torch.allclose(mix(base, top, share, 0.4), -((1 - trust) * base.exp() + trust * share).log())
    gained = predict_with_caches(MODEL, DOCUMENTS, texts(DOCUMENTS), (1,))
    silent = CacheFit(1.0, dict.fromkeys(gained.similarity, (32, 0.0)))
    found = losses(gained, silent)
    assert all(np.array_equal(row, found[BASE]) for row in found.values())
    assert found.keys() == {BASE, CALIBRATED, REFERENCES, OWN, OTHER, *(f"{choice} 1" for choice in CHOICES)}


def test_a_cache_that_only_sharpens_base_gains_nothing() -> None:
    torch.manual_seed(1)
    logits = 3 * torch.randn(4000, 20).double()
    tokens = logits.softmax(1).multinomial(1)
    shy = torch.stack([(0.8 * logits / t).log_softmax(1).gather(1, tokens)[:, 0] for t in TEMPERATURES])
    truth = logits.softmax(1).gather(1, tokens)[:, 0].expand(len(SHARPNESS), -1)
    found = CachePredictions(TEMPERATURES, SHARPNESS, shy, {REFERENCES: torch.ones(4000)}, {REFERENCES: truth})
    fit = fit_caches(found)
    loss = {label: row.mean() for label, row in losses(found, fit).items()}
    assert fit.temperature == pytest.approx(0.8, abs=0.03)
    assert loss[BASE] > loss[CALIBRATED] + 0.01
    assert loss[REFERENCES] == pytest.approx(loss[CALIBRATED], abs=0.001)


def test_sentences_are_chosen_by_the_graph_by_proximity_or_at_random() -> None:
    document = random_documents(7, [3, 4, 5, 2, 6, 3, 4, 5]).documents[0]
    assert document.annotation is not None
    found = choose_sentences(document, (2, 4), 0)
    for count in (2, 4):
        linked = select(build_graph(document.annotation), 8, count).sentences.tolist()
        for m in range(8):
            assert set(found[f"graph {count}"][m].nonzero()[0]) == {j for j in linked[m] if j >= 0}
            assert found[f"nearest {count}"][m].nonzero()[0].tolist() == list(range(max(0, m - count), m))
            drawn = found[f"random {count}"][m].nonzero()[0]
            assert len(drawn) == min(count, m)
            assert drawn.max(initial=-1) < m
    assert not (found["random 2"] & ~found["random 4"]).any()
    assert all(np.array_equal(mask, found[label]) for label, mask in choose_sentences(document, (2, 4), 0).items())
    assert not np.array_equal(choose_sentences(document, (4,), 1)["random 4"], found["random 4"])


@pytest.mark.parametrize("system", ["joined", "docgraph", "unified"])
def test_the_base_of_a_system_reads_no_context(system: str) -> None:
    config = small_config(**SYSTEMS[system]) if system in SYSTEMS else small_config(context=False)
    if system == "joined":
        config = ModelConfig(config.transformer, concatenation=ConcatenationConfig(source=2, target=2))
    model = small_model(config, open_gates=config.context is not None)
    base = base_of(model)
    found = [
        log_probabilities(base, decoder_states(base, one.source, one.target), (1.0, 0.8)) for one in DOCUMENTS.documents
    ]
    lost = -torch.cat(found, dim=1)
    plain = DocumentTransformer(ModelConfig(config.transformer)).eval()
    plain.load_state_dict({name: tensor for name, tensor in model.state_dict().items() if name in plain.state_dict()})
    assert np.allclose(lost[0], token_losses(plain, DOCUMENTS)[0], atol=1e-5)
    assert not np.allclose(lost[0], token_losses(model, DOCUMENTS)[0], atol=1e-3)
    assert not torch.allclose(lost[0], lost[1], atol=1e-3)


def test_tables_and_curve() -> None:
    reference = [text for document in texts(DOCUMENTS) for text in document]
    dev = random_documents(8, [3, 4, 5], [6, 2])
    tables = evidence({"a": MODEL}, DOCUMENTS, dev, {"a": reference}, GREEDY, (1, 3), quiet)
    (plain, gains), (curve,) = tables
    kinds = (REFERENCES, OWN, OTHER)
    assert list(plain.values) == ["a", "a calibrated", *(f"a + {kind}" for kind in kinds)]
    assert list(gains.values) == [f"a: {kind}" for kind in kinds]
    assert {"all", "linked"} <= set(plain.labels)
    for kind in kinds:
        one, other = (np.array(plain.values[row], dtype=float) for row in (f"a + {kind}", "a calibrated"))
        assert gains.values[f"a: {kind}"] == pytest.approx(one - other, abs=1e-12)
    assert curve.labels == ("1", "3", "all")
    assert list(curve.values) == [f"a, {choice}" for choice in CHOICES]
    for choice in CHOICES:
        assert curve.values[f"a, {choice}"][-1] == pytest.approx(gains.values[f"a: {REFERENCES}"][0], abs=1e-9)
    fit = fit_caches(predict_with_caches(MODEL, dev, dev.translate(MODEL, GREEDY), (1, 3)))
    assert fit.temperature != 1
    assert plain.values["a"][0] == pytest.approx(token_losses(MODEL, DOCUMENTS)[0].mean())
    assert plain.values["a"][0] != pytest.approx(plain.values["a calibrated"][0])
    assert fit.signature(kinds) in gains.signature
    assert fit.signature(["graph 1", "graph 3", "nearest 1"]) in curve.signature


def test_one_document_has_no_other() -> None:
    alone = DOCUMENTS.first(1)
    [(plain, gains), (curve,)] = evidence({"a": MODEL}, alone, alone, {}, GREEDY, (1,), quiet)
    assert list(plain.values) == ["a", "a calibrated", f"a + {REFERENCES}", f"a + {OWN}"]
    assert gains.intervals[f"a: {REFERENCES}"] == [None] * len(gains.labels)
    assert curve.intervals["a, graph"] == [None, None]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"translations": {"b": [""] * 11}}, "there is no model 'b'"),
        ({"dev": DOCUMENTS.first(0)}, "there is no document in random"),
        ({"documents": DOCUMENTS.with_annotations(lambda one: None)}, "not annotated"),  # type: ignore[arg-type,return-value]
    ],
    ids=["name", "dev", "annotation"],
)
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"documents": DOCUMENTS, "dev": DOCUMENTS, "translations": {}, **changes}
    with pytest.raises(DocgraphError, match=message):
        evidence({"a": MODEL}, **arguments, search=GREEDY, counts=(1,), log=quiet)
