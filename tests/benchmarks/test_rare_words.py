"""The count of rare words that are translated as in the reference."""

from __future__ import annotations

from benchmarks.rare_words import counted_words, right_words

SOURCES = ["The gunmen ate fennel.", "She saw a caldera."]
REFERENCES = ["Les tireurs ont mangé.", "Elle a vu un volcan."]


def test_words_count_if_the_reference_has_a_translation_of_theirs() -> None:
    counted = counted_words(SOURCES, REFERENCES)
    assert [sentence for sentence, _ in counted] == [0]
    assert right_words(counted, ["Le tireur mangeait.", ""]) == 1
    assert right_words(counted, ["Les armateurs mangeaient.", ""]) == 0
