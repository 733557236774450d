"""Errors as clients see them: a status, a code for programs, and one sentence for people."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from docgraph.errors import DocgraphError
from docgraph.server.storage import NotFoundError, QueueFullError, ReusedKeyError
from docgraph.server.tickets import Cancelled

logger = logging.getLogger("docgraph.server")
CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "invalid",
    429: "too_many_requests",
    499: "client_closed_request",
    500: "internal",
    503: "unavailable",
    507: "storage_full",
}
RETRY = {"Retry-After": "1"}


class ApiError(HTTPException):
    """An answer other than success."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(status, message, RETRY if status in (429, 503) else None)


class OtherLanguageError(DocgraphError):
    """A text in another language than the source language of the model; `force` overrides the check."""


def error_response(
    path: str, status: int, message: str, headers: dict[str, str] | None = None, code: str | None = None
) -> JSONResponse:
    """Returns an error in the format of the API that a path belongs to; `code` defaults to that of the status."""
    content: dict[str, object] = {"error": {"code": code or CODES.get(status, "error"), "message": message}}
    if path in ("/translate", "/detect", "/languages", "/translate_file"):
        content = {"error": message}
    elif path.startswith("/v2/"):
        content = {"message": message}
    return JSONResponse(content, status, headers)


def _answer(request: Request, error: Exception) -> JSONResponse:
    """Returns the answer for an exception that a route raised."""
    path = request.url.path
    match error:
        case HTTPException():
            return error_response(path, error.status_code, _sentence(error), dict(error.headers or {}))
        case RequestValidationError():
            return error_response(path, 422, _validation_message(error))
        case NotFoundError():
            return error_response(path, 404, "there is no such job; GET /v1/jobs lists the jobs")
        case QueueFullError():
            return error_response(path, 429, "the queue is full; try again later", RETRY)
        case ReusedKeyError():
            return error_response(path, 422, "this Idempotency-Key belongs to another request; choose another key")
        case OtherLanguageError():
            return error_response(path, 422, str(error), code="other_language")
        case DocgraphError():
            return error_response(path, 422, str(error))
        case Cancelled():
            return error_response(path, 503, "the server is stopping; try again", RETRY)
        case SQLAlchemyError():
            return _storage_answer(path, error)
        case _:
            logger.error("error in %s", path, exc_info=error)
            return error_response(path, 500, "the server failed to answer; its log says why")


def _sentence(error: HTTPException) -> str:
    if isinstance(error, ApiError):
        return str(error.detail)
    known = {404: "there is nothing at this address", 405: "this address does not support the method"}
    return known.get(error.status_code, str(error.detail))


def _validation_message(error: RequestValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    return f"{place}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _storage_answer(path: str, error: SQLAlchemyError) -> JSONResponse:
    logger.error("database error in %s: %s", path, str(error).splitlines()[0])
    text = str(error).lower()
    if "is full" in text or "no space left" in text or "disk full" in text:
        return error_response(path, 507, "the disk of the database is full; delete jobs or free space, then try again")
    return error_response(path, 503, "the database does not answer; try again later", RETRY)


def add_error_handlers(app: FastAPI) -> None:
    """Answers every exception of the app with an error in the format of its API."""
    for kind in (
        HTTPException,
        RequestValidationError,
        NotFoundError,
        QueueFullError,
        ReusedKeyError,
        DocgraphError,
        Cancelled,
        SQLAlchemyError,
        Exception,
    ):
        app.add_exception_handler(kind, _answer)
