"""A short document, and sessions that translate it."""

from __future__ import annotations

import json

from docgraph.document import Document
from docgraph.server.session import Session
from docgraph.translation.decoding.hypotheses import SearchConfig
from docgraph.translation.translator import Translator

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
