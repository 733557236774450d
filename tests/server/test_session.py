"""Sessions: corrections are followed as by a translation with the same known lines; saved work goes on as it was."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import read, render
from docgraph.model.config import LinkedConfig
from docgraph.model.systems import pointer
from docgraph.model.systems.pointer import add_recall
from docgraph.server import draft, session_state
from docgraph.server.session import Session
from docgraph.translation import corrections, document_chunks, state_cache
from docgraph.translation.glossary import Glossary
from docgraph.translation.hypotheses import SearchConfig
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.translator import Translator
from translation.translator_examples import hints_folder, model_folder, say_first_words

SEARCH = SearchConfig(beams=2, max_length_factor=0.5, max_length_constant=3)
TEXT = [
    "The quick fox jumps.",
    "It told the fox that the dog had met.",
    "This is a test, hello.",
    "42",
    "The dog is quick.",
    "A fox, a dog and a test.",
]
WORDS = ["le", "renard", "chien", "saute", "bonjour", "est", "un", "test"]


@pytest.fixture(scope="module")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A random model with recall, whose pointer reads states that are not near each other."""
    base = model_folder(tmp_path_factory.mktemp("base"), context=False)
    folder = tmp_path_factory.mktemp("recall") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer, "NEAR", -1.0)
        add_recall(base, folder, LinkedConfig(sentences=2, own_weight=0.0))
    return Translator.load(folder, device="cpu")


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    monkeypatch.setattr("docgraph.translation.hints.resolve", say_first_words)
    # The probabilities of a random model are so close that the least change counts.
    monkeypatch.setattr("docgraph.translation.relevance.MIN_PROPOSAL", 1e-6)


@pytest.fixture(scope="module", params=["recall", "hints", "document graph"])
def any_translator(request: pytest.FixtureRequest, translator: Translator) -> Translator:
    if request.param == "recall":
        return translator
    folder = request.getfixturevalue("tmp_path_factory").mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer, "NEAR", -1.0)
        path = hints_folder(folder) if request.param == "hints" else model_folder(folder)
    reader = Translator.load(path, device="cpu")
    reader.repair = False  # almost all translations of a random model are doubtful
    return reader


def translated(documents: list[Document], translator: Translator) -> Session:
    session = Session(documents, translator, search=SEARCH)
    indices = [index for step in session.translate() for index in step]
    assert indices == list(range(len(session)))
    return session


def texts(session: Session) -> list[str | None]:
    return [sentence["translation"] for sentence in session.sentences]


def proposed(session: Session) -> list[str | None]:
    return [each["proposal"] or each["translation"] for each in session.sentences]


def restored(session: Session) -> Session:
    state = json.loads(json.dumps(session.state))
    return Session(session.documents, session.translator, state, session.search)


def visible(session: Session) -> tuple[Any, ...]:
    return session.sentences, session.state, session.can_undo, session.can_redo


def test_a_session_translates_as_the_translator(any_translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "STEP", 2)
    documents = [Document.from_sentences(TEXT), Document.from_sentences(TEXT[:2])]
    session = Session(documents, any_translator, search=SEARCH)
    assert {each["state"] for each in session.sentences} == {"waiting"}
    for _ in session.translate():
        session = restored(session)
        break
    for _ in session.translate():
        pass
    wanted = [text for document in documents for text in any_translator.translate(document, SEARCH).texts]
    assert texts(session) == wanted
    assert {each["state"] for each in session.sentences} == {"translated"}


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 4, 5]),
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_corrections_are_followed_as_by_a_translation_with_the_same_known_lines(
    any_translator: Translator, changes: list[tuple[int, str, bool]]
) -> None:
    document = Document.from_sentences(TEXT)
    session = translated([document], any_translator)
    for index, text, confirm in changes:
        session.correct(index, text, confirm)
        session = restored(session)
    known = [each["translation"] if each["state"] == "confirmed" else None for each in session.sentences]
    wanted = any_translator.translate(document, SEARCH, known=known).texts
    edited = {index for index, _, _ in changes}
    machine = [state["machine"] for state in session.state["sentences"]]
    for m, text in enumerate(wanted):
        assert known[m] == text if known[m] is not None else machine[m] == text
        if m not in edited:
            assert proposed(session)[m] == text


Action = tuple[int, int, str, bool] | tuple[int, None, str, bool]
"""After how many steps of the translation; which sentence (None: the glossary, or undo); text; whether to confirm."""


