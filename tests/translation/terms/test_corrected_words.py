"""Words that a known translation corrects are read by the other sentences (translation/terms/corrected_words.py)."""

from __future__ import annotations

import pytest

from docgraph.document import Document
from docgraph.translation import model_input
from docgraph.translation.corrections import follow_correction, translate_sentences
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.explain import explain_sentence
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import HintUse
from docgraph.translation.terms import corrected_words
from docgraph.translation.terms.corrected_words import CorrectedWordFinder, CorrectedWords
from docgraph.translation.translator import Translator
from translation.translator_examples import hints_folder, model_folder

TEXTS = [
    "The damage report is late.",
    "Nothing happened.",
    "We will discuss the damage report in April.",
    "The report was long.",
]
KNOWN = "L'état des dégâts a du retard."
SEARCH = SearchConfig(beams=2)


@pytest.fixture(scope="module")
def translator() -> Translator:
    return Translator.load("en-fr", device="cpu")


def found(translator: Translator, texts: list[str], known: dict[int, str]) -> dict[tuple[str, ...], tuple[str, int]]:
    """The corrected words of a document: their translation, and the sentence whose known translation says it."""
    request = TranslationRequest(Document.from_sentences(texts), [known.get(m) for m in range(len(texts))])
    corrected = translator.prepare(request).corrected
    assert isinstance(corrected, CorrectedWords)
    return {entry.words: (entry.translations[0], m) for entry, m in corrected.said_in.items()}


def test_the_other_sentences_follow_a_correction_and_say_why(translator: Translator) -> None:
    plain = translator.translate(TEXTS, SEARCH)
    assert "rapport sur les dommages" in plain.texts[2]
    followed = translator.translate(TEXTS, SEARCH, known=[KNOWN, None, None, None], explain=True)
    assert "état des dégâts" in followed.texts[2]
    assert followed.sentences[2].hints == (HintUse("damage report", "état des dégâts", 0, "correction"),)
    assert [followed.texts[m] for m in (1, 3)] == [plain.texts[m] for m in (1, 3)]
    assert not followed.sentences[1].hints
    assert not followed.sentences[3].hints


def test_only_the_longest_part_that_occurs_again_counts(translator: Translator) -> None:
    assert found(translator, TEXTS, {0: KNOWN}) == {("damage", "report"): ("état des dégâts", 0)}
    again = [TEXTS[0], "The report was long."]
    assert found(translator, again, {0: KNOWN}) == {("report",): ("état", 0)}
    assert found(translator, [TEXTS[0], "The damage was great."], {0: KNOWN}) == {}  # "damage" is no head there


def test_words_translated_as_by_the_model_are_not_corrected(translator: Translator) -> None:
    for text in (translator.translate([TEXTS[0]]).texts[0], "Le rapport sur les dommages se fait attendre !"):
        assert found(translator, TEXTS, {0: text}) == {}


def test_the_majority_of_the_known_translations_decides(translator: Translator) -> None:
    texts = [TEXTS[0], "The damage report is long.", "She has read the damage report.", *TEXTS[1:]]
    kept = {1: "Le rapport de dégâts est long.", 2: "Elle a lu le rapport sur les dégâts."}
    assert found(translator, texts, {0: KNOWN}) == {("damage", "report"): ("état des dégâts", 0)}
    assert found(translator, texts, {0: KNOWN, 1: kept[1]}) == {}
    assert found(translator, texts, {0: KNOWN, **kept}) == {}
    more = {1: "L'état des dégâts est long.", 2: kept[2]}
    assert found(translator, texts, {0: KNOWN, **more}) == {("damage", "report"): ("état des dégâts", 0)}
    assert found(translator, texts, {0: KNOWN, 1: "Le bilan des dégâts est long."}) == {}


def test_numbers_and_capitals_of_words(translator: Translator) -> None:
    texts = ["The engineers checked the pumps.", "A pump broke.", "Ask the Board.", "The Board said no."]
    known = {0: "Les ingénieurs ont contrôlé les turbines.", 2: "Demandez à l'Office."}
    assert found(translator, texts, known) == {("pump",): ("turbine", 0), ("Board",): ("Office", 2)}
    names = ["We met Gorbachevsky.", "Gorbachevsky left."]
    assert found(translator, names, {0: "Nous avons rencontré le vieux Gorby."}) == {}


