"""The parts of the APIs of LibreTranslate and DeepL that their clients need."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal, TypeVar

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import UploadFile

from docgraph.server.errors import ApiError
from docgraph.server.job_routes import add_job, download_file
from docgraph.server.requests import Upload, form_of, parse_json, safe_name, state_of, validated
from docgraph.server.schemas import Text
from docgraph.server.state import ServerState
from docgraph.server.tickets import Cancelled, current_ticket
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.formality import FormalityOption, has_forms
from docgraph.translation.text.language_check import language_name, language_shares

router = APIRouter(tags=["LibreTranslate"])
public = APIRouter(tags=["LibreTranslate"])
F = TypeVar("F", bound="_Fields")
POLL_SECONDS = 0.05


class _Fields(BaseModel):
    """Fields of a request; unknown fields, which clients of other servers send, are ignored."""

    model_config = ConfigDict(extra="ignore")
    api_key: Text | None = None


class TranslateFields(_Fields):
    """Fields of POST /translate."""

    model_config = ConfigDict(
        extra="ignore",
        json_schema_extra={"examples": [{"q": "The harbour is closed.", "source": "en", "target": "fr"}]},
    )
    q: Text | list[Text]
    source: Text = "auto"
    target: Text
    format: Literal["text", "html"] = "text"


class DetectFields(_Fields):
    """Fields of POST /detect."""

    q: Text


class DeepLFields(_Fields):
    """Fields of POST /v2/translate."""

    model_config = ConfigDict(
        extra="ignore", json_schema_extra={"examples": [{"text": ["The harbour is closed."], "target_lang": "FR"}]}
    )
    text: Annotated[list[Text], Field(min_length=1, max_length=50)] | Text
    target_lang: Text
    source_lang: Text | None = None
    tag_handling: Literal["html"] | None = None
    formality: Literal["default", "more", "less", "prefer_more", "prefer_less"] = "default"


async def _fields(request: Request, model: type[F]) -> F:
    """Returns the fields of a JSON body or a form, after checking the API key in them."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "application/json":
        fields = parse_json(await request.body(), model)
    elif kind in ("application/x-www-form-urlencoded", "multipart/form-data"):
        fields = validated(await form_of(request), model)
    else:
        raise ApiError(415, "send application/json or a form")
    _check_key(request, fields.api_key)
    return fields


def _check_key(request: Request, parameter: str | None) -> None:
    parameter = parameter or request.query_params.get("api_key")
    state_of(request).config.keys.check(request.headers.get("authorization"), parameter)


