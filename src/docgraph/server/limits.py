"""Limits of a server: API keys, origins, sizes, times and numbers of requests."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import time
from dataclasses import dataclass
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docgraph.errors import DocgraphError
from docgraph.server.errors import ApiError, error_response
from docgraph.server.metrics import Metrics

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none';"
    " object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
"""Headers of every answer."""


@dataclass(frozen=True)
class Limits:
    """Limits that the operator can set."""

    max_bytes: int = 32 * 2**20
    """Size of a request body."""
    max_characters: int = 200_000
    """Characters of a text that is translated immediately, without a job."""
    max_sentences: int = 50_000
    """Sentences of a job."""
    seconds: float = 120.0
    """Time for a request to arrive, and to be answered."""
    requests: int = 256
    """Concurrent translations."""
    jobs: int = 100
    """Jobs that are waiting or being translated."""
    streams: int = 256
    """Open event streams."""

    @property
    def max_buffered(self) -> int:
        """Bytes of all request bodies held at once."""
        return 8 * self.max_bytes


class Slots:
    """A limited number of concurrent actions."""

    def __init__(self, size: int, what: str) -> None:
        self.size, self.what, self.used = size, what, 0

    def take(self) -> None:
        """Takes a slot; answers 429 if there is none."""
        if self.used >= self.size:
            raise ApiError(429, f"too many {self.what} at once; try again later")
        self.used += 1

    def give_back(self) -> None:
        """Gives a slot back."""
        self.used -= 1


class ApiKeys:
    """The API keys of a server; without any, requests need no key."""

    def __init__(self, keys: frozenset[str] = frozenset()) -> None:
        self._digests = [hashlib.sha256(key.encode()).digest() for key in sorted(keys)]

    @classmethod
    def read(cls, path: Path) -> ApiKeys:
        """Reads a file with one key per line; empty lines and lines that start with # are skipped."""
        lines = (line.strip() for line in path.read_text("utf-8").splitlines())
        keys = frozenset(line for line in lines if line and not line.startswith("#"))
        if not keys:
            raise DocgraphError("contains no key; write one key per line", path=path)
        return cls(keys)

    def check(self, authorization: str | None, parameter: str | None = None) -> None:
        """Answers 401 unless the header `Authorization: Bearer KEY`, or a parameter, holds a key."""
        if not self._digests:
            return
        scheme, _, key = (authorization or "").partition(" ")
        given = key.strip() if scheme.lower() in ("bearer", "deepl-auth-key") else parameter or ""
        digest = hashlib.sha256(given.encode("utf-8", "replace")).digest()
        if not any(hmac.compare_digest(digest, each) for each in self._digests):
            raise ApiError(401, "a valid API key is needed; send it as Authorization: Bearer KEY")


class RequestGuard:
    """The outermost layer of the app: checks host and origin, limits bodies, and counts answers."""

    def __init__(self, app: ASGIApp, limits: Limits, metrics: Metrics, loopback: bool) -> None:
        """With `loopback`, only requests to a loopback name are answered, as a protection against DNS rebinding."""
        self.app, self.limits, self.metrics, self.loopback = app, limits, metrics, loopback
        self._buffered = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun, status = time.perf_counter(), 500

        async def count(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
                self._observe(scope, status, time.perf_counter() - begun)
            await send(message)

        held = 0
        try:
            self._check_origin(Headers(scope=scope))
            body, held = await self._receive_body(scope, receive)
            await self.app(scope, _replay(body, receive), count)
        except ApiError as error:
            response = error_response(scope["path"], error.status_code, str(error.detail), {"Connection": "close"})
            await response(scope, receive, count)
        finally:
            self._buffered -= held

    def _check_origin(self, headers: Headers) -> None:
        """Refuses requests that a page of another site makes from the user's browser."""
        host = headers.get("host", "")
        if self.loopback and _host_name(host) not in LOOPBACK:
            raise ApiError(403, "this server answers to localhost only; start it with --host to serve other names")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise ApiError(403, "requests of other sites are refused")

    async def _receive_body(self, scope: Scope, receive: Receive) -> tuple[bytes, int]:
        """Returns the body and the bytes counted for it."""
        length = Headers(scope=scope).get("content-length", "")
        if length.isascii() and length.isdigit() and int(length) > self.limits.max_bytes:
            raise self._too_large()
        parts, size = list[bytes](), 0
        try:
            async with asyncio.timeout(self.limits.seconds):
                while True:
                    message = await receive()
                    if message["type"] != "http.request":
                        raise ApiError(499, "the client has gone")
                    part = message.get("body", b"")
                    size += len(part)
                    if size > self.limits.max_bytes:
                        raise self._too_large()
                    if self._buffered + len(part) > self.limits.max_buffered:
                        raise ApiError(429, "too many uploads at once; try again later")
                    self._buffered += len(part)
                    parts.append(part)
                    if not message.get("more_body", False):
                        return b"".join(parts), size
        except TimeoutError:
            error = ApiError(408, f"the request did not arrive within {self.limits.seconds:g} seconds")
        except ApiError as refused:
            error = refused
        self._buffered -= sum(map(len, parts))
        raise error

    def _too_large(self) -> ApiError:
        return ApiError(413, f"the request is larger than {self.limits.max_bytes:,} bytes; split it")

    def _observe(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        method = scope["method"] if scope["method"] in ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD") else "other"
        self.metrics.requests.labels(method, route, str(status)).inc()
        self.metrics.seconds.labels(method, route).observe(seconds)


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns a `receive` that first returns the whole body, and then the messages after it."""
    sent = False

    async def replayed() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed
