"""Jobs: documents that are translated in the background, followed by events, corrected and downloaded."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse

from docgraph.document import Document
from docgraph.formats import render
from docgraph.server.errors import ApiError
from docgraph.server.requests import (
    Upload,
    attachment,
    body_or_upload,
    name_parts,
    request_body,
    safe_name,
    state_of,
    with_key,
)
from docgraph.server.schemas import Index, Job, JobBody, Sentence, error_answers
from docgraph.server.session import Session
from docgraph.server.sessions import difference
from docgraph.server.state import ServerState
from docgraph.server.storage import JobRecord, NotFoundError
from docgraph.translation.terms.formality import check_option

router = APIRouter(prefix="/v1/jobs", dependencies=[Depends(with_key)], tags=["jobs"])
_MISSING = error_answers(404)


def _job(state: ServerState, record: JobRecord) -> Job:
    return Job.of(record, state.translator.languages)


@router.post(
    "",
    status_code=202,
    summary="Translate a document in the background",
    openapi_extra=request_body(JobBody),
    responses=error_answers(408, 413, 415, 422, 429, 507),
)
async def create_job(
    request: Request,
    idempotency_key: Annotated[str | None, Header(max_length=200, pattern=r"^[ -~]+$")] = None,
) -> Job:
    """Queues a file, a text or sentences.

    Repeating a request with the same Idempotency-Key creates no second job; another request with that key is refused.
    """
    state = state_of(request)
    body = await body_or_upload(request, JobBody)
    upload = body if isinstance(body, Upload) else _as_upload(body)
    record = await state.translating(request, lambda: add_job(state, upload, idempotency_key))
    return _job(state, record)


def _as_upload(body: JobBody) -> Upload:
    name = safe_name(body.name)
    if body.sentences is None:
        return Upload(name, (body.text or "").encode(), "text", body.force, body.formality)
    content = render([Document.from_sentences([line.strip() or "-" for line in body.sentences])])
    assert isinstance(content, str)
    return Upload(name, content.encode(), "lines", body.force, body.formality)


def add_job(state: ServerState, upload: Upload, request_key: str | None = None) -> JobRecord:
    """Reads a document and queues it."""
    check_option(upload.formality or "any", state.translator.languages)
    documents = state.parse(upload.content, upload.name, upload.format)
    if not upload.force:
        state.check_language(documents)
    count = sum(map(len, documents))
    if count > state.limits.max_sentences:
        message = f"the document has {count:,} sentences, more than {state.limits.max_sentences:,}; split it"
        raise ApiError(413, message)
    record = state.store.add(
        upload.name,
        documents[0].format,
        upload.content,
        difference(Session(documents, state.translator, formality=upload.formality), ()),
        queue_limit=state.limits.jobs,
        request_key=request_key,
    )
    state.queue.notify()
    return record


@router.get("", summary="List the jobs, newest first")
async def list_jobs(
    request: Request,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> list[Job]:
    """Returns jobs, newest first."""
    state = state_of(request)
    return [_job(state, record) for record in await state.in_thread(lambda: state.store.recent(limit, offset))]


@router.get("/{id}", summary="Show a job", responses=_MISSING)
async def get_job(request: Request, id: str) -> Job:
    """Returns a job with its state and progress."""
    state = state_of(request)
    return _job(state, await state.in_thread(lambda: state.store.get(id)))


@router.delete("/{id}", status_code=204, summary="Delete a job and its document", responses=_MISSING)
async def delete_job(request: Request, id: str) -> None:
    """Deletes a job, also while it is being translated."""
    state = state_of(request)
    await state.in_thread(lambda: state.store.delete(id))
    state.queue.cancel(id)
    state.changes.notify(id)


@router.post("/{id}/cancel", summary="Stop translating a job", responses=_MISSING)
async def cancel_job(request: Request, id: str) -> Job:
    """Stops the translation; sentences that are already translated stay. No-op for a finished job."""
    state = state_of(request)
    record = await state.in_thread(lambda: state.store.cancel(id))
    if record.state == "cancelled":
        state.queue.cancel(id)
    state.changes.notify(id)
    return _job(state, record)


@router.post("/{id}/resume", summary="Go on translating a job", responses=error_answers(404, 429, 507))
async def resume_job(request: Request, id: str) -> Job:
    """Queues a job that was cancelled or failed; translated sentences stay. No-op for any other job."""
    state = state_of(request)
    record = await state.in_thread(lambda: state.store.resume(id, state.limits.jobs))
    state.queue.notify()
    state.changes.notify(id)
    return _job(state, record)


@router.get("/{id}/sentences", summary="List the sentences of a job", responses=_MISSING)
async def list_sentences(
    request: Request,
    id: str,
    after: Annotated[int, Query(ge=-1, le=2**31 - 1, description="Only changes after this revision.")] = -1,
    first: Index = 0,
    limit: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> list[Sentence]:
    """Returns sentences in their order."""
    state = state_of(request)

    def find() -> list[dict[str, Any]]:
        state.store.get(id)
        return state.store.sentences(id, after, None, first, limit)

    return [Sentence.model_validate(each) for each in await state.in_thread(find)]


@router.get(
    "/{id}/events",
    summary="Follow a job",
    response_class=StreamingResponse,
    responses={**_MISSING, 200: {"content": {"text/event-stream": {}}, "description": "Server-sent events."}},
)
async def events(
    request: Request,
    id: str,
    after: Annotated[int | None, Query(ge=-1, le=2**31 - 1, description="Revision that is known already.")] = None,
    last_event_id: Annotated[str | None, Header(max_length=20)] = None,
) -> StreamingResponse:
    """Sends `sentence` events as sentences change, then a `state` event whose id is the revision, until it is closed.

    A client that reconnects passes the last id as Last-Event-ID or `after`, and gets what it has missed. `error` is the
    last event of a job that was deleted.
    """
    state = state_of(request)
    await state.in_thread(lambda: state.store.get(id))
    if after is None:
        after = int(last_event_id) if last_event_id and last_event_id.isdecimal() and last_event_id.isascii() else -1
    state.streams.take()
    known, ended = after, False

    async def news() -> list[tuple[str, int | None, Any]] | None:
        nonlocal known, ended
        if ended:
            return None
        try:
            record = await state.in_thread(lambda: state.store.get(id))
        except NotFoundError:
            ended = True
            return [("error", None, {"code": "not_found", "message": "the job was deleted"})]
        if record.revision == known:
            return []
        # A client with a revision that does not exist (the database was replaced) gets everything.
        since = known if known < record.revision else -1
        rows = await state.in_thread(lambda: state.store.sentences(id, since, record.revision))
        known = record.revision
        found: list[tuple[str, int | None, Any]] = [("sentence", None, row) for row in rows]
        return [*found, ("state", record.revision, _job(state, record).model_dump(mode="json"))]

    async def body() -> Any:
        try:
            async for part in state.changes.stream(id, news):
                yield part
        finally:
            state.streams.give_back()

    return StreamingResponse(body(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


@router.get(
    "/{id}/download",
    summary="Download the translation",
    response_class=Response,
    responses={
        **error_answers(404, 409),
        200: {"content": {"application/octet-stream": {}}, "description": "The file."},
    },
)
async def download(
    request: Request,
    id: str,
    kind: Annotated[Literal["original", "xliff", "tmx", "tsv", "html"], Query(alias="as")] = "original",
) -> Response:
    """Returns the translated file in its original format, or source and translation side by side."""
    state = state_of(request)
    return await state.translating(request, lambda: download_file(state, id, kind))


def download_file(state: ServerState, id: str, kind: str) -> Response:
    """Returns a translated file as an attachment."""
    record = state.store.get(id)
    content, media_type, suffix = state.sessions.view(id, lambda session: session.download(kind))
    stem, own_suffix = name_parts(record.name)
    target = state.translator.target_language
    language = f".{target}" if target else ""
    headers = attachment(f"{stem}{language}{(own_suffix or suffix) if kind == 'original' else suffix}")
    return Response(content, media_type=media_type, headers=headers)