def _body(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema()
    kinds = ("application/json", "application/x-www-form-urlencoded")
    return {"requestBody": {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}}


def _check_pair(state: ServerState, source: str | None, target: str) -> None:
    """Answers 400 if the model does not translate between two languages."""
    languages = state.translator.languages
    if languages is None:
        return
    wanted = tuple(code.lower().partition("-")[0] for code in (source or languages[0], target))
    if wanted not in (languages, ("auto", languages[1])):
        raise ApiError(400, f"this server translates from {languages[0]} to {languages[1]} only")


_FORMALITIES: dict[str, FormalityOption] = {"more": "formal", "less": "informal"}


def _formality(state: ServerState, name: str) -> FormalityOption | None:
    """Returns the formality of DeepL's name; a preference is ignored in a language without forms of address."""
    option = _FORMALITIES.get(name.removeprefix("prefer_"))
    return None if name.startswith("prefer_") and not has_forms(state.translator.languages) else option


def _translate(
    state: ServerState, texts: list[str], format: str, formality: FormalityOption | None = None
) -> list[str]:
    """Returns translated texts, which keep their layout."""
    if sum(map(len, texts)) > state.limits.max_characters:
        raise ApiError(413, f"the text is longer than {state.limits.max_characters:,} characters; send less at once")
    documents = [state.parse(text.encode(), "<text>", format) for text in texts]
    flat = [document for each in documents for document in each]
    requests = (TranslationRequest(document, formality=formality) for document in flat)
    translations = state.translator.translate_requests(requests)
    return [state.render([next(translations)[1] for _ in each]).decode() for each in documents]


@router.post("/translate", summary="Translate as LibreTranslate does", openapi_extra=_body(TranslateFields))
async def translate(request: Request) -> dict[str, Any]:
    """Returns the translation of a text, or of several."""
    state, fields = state_of(request), await _fields(request, TranslateFields)
    _check_pair(state, fields.source, fields.target)
    texts = [fields.q] if isinstance(fields.q, str) else fields.q
    translated = await state.translating(request, lambda: _translate(state, texts, fields.format))
    answer: dict[str, Any] = {"translatedText": translated[0] if isinstance(fields.q, str) else translated}
    if fields.source == "auto":
        found = [_detect(text)[:1] or [{"confidence": 0, "language": "en"}] for text in texts]
        answer["detectedLanguage"] = found[0][0] if isinstance(fields.q, str) else [each[0] for each in found]
    return answer


def _detect(text: str) -> list[dict[str, Any]]:
    return [{"confidence": round(100 * share, 1), "language": code} for code, share in language_shares(text).items()]


@router.post("/detect", summary="Detect the language of a text", openapi_extra=_body(DetectFields))
async def detect(request: Request) -> list[dict[str, Any]]:
    """Returns the languages whose function words a text has, most likely first."""
    fields = await _fields(request, DetectFields)
    return _detect(fields.q)


@router.get("/languages", summary="List the languages")
async def languages(request: Request) -> list[dict[str, Any]]:
    """Returns the source language with its targets, and the target language."""
    state = state_of(request)
    pair = state.translator.languages
    if pair is None:
        return []
    source, target = pair
    return [
        {"code": source, "name": language_name(source), "targets": [target]},
        {"code": target, "name": language_name(target), "targets": []},
    ]


@router.post(
    "/translate_file",
    summary="Translate a file as LibreTranslate does",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["file", "source", "target"],
                        "properties": {
                            "file": {"type": "string", "format": "binary"},
                            "source": {"type": "string"},
                            "target": {"type": "string"},
                        },
                    }
                }
            },
        }
    },
)
async def translate_file(request: Request) -> dict[str, str]:
    """Translates a file as a job; returns the address of the translated file, which needs no key."""
    state, form = state_of(request), await form_of(request)
    names = ("api_key", "source", "target")
    key, source, target = (value if isinstance(value := form.get(name), str) else "" for name in names)
    _check_key(request, key)
    file = form.get("file")
    if not isinstance(file, UploadFile):
        raise ApiError(422, "the form has no file; send one as the field 'file'")
    _check_pair(state, source or "auto", target)
    upload = Upload(safe_name(file.filename), await file.read())
    id = await state.translating(request, lambda: _finished_job(state, upload))
    return {"translatedFileUrl": str(request.url_for("download_translated_file", id=id))}


def _finished_job(state: ServerState, upload: Upload) -> str:
    """Adds a job and waits until it is translated; cancels the job if the client disconnects."""
    record = add_job(state, upload)
    try:
        while record.state in ("queued", "running"):
            current_ticket().check()
            time.sleep(POLL_SECONDS)
            record = state.store.get(record.id)
    except Cancelled:
        state.store.cancel(record.id)
        state.queue.cancel(record.id)
        raise
    if record.state != "done":
        raise ApiError(422, record.error or "the translation was cancelled")
    return record.id


@public.get("/download_file/{id}", summary="Download a file translated by /translate_file", response_class=Response)
async def download_translated_file(request: Request, id: str) -> Response:
    """Returns a translated file. Its address contains a random id of 122 bits, which only the uploader knows."""
    state = state_of(request)
    return await state.translating(request, lambda: download_file(state, id, "original"))


@router.post("/v2/translate", summary="Translate as DeepL does", openapi_extra=_body(DeepLFields), tags=["DeepL"])
async def deepl_translate(request: Request) -> dict[str, Any]:
    """Returns the translations of some texts."""
    state, fields = state_of(request), await _fields(request, DeepLFields)
    _check_pair(state, fields.source_lang, fields.target_lang)
    texts = [fields.text] if isinstance(fields.text, str) else fields.text
    formality = _formality(state, fields.formality)
    translated = await state.translating(
        request, lambda: _translate(state, texts, fields.tag_handling or "text", formality)
    )
    source = (state.translator.languages or ("",))[0].upper()
    return {"translations": [{"detected_source_language": source, "text": text} for text in translated]}
