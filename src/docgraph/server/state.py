"""The state that the routes of a server share."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request

from docgraph.document import Document
from docgraph.errors import DocgraphError
from docgraph.formats import render
from docgraph.formats.base import binary_kind
from docgraph.model.cpu_threads import split_no_operations
from docgraph.server.batching import BatchDecoder
from docgraph.server.errors import ApiError, OtherLanguageError
from docgraph.server.events import Changes
from docgraph.server.limits import ApiKeys, Limits, Slots
from docgraph.server.metrics import Metrics
from docgraph.server.queue import JobQueue
from docgraph.server.sessions import Sessions, read_upload
from docgraph.server.storage import Store
from docgraph.server.tickets import Ticket
from docgraph.translation.files.jobs import is_readable, unreadable
from docgraph.translation.result import Translation
from docgraph.translation.text.language_check import language_name, other_language
from docgraph.translation.translator import Translator

T = TypeVar("T")


@dataclass(frozen=True)
class ServerConfig:
    """Settings of a server."""

    database: str
    limits: Limits = field(default_factory=Limits)
    keys: ApiKeys = field(default_factory=ApiKeys)
    loopback: bool = True
    """Answer only requests to localhost."""
    job_threads: int = 2
    """Jobs translated concurrently."""
    lease_seconds: float = 15.0
    """Another server claims a job if its server has not renewed the lease for this long."""
    model_name: str = ""
    model_fingerprint: str = ""
    model_folder: Path | None = None
    """The folder of the model, for decoder processes."""
    decoder_processes: int = 0
    """Maximum number of decoder processes; with 0, a thread of the server decodes."""


class ServerState:
    """The translator, the database and the queue of one server process."""

    def __init__(self, translator: Translator, config: ServerConfig) -> None:
        self.translator, self.config, self.limits = translator, config, config.limits
        self.metrics, self.changes = Metrics(), Changes()
        self.store = Store(config.database, config.lease_seconds)
        self.sessions = Sessions(self.store, translator, self.limits.max_bytes)
        self.queue = JobQueue(self.store, self.sessions, self.metrics, config.job_threads, self.changes.notify)
        self.requests = Slots(self.limits.requests, "translations")
        self.streams = Slots(self.limits.streams, "event streams")
        self._workers = ThreadPoolExecutor(self.limits.requests, "docgraph-request", split_no_operations)
        self._helpers = ThreadPoolExecutor(8, "docgraph-database")
        self.stopping = False

    def start(self) -> None:
        """Starts batching and the queue."""
        config = self.config
        self.decoder = BatchDecoder(
            self.translator, self.metrics.observe_batch, config.model_folder, config.decoder_processes
        )
        self.translator.decoder = self.decoder
        self.changes.open()
        self.queue.start()

    def stop(self) -> None:
        """Gives jobs back to the queue and ends all threads."""
        self.stopping = True
        self.queue.stop()
        self.decoder.close()
        self.translator.decoder = self.translator.decode
        self._workers.shutdown(cancel_futures=True)
        self._helpers.shutdown(cancel_futures=True)
        self.store.close()

    def parse(self, content: bytes, name: str, format: str | None) -> list[Document]:
        """Returns the documents of an uploaded file or a text."""
        path = Path(name)
        if format is None and not is_readable(path, (self.translator.languages or (None,))[0]):
            message = binary_kind(content) or f"{unreadable(path)}; if it is plain text, send format=text"
            raise DocgraphError(message, path=path)
        return read_upload(content, name, format, self.translator.language, self.limits.max_bytes)

    def check_language(self, documents: Sequence[Document]) -> None:
        """Refuses documents in another language than the source language of the model."""
        language = (self.translator.languages or (None,))[0]
        texts = [text for document in documents for text in document.texts]
        other = None if language is None else other_language(texts, language)
        if language is not None and other is not None:
            message = f"the text looks like {other}, but the model translates from {language_name(language)}"
            raise OtherLanguageError(f"{message}; send force=true to translate it")

    def render(self, translations: Sequence[Translation]) -> bytes:
        """Returns the file that some documents were read from, translated."""
        documents, texts = [each.source for each in translations], [each.texts for each in translations]
        content = render(documents, texts, self.translator.target_language, [each.alignments for each in translations])
        return content.encode(documents[0].encoding, "replace") if isinstance(content, str) else content

    async def in_thread(self, action: Callable[[], T]) -> T:
        """Runs a short action, such as a database query, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._helpers, action)

    async def translating(self, request: Request, action: Callable[[], T]) -> T:
        """Runs an action that uses the model, within the limits; cancels it if its client disconnects."""
        self.requests.take()
        self.metrics.in_flight.inc()
        ticket = Ticket()

        def work() -> T:
            with ticket.active():
                return action()

        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(self._workers, work)
        future.add_done_callback(self._give_back)
        gone = asyncio.create_task(_disconnected(request))
        waiting: list[asyncio.Future[Any]] = [future, gone]
        try:
            await asyncio.wait(waiting, timeout=self.limits.seconds, return_when=asyncio.FIRST_COMPLETED)
            if future.done():
                return future.result()
            ticket.cancel()
            future.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
            if gone.done():
                raise ApiError(499, "the client has gone")
            seconds = f"{self.limits.seconds:g}"
            raise ApiError(408, f"the translation took longer than {seconds} seconds; translate long texts as a job")
        finally:
            gone.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await gone

    def _give_back(self, _: object) -> None:
        self.requests.give_back()
        self.metrics.in_flight.dec()


async def _disconnected(request: Request) -> None:
    """Waits until the client of a request has closed the connection; the body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
