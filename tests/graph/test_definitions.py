"""Definitions and the uses of the terms they define."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotation import Annotation, Strings
from docgraph.graph import build_graph
from docgraph.graph.definitions import find_definitions, find_uses

ACT = [
    "milestone year means any of the years 2030 and 2035 . ( année jalon )",
    "Minister means the Minister of the Environment . ( ministre )",
    "The Minister must set a target for each milestone year .",
    "A minister may advise on milestone years .",
]


def annotate(sentences: list[str]) -> Annotation:
    words = [sentence.split() for sentence in sentences]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in words])]).astype(np.int32)
    zeros = np.zeros(offsets[-1], dtype=np.int32)
    return Annotation(offsets, zeros, zeros, Strings.of(word for each in words for word in each))


def terms(sentences: list[str]) -> list[tuple[str, str]]:
    annotation = annotate(sentences)
    forms = annotation.forms.to_list()
    return [
        (" ".join(forms[word] for word in each.term), " ".join(forms[word] for word in each.printed))
        for each in find_definitions(annotation)
    ]


def uses(sentences: list[str]) -> list[tuple[int, str, str]]:
    annotation = annotate(sentences)
    forms = annotation.forms.to_list()
    return [
        (
            int(annotation.sentence_of[used.start]),
            *(" ".join(forms[word] for word in each) for each in (used, d.printed)),
        )
        for d, used in find_uses(annotation)
    ]


def test_finds_the_term_and_the_printed_equivalent() -> None:
    assert terms(ACT) == [("milestone year", "année jalon"), ("Minister", "ministre")]


def test_the_equivalent_may_be_the_next_sentence() -> None:
    split = ["milestone year means any of the years 2030 and 2045 .", "( année jalon )", "A milestone year ."]
    assert terms(split) == [("milestone year", "année jalon")]
    assert uses(split) == [(2, "milestone year", "année jalon")]
    assert terms(["drug means a substance .", "( See the Act . ) It is sold ."]) == [("drug", "")]
    assert uses(["Act means a law .", "( Act )", "The Act ."]) == [(2, "Act", "Act")]


def test_other_forms_of_definitions() -> None:
    assert terms(
        [
            "court , in respect of a province , means its superior court ; ( tribunal )",
            "price in relation to a sale means the sum paid . ( prix )",
            '" Supplier " means the company named above .',
            "council has the same meaning as in section 2 . ( conseil )",
            "credit and re-establishment credit mean the credit of Part II ; ( crédit ou crédit de réadaptation )",
        ]
    ) == [
        ("court", "tribunal"),
        ("price", "prix"),
        ("Supplier", ""),
        ("council", "conseil"),
        ("credit and re-establishment credit", "crédit ou crédit de réadaptation"),
        ("credit", "crédit"),
        ("re-establishment credit", "crédit de réadaptation"),
    ]


def test_sentences_that_define_nothing() -> None:
    assert (
        terms(
            [
                "The Board may include conditions referred to in paragraph ( b ) .",
                "However , this does not include services . ( services )",
                "We met them by means of a ladder .",
                "",
            ]
        )
        == []
    )


def test_a_bracket_with_a_number_is_no_equivalent() -> None:
    assert terms(["order means an order under subparagraph 2 ( iii )"]) == [("order", "")]


def test_uses_are_later_and_respect_capitals_and_plurals() -> None:
    assert uses(ACT) == [
        (2, "Minister", "ministre"),
        (2, "milestone year", "année jalon"),
        (3, "milestone years", "année jalon"),
    ]


def test_the_longest_term_is_used_and_the_last_definition_counts() -> None:
    assert uses(
        [
            "drug means a substance . ( drogue )",
            "drug trial means a test . ( essai )",
            "Each drug trial needs a drug .",
            "drug means a medicine . ( médicament )",
            "This drug is new .",
        ]
    ) == [
        (1, "drug", "drogue"),
        (2, "drug trial", "essai"),
        (2, "drug", "drogue"),
        (3, "drug", "drogue"),
        (4, "drug", "médicament"),
    ]


def test_relation_links_printed_words_with_the_end_of_the_use() -> None:
    annotation = annotate(ACT)
    edges = build_graph(annotation, "definition").edges("definition")
    forms = annotation.forms.to_list()
    found = {(forms[a], forms[b]) for a, b in zip(edges.source.tolist(), edges.target.tolist(), strict=True)}
    assert found == {
        ("année", "year"),
        ("jalon", "year"),
        ("ministre", "Minister"),
        ("année", "years"),
        ("jalon", "years"),
    }


words = st.sampled_from(
    ["means", "(", ")", ",", ".", "Act", "acts", "act", "includes", '"', "loi", "or", "ou", "has", "in"]
)


@given(st.lists(st.lists(words, max_size=12), max_size=6))
def test_any_text(sentences: list[list[str]]) -> None:
    annotation = annotate([" ".join(each) for each in sentences])
    for definition, used in find_uses(annotation):
        sentence = annotation.sentence_of[used.start]
        assert definition.sentence < sentence == annotation.sentence_of[used.stop - 1]
        assert len(used) == len(definition.term)
        assert all(annotation.sentence_of[word] == definition.sentence for word in definition.term)
        assert {int(annotation.sentence_of[word]) for word in definition.printed} in (
            set(),
            {definition.sentence},
            {definition.sentence + 1},
        )
        assert not {*used} & {*definition.printed}
