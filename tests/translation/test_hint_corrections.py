"""Some sentences of a document are translated as in the whole document, by models that read hints."""

from __future__ import annotations

import random

import pytest

from docgraph.document import Document
from docgraph.model.systems import pointer
from docgraph.translation import model_input
from docgraph.translation.corrections import follow_correction, translate_sentences
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.explain import explain_sentence
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.result import HintUse, Translation
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.translator import Translator
from translation.translator_examples import REFERRING, hints_folder, say_first_words

SEARCH = SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3)
KNOWN = ["le renard saute", "bonjour", "un test", "est", "le chien"]


@pytest.fixture(autouse=True)
def readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    monkeypatch.setattr("docgraph.translation.decoding.hints.resolve", say_first_words)
    # The probabilities of a random model are so close that the least change counts.
    monkeypatch.setattr("docgraph.translation.decoding.relevance.MIN_PROPOSAL", 1e-6)


@pytest.fixture(scope="module", params=[False, True], ids=["hints", "hints and recall"])
def translator(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Translator:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer, "NEAR", -1.0)
        folder = hints_folder(tmp_path_factory.mktemp("hints"), recall=request.param)
    return Translator.load(folder, device="cpu")


@pytest.fixture(params=[False, True], ids=["as decoded", "repaired"])
def repairing(request: pytest.FixtureRequest, translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Translator:
    monkeypatch.setattr(translator, "repair", request.param)
    return translator


@pytest.fixture
def fast(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> Translator:
    monkeypatch.setattr(translator, "repair", False)  # almost all translations of a random model are doubtful
    return translator


def document() -> Document:
    return Document.from_sentences(REFERRING)


def whole(
    translator: Translator, known: list[str | None], source: Document, glossary: Glossary | None = None
) -> Translation:
    [(_, found)] = translator.translate_requests([TranslationRequest(source, known, glossary=glossary)], SEARCH)
    return found


def read_by(translator: Translator) -> dict[int, set[int]]:
    """The sentences that read each sentence, directly or not."""
    readers: dict[int, set[int]] = {m: set() for m in range(len(REFERRING))}
    model_input = translator.prepare(TranslationRequest(document())).model_input
    assert model_input is not None
    owners = [m for m, text in enumerate(REFERRING) if text != "42"]
    for hint in model_input.example.hints:
        if hint.referent is not None:
            readers[owners[hint.referent.sentence]].add(owners[hint.sentence])
    for m in reversed(range(len(REFERRING))):
        readers[m] = readers[m].union(*(readers[reader] for reader in readers[m]))
    return readers


def test_hints_change_translations(fast: Translator) -> None:
    found = fast.translate(document(), SEARCH)
    alone = [fast.translate([text], SEARCH).texts[0] for text in REFERRING]
    model_input = fast.prepare(TranslationRequest(document())).model_input
    assert model_input is not None
    example = model_input.example
    owners = [m for m, text in enumerate(REFERRING) if text != "42"]
    for relation, count in (("coreference", 4), ("previous", 1)):
        assert len({hint.sentence for hint in example.hints if hint.relation == relation}) >= count
    hinted = {owners[hint.sentence] for hint in example.hints}
    assert {m for m, text in enumerate(alone) if text != found.texts[m]} == hinted


@pytest.mark.parametrize("sentences", [[6], [1, 5], [0, 2], [4, 5, 6]])
def test_some_sentences_are_translated_as_in_the_document(repairing: Translator, sentences: list[int]) -> None:
    known: list[str | None] = [None, None, "le chien saute", None, None, None, None]
    wanted = whole(repairing, known, document())
    some = translate_sentences(repairing, TranslationRequest(document(), known), sentences, SEARCH)
    assert {m: each.text for m, each in some.items()} == {m: wanted.texts[m] for m in sentences}
    first = translate_sentences(repairing, TranslationRequest(document(), known), [0, 1, 4], SEARCH)
    finished = {m: each.segments for m, each in first.items()}
    later = translate_sentences(repairing, TranslationRequest(document(), known), sentences, SEARCH, finished=finished)
    assert {m: each.text for m, each in later.items()} == {m: wanted.texts[m] for m in sentences}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("by_line", [False, True])
def test_corrections_are_followed_as_by_a_whole_translation(fast: Translator, seed: int, by_line: bool) -> None:
    rng = random.Random(seed)
    lines = [" ".join(REFERRING[m : m + 2]) for m in range(0, len(REFERRING), 2)] * 2 if by_line else REFERRING
    source = Document.from_sentences(lines)
    glossary = Glossary.of([("dog", "goupil")], fast.languages) if seed % 2 else None
    everything = translate_sentences(fast, TranslationRequest(source, glossary=glossary), range(len(lines)), SEARCH)
    known: list[str | None] = [None] * len(lines)
    for _ in range(3):
        before = list(known)
        known[rng.randrange(len(lines))] = rng.choice([*KNOWN, None])
        finished = {m: each.segments for m, each in everything.items() if each.segments}
        everything |= follow_correction(
            fast, TranslationRequest(source, known, glossary=glossary), before, SEARCH, finished=finished
        )
        wanted = whole(fast, known, source, glossary)
        unknown = [m for m in range(len(lines)) if known[m] is None]
        assert [everything[m].text for m in unknown] == [wanted.texts[m] for m in unknown]


def test_only_readers_of_a_correction_are_translated_again(fast: Translator) -> None:
    if fast.needs.reads_translations:
        pytest.skip("given translations are read, too")
    everything = translate_sentences(fast, TranslationRequest(document()), range(len(REFERRING)), SEARCH)
    finished = {m: each.segments for m, each in everything.items()}
    before: list[str | None] = [None] * len(REFERRING)
    for m, readers in read_by(fast).items():
        after = [*before[:m], "bonjour le test", *before[m + 1 :]]
        changed = follow_correction(fast, TranslationRequest(document(), after), before, SEARCH, finished=finished)
        assert {*changed} <= readers
        assert bool(changed) == bool(readers)


def test_a_long_document_is_corrected_in_chunks(fast: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("CHUNK", 4), ("CHUNK_BEFORE", 3), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, size)
    source = Document.from_sentences(REFERRING * 3)
    wanted = whole(fast, [], source)
    everything = translate_sentences(fast, TranslationRequest(source), range(len(source)), SEARCH)
    assert [each.text for each in everything.values()] == wanted.texts
    assert (
        translate_sentences(fast, TranslationRequest(source), [len(source) - 1], SEARCH)[len(source) - 1].text
        == wanted.texts[-1]
    )
    known: list[str | None] = [None] * len(source)
    known[7] = "le renard saute"
    finished = {m: each.segments for m, each in everything.items()}
    everything |= follow_correction(
        fast, TranslationRequest(source, known), [None] * len(source), SEARCH, finished=finished
    )
    texts = [known[m] or everything[m].text for m in range(len(source))]
    assert texts == whole(fast, known, source).texts


def test_explanations_say_what_a_hint_read(fast: Translator) -> None:
    known: list[str | None] = [None, None, "le chien saute", None, None, None, None]
    translation = fast.translate(document(), SEARCH, known=known, explain=True)
    assert translation.sentences[4].hints == (HintUse("It", "le chi", 2),)
    assert translation.sentences[4].to_json()["hints"] == [
        {"words": "It", "translation": "le chi", "sentence": 2, "relation": "coreference"}
    ]
    assert translation.sentences[0].hints == translation.sentences[2].hints == ()
    for m in (1, 4, 5, 6):
        explained = explain_sentence(fast, TranslationRequest(document(), known), m, translation.texts)
        assert [(use.words, use.sentence) for use in explained.hints] == [
            (use.words, use.sentence) for use in translation.sentences[m].hints
        ]
    assert (
        explain_sentence(fast, TranslationRequest(document(), known), 4, translation.texts).hints
        == translation.sentences[4].hints
    )


def test_explanations_show_the_sentence_before(fast: Translator) -> None:
    lines = ["a test", "the dog met the fox", "the fox jumps"]
    translation = fast.translate(lines, SEARCH, explain=True)
    uses = [HintUse("", lines[m - 1], m - 1, "previous") for m in (1, 2)]
    assert [each.hints for each in translation.sentences] == [(), *((use,) for use in uses)]
    assert explain_sentence(fast, TranslationRequest(Document.from_sentences(lines)), 2, translation.texts).hints == (
        uses[1],
    )


def test_a_definition_is_named_by_its_sentence(fast: Translator) -> None:
    lines = ["Hello.", "quick fox means the dog. (bonjour)", "The quick fox is a test."]
    translation = fast.translate(lines, SEARCH, explain=True)
    assert translation.sentences[2].hints == (HintUse("quick fox", "bonjour", 1, "definition"),)
    prose = fast.translate([*lines[:1], "quick fox means the dog.", "(bonjour)", lines[2]], SEARCH, explain=True)
    assert prose.sentences[3].hints == (HintUse("quick fox", "bonjour", 1, "definition"),)


def test_a_document_without_pronouns_is_not_annotated(fast: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast.input_builder, "annotate", None)
    assert len(fast.translate(["The fox met the dog.", "The dog is quick."], SEARCH)) == 2
