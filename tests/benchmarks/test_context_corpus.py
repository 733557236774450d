"""The context task: each answer is decided by one earlier sentence of one side, and by nothing else."""

from __future__ import annotations

from itertools import product

import pytest
from benchmarks.context_corpus import Kind, documents, variants


def differing(first: list[str], second: list[str]) -> set[int]:
    return {place for place, pair in enumerate(zip(first, second, strict=True)) if pair[0] != pair[1]}


@pytest.mark.parametrize("entities", [1, 2])
def test_a_choice_changes_only_the_deciding_sentence_and_the_answer(entities: int) -> None:
    made = variants(20, seed=5, entities=entities)
    for begin, (first, second) in product(range(0, len(made), 4), [(0, 1), (2, 3), (0, 2), (1, 3)]):
        one, other = made[begin + first], made[begin + second]
        kind: Kind = "source" if second - first == 2 else "target"
        [question], [opposite] = one.of(kind), other.of(kind)
        assert question.told < question.asked
        assert (question.right, question.wrong) == (opposite.wrong, opposite.right)
        assert one.candidates(question) == other.candidates(opposite)[::-1]
        told = {"source": differing(one.source, other.source), "target": differing(one.target, other.target)}
        assert question.asked in told["target"]
        told["target"].remove(question.asked)
        assert question.told in told[kind]
        assert len(told[kind]) == entities
        assert not told["target" if kind == "source" else "source"]


def test_documents_follow_the_seed() -> None:
    first, again, other = ([d.source + d.target for d in documents(8, seed)] for seed in (3, 3, 4))
    assert first == again
    assert first != other
