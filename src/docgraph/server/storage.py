"""Storage: jobs, their documents and their sentences in a database."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from docgraph.server.database import (
    Clock,
    ConflictError,
    Database,
    SessionRecord,
    State,
    jobs,
    released,
    sentences,
    session_columns,
    write_sentences,
)
from docgraph.server.leases import Leases


class NotFoundError(Exception):
    """There is no such job."""


class QueueFullError(Exception):
    """The maximum number of jobs is waiting."""


class ReusedKeyError(Exception):
    """A request has the key of another request."""


@dataclass(frozen=True)
class JobRecord:
    """A job as clients see it; times are in seconds since 1970."""

    id: str
    name: str
    format: str
    state: State
    error: str | None
    sentences: int
    translated: int
    revision: int
    can_undo: bool
    can_redo: bool
    created: float
    updated: float


_JOB_COLUMNS = [jobs.c[each.name] for each in fields(JobRecord)]


@dataclass(frozen=True)
class StoredJob:
    """A job with the data from which its session is built."""

    record: JobRecord
    content: bytes = field(repr=False)
    states: list[Any] = field(repr=False)
    rest: Any = field(repr=False)


class Store:
    """Jobs in a database. Threads may share a store."""

    def __init__(self, url: str, lease_seconds: float = 15.0) -> None:
        self.database = Database(url)
        self.leases = Leases(self.database, lease_seconds)

    def close(self) -> None:
        """Closes all connections."""
        self.database.engine.dispose()

    def check(self) -> None:
        """Raises a database error if the database cannot be written to."""
        with self.database.writing() as connection:
            connection.execute(jobs.update().where(jobs.c.number == -1).values(attempts=0))

    def add(
        self,
        name: str,
        format: str,
        content: bytes,
        session: SessionRecord,
        *,
        queue_limit: int,
        request_key: str | None = None,
    ) -> JobRecord:
        """Queues a job; returns the job of an earlier call if that had the same `request_key`.

        Raises ReusedKeyError if the job of that key has another document, name, format or formality.
        """
        request = name, format, content, session.rest.get("formality")
        if request_key is not None and (earlier := self._by_request_key(request_key, request)) is not None:
            return earlier
        id, now = uuid.uuid4().hex, Clock()
        waits = session.translated < len(session.states)
        values = {
            "id": id,
            "request_key": request_key,
            "name": name,
            "format": format,
            "content": content,
            "state": "queued" if waits else "done",
            "sentences": len(session.states),
            "translated": session.translated,
            "session": session.rest,
            "created": now,
            "updated": now,
        }
        try:
            with self.database.writing() as connection:
                if waits and self._waiting(connection) >= queue_limit:
                    raise QueueFullError
                connection.execute(jobs.insert().values(values))
                if session.states:
                    connection.execute(sentences.insert(), _rows(id, session, 1))
        except IntegrityError:
            if request_key is not None and (earlier := self._by_request_key(request_key, request)) is not None:
                return earlier
            raise
        return self.get(id)

    def _by_request_key(self, key: str, request: tuple[str, str, bytes, str | None]) -> JobRecord | None:
        """Returns the job that a request with this key has made."""
        columns = [*_JOB_COLUMNS, jobs.c.content, jobs.c.session]
        with self.database.engine.connect() as connection:
            row = connection.execute(sql.select(*columns).where(jobs.c.request_key == key)).first()
        if row is None:
            return None
        if request != (row.name, row.format, row.content, row.session.get("formality")):
            raise ReusedKeyError
        return JobRecord(*row[:-2])

    def _waiting(self, connection: Connection) -> int:
        query = sql.select(sql.func.count()).select_from(jobs).where(jobs.c.state.in_(("queued", "running")))
        return connection.execute(query).scalar_one()

    def counts(self) -> dict[str, int]:
        """Returns the number of jobs by state."""
        with self.database.engine.connect() as connection:
            rows = connection.execute(sql.select(jobs.c.state, sql.func.count()).group_by(jobs.c.state))
            return {row[0]: row[1] for row in rows}

    def get(self, id: str) -> JobRecord:
        """Returns a job."""
        if (record := self._find(jobs.c.id == id)) is None:
            raise NotFoundError
        return record

    def _find(self, condition: sql.ColumnElement[bool]) -> JobRecord | None:
        with self.database.engine.connect() as connection:
            row = connection.execute(sql.select(*_JOB_COLUMNS).where(condition)).first()
        return None if row is None else JobRecord(*row)

    def recent(self, limit: int = 100, offset: int = 0) -> list[JobRecord]:
        """Returns jobs, newest first."""
        query = sql.select(*_JOB_COLUMNS).order_by(jobs.c.number.desc()).limit(limit).offset(offset)
        with self.database.engine.connect() as connection:
            return [JobRecord(*row) for row in connection.execute(query)]

    def sentences(
        self, id: str, after: int = -1, until: int | None = None, first: int = 0, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Returns the sentences that changed after a revision, as clients see them, from index `first` on."""
        columns = sentences.c
        query = sql.select(columns.shown, columns.revision).where(columns.job == id, columns.revision > after)
        query = query.where(columns.index >= first).order_by(columns.index).limit(limit)
        if until is not None:
            query = query.where(columns.revision <= until)
        with self.database.engine.connect() as connection:
            return [{**shown, "revision": revision} for shown, revision in connection.execute(query)]

    def load(self, id: str) -> StoredJob:
        """Returns a job with its document and the state of its session, all of one revision."""
        columns = [*_JOB_COLUMNS, jobs.c.content, jobs.c.session]
        with self.database.snapshot() as connection:
            row = connection.execute(sql.select(*columns).where(jobs.c.id == id)).first()
            if row is None:
                raise NotFoundError
            query = sql.select(sentences.c.state).where(sentences.c.job == id).order_by(sentences.c.index)
            states = list(connection.execute(query).scalars())
        return StoredJob(JobRecord(*row[:-2]), row.content, states, row.session)

    def delete(self, id: str) -> None:
        """Deletes a job; a server that works on it stops."""
        with self.database.writing() as connection:
            if connection.execute(jobs.delete().where(jobs.c.id == id)).rowcount == 0:
                raise NotFoundError

    def cancel(self, id: str) -> JobRecord:
        """Cancels a job that is waiting or being translated; no-op for any other."""
        with self.database.writing() as connection:
            waits = jobs.c.state.in_(("queued", "running"))
            connection.execute(jobs.update().where(jobs.c.id == id, waits).values(released("cancelled")))
        return self.get(id)

    def resume(self, id: str, queue_limit: int) -> JobRecord:
        """Queues a cancelled or failed job again; no-op for any other."""
        with self.database.writing() as connection:
            changes = {**released("queued"), "error": None, "attempts": 0}
            ended = jobs.c.state.in_(("cancelled", "failed"))
            resumed = connection.execute(jobs.update().where(jobs.c.id == id, ended).values(changes)).rowcount
            if resumed and self._waiting(connection) > queue_limit:
                raise QueueFullError  # the transaction is undone
        return self.get(id)

    def save_change(self, id: str, revision: int, change: SessionRecord) -> JobRecord:
        """Saves a correction made to revision `revision`; raises ConflictError if there is a later one."""
        with self.database.writing() as connection:
            values = session_columns(change)
            query = jobs.update().where(jobs.c.id == id, jobs.c.revision == revision).values(values)
            if connection.execute(query).rowcount == 0:
                raise ConflictError
            write_sentences(connection, id, change, revision + 1)
        return self.get(id)


def _rows(id: str, session: SessionRecord, revision: int) -> Sequence[dict[str, Any]]:
    return [
        {"job": id, "index": index, "revision": revision, "state": state, "shown": session.shown[index]}
        for index, state in session.states.items()
    ]
