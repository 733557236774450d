"""Sessions translate as the translator does with the same known lines, also while users correct."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from docgraph.document import Document
from docgraph.server import draft
from docgraph.server.session import Session
from docgraph.translation import corrections, model_input
from docgraph.translation.decoding import relevance
from docgraph.translation.translator import Translator
from server.session_examples import SEARCH, TEXT, WORDS, proposed, restored, texts, translated


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
    monkeypatch.setattr(relevance, "CACHED_SOURCE_TOKENS", 0)
    translated([Document.from_sentences(TEXT)], translator)
    assert not cache


def test_quotation_marks_are_those_of_the_whole_document(
    translator: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def mark_last(sources: list[str], texts: list[str]) -> list[str]:
        return [f"{text} {len(sources)}" for text in texts]

    monkeypatch.setattr(draft, "STEP", 2)
    monkeypatch.setattr(translator.translation_builder._postprocessor, "unify_quotes", mark_last)
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


def test_a_long_document_is_corrected_in_chunks(translator: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("CHUNK", 4), ("CHUNK_BEFORE", 2), ("CHUNK_AFTER", 1)):
        monkeypatch.setattr(model_input, name, size)
    document = Document.from_sentences(TEXT * 2)
    session = translated([document], translator)
    assert texts(session) == translator.translate(document, SEARCH).texts
    session.correct(4, "le chien saute")
    session.correct(8, "bonjour")
    known: list[str | None] = [None] * len(document)
    known[4], known[8] = "le chien saute", "bonjour"
    assert proposed(session) == translator.translate(document, SEARCH, known=known).texts
