"""Corrections, proposals, the glossary, undo and redo, and saved work that goes on as it was."""

from __future__ import annotations

from typing import Any

import pytest

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.server.session import Session
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.translator import Translator
from server.session_examples import SEARCH, TEXT, proposed, restored, texts, translated


def visible(session: Session) -> tuple[Any, ...]:
    return session.sentences, session.state, session.can_undo, session.can_redo


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


def test_mistakes_are_reported(translator: Translator) -> None:
    session = translated([Document.from_sentences(TEXT)], translator)
    with pytest.raises(DocgraphError, match="no sentence 6"):
        session.correct(6, "un test")
    with pytest.raises(DocgraphError, match="cannot be empty"):
        session.correct(0, " \n ")
    assert not session.can_undo
