"""Names of a dictionary are terms (translation/terms/dictionary_names.py)."""

from __future__ import annotations

import pytest

from docgraph.annotate.dictionary import Dictionary, Entry
from docgraph.translation.checks.repair import Attempt
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
    Entry(("Lucas", "number"), "nm", ("nombre de Lucas",)),
    Entry(("Christmas", "tree"), "nm", ("sapin de Noël",)),
]
NAMES = DictionaryNames(Dictionary(ENTRIES, ("en", "fr")))
SEGMENT = Segment("Copernicus never saw Florida.", "Copernicus never saw Florida.", "", None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("He moved from Florida to West Virginia.", ["Floride", "Virginie-Occidentale"]),
        ("Copernicus's model and Florida's coast", ["Copernic", "Floride"]),
        ("Visit Florida. Florida is hot.", ["Floride", "Floride"]),
        ("Florida Evans met John Florida and President Copernicus.", []),
        ("Mr Florida and Mrs. Florida met in Florida.", ["Floride"]),
        ("Mrs. Florida came.", []),
        ("The Kenyan studied Sikhism in Cape Town, near the caldera.", []),
        ("florida, COPERNICUS", []),
        ("Lucas numbers, of which a Lucas number is one", []),
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


def test_names_that_are_adjectives_too_are_inflected() -> None:
    catalan = Entry(("Catalan",), "nm", ("Catalan", "catalan"))
    terms = DictionaryNames(Dictionary([catalan], ("en", "fr"))).find("Catalan authorities")
    assert missing_terms(terms, "les autorités catalanes") == []
    assert missing_terms(terms, "les autorités de Catalogne") == terms


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


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr", device="cpu")


def enforced(
    translator: Translator,
    terms: DocumentTerms,
    first: str,
    other: str = "",
    loss: float = 0.0,
    segment: Segment = SEGMENT,
) -> str:
    """Returns the translation of a sentence with its names; a search for them finds `other`."""
    coder = translator.tokenizer.target

    def hypothesis(text: str, score: float) -> Hypothesis:
        return Hypothesis(tuple(coder.ids([text])[0][:-1].tolist()), score, score)

    def attempt(hypothesis: Hypothesis) -> Attempt:
        text = coder.decode(hypothesis.tokens)
        return Attempt(text, hypothesis.score, 0.0, tuple(terms.doubts(segment, text)))

    enforcer = TermEnforcer(translator.tokenizer.source, coder, "fr", None)
    best = enforcer.with_replacements(segment, hypothesis(first, -1.0), terms)
    if (lacking := enforcer.lacking(segment, attempt(best).text, terms, ())) is not None:
        assert other, lacking
        found = hypothesis(other, -1.0 - loss)
        better = enforcer.better(segment, attempt(best), [(found, attempt(found))], lacking, terms)
        best = better[0][0] if better else best
    return coder.decode(best.tokens)


def test_a_name_that_a_translation_kept_is_replaced_in_it(translator: Translator) -> None:
    text = enforced(translator, DocumentTerms([NAMES]), "Copernicus n'a jamais vu la Floride.")
    assert text == "Copernic n'a jamais vu la Floride."


def test_a_title_that_a_translation_kept_is_replaced_in_it(translator: Translator) -> None:
    names = find_names(["I saw Senator Copernicus."], [None], ("en", "fr"), lambda asked: asked)
    terms = DocumentTerms([names])
    segment = Segment("Senator Copernicus left.", "Senator Copernicus left.", "", None)
    assert (
        enforced(translator, terms, "Senator Copernicus est parti.", segment=segment)
        == "sénateur Copernicus est parti."
    )


def test_a_name_is_not_worth_a_translation_that_is_much_less_likely(translator: Translator) -> None:
    first, other = "L'astronome n'a jamais vu la Floride.", "Copernic n'a jamais vu la Floride."
    terms = DocumentTerms([NAMES])
    assert enforced(translator, terms, first, other, loss=1.0) == other
    assert enforced(translator, terms, first, other, loss=1.5) == first
    assert terms.doubts(SEGMENT, first) == []  # no reason to repair it, either
