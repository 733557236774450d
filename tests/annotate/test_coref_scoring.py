"""Coreference measures against values computed by hand."""

from __future__ import annotations

import pytest

from coref_scoring import Counts, antecedents, disjoint_chains, evaluate, muc, pairwise, total
from docgraph.annotation import link_chains

# Gold: two entities. Predicted: the first in two parts, one of them with a stray word.
GOLD = [[1, 4, 6, 9], [2, 7]]
LINKS = [(1, 4), (6, 8), (8, 9)]


def test_link_chains_join_links_that_share_a_word() -> None:
    assert link_chains([(1, 4), (6, 8), (8, 9), (4, 6), (2, 3)]) == [[1, 4, 6, 8, 9], [2, 3]]
    assert link_chains([]) == []


def test_muc() -> None:
    # Recall: {1 4 6 9} falls into {1 4} and {6 9}: 2 of 3 links; {2 7} into two loose words: 0 of 1.
    # Precision: {1 4}: 1 of 1; {6 8 9} into {6 9} and the stray 8: 1 of 2.
    assert muc(GOLD, link_chains(LINKS)) == Counts(2, 3, 2, 4)
    assert muc(GOLD, GOLD).f1 == 1
    assert muc(GOLD, []).f1 == 0


def test_pairwise() -> None:
    # Given: 1-4, 6-8, 6-9, 8-9; right: 1-4, 6-9; wanted: six of the first entity, one of the second.
    assert pairwise(GOLD, link_chains(LINKS)) == Counts(2, 4, 2, 7)


def test_antecedents_of_all_and_of_some_mentions() -> None:
    # 4 <- 1 is right; 8 <- 6 and 9 <- 8 are wrong; wanted are 4, 6, 9 and 7.
    assert antecedents(GOLD, LINKS) == Counts(1, 3, 1, 4)
    assert antecedents(GOLD, LINKS, only={4, 7}) == Counts(1, 1, 1, 2)
    counts = antecedents(GOLD, LINKS)
    assert counts.f1 == pytest.approx(2 * (1 / 3) * (1 / 4) / (1 / 3 + 1 / 4))


def test_third_person_pronouns_are_detected_by_form() -> None:
    forms = ["x"] * 10
    forms[4], forms[7] = "She", "itself"
    assert evaluate(GOLD, LINKS, forms)["third person"] == Counts(1, 1, 1, 2)


def test_documents_add_up() -> None:
    document = evaluate(GOLD, LINKS, ["x"] * 10)
    assert total([document, document])["muc"] == Counts(4, 6, 4, 8)


def test_a_word_of_two_entities_counts_for_the_smaller() -> None:
    assert disjoint_chains([[1, 3, 5, 7], [3, 4]]) == [[1, 5, 7], [3, 4]]
    assert disjoint_chains([[1, 3, 5], [3, 1]]) == [[1, 3]]
