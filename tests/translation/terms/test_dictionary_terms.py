"""Words of a dictionary whose hints the model ignores are enforced (translation/terms/dictionary_terms.py)."""

from __future__ import annotations

import pytest

from docgraph.annotate.dictionary import Entry, load_dictionary
from docgraph.document import Document
from docgraph.model.hints import Hint
from docgraph.translation.checks.doubts import Doubt
from docgraph.translation.checks.repair import Attempt
from docgraph.translation.corrections import translate_sentences
from docgraph.translation.decoding.constraints import Constraint
from docgraph.translation.decoding.hypotheses import Hypothesis
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.dictionary_terms import dictionary_terms
from docgraph.translation.terms.term_enforcement import DocumentTerms, TermEnforcer
from docgraph.translation.text.preprocessing import Segment
from docgraph.translation.translator import Translator

TEXT = "Foxes eat voles."
SPANS = [(0, 5), (5, 9), (9, 15), (15, 16)]
"""Of the sub-words of the text."""


@pytest.fixture(scope="module")
def embedded() -> Translator:
    return Translator.load("en-fr", device="cpu")


def vole(*instead_of: str) -> Entry:
    return Entry(("vole",), "nm", ("campagnol",), "fr", instead_of)


def terms_of(entry: Entry, translation: str, plural: bool = True) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the source and the targets of the terms that a translation of the text lacks."""
    hint = Hint(0, 3, (1,), "dictionary", first=2, entry=entry)
    return [(each.source, each.targets) for each in dictionary_terms([hint], TEXT, translation, SPANS, [plural])]


def test_a_word_is_enforced_only_if_its_translation_looks_wrong() -> None:
    plural = [(" voles", ("campagnols",))]
    assert terms_of(vole("vol"), "Les renards mangent des vols.") == plural
    assert terms_of(vole("vol"), "Les renards mangent des souris.") == []
    assert terms_of(vole(), "Les renards mangent des vols.") == []
    assert terms_of(vole(), "Les renards mangent des volaises.") == plural  # no French word
    assert terms_of(vole(), "Les renards mangent volaisement un campagnol.") == []
    assert terms_of(vole("vol"), "Un vol.", plural=False) == [(" voles", ("campagnol", "campagnols"))]


def test_verbs_are_enforced_in_any_form_but_the_infinitive_if_they_are_finite() -> None:
    collapse = Entry(("vole",), "v", ("s'effondrer",), "fr", ("voler",))
    [(_, infinitive)], [(_, finite)] = (terms_of(each, "Ils volent.", False) for each in (collapse, collapse.finite))
    assert {"effondrer", "effondre", "effondré", "effondra"} <= {*infinitive}
    assert {*infinitive} - {*finite} == {"effondrer"}
    assert terms_of(Entry(("vole",), "v", ("s'effondrer",), "fr"), "Ils volaisent.") == []


def test_a_translation_with_the_word_replaces_one_without_it_unless_it_is_unlikely(embedded: Translator) -> None:
    coder = embedded.tokenizer.target

    def hypothesis(text: str, score: float) -> Hypothesis:
        return Hypothesis(tuple(coder.ids([text])[0][:-1].tolist()), score, score)

    def attempt(found: Hypothesis) -> Attempt:
        text = coder.decode(found.tokens)
        doubts = [Doubt("'vols' may not be a word", 4)] if "vols" in text else []
        return Attempt(text, found.score, found.log_probability, tuple(doubts))

    def enforced(
        score: float, *instead_of: str, first: str = "vols", new: str = "campagnols"
    ) -> tuple[str, list[bool]]:
        """Returns the better translation, and the whether each thing that the first one lacks is a phrase."""
        ids, spans = embedded.tokenizer.source.encode(TEXT)
        place = next(n for n, (_, end) in enumerate(spans.tolist(), 1) if end == TEXT.index("."))
        hint = Hint(0, place, tuple(ids[:1].tolist()), "dictionary", first=place - 1, entry=vole(*instead_of))
        best, found = (
            hypothesis(f"Les renards mangent des {each}.", score) for each, score in ((first, -0.5), (new, score))
        )
        segment, terms = Segment(TEXT, TEXT, "", None), DocumentTerms()
        enforcer = TermEnforcer(embedded.tokenizer.source, coder, "fr", None)
        lacking = enforcer.lacking(segment, attempt(best).text, terms, [hint])
        if lacking is None:
            return coder.decode(best.tokens), []
        better = enforcer.better(segment, attempt(best), [(found, attempt(found))], lacking, terms)
        required = [isinstance(each, Constraint) for each in lacking.constraints]
        return coder.decode((better[0][0] if better else best).tokens), required

    assert enforced(-0.9, "vol") == ("Les renards mangent des campagnols.", [True])
    assert enforced(-1.6, "vol")[0] == "Les renards mangent des vols."
    assert enforced(-0.9) == ("Les renards mangent des vols.", [])
    assert enforced(-0.9, first="volaises")[0] == "Les renards mangent des campagnols."
    kept, _ = enforced(-0.9, first="souris volaisées", new="campagnols volaisés")
    assert kept == "Les renards mangent des souris volaisées."  # it has as many invented words


def test_excerpts_and_corrections_enforce_what_the_whole_document_does(
    embedded: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [
        "The fox preys on voles.",
        "Someone had tipped the smugglers off.",
        "Police arrested two men after the heist.",
    ]
    whole = embedded.translate(texts)
    assert "prévenu" in whole.texts[1]
    assert load_dictionary("en-fr").may_occur(texts[1])
    monkeypatch.setattr("docgraph.translation.terms.term_enforcement.dictionary_terms", lambda *_: ())
    assert "prévenu" not in embedded.translate(texts).texts[1]  # the model ignores the hint
    monkeypatch.undo()
    some = translate_sentences(embedded, TranslationRequest(Document.from_sentences(texts)), [1, 2])
    assert [some[m].text for m in (1, 2)] == whole.texts[1:]
    explained = embedded.translate(texts, mode="sequential", explain=True)
    assert explained.texts == whole.texts
    [use] = explained.sentences[1].hints
    assert (use.words, use.sentence, use.relation) == ("tipped the smugglers off", None, "dictionary")
