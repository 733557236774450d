"""scripts/coref_hints.py: the gender that a reference gives to *it* and *they*."""

from __future__ import annotations

import pytest
from coref_notation import parsed

from coref_hints import pronoun_genders

IT = "It/PRON/2/nsubj sank/VERB/0/root"
THEY = "They/PRON/2/nsubj sank/VERB/0/root"
BOTH = "It/PRON/2/nsubj sank/VERB/0/root as/SCONJ/5/mark they/PRON/5/nsubj slept/VERB/2/advcl"
TWICE = "It/PRON/2/nsubj rolled/VERB/0/root and/CCONJ/5/cc it/PRON/5/nsubj sank/VERB/2/conj"
OBJECT = "They/PRON/2/nsubj saw/VERB/0/root it/PRON/2/obj"


@pytest.mark.parametrize(
    ("source", "reference", "expected"),
    [
        (IT, "Elle a coulé.", {0: "f"}),
        (IT, "Il a coulé.", {0: "m"}),
        (IT, "A-t-elle coulé ?", {0: "f"}),
        (IT, "Cela a coulé.", {}),
        (IT, "Il faut partir.", {}),  # impersonal
        (THEY, "Elles ont coulé.", {0: "f"}),
        (THEY, "Il a coulé.", {}),  # another number
        (BOTH, "Il a coulé alors qu'elles dormaient.", {0: "m", 3: "f"}),
        (TWICE, "Elle a roulé et elle a coulé.", {0: "f", 3: "f"}),
        (TWICE, "Elle a roulé et a coulé.", {}),  # which of the two is not known
        (TWICE, "Elle a roulé et il a coulé.", {}),
        (OBJECT, "Ils l'ont vue.", {0: "m"}),
    ],
)
def test_a_subject_has_the_gender_of_the_only_pronouns_of_its_number(
    source: str, reference: str, expected: dict[int, str]
) -> None:
    document, annotation = parsed(source)
    assert pronoun_genders(annotation, document.texts, [reference]) == expected


def test_beside_he_or_she_the_gender_of_it_is_not_known() -> None:
    source = "It/PRON/2/nsubj sank/VERB/0/root as/SCONJ/5/mark he/PRON/5/nsubj slept/VERB/2/advcl"
    document, annotation = parsed(source)
    assert pronoun_genders(annotation, document.texts, ["Il a coulé pendant son sommeil."]) == {}
