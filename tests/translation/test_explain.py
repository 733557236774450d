"""Context weights of sentences, compared with the recorded attention of the model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from docgraph.translation import explain
from docgraph.translation.explain import ContextWeights, context_weights
from model.examples import SYSTEMS, batch_of, documents, sentence_rows, small_config, small_model

[DOCUMENT] = documents(5, [3, 4, 2, 5, 1, 3, 4])
ALL = {
    **{name: fields for name, fields in SYSTEMS.items() if name != "unified"},
    "both nodes": {"graph": {"nodes": "both"}},
    "word nodes": {"graph": {"nodes": "word"}},
    "source side": {"sides": "source"},
    "linked": {"encoder": "linked"},
}


@pytest.mark.parametrize("name", ALL)
def test_weights_belong_to_visible_sentences(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = small_model(small_config(**ALL[name]), open_gates=True)
    found = context_weights(model, DOCUMENT, range(7))
    near = {"ctx": 2, "han": 3}.get(name, 7)
    for m, sentence in enumerate(found):
        assert 0 < sentence.gate <= 1
        assert m not in sentence.source
        assert all(place < m for place in sentence.target)
        past = name in ("ctx", "han")
        assert all(abs(m - place) <= near and (place < m or not past) for place in (*sentence.source, *sentence.target))
        for weights in (sentence.source, sentence.target):
            assert sum(weights.values()) <= 1 + 1e-5
            assert list(weights.values()) == sorted(weights.values(), reverse=True)
    assert any(sentence.source for sentence in found) == (name != "word nodes")
    assert found[0].target == {}
    monkeypatch.setattr(explain, "CELLS", 60)
    for whole, part in zip(found, context_weights(model, DOCUMENT, range(7)), strict=True):
        assert whole.gate == pytest.approx(part.gate, rel=1e-4)
        for side in ("source", "target"):
            assert getattr(whole, side) == pytest.approx(getattr(part, side), rel=1e-3)


def test_weights_are_means_over_sub_words_heads_and_layers() -> None:
    model = small_model(small_config(), open_gates=True)
    found = context_weights(model, DOCUMENT, range(7))
    recorders = model.inspect(batch_of([DOCUMENT]))
    for stack, side, texts in (("encoder", "source", DOCUMENT.source), ("decoder", "target", DOCUMENT.target)):
        attention = np.mean([part.numpy() for part in recorders[stack].attention], axis=0)
        for m, rows in enumerate(sentence_rows(map(len, texts))):
            expected: Any = attention[rows].mean(0)
            for place, weight in getattr(found[m], side).items():
                assert weight == pytest.approx(float(expected[place]), rel=1e-4)


def test_parts_of_a_sentence_count_as_one() -> None:
    model = small_model(small_config(), open_gates=True)
    owners = [0, 1, 1, 2, 3, 3, 4]
    alone, joined = context_weights(model, DOCUMENT, range(7)), context_weights(model, DOCUMENT, owners)
    assert joined[0].source[1] == pytest.approx(alone[0].source[1] + alone[0].source[2], rel=1e-4)
    assert 1 not in joined[2].source
    mean = ContextWeights.mean(
        [ContextWeights({3: 0.5, 4: 0.1}, {}, 1.0), ContextWeights({3: 0.1, 5: 0.6}, {0: 1.0}, 0.5)]
    )
    assert mean == ContextWeights({3: 0.3, 5: 0.3, 4: 0.05}, {0: 0.5}, 0.75)
    assert ContextWeights.mean([]) is None


def test_systems_without_gates_have_no_weights() -> None:
    for fields in ({"context": False}, SYSTEMS["unified"]):
        assert context_weights(small_model(small_config(**fields)), DOCUMENT, range(7)) == []