def act(session: Session, action: Action) -> None:
    _, index, text, confirm = action
    if index is not None:
        session.correct(index, text, confirm)
    elif confirm:
        session.set_glossary([{"source": "fox", "target": text}])
    elif session.can_undo:
        session.undo()


def translated_while(actions: list[Action], document: Document, translator: Translator) -> Session:
    """Translates a document in one session while users act in copies of what it has saved; both go on from both."""
    worker = Session([document], translator, search=SEARCH)
    saved, steps, number = json.loads(json.dumps(worker.state)), worker.translate(), 0
    while next(steps, None) is not None or actions:
        user = Session([document], translator, saved, SEARCH)
        user.deferred = True
        while actions and actions[0][0] <= number:
            act(user, actions.pop(0))
        worker.merge(saved["sentences"], json.loads(json.dumps(user.state)))
        saved, number = json.loads(json.dumps(worker.state)), number + 1
        if worker._draft.is_behind:
            steps = worker.translate()
    return worker


@settings(
    max_examples=6,
    phases=[Phase.explicit, Phase.generate],  # to shrink an example would take long
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 4),
            st.sampled_from([0, 1, 2, 4, 5, None]),
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
            st.booleans(),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_corrections_during_the_translation_end_as_those_after_it(
    any_translator: Translator, monkeypatch: pytest.MonkeyPatch, actions: list[Action]
) -> None:
    monkeypatch.setattr(draft, "STEP", 2)
    actions = sorted(actions, key=lambda action: action[0])
    document = Document.from_sentences(TEXT)
    after = translated([document], any_translator)
    for action in actions:
        act(after, action)
    during = translated_while([*actions], document, any_translator)
    assert during.glossary == after.glossary
    assert (during.can_undo, during.can_redo) == (after.can_undo, after.can_redo)
    for mine, wanted in zip(during.state["sentences"], after.state["sentences"], strict=True):
        assert (mine["confirmed"], mine["confirmed"] and mine["translation"]) == (
            wanted["confirmed"],
            wanted["confirmed"] and wanted["translation"],
        )
        assert mine["confirmed"] or mine["machine"] == wanted["machine"]
    edited = {index for _, index, _, _ in actions}
    for m, (mine, wanted) in enumerate(zip(during.sentences, after.sentences, strict=True)):
        if m in edited:
            assert mine["state"] == wanted["state"]
        else:
            assert proposed(during)[m] == proposed(after)[m]


def test_a_sentence_that_is_corrected_before_it_is_decoded_is_read_and_can_be_reopened(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft, "STEP", 2)
    document = Document.from_sentences(TEXT)
    session = Session([document], translator, search=SEARCH)
    session.deferred = True
    assert session.correct(5, "bonjour renard test") == []
    steps = [*session.translate()]
    assert [5] not in steps
    session.deferred = False
    known = [*[None] * 5, "bonjour renard test"]
    assert texts(session) == translator.translate(document, SEARCH, known=known).texts
    session.correct(5, "bonjour renard", confirm=False)
    wanted = translator.translate(document, SEARCH).texts
    assert [state["machine"] for state in session.state["sentences"]] == wanted
    assert session.sentence(5)["proposal"] is None, "the user wrote another one before"
    session.undo()
    session.undo()
    assert session.sentence(5)["state"] == "waiting"
    assert proposed(session)[:5] == wanted[:5]


