"""Repair of doubtful translations, with a decoder that answers from a table."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docgraph.translation.checks.doubts import Doubt, doubts
from docgraph.translation.checks.repair import Attempt, Piece, Repairer, clauses, copy_literals
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.text.preprocessing import Segment

SOURCE = "The king came home from the war, and his men were with him in 1815."
LOOP = "Le roi est rentré avec le roi avec le roi avec le roi en 1815."
GOOD = "Le roi est rentré de la guerre, et ses hommes étaient avec lui en 1815."


def segment(source: str) -> Segment:
    return Segment(source, source, " ", None)


def check(segment: Segment, text: str) -> tuple[Doubt, ...]:
    return doubts(segment.source, text, ("en", "fr"))


class Table:
    """Decodes by a table from source and blocked phrases to candidates, and records the searches."""

    def __init__(self, table: dict[tuple[str, bool], list[str]]) -> None:
        self.table, self.searches = table, list[SearchConfig]()

    def decode(self, pieces: Sequence[Piece], search: SearchConfig) -> list[list[Attempt]]:
        self.searches.append(search)
        return [
            [attempt(each.source, text) for text in self.table.get((each.source, search.no_repeat_ngram > 0), [LOOP])]
            for _, each in pieces
        ]

    def repair(self, source: str, text: str, total: int = 1) -> Attempt:
        repairer = Repairer(self.decode, check, str)
        [best] = repairer.repair([(0, segment(source))], [attempt(source, text)], SearchConfig(), total)
        return best


def attempt(source: str, text: str) -> Attempt:
    return Attempt(text, -1.0, -2.0, check(segment(source), text))


def test_the_first_candidate_that_passes_is_taken() -> None:
    table = Table({(SOURCE, False): [LOOP, GOOD, GOOD.replace("rentré", "revenu")]})
    assert table.repair(SOURCE, LOOP).text == GOOD
    assert len(table.searches) == 1
    assert table.searches[0].beams == table.searches[0].n_best > SearchConfig().beams


def test_a_loop_is_decoded_without_repeated_phrases() -> None:
    table = Table({(SOURCE, True): [GOOD]})
    assert table.repair(SOURCE, LOOP) == attempt(SOURCE, GOOD)
    assert [search.no_repeat_ngram > 0 for search in table.searches] == [False, True]


def test_single_words_are_blocked_if_phrases_are_not_enough() -> None:
    table = Table({})
    table.repair(SOURCE, LOOP)
    assert [search.no_repeat_ngram for search in table.searches] == [0, 4, 2, 4]


def test_clauses_are_translated_separately() -> None:
    first, second = clauses(SOURCE)
    pieces = {
        (first, True): ["Le roi est rentré de la guerre,"],
        (second, True): ["Et ses hommes l'ont suivi en 1815."],
    }
    best = Table(pieces).repair(SOURCE, LOOP)
    assert best.text == "Le roi est rentré de la guerre, et ses hommes l'ont suivi en 1815."
    assert best.doubts == ()
    assert best.score == -2.0


def test_the_best_attempt_is_kept_with_its_doubts() -> None:
    table = Table({(SOURCE, False): [LOOP, "Le roi est rentré de la guerre avec ses hommes."]})
    assert [doubt.reason for doubt in table.repair(SOURCE, LOOP).doubts] == ["1815 is missing"]


@pytest.mark.parametrize(
    ("loop", "expected"),
    [
        (LOOP, "Le roi est rentré avec le roi en 1815."),
        ("Le roi, le roi est rentré de la guerre guerre guerre en 1815.", "Le roi est rentré de la guerre en 1815."),
    ],
)
def test_a_loop_that_stays_is_said_once_and_doubtful(loop: str, expected: str) -> None:
    best = Table({(SOURCE, False): [loop], (SOURCE, True): [loop]}).repair(SOURCE, loop)
    assert (best.text, [doubt.reason for doubt in best.doubts]) == (expected, ["a repetition was removed"])
    again_and_again = " ".join(["Le roi est rentré de la guerre bien longue de 1815"] * 3)
    assert Table({(SOURCE, False): [again_and_again]}).repair(SOURCE, again_and_again).doubts


def test_nothing_is_decoded_again_if_most_texts_are_doubtful() -> None:
    table = Table({(SOURCE, False): [GOOD]})
    repairer = Repairer(table.decode, check, str)
    attempts = [attempt(SOURCE, LOOP)] * 30
    assert repairer.repair([(0, segment(SOURCE))] * 30, attempts, SearchConfig(), 40) == attempts
    assert table.searches == []


@pytest.mark.parametrize(
    ("source", "translation", "repaired"),
    [
        ("See https://a.org/b/c/d.", "Voir <https://a.org/b/d>.", None),
        ("Mail a.bc@alumni.edu.", "Écrivez à a.bc@alonnech.edu.", "Écrivez à a.bc@alumni.edu."),
        ("EDS needs period_length.", "EDS demande longueur_période.", "EDS demande period_length."),
        ("Use --prof-process.", "Utilisez --process.", "Utilisez --prof-process."),
        ("Use %s and %d.", "Utilisez %s et %d.", "Utilisez %s et %d."),
        ("Say foo_bar.", "Dites quelque chose.", "Dites quelque chose."),
    ],
)
def test_miscopied_literals_are_replaced(source: str, translation: str, repaired: str | None) -> None:
    found = copy_literals(source, translation)
    if repaired is None:
        assert "https://a.org/b/c/d" in found
    else:
        assert found == repaired


@given(st.lists(st.sampled_from(["word", "and", "but", "(so", "it)", "ends.", "then,", '"a', 'b"', "7,", "x"])))
def test_clauses_join_to_their_text(words: list[str]) -> None:
    text = " ".join(words)
    assert " ".join(clauses(text)) == text
    assert all(len(part.split()) >= 4 for part in clauses(text)[:-1])
