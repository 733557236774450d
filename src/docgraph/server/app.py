"""The app: routes for immediate translation, models, graphs, health and metrics; other routes are in other modules."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import PlainTextResponse
from starlette.staticfiles import StaticFiles

from docgraph import __version__
from docgraph.document import Document
from docgraph.formats import FORMATS, extensions
from docgraph.server import correction_routes, job_routes, libretranslate
from docgraph.server.errors import ApiError, add_error_handlers
from docgraph.server.limits import RequestGuard
from docgraph.server.requests import Upload, body_or_upload, request_body, state_of, with_key
from docgraph.server.schemas import SentenceTranslationAnswer, TextBody, TranslateAnswer, TranslateBody, error_answers
from docgraph.server.state import ServerConfig, ServerState
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.formality import has_forms
from docgraph.translation.terms.glossary import Glossary
from docgraph.translation.translator import Translator

router = APIRouter(dependencies=[Depends(with_key)])
public = APIRouter()


def create_app(translator: Translator, config: ServerConfig) -> FastAPI:
    """Returns the app of a server; the threads of the server run as long as the app."""
    state = ServerState(translator, config)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        state.start()
        try:
            yield
        finally:
            state.changes.close()
            await asyncio.to_thread(state.stop)

    app = FastAPI(
        title="docgraph",
        version=__version__,
        summary="Document translation that follows your corrections.",
        lifespan=lifespan,
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
    )
    app.state.server = state
    add_error_handlers(app)
    app.include_router(public)
    app.include_router(router)
    app.include_router(job_routes.router)
    app.include_router(correction_routes.router)
    app.include_router(libretranslate.router)
    app.include_router(libretranslate.public)
    workbench = files("docgraph.server") / "workbench"
    if workbench.is_dir():
        app.mount("/", StaticFiles(directory=str(workbench), html=True))
    app.add_middleware(RequestGuard, limits=config.limits, metrics=state.metrics, loopback=config.loopback)
    return app


@public.get("/healthz", response_class=PlainTextResponse, summary="Is the process alive?")
async def healthz() -> str:
    """Answers as long as the process runs."""
    return "ok\n"


@public.get(
    "/readyz",
    response_class=PlainTextResponse,
    summary="Can the server do its work?",
    responses=error_answers(503, 507),
)
async def readyz(request: Request) -> str:
    """Answers 200 if the model is loaded and the database can be written to."""
    state = state_of(request)
    if state.stopping:
        raise ApiError(503, "the server is stopping")
    await state.in_thread(state.store.check)
    return "ready\n"


@router.get("/metrics", response_class=PlainTextResponse, summary="Metrics in the format of Prometheus")
async def metrics(request: Request) -> Response:
    """Returns counters of requests, batches and jobs."""
    state = state_of(request)
    counts = await state.in_thread(state.store.counts)
    return Response(state.metrics.render(counts), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/v1/models", summary="The model that translates")
async def models(request: Request) -> list[dict[str, Any]]:
    """Returns the models of the server: exactly one. `formality` says whether its forms of address can be chosen."""
    state = state_of(request)
    return [
        {
            "name": state.config.model_name,
            "languages": list(state.translator.languages or (None, None)),
            "fingerprint": state.config.model_fingerprint,
            "formality": has_forms(state.translator.languages),
        }
    ]


@router.get("/v1/formats", summary="File formats that can be uploaded")
async def formats() -> dict[str, Any]:
    """Returns the names of formats, and the extensions of their files."""
    return {"formats": list(FORMATS), "extensions": sorted(extensions())}


@router.post(
    "/v1/translate",
    summary="Translate a text or a file at once",
    response_model=TranslateAnswer,
    openapi_extra=request_body(TranslateBody),
    responses={
        **error_answers(408, 413, 422, 429),
        200: {"content": {"application/octet-stream": {}}, "description": "The translation, or the translated file."},
    },
)
async def translate(request: Request) -> TranslateAnswer | Response:
    """Returns the translation of a text or of sentences; for an uploaded file, the translated file."""
    state = state_of(request)
    body = await body_or_upload(request, TranslateBody)
    if isinstance(body, Upload):
        content = await state.translating(request, lambda: translate_file(state, body))
        return Response(content, media_type="application/octet-stream", headers=body.attachment)
    _check_length(state, body)
    return await state.translating(request, lambda: _translate_text(state, body))


def _check_length(state: ServerState, body: TextBody) -> None:
    limit = state.limits.max_characters
    if body.characters > limit:
        raise ApiError(413, f"the text is longer than {limit:,} characters; translate it as a job")


def _translate_text(state: ServerState, body: TranslateBody) -> TranslateAnswer:
    if body.text is not None:
        [document] = state.parse(body.text.encode(), "<text>", "text")
    else:
        document = Document.from_sentences(body.sentences or [])
    terms = [(entry.source, entry.target or None) for entry in body.glossary or []]
    glossary = Glossary.of(terms, state.translator.languages) if terms else None
    request = TranslationRequest(document, body.known or (), glossary=glossary, formality=body.formality)
    [(_, translation)] = state.translator.translate_requests([request])
    sentences = [
        SentenceTranslationAnswer(source=each.source, translation=each.text, score=each.score, doubtful=[*each.doubts])
        for each in translation
    ]
    text = translation.document.source if body.text is not None else "\n".join(translation.texts)
    return TranslateAnswer(translation=text, sentences=sentences)


def translate_file(state: ServerState, upload: Upload) -> bytes:
    """Returns the translation of an uploaded file."""
    documents = state.parse(upload.content, upload.name, upload.format)
    if not upload.force:
        state.check_language(documents)
    if sum(len(text) for document in documents for text in document.texts) > state.limits.max_characters:
        message = f"the file has more than {state.limits.max_characters:,} characters; translate it as a job"
        raise ApiError(413, message)
    requests = [TranslationRequest(document, formality=upload.formality) for document in documents]
    return state.render([translation for _, translation in state.translator.translate_requests(requests)])


@router.post("/v1/graph", summary="The document graph of a text", responses=error_answers(408, 413, 422, 429))
async def graph(request: Request, body: TextBody) -> dict[str, Any]:
    """Returns words, sentences and the relations between them; docs/graphs.md describes the format."""
    state = state_of(request)
    _check_length(state, body)
    return await state.translating(request, lambda: _graph(state, body))


def _graph(state: ServerState, body: TextBody) -> dict[str, Any]:
    from docgraph.graph.export import to_json
    from docgraph.graph.reader import read_graph

    if body.sentences is not None:
        source = Document.from_sentences(body.sentences)
    else:
        [source] = state.parse((body.text or "").encode(), "<text>", "text")
    return to_json(read_graph(source, language=state.translator.language))
