"""What routes read from a request: the server's state, an API key, a JSON body or an uploaded file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from docgraph.formats import get_format
from docgraph.server.errors import ApiError
from docgraph.server.state import ServerState
from docgraph.translation.terms.formality import FORMALITY_OPTIONS, FormalityOption

M = TypeVar("M", bound=BaseModel)
_UNSAFE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_LONGEST_NAME = 200


@dataclass(frozen=True)
class Upload:
    """An uploaded file. Its name determines the format and the name of the download; it is never used as a path."""

    name: str
    content: bytes
    format: str | None = None
    force: bool = False
    """Translate it even if it is in another language than the model's."""
    formality: FormalityOption | None = None

    @property
    def attachment(self) -> dict[str, str]:
        """The header that names the translated file."""
        return attachment(self.name)


def attachment(name: str) -> dict[str, str]:
    """Returns the header by which a browser saves an answer under a name."""
    plain = re.sub(r"[^\w. -]", "_", name, flags=re.ASCII)
    return {"Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"}


def safe_name(name: str | None) -> str:
    """Returns the last part of a file name in printable characters."""
    last = re.split(r"[/\\]", _UNSAFE.sub("", name or ""))[-1].strip()
    if len(last) > _LONGEST_NAME:
        stem, dot, extension = last.rpartition(".")
        last = f"{stem[: _LONGEST_NAME - 20]}{dot}{extension[:16]}" if dot else last[:_LONGEST_NAME]
    return last or "text.txt"


def name_parts(name: str) -> tuple[str, str]:
    """Returns the stem and the suffix of a file name; a text that is named after its beginning has no suffix."""
    match = re.fullmatch(r"(.+?)(\.[A-Za-z]\w*)?[\s.…]*", name, re.DOTALL)
    return (match[1], match[2] or "") if match else (name, "")


def state_of(request: Request) -> ServerState:
    """Returns the state of the server."""
    state: ServerState = request.app.state.server
    return state


async def with_key(request: Request) -> None:
    """Dependency: answers 401 unless the request has a key, if the server has any."""
    state_of(request).config.keys.check(request.headers.get("authorization"))


def request_body(model: type[BaseModel]) -> dict[str, Any]:
    """Returns the OpenAPI description of a body that is JSON or an uploaded file."""
    upload = {
        "type": "object",
        "required": ["file"],
        "properties": {
            "file": {"type": "string", "format": "binary"},
            "format": {"type": "string", "description": "Format of the file (default: by its name)."},
            "force": {"type": "boolean", "description": "Translate it whatever its language."},
            "formality": {"type": "string", "enum": [*FORMALITY_OPTIONS], "description": "How it addresses people."},
        },
    }
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    content = {"application/json": {"schema": schema}, "multipart/form-data": {"schema": upload}}
    return {"requestBody": {"required": True, "content": content}}


async def body_or_upload(request: Request, model: type[M]) -> M | Upload:
    """Returns the JSON body of a request or the file uploaded with it."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await upload(request)
    if kind not in ("application/json", ""):
        raise ApiError(415, "send application/json, or a file as multipart/form-data")
    return parse_json(await request.body(), model)


def parse_json(body: bytes, model: type[M]) -> M:
    """Returns a checked JSON body."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        raise ApiError(422, "the body is not valid JSON") from None
    return validated(value, model)


def validated(value: Any, model: type[M]) -> M:
    """Returns a validated value; an error reports the first problem."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        message = first["msg"].removeprefix("Value error, ")
        raise ApiError(422, f"{place}: {message}" if place else message) from None


async def form_of(request: Request) -> dict[str, Any]:
    """Returns the fields of a form: text or a file; a list of texts if a name is repeated."""
    try:
        form = await request.form(max_files=1, max_fields=32)
    except (HTTPException, ClientDisconnect, ValueError, LookupError) as error:
        detail = error.detail if isinstance(error, HTTPException) else "its parts cannot be read"
        raise ApiError(422, f"the form is malformed: {detail}") from None
    fields: dict[str, Any] = {}
    for name in form:
        values = form.getlist(name)
        fields[name] = values[0] if len(values) == 1 else [value for value in values if isinstance(value, str)]
    return fields


async def upload(request: Request) -> Upload:
    """Returns the field `file` of a form."""
    fields = await form_of(request)
    file, format, formality = fields.get("file"), fields.get("format"), fields.get("formality") or None
    if not isinstance(file, UploadFile):
        raise ApiError(422, "the form has no file; send one as the field 'file'")
    if isinstance(format, str) and format:
        get_format(format)
    else:
        format = None
    if formality is not None and formality not in FORMALITY_OPTIONS:
        raise ApiError(422, f"formality: there is no '{formality}'; choose {', '.join(FORMALITY_OPTIONS)}")
    force = fields.get("force") in ("true", "1")
    return Upload(safe_name(file.filename), await file.read(), format, force, formality)
