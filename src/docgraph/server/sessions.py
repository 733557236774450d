"""Sessions of jobs: built from the database, cached in memory, and saved after each change."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from docgraph.document import Document
from docgraph.formats import read
from docgraph.server.database import ConflictError, SessionRecord
from docgraph.server.session import Session
from docgraph.server.storage import JobRecord, Store, StoredJob
from docgraph.translation.translator import Translator

T = TypeVar("T")
KEPT = 16
"""Sessions kept in memory."""


def read_upload(content: bytes, name: str, format: str | None, language: str, max_bytes: int) -> list[Document]:
    """Returns the documents of an uploaded file, whose name may determine the format but is never used as a path."""
    stream: Any = io.BytesIO(content)
    stream.name = name
    return read(stream, format, language=language, max_bytes=max_bytes)


def difference(session: Session, before: Sequence[Any]) -> SessionRecord:
    """Returns a session as a record to save, with only the sentences that differ from `before`."""
    state, shown = session.state, session.sentences
    states = {
        index: new for index, new in enumerate(state["sentences"]) if index >= len(before) or new != before[index]
    }
    return SessionRecord(
        states,
        {index: shown[index] for index in states},
        {name: value for name, value in state.items() if name != "sentences"},
        sum(each["state"] != "waiting" for each in shown),
        session.can_undo,
        session.can_redo,
    )


class Sessions:
    """The sessions of a server."""

    def __init__(self, store: Store, translator: Translator, max_bytes: int) -> None:
        self._store, self._translator, self._max_bytes = store, translator, max_bytes
        self._kept: OrderedDict[str, tuple[int, Session]] = OrderedDict()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}
        self._lock = threading.Lock()

    def open(self, job: StoredJob) -> Session:
        """Returns the session of a job."""
        documents = read_upload(
            job.content, job.record.name, job.record.format, self._translator.language, self._max_bytes
        )
        return Session(documents, self._translator, {**job.rest, "sentences": job.states})

    def view(self, id: str, look: Callable[[Session], T]) -> T:
        """Returns look(copy of the session), so that corrections do not wait for a slow `look`."""
        with self._locked(id):
            session = self._current(id)[1].copy()
        return look(session)

    def change(self, id: str, apply: Callable[[Session], T]) -> tuple[T, JobRecord]:
        """Applies a change to a session, saves it, and returns its result with the changed job.

        If another thread or server saves a change at the same time, this change is applied again on top of it. While
        the document is being translated, affected sentences are left to the thread that translates it.
        """
        with self._locked(id):
            while True:
                record, session = self._current(id)
                before = session.state["sentences"]
                session.deferred = record.state in ("queued", "running")
                self._kept.pop(id, None)  # unless everything below succeeds
                result = apply(session)
                try:
                    saved = self._store.save_change(id, record.revision, difference(session, before))
                except ConflictError:
                    continue
                self._keep(id, saved.revision, session)
                return result, saved

    def _current(self, id: str) -> tuple[JobRecord, Session]:
        record = self._store.get(id)
        revision, session = self._kept.get(id, (-1, None))
        if session is None or revision != record.revision:
            job = self._store.load(id)
            record, session = job.record, self.open(job)
            self._keep(id, record.revision, session)
        return record, session

    def _keep(self, id: str, revision: int, session: Session) -> None:
        with self._lock:
            self._kept[id] = revision, session
            self._kept.move_to_end(id)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)

    @contextmanager
    def _locked(self, id: str) -> Iterator[None]:
        """Admits one thread at a time for each job."""
        with self._lock:
            lock, users = self._locks.get(id, (threading.Lock(), 0))
            self._locks[id] = lock, users + 1
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, users = self._locks.pop(id)
                if users > 1:
                    self._locks[id] = lock, users - 1
