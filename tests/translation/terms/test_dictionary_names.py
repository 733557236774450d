"""Names of a dictionary are terms (translation/terms/dictionary_names.py)."""

from __future__ import annotations

import pytest

from docgraph.annotate.dictionary import Dictionary, Entry
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.decoding.constraints import Constraints
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.terms.dictionary_names import DictionaryNames
from docgraph.translation.terms.names import find_names
from docgraph.translation.terms.term import missing_terms
from docgraph.translation.terms.term_enforcement import DocumentTerms, TermEnforcer
from docgraph.translation.text.preprocessing import Segment
from docgraph.translation.translator import Translator

ENTRIES = [
    Entry(("Copernicus",), "nm", ("Copernic",)),
    Entry(("Florida",), "nf", ("Floride",)),
    Entry(("West", "Virginia"), "nf", ("Virginie-Occidentale",)),
    Entry(("Kenyan",), "adj", ("kényan",)),
    Entry(("Kenyan",), "nm", ("Kényan",)),
    Entry(("Sikhism",), "nm", ("sikhisme",)),
    Entry(("Cape", "Town"), "x", ("Le Cap",)),
    Entry(("caldera",), "nf", ("caldeira",)),
    Entry(("Christmas", "tree"), "nm", ("sapin de Noël",)),
]
NAMES = DictionaryNames(Dictionary(ENTRIES, ("en", "fr")))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He moved from Florida to West Virginia.", ["Floride", "Virginie-Occidentale"]),
        ("Copernicus's model and Florida's coast", ["Copernic", "Floride"]),
        ("Visit Florida. Florida is hot.", ["Floride", "Floride"]),
        ("Florida Evans met John Florida and President Copernicus.", []),
        ("The Kenyan studied Sikhism in Cape Town, near the caldera.", []),
        ("florida, COPERNICUS", []),
        ("two Christmas trees", []),
    ],
)
def test_whole_proper_nouns_are_found(text: str, found: list[str]) -> None:
    assert [term.target for term in NAMES.find(text)] == found


def test_names_of_several_words_may_have_other_capitals() -> None:
    nations = Entry(("First", "Nations"), "nfp", ("Premières Nations",))
    names = DictionaryNames(Dictionary([nations, *ENTRIES], ("en", "fr")))
    terms = names.find("The First Nations of Florida")
    assert missing_terms(terms, "Les premières nations de Floride") == []
    assert [term.source for term in missing_terms(terms, "Les premiers peuples de floride")] == [
        "First Nations",
        "Florida",
    ]


def test_what_the_user_writes_counts_more() -> None:
    given = [("Copernicus was right.", "Copernicus avait raison."), ("Florida is hot.", "La Floride est chaude.")]
    names = NAMES.following(given)
    assert [term.target for term in names.find("Copernicus never saw Florida.")] == ["Floride"]


def test_a_translation_has_the_names_of_the_dictionary() -> None:
    translator = Translator.load("en-fr", device="cpu")
    text = "The tomb of Tutankhamun was found in 1922."
    translation = translator.translate([text])
    assert "Toutânkhamon" in translation.texts[0]
    known = ["Le tombeau de Tutankhamun est petit.", None]
    assert "Tutankhamun" in translator.translate(["The tomb of Tutankhamun is small.", text], known=known).texts[1]


def test_words_of_the_dictionary_are_not_kept_as_names() -> None:
    texts = ["Followers of Sikhism met Kenyans in Woking.", "Sikhism is a religion; Woking is a town."]
    translations = ["Des adeptes du sikhisme ont rencontré des Kényans à Woking.", "Le sikhisme et Woking."]
    words = {word for text in texts for word in NAMES.dictionary.proper_words(text)}
    assert words == {"Sikhism", "Kenyans"}
    found = find_names(texts, translations, ("en", "fr"), lambda asked: asked, words)
    assert [term.source for text in texts for term in found.find(text)] == ["Woking", "Woking"]
    kept = find_names(texts, translations, ("en", "fr"), lambda asked: asked)
    assert "Sikhism" in kept.words


def test_a_name_that_a_translation_kept_is_replaced_in_it() -> None:
    translator = Translator.load("en-fr", device="cpu")
    coder = translator.tokenizer.target
    enforcer = TermEnforcer(translator.tokenizer.source, coder, "fr", None)
    segment = Segment("Copernicus never saw Florida.", "Copernicus never saw Florida.", "", None)
    kept = Hypothesis(tuple(coder.ids(["Copernicus n'a jamais vu la Florida."])[0][:-1].tolist()), -1.0, -9.0)
    hypotheses = [[kept]]
    terms = DocumentTerms([NAMES])

    def judge(segment: Segment, hypothesis: Hypothesis, terms: DocumentTerms) -> Attempt:
        return Attempt(coder.decode(hypothesis.tokens), 0.0, 0.0, ())

    def decode(constraints: list[Constraints]) -> list[dict[int, list[Hypothesis]]]:
        raise AssertionError(constraints)

    enforcer.enforce([({0: segment}, hypotheses, terms)], judge, decode)
    assert coder.decode(hypotheses[0][0].tokens) == "Copernic n'a jamais vu la Floride."