def test_the_first_correction_finds_the_states_that_it_needs(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    translated([Document.from_sentences(TEXT)], translator)
    cache = translator.state_cache
    assert cache is not None
    assert sum(len(ids) == 2 for ids in cache) >= len(TEXT) - 1, "translations of all sentences but the number"
    assert sum(len(ids) == 1 for ids in cache) >= len(TEXT) - 1, "sources"
    cache.clear()
    monkeypatch.setattr(corrections, "CACHED_TOKENS", 0)
    monkeypatch.setattr(state_cache, "CACHED_SOURCE_TOKENS", 0)
    translated([Document.from_sentences(TEXT)], translator)
    assert not cache


def test_a_correction_changes_others_only_when_they_are_accepted(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    before = texts(session)
    changes = session.correct(1, "bonjour renard test", confirm=True)
    assert changes, "the random model reads the corrected sentence"
    assert texts(session) == [*before[:1], "bonjour renard test", *before[2:]]
    index = changes[0]["index"]
    assert changes[0] == {"index": index, "before": before[index], "after": session.sentence(index)["proposal"]}
    accepted = session.accept([index])
    assert accepted == [changes[0]]
    assert session.sentence(index)["translation"] == changes[0]["after"]
    assert session.sentence(index)["proposal"] is None


def test_a_refused_proposal_is_not_made_again(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    index = session.correct(1, "bonjour renard test")[0]["index"]
    refused = session.sentence(index)["proposal"]
    session.refuse([index])
    assert session.sentence(index)["proposal"] is None
    session.undo()
    assert session.sentence(index)["proposal"] == refused
    session.redo()
    session.correct(1, session.sentence(1)["translation"], confirm=False)
    session.correct(1, "bonjour renard test")
    assert session.sentence(index)["proposal"] is None


def test_undo_and_redo_restore_everything(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    views = [session.sentences]
    session.correct(1, "bonjour renard test")
    views.append(session.sentences)
    session.accept([each["index"] for each in session.sentences if each["proposal"]])
    views.append(session.sentences)
    session.correct(4, "le chien", confirm=False)
    views.append(session.sentences)
    for view in reversed(views[:-1]):
        session.undo()
        session = restored(session)
        assert session.sentences == view
    with pytest.raises(DocgraphError, match="no change to undo"):
        session.undo()
    for view in views[1:]:
        session.redo()
        assert session.sentences == view
    with pytest.raises(DocgraphError, match="no undone change"):
        session.redo()
    session.undo()
    session.correct(2, "un test")
    assert not session.can_redo


def test_a_restored_session_is_the_same(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    copy = restored(session)
    for each in (session, copy):
        each.correct(1, "bonjour renard test")
        each.correct(5, "un renard, un chien", confirm=False)
    assert visible(session) == visible(copy)
    assert session.chains() == copy.chains()
    assert session.explain(0) == copy.explain(0)
    assert session.compare() == copy.compare()
    with pytest.raises(DocgraphError, match="belongs to another document"):
        Session([Document.from_sentences(TEXT[1:])], translator, session.state)


def test_comparison_is_without_context(any_translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], any_translator)
    session.correct(1, "bonjour renard test")
    alone = [any_translator.translate([text], SEARCH).texts[0] for text in TEXT]
    assert session.compare() == [{"index": m, "translation": text} for m, text in enumerate(alone)]


def test_explanations_name_the_sentences_read(any_translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], any_translator)
    session.correct(1, "bonjour renard test")
    explained = session.explain(2)
    assert explained["gate"] is not None
    assert explained["target"]
    if not any_translator.needs.reads_document:
        assert [each["sentence"] for each in explained["target"]] == [1]


def test_chains_have_a_place_for_every_occurrence(translator: Translator) -> None:
    document = Document.from_sentences(TEXT)
    session = translated([document, document], translator)
    graph = session.chains()
    lexical = [chain for chain in graph["chains"] if chain["relation"] == "lexical"]
    foxes = [[word["sentence"] for word in chain["words"]] for chain in lexical if chain["words"][0]["text"] == "fox"]
    assert foxes == [[0, 1, 5], [6, 7, 11]]
    shown = texts(session)
    for chain in graph["chains"]:
        for word in chain["words"]:
            source, target = (TEXT * 2)[word["sentence"]], shown[word["sentence"]]
            assert source[word["start"] : word["end"]] == word["text"]
            if word["translation"] is not None:
                place = word["translation"]
                assert target is not None
                assert target[place["start"] : place["end"]] == place["text"]
    linked = {(link["from"], link["to"]) for link in graph["links"] if link["relation"] == "lexical"}
    assert {(0, 1), (1, 5), (6, 7)} <= linked


def test_downloads(translator: Translator) -> None:
    source = "# The quick fox\n\n- A **dog** told it. Hello.\n"
    [document] = read(io.StringIO(source), "markdown")
    session = Session([document], translator, search=SEARCH)
    assert session.download("original")[0].decode() == source
    for _ in session.translate():
        pass
    session.correct(0, "Le renard & co")
    shown = [text or "" for text in texts(session)]
    assert session.download("original")[0].decode() == render([document], [shown], "fr")
    rows = session.download("tsv")[0].decode().splitlines()
    assert rows[1] == "The quick fox\tLe renard & co\tconfirmed"
    for kind in ("xliff", "tmx", "html"):
        content, media_type, suffix = session.download(kind)
        assert "Le renard &" in content.decode()
        assert media_type
        assert suffix.startswith(".")
    with pytest.raises(DocgraphError, match="no download 'pdf'"):
        session.download("pdf")


def test_a_glossary_changes_the_sentences_with_its_terms(translator: Translator) -> None:
    document = Document.from_sentences(TEXT)
    session = translated([document], translator)
    before = texts(session)
    session.correct(1, "bonjour renard test")
    views = [session.sentences]
    entries = [{"source": "fox", "target": "goupil"}]
    changes = session.set_glossary(entries)
    assert {change["index"] for change in changes} <= {0, 5}
    glossary = Glossary.of([("fox", "goupil")], translator.languages)
    request = TranslationRequest(document, [None, "bonjour renard test", *[None] * 4], glossary=glossary)
    [(_, wanted)] = translator.translate_requests([request], SEARCH)
    assert proposed(session) == wanted.texts
    assert texts(session) == [before[0], "bonjour renard test", *before[2:]]
    views.append(session.sentences)
    assert restored(session).glossary == entries
    session.undo()
    assert (session.glossary, session.sentences) == ([], views[0])
    session.redo()
    assert (session.glossary, session.sentences) == (entries, views[1])
    assert session.set_glossary(entries) == []
    with pytest.raises(DocgraphError, match="glossary is empty"):
        session.set_glossary([{"source": " ", "target": "x"}])
    assert session.glossary == entries


def test_quotation_marks_are_those_of_the_whole_document(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mark_last(sources: list[str], texts: list[str]) -> list[str]:
        return [f"{text} {len(sources)}" for text in texts]

    monkeypatch.setattr(draft, "STEP", 2)
    monkeypatch.setattr(translator.builder._postprocessor, "unify_quotes", mark_last)
    document = Document.from_sentences(TEXT)
    session = Session([document], translator, search=SEARCH)
    told = [*session.translate()]
    assert told[-1] == [0, 1, 2, 4, 5]
    assert texts(session) == translator.translate(document, SEARCH).texts
    session.correct(1, "bonjour renard test")
    known = [None, "bonjour renard test", *[None] * 4]
    machine = translator.translate(document, SEARCH, known=known).texts
    changed = [m for m, each in enumerate(session.sentences) if each["proposal"]]
    assert changed
    assert all(proposed(session)[m] == machine[m] for m in changed)


def test_mistakes_are_reported(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    with pytest.raises(DocgraphError, match="no sentence 6"):
        session.correct(6, "un test")
    with pytest.raises(DocgraphError, match="cannot be empty"):
        session.correct(0, " \n ")
    assert not session.can_undo


def test_a_long_document_is_corrected_in_chunks(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("CHUNK", 4), ("CHUNK_BEFORE", 2), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(document_chunks, name, size)
    document = Document.from_sentences(TEXT * 2)
    session = translated([document], translator)
    assert texts(session) == translator.translate(document, SEARCH).texts
    session.correct(4, "le chien saute")
    session.correct(8, "bonjour")
    known: list[str | None] = [None] * len(document)
    known[4], known[8] = "le chien saute", "bonjour"
    assert proposed(session) == translator.translate(document, SEARCH, known=known).texts


def test_blocks_show_the_structure(translator: Translator, tmp_path: Path) -> None:
    cues = "1\n00:00:01,000 --> 00:00:02,000\nThe fox jumps.\n\n2\n00:00:03,000 --> 00:00:04,000\nHello.\n"
    (tmp_path / "a.srt").write_text(cues)
    page = "<h1>A fox</h1><p>The dog. It met.</p><table><tr><td>A test</td></tr></table>"
    (tmp_path / "a.html").write_text(page)
    blocks = [
        [(each["block"]["kind"], each["block"]["index"], each["block"]["label"]) for each in session.sentences]
        for session in (Session(read(tmp_path / name), translator) for name in ("a.srt", "a.html"))
    ]
    assert blocks[0] == [("cue", 0, "00:00:01,000 --> 00:00:02,000"), ("cue", 1, "00:00:03,000 --> 00:00:04,000")]
    assert [(kind, index) for kind, index, _ in blocks[1]] == [
        ("heading", 0),
        ("paragraph", 1),
        ("paragraph", 1),
        ("cell", 2),
    ]


def test_a_low_score_is_doubtful_until_it_is_confirmed(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    scores = [0.0 if each["score"] is None else each["score"] for each in session.sentences]
    monkeypatch.setattr(session_state, "LOW_SCORE", sorted(scores)[1])
    doubtful = [each["index"] for each in session.sentences if "low score" in each["doubtful"]]
    assert doubtful == [scores.index(min(scores))]
    session.correct(doubtful[0], texts(session)[doubtful[0]] or "", confirm=True)
    assert not any("low score" in each["doubtful"] for each in session.sentences if each["index"] == doubtful[0])