def test_corrections_are_followed_as_by_a_whole_translation(translator: Translator) -> None:
    texts = [*TEXTS, "She has read the damage report.", "The captain signed the damage report."]
    document, known = Document.from_sentences(texts), [None] * len(texts)
    done = translate_sentences(translator, TranslationRequest(document), range(len(texts)), SEARCH)
    steps: list[tuple[int, str | None]] = [
        (0, KNOWN),
        (4, "Elle a lu le rapport sur les dégâts."),
        (4, "Elle a lu l'état des dégâts."),
        (0, None),
        (4, None),
    ]
    seen = set()
    for sentence, text in steps:
        before, after = known, [text if m == sentence else each for m, each in enumerate(known)]
        finished = {m: each.segments for m, each in done.items() if each.segments}
        done |= follow_correction(translator, TranslationRequest(document, after), before, SEARCH, finished=finished)
        wanted = translator.translate(document, SEARCH, known=after)
        unknown = [m for m, each in enumerate(after) if each is None]
        assert [done[m].text for m in unknown] == [wanted.texts[m] for m in unknown]
        seen.add(done[2].text)
        some = translate_sentences(translator, TranslationRequest(document, after), [2, 5], SEARCH)
        assert [some[m].text for m in (2, 5)] == [wanted.texts[m] for m in (2, 5)]
        known = after
    assert len(seen) > 1


def test_the_explanation_of_a_finished_sentence_names_the_correction(translator: Translator) -> None:
    document, known = Document.from_sentences(TEXTS), [KNOWN, None, None, None]
    done = translate_sentences(translator, TranslationRequest(document, known), range(1, 4), SEARCH)
    finished = {m: each.segments for m, each in done.items()}
    texts = [KNOWN, *(done[m].text for m in range(1, 4))]
    explained = explain_sentence(translator, TranslationRequest(document, known), 2, texts, finished=finished)
    assert explained.hints == (HintUse("damage report", "état des dégâts", 0, "correction"),)


def test_a_correction_reaches_the_other_chunks_of_a_long_document(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, size in (("CHUNK", 2), ("CHUNK_BEFORE", 1), ("CHUNK_AFTER", 0)):
        monkeypatch.setattr(model_input, name, size)
    texts = ["Good morning.", TEXTS[0], *TEXTS[1:]]
    followed = translator.translate(texts, SEARCH, known=[None, KNOWN, None, None, None], explain=True)
    assert "état des dégâts" in followed.texts[3]
    assert followed.sentences[3].hints == (HintUse("damage report", "état des dégâts", 1, "correction"),)


def test_phrases_are_compared_once_and_the_last_ones_are_kept(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corrected_words, "KEPT_PAIRS", 2)
    finder, compared = CorrectedWordFinder(("en", "fr"), translator), list[str]()
    translate = translator.translate_texts
    monkeypatch.setattr(translator, "translate_texts", lambda texts: compared.extend(texts) or translate(texts))
    pairs = {0: (TEXTS[0], KNOWN), 1: (TEXTS[1], "Rien ne s'est passé.")}
    first = finder.find(pairs, TEXTS[2:])
    assert finder.find(pairs, TEXTS[2:]).said_in == first.said_in
    assert compared == TEXTS[:2]
    finder.find({3: (TEXTS[3], "Le rapport fut long.")}, TEXTS[2:])
    finder.find(pairs, TEXTS[2:])
    assert compared == [*TEXTS[:2], TEXTS[3], TEXTS[0]]


def test_a_model_without_hints_reads_no_corrected_words(tmp_path_factory: pytest.TempPathFactory) -> None:
    hints = Translator.load(hints_folder(tmp_path_factory.mktemp("hints")), device="cpu")
    plain = Translator.load(model_folder(tmp_path_factory.mktemp("plain")), device="cpu")
    for translator, reads in ((hints, True), (plain, False)):
        request = TranslationRequest(Document.from_sentences(TEXTS), [KNOWN, None, None, None])
        assert (translator.prepare(request).corrected is not None) == reads
