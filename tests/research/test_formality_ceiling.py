"""scripts/formality_ceiling.py: tu and vous of translations and references."""

from __future__ import annotations

from formality_ceiling import choose, majority, outputs, replaced, table


def test_second_person_words_and_their_verbs_are_replaced_where_they_align() -> None:
    assert replaced("Vous avez votre livre ici.", "Tu as ton livre là.") == "Tu as ton livre ici."
    assert replaced("Le roi dort.", "Le roi dort.") == "Le roi dort."


def test_a_candidate_is_chosen_only_against_a_wrong_first_one() -> None:
    texts = ["Vous dormez.", "Tu dors.", "Tu sommeilles."]
    assert choose(texts, "informal") == "Tu dors."
    assert choose(texts, "formal") == choose(texts, None) == "Vous dormez."
    assert choose(["Il dort.", "Tu dors."], "informal") == "Il dort."
    assert choose(["Vous dormez.", "Il dort."], "informal") == "Vous dormez."


def test_the_majority_of_a_document() -> None:
    assert majority(["Tu viens.", "Tu dors.", "Vous venez.", "Il pleut."]) == "informal"
    assert majority(["Tu viens.", "Vous venez."]) is None
    assert majority(["Il pleut."]) is None


def test_the_table_counts_disagreements_and_changes() -> None:
    references = [["Tu dors ici.", "Tu as faim ?"], ["Vous venez."]]
    candidates = [[["Vous dormez ici.", "Tu dors ici."], ["Tu as faim ?", "Vous avez faim ?"]], [["Vous venez."]]]
    rows = outputs(candidates, references)
    assert rows["chosen, line"] == rows["replaced"] == [line for document in references for line in document]
    sources = ["You sleep here.", "Are you hungry?", "Come."]
    lines = table(sources, references, rows)
    assert lines[0] == "3 lines in 2 documents, 2 lines with *you*"
    assert [line.split(" | ")[-1] for line in lines[4:8]] == ["0 |", "1 |", "1 |", "1 |"]
    assert lines[-4].endswith("both tu or both vous: 2; disagreement 33.3%")
    assert lines[-1].endswith("both tu or both vous: 3; disagreement 0.0%")
