"""Concatenation of sentences with those before them, and the way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentExample
from docgraph.model.checkpoint import system_name
from docgraph.model.config import ConcatenationConfig, ContextConfig, ModelConfig
from docgraph.model.systems import context_class, prepare
from docgraph.model.systems.concatenation import Concatenation

EOS, SEPARATOR = 2, 3
sentences = st.lists(st.lists(st.integers(4, 9), max_size=4), min_size=1, max_size=6)


@given(source=sentences, sizes=st.tuples(st.integers(1, 4), st.integers(1, 4)), data=st.data())
def test_the_sentence_itself_comes_last(source: list[list[int]], sizes: tuple[int, int], data: st.DataObject) -> None:
    target = data.draw(st.lists(st.lists(st.integers(4, 9)), min_size=len(source), max_size=len(source)))
    config = ConcatenationConfig(max(sizes), min(sizes), SEPARATOR)
    model = ModelConfig(concatenation=config)
    sides = [[np.array([*ids, EOS]) for ids in side] for side in (source, target)]
    window = range(len(source) - 1, len(source))
    made = prepare(DocumentExample(*sides, window=window), model)
    assert (len(made.source), len(made.target), made.window) == (len(source), len(source), window)
    for texts, found, size in ((source, made.source, config.source), (target, made.target, config.target)):
        for m, ids in enumerate(found):
            assert ids[-1] == EOS
            expected = [token for n in range(max(0, m - size + 1), m) for token in (*texts[n], SEPARATOR)]
            assert ids.tolist() == [*expected, *texts[m], EOS]
            assert Concatenation.translation(model, ids[:-1].tolist()) == tuple(texts[m])


def test_two_to_two_and_three_to_one() -> None:
    source = [np.array([5, EOS]), np.array([6, 7, EOS]), np.array([8, EOS])]
    example = DocumentExample(source, source)
    two_to_two = ModelConfig(concatenation=ConcatenationConfig(2, 2, SEPARATOR))
    pairs = prepare(example, two_to_two)
    assert [ids.tolist() for ids in pairs.source] == [[5, 2], [5, 3, 6, 7, 2], [6, 7, 3, 8, 2]]
    assert [ids.tolist() for ids in pairs.target] == [ids.tolist() for ids in pairs.source]
    triples = prepare(example, ModelConfig(concatenation=ConcatenationConfig(3, 1, SEPARATOR)))
    assert triples.source[2].tolist() == [5, 3, 6, 7, 3, 8, 2]
    assert [ids.tolist() for ids in triples.target] == [[5, 2], [6, 7, 2], [8, 2]]
    assert Concatenation.target_prefix(two_to_two, source, 2).tolist() == [6, 7, 3]
    assert Concatenation.target_prefix(two_to_two, (), 2).tolist() == []
    base = ModelConfig()
    assert prepare(example, base).source is source
    assert context_class(base).translation(base, [5, 3, 6]) == (5, 3, 6)


def test_an_inconsistent_config_is_refused() -> None:
    assert system_name(ModelConfig(concatenation=ConcatenationConfig(2, 2))) == "concatenation-2-2"
    with pytest.raises(DocgraphError, match="'target' is 2, more than 'source', 1"):
        ConcatenationConfig(1, 2)
    with pytest.raises(DocgraphError, match="'concatenation' excludes 'context'"):
        ModelConfig(context=ContextConfig(), concatenation=ConcatenationConfig())
    with pytest.raises(DocgraphError, match=r"'concatenation.separator' is 2; name another token"):
        ModelConfig(concatenation=ConcatenationConfig(separator=2))
