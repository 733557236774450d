"""Constrained search: constraints are met, and sentences without constraints are translated as before."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from docgraph.model.batch import DocumentExample
from docgraph.translation.decoding.constrained_search import forbid_unlikely_ends, ranking_score
from docgraph.translation.decoding.constraints import Constraint, Constraints, Phrase
from docgraph.translation.decoding.decoder import DecoderInput, DecodingOptions
from docgraph.translation.decoding.document_decoding import decode_documents
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig
from docgraph.translation.decoding.search import search
from model.examples import BOS, EOS, VOCABULARY, batch_of
from translation.decoding.test_document_decoding import DOCUMENTS, Pieces, reading_model, translations
from translation.decoding.test_search import SOURCES, model_of

SENTENCES = 7


def constraint(*alternatives: tuple[int, ...], **fields: Any) -> Constraint:
    return Constraint(tuple(Phrase(tokens) for tokens in alternatives), **fields)


def contains(tokens: tuple[int, ...], phrase: tuple[int, ...]) -> int:
    """Occurrences of a phrase that do not overlap."""
    count = place = 0
    while place <= len(tokens) - len(phrase):
        found = tokens[place : place + len(phrase)] == phrase
        count += found
        place += len(phrase) if found else 1
    return count


def searched(
    constraints: Constraints | None, examples: list[DocumentExample] = SOURCES, **fields: Any
) -> list[list[Hypothesis]]:
    model = model_of()
    with torch.no_grad():
        batch = batch_of(examples)
        memories = model.memories(batch)
        encoded = model.encode(batch, memories)
        return search(model, batch, encoded, memories, SearchConfig(**fields), constraints=constraints)


TOKENS = st.integers(3, VOCABULARY - 1)
PHRASES = st.lists(TOKENS, min_size=1, max_size=3).map(tuple)


@settings(max_examples=12)
@given(
    st.dictionaries(
        st.integers(0, SENTENCES - 1), st.lists(st.lists(PHRASES, min_size=1, max_size=3), max_size=4), max_size=3
    ),
    st.integers(1, 4),
)
def test_every_constraint_is_met_and_other_sentences_stay(
    wanted: dict[int, list[list[tuple[int, ...]]]], beams: int
) -> None:
    free = searched(None, beams=beams)
    found = searched({s: [constraint(*each) for each in own] for s, own in wanted.items()}, beams=beams)
    for s, hypotheses in enumerate(found):
        if not wanted.get(s):
            assert hypotheses == free[s]
            continue
        [best] = hypotheses
        assert EOS not in best.tokens
        assert BOS not in best.tokens
        for alternatives in wanted[s]:
            assert any(contains(best.tokens, phrase) for phrase in alternatives)


def test_equal_constraints_need_as_many_occurrences() -> None:
    [[best], *_] = searched({0: [constraint((5, 6))] * 3})
    assert contains(best.tokens, (5, 6)) >= 3


def test_a_constraint_that_the_best_translation_meets_changes_nothing() -> None:
    free = searched(None, min_length=4)
    chosen = {s: best.tokens[1:3] for s, [best] in enumerate(free) if len(best.tokens) > 2}
    found = searched({s: [constraint(tokens)] for s, tokens in chosen.items()}, min_length=4)
    assert chosen
    for s in chosen:
        assert found[s][0].tokens == free[s][0].tokens
        assert found[s][0].log_probability == pytest.approx(free[s][0].log_probability, abs=1e-4)


def test_a_sentence_is_decoded_as_it_would_be_alone() -> None:
    wanted = {s: [constraint((5, 6, 7), (8,)), constraint((9, 10))][: 1 + s % 2] for s in range(SENTENCES)}
    together = searched(wanted)
    for s in wanted:
        alone = searched({s: wanted[s]})
        assert [each.tokens for each in alone[s]] == [each.tokens for each in together[s]]


def test_neighbours_are_respected() -> None:
    [[free], *_] = searched({0: [constraint((5, 6))]})
    place = free.tokens.index(5)
    before = BOS if place == 0 else free.tokens[place - 1]
    after = free.tokens[place + 2] if place + 2 < len(free.tokens) else 7
    phrase = Phrase((5, 6), not_after={before}, not_before={after})
    [[best], *_] = searched({0: [Constraint((phrase,))]})
    [at] = [i for i in range(len(best.tokens)) if best.tokens[i : i + 2] == (5, 6)][:1]
    assert (best.tokens[at - 1] if at else BOS) != before
    assert best.tokens[at + 2 : at + 3] != (after,)


def test_phrases_that_share_tokens() -> None:
    wanted = [constraint((3,)), constraint((3,)), constraint((3,)), constraint((3, 3, 3), (4, 3, 3), (5, 3, 3))]
    [[best], *_] = searched({0: wanted}, beams=1)
    assert any(contains(best.tokens, phrase) for phrase in ((3, 3, 3), (4, 3, 3), (5, 3, 3)))


def test_a_longer_alternative_may_follow_a_shorter_one() -> None:
    letters = frozenset(range(3, VOCABULARY))
    short, long = Phrase((5,), not_before=letters), Phrase((5, 6), not_before=letters)
    [[best], *_] = searched({0: [Constraint((short, long))]})
    # Nothing may follow, so the phrase is last, in either form.
    assert best.tokens[-1] == 5 or best.tokens[-2:] == (5, 6)
    [[only_long], *_] = searched({0: [Constraint((long,))]})
    assert best.score >= only_long.score


def test_constraints_that_do_not_fit_leave_no_translation() -> None:
    found = searched({0: [constraint((5,) * 300)]})
    assert found[0] == []
    assert found[1]


def test_n_best_are_distinct_and_ordered() -> None:
    [hypotheses, *_] = searched({0: [constraint((5, 6))]}, beams=4, n_best=3)
    assert len({each.tokens for each in hypotheses}) == len(hypotheses) == 3
    assert all(contains(each.tokens, (5, 6)) for each in hypotheses)


def test_a_phrase_is_placed_where_its_source_is_read() -> None:
    """With attention to the source tokens, the place may change; the constraint is met in any case."""
    for source in (range(1), range(2, 3)):
        [[best], *_] = searched({0: [constraint((5, 6), source=source)]})
        assert contains(best.tokens, (5, 6))


@pytest.mark.parametrize("beams", [1, 3])
def test_parallel_decoding_of_documents_equals_sequential(beams: int) -> None:
    wanted = {1: [constraint((5, 6))], 2: [constraint((7,), (8, 9))]}
    parallel, sequential = (
        decode_documents(
            reading_model(),
            Pieces(),  # type: ignore[arg-type]
            [DecoderInput(DOCUMENTS[0], constraints=wanted)],
            DecodingOptions(SearchConfig(beams=beams, min_length=4), mode),
        )
        for mode in ("parallel", "sequential")
    )
    assert translations(parallel) == translations(sequential)
    [found] = translations(parallel)
    assert contains(found[1][0], (5, 6))
    assert any(contains(found[2][0], phrase) for phrase in ((7,), (8, 9)))


def test_the_sentence_of_a_phrase_does_not_end_before_it() -> None:
    [[free], *_] = searched({0: [constraint((5, 6))]}, min_length=4)
    end = next(token for token in free.tokens if token not in (5, 6))
    [[best], *_] = searched({0: [constraint((5, 6), ends={end})]}, min_length=4)
    place = next(i for i in range(len(best.tokens)) if best.tokens[i : i + 2] == (5, 6))
    assert end not in best.tokens[:place]


def test_long_translations_have_no_advantage() -> None:
    config = SearchConfig(length_penalty=1.0)
    twice, once = (-39.0, 26), (-20.0, 10)
    assert config.score(*twice) > config.score(*once)
    assert ranking_score(*twice, config) < ranking_score(*once, config)


def test_a_sentence_is_not_broken_off() -> None:
    probabilities = torch.tensor([[[0.001, 0.899, 0.1], [0.1, 0.8, 0.1]]])
    expected = probabilities.clone()
    expected[0, 0, 0] = 0.0  # an end that is much less likely than another token
    found = probabilities.log()
    forbid_unlikely_ends(found, eos=0)
    torch.testing.assert_close(found.exp(), expected)
