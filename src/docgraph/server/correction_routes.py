"""Routes that correct a job (sentences, proposals, glossary, undo) and that view it (chains, context, comparison)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Body, Depends, Path, Request

from docgraph.server.errors import ApiError
from docgraph.server.requests import state_of, with_key
from docgraph.server.schemas import (
    Change,
    ChangesAnswer,
    CorrectionAnswer,
    CorrectionBody,
    GlossaryEntry,
    Job,
    ProposalsBody,
    Sentence,
    error_answers,
)
from docgraph.server.session import Session

router = APIRouter(prefix="/v1/jobs/{id}", dependencies=[Depends(with_key)], tags=["corrections"])
Place = Annotated[int, Path(ge=0, le=2**31 - 1)]
Changes = list[dict[str, Any]]
T = TypeVar("T")
_ERRORS = error_answers(404, 408, 409, 422, 429, 507)


async def _change(request: Request, id: str, apply: Callable[[Session], Changes]) -> ChangesAnswer:
    """Applies a change to the session of a job and notifies its event streams."""
    state = state_of(request)
    changes, record = await state.translating(request, lambda: state.sessions.change(id, apply))
    state.changes.notify(id)
    return ChangesAnswer(changes=[Change(**each) for each in changes], job=Job.of(record, state.translator.languages))


@router.patch("/sentences/{index}", summary="Correct a sentence", responses=_ERRORS)
async def correct(request: Request, id: str, index: Place, body: CorrectionBody) -> CorrectionAnswer:
    """Sets the translation of a sentence; returns the proposals for other sentences that follow from it.

    A confirmed sentence is context for the others and is never changed by them. 409 if the sentence has changed since
    the revision that the client knows.
    """
    state = state_of(request)

    def apply(session: Session) -> Changes:
        if index >= len(session):
            raise ApiError(404, f"there is no sentence {index}")
        if body.revision is not None and state.store.sentences(id, first=index, limit=1)[0]["revision"] > body.revision:
            raise ApiError(409, "the sentence has changed meanwhile; read it again")
        text = body.translation if body.translation is not None else session.sentence(index)["translation"]
        if text is None:
            raise ApiError(409, "the sentence has no translation yet; send one")
        return session.correct(index, text, confirm=body.confirm)

    answer = await _change(request, id, apply)
    [sentence] = await state.in_thread(lambda: state.store.sentences(id, first=index, limit=1))
    return CorrectionAnswer(sentence=Sentence.model_validate(sentence), changes=answer.changes, job=answer.job)


@router.post("/proposals", summary="Accept or refuse proposals", responses=_ERRORS)
async def proposals(request: Request, id: str, body: ProposalsBody) -> ChangesAnswer:
    """Replaces translations by their proposals, or drops the proposals."""

    def apply(session: Session) -> Changes:
        if max([*(body.accept or []), *(body.refuse or [])], default=-1) >= len(session):
            raise ApiError(404, "there is no such sentence")
        accepted = session.accept(body.accept) if body.accept is not None else []
        return [*accepted, *(session.refuse(body.refuse) if body.refuse is not None else [])]

    return await _change(request, id, apply)


@router.post("/undo", summary="Undo the last change", responses=_ERRORS)
async def undo(request: Request, id: str) -> ChangesAnswer:
    """Undoes the last correction, acceptance, refusal or change of the glossary; 409 if there is none."""

    def apply(session: Session) -> Changes:
        if not session.can_undo:
            raise ApiError(409, "there is no change to undo")
        return session.undo()

    return await _change(request, id, apply)


@router.post("/redo", summary="Make the last undone change again", responses=_ERRORS)
async def redo(request: Request, id: str) -> ChangesAnswer:
    """Makes the last undone change again; 409 if there is none."""

    def apply(session: Session) -> Changes:
        if not session.can_redo:
            raise ApiError(409, "there is no undone change")
        return session.redo()

    return await _change(request, id, apply)


async def _view(request: Request, id: str, look: Callable[[Session], T]) -> T:
    state = state_of(request)
    return await state.translating(request, lambda: state.sessions.view(id, look))


@router.get("/glossary", summary="List the terms of a job", responses=_ERRORS)
async def get_glossary(request: Request, id: str) -> list[GlossaryEntry]:
    """Returns terms and their translations."""
    entries = await _view(request, id, lambda session: session.glossary)
    return [GlossaryEntry(**each) for each in entries]


@router.put("/glossary", summary="Set the terms of a job", responses=_ERRORS)
async def put_glossary(
    request: Request, id: str, entries: Annotated[list[GlossaryEntry], Body(max_length=1000)]
) -> ChangesAnswer:
    """Replaces the glossary; returns the proposals that follow from it. An empty target keeps a term as it is."""
    terms = [entry.model_dump() for entry in entries]
    return await _change(request, id, lambda session: session.set_glossary(terms))


@router.get("/graph", summary="Chains of linked words, with their translations", responses=_ERRORS)
async def graph(request: Request, id: str) -> dict[str, Any]:
    """Returns the chains of the document, whether they are translated consistently, and links between sentences."""
    return await _view(request, id, Session.chains)


@router.get("/sentences/{index}/explain", summary="What a sentence read", responses=_ERRORS)
async def explain(request: Request, id: str, index: Place) -> dict[str, Any]:
    """Returns the sentences that the translation of a sentence read, and how much."""

    def look(session: Session) -> dict[str, Any]:
        if index >= len(session):
            raise ApiError(404, f"there is no sentence {index}")
        return session.explain(index)

    return await _view(request, id, look)


@router.get("/compare", summary="Translations without context", responses=_ERRORS)
async def compare(request: Request, id: str) -> list[dict[str, Any]]:
    """Returns what the model makes of each sentence alone."""
    return await _view(request, id, Session.compare)
