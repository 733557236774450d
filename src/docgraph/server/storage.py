"""Storage: jobs, their sentences and leases in a database.

The database is the only thing that servers share. A job belongs to a server for the time of a lease, which the server
renews; a job whose lease has run out is taken up by another server. Every claim draws a new owner id, and results are
saved only for the current owner, so a server that lost its lease (a pause, a jump of the clock) cannot write a result
twice. Times come from the clock of the database.

A job has a revision, which every change increases; a sentence has the revision of its last change. The sentences with a
higher revision are what a client that knows an earlier one has missed.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from docgraph.errors import DocgraphError

State = Literal["queued", "running", "done", "failed", "cancelled"]
ATTEMPTS = 20
"""Times that a job is taken up without any progress before it fails: its document may be what kills the servers. Many,
because a server that is killed again and again may make progress with other jobs only."""
_BUSY_SECONDS = 30
"""How long a transaction waits for another one of an SQLite file."""
_SCHEMA_LOCK = 0x646F636772617068
"""Number of the PostgreSQL lock under which the tables are made."""
_POSTGRES_MESSAGE = "install a driver with: pip install 'docgraph[postgres]'"

_metadata = sql.MetaData()
_jobs = sql.Table(
    "jobs",
    _metadata,
    sql.Column("number", sql.BigInteger().with_variant(sql.Integer, "sqlite"), primary_key=True, autoincrement=True),
    sql.Column("id", sql.String(32), nullable=False, unique=True),
    sql.Column("request_key", sql.String(200), unique=True),
    sql.Column("name", sql.Text, nullable=False),
    sql.Column("format", sql.String(200), nullable=False),
    sql.Column("content", sql.LargeBinary, nullable=False),
    sql.Column("state", sql.String(16), nullable=False, index=True),
    sql.Column("error", sql.Text),
    sql.Column("sentences", sql.Integer, nullable=False),
    sql.Column("translated", sql.Integer, nullable=False, default=0),
    sql.Column("revision", sql.Integer, nullable=False, default=1),
    sql.Column("can_undo", sql.Boolean, nullable=False, default=False),
    sql.Column("can_redo", sql.Boolean, nullable=False, default=False),
    sql.Column("session", sql.JSON, nullable=False),
    sql.Column("created", sql.Double, nullable=False),
    sql.Column("updated", sql.Double, nullable=False),
    sql.Column("owner", sql.String(32)),
    sql.Column("lease_until", sql.Double),
    sql.Column("attempts", sql.Integer, nullable=False, default=0),
)
_sentences = sql.Table(
    "sentences",
    _metadata,
    sql.Column("job", sql.String(32), sql.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    sql.Column("index", sql.Integer, primary_key=True),
    sql.Column("revision", sql.Integer, nullable=False),
    sql.Column("state", sql.JSON, nullable=False),
    sql.Column("shown", sql.JSON, nullable=False),
    sql.Index("sentences_by_revision", "job", "revision"),
)
_JOB_COLUMNS = [
    _jobs.c[name]
    for name in (
        "id",
        "name",
        "format",
        "state",
        "error",
        "sentences",
        "translated",
        "revision",
        "can_undo",
        "can_redo",
        "created",
        "updated",
    )
]


class _Clock(FunctionElement[float]):
    """The time of the database in seconds since 1970."""

    type = sql.Double()
    inherit_cache = True


@compiles(_Clock, "postgresql")
def _postgres_clock(*_: Any, **__: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


@compiles(_Clock, "sqlite")
def _sqlite_clock(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(_Clock, "mysql")
@compiles(_Clock, "mariadb")
def _mysql_clock(*_: Any, **__: Any) -> str:
    return "unix_timestamp(sysdate(6))"


class NotFoundError(Exception):
    """There is no such job."""


class ConflictError(Exception):
    """The job has changed since it was read."""


class QueueFullError(Exception):
    """As many jobs wait as may wait."""


class LeaseLostError(Exception):
    """The job was cancelled, deleted, or taken up by another server."""


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


@dataclass(frozen=True)
class SessionRecord:
    """What a session consists of: the sentences and the rest of its state."""

    states: Mapping[int, Any]
    """Saved state by sentence; only those that changed, where a change is saved."""
    shown: Mapping[int, Any]
    """The same sentences as clients see them."""
    rest: Any
    translated: int
    can_undo: bool = False
    can_redo: bool = False


@dataclass(frozen=True)
class StoredJob:
    """A job with everything that its session is built from."""

    record: JobRecord
    content: bytes = field(repr=False)
    states: list[Any] = field(repr=False)
    rest: Any = field(repr=False)


@dataclass(frozen=True)
class Lease:
    """A job that this server owns for now."""

    job: str
    owner: str


class Store:
    """Jobs in a database. Threads may share a store."""

    def __init__(self, url: str, lease_seconds: float = 15.0) -> None:
        self.lease_seconds = lease_seconds
        self.engine = _engine(url)
        try:
            with self._writing() as connection:
                if self.engine.dialect.name == "postgresql":  # several servers may start at once
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
                _metadata.create_all(connection)
        except SQLAlchemyError as error:
            reason = str(error.__cause__ or error).strip().splitlines()[0]
            raise DocgraphError(f"cannot open the database ({reason}); check --database") from None

    def close(self) -> None:
        """Closes all connections."""
        self.engine.dispose()

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    def check(self) -> None:
        """Raises a database error if the database cannot be written to."""
        with self._writing() as connection:
            connection.execute(_jobs.update().where(_jobs.c.number == -1).values(attempts=0))

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
        """Queues a job; returns the job of an earlier call if that had the same `request_key`."""
        if request_key is not None and (earlier := self._by_request_key(request_key)) is not None:
            return earlier
        id, now = uuid.uuid4().hex, _Clock()
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
            with self._writing() as connection:
                if waits and self._waiting(connection) >= queue_limit:
                    raise QueueFullError
                connection.execute(_jobs.insert().values(values))
                if session.states:
                    connection.execute(_sentences.insert(), _rows(id, session, 1))
        except IntegrityError:
            if request_key is not None and (earlier := self._by_request_key(request_key)) is not None:
                return earlier
            raise
        return self.get(id)

    def _by_request_key(self, key: str) -> JobRecord | None:
        with self.engine.connect() as connection:
            row = connection.execute(sql.select(*_JOB_COLUMNS).where(_jobs.c.request_key == key)).first()
        return None if row is None else JobRecord(*row)

    def _waiting(self, connection: Connection) -> int:
        query = sql.select(sql.func.count()).select_from(_jobs).where(_jobs.c.state.in_(("queued", "running")))
        return connection.execute(query).scalar_one()

    def counts(self) -> dict[str, int]:
        """Returns the number of jobs by state."""
        with self.engine.connect() as connection:
            rows = connection.execute(sql.select(_jobs.c.state, sql.func.count()).group_by(_jobs.c.state))
            return {row[0]: row[1] for row in rows}

    def get(self, id: str) -> JobRecord:
        """Returns a job."""
        with self.engine.connect() as connection:
            row = connection.execute(sql.select(*_JOB_COLUMNS).where(_jobs.c.id == id)).first()
        if row is None:
            raise NotFoundError
        return JobRecord(*row)

    def recent(self, limit: int = 100, offset: int = 0) -> list[JobRecord]:
        """Returns jobs, newest first."""
        query = sql.select(*_JOB_COLUMNS).order_by(_jobs.c.number.desc()).limit(limit).offset(offset)
        with self.engine.connect() as connection:
            return [JobRecord(*row) for row in connection.execute(query)]

    def sentences(
        self, id: str, after: int = -1, until: int | None = None, first: int = 0, limit: int | None = None
    ) -> list[dict[str, Any]]:
        """Returns the sentences that changed after a revision, as clients see them, from index `first` on."""
        columns = _sentences.c
        query = sql.select(columns.shown, columns.revision).where(columns.job == id, columns.revision > after)
        query = query.where(columns.index >= first).order_by(columns.index).limit(limit)
        if until is not None:
            query = query.where(columns.revision <= until)
        with self.engine.connect() as connection:
            return [{**shown, "revision": revision} for shown, revision in connection.execute(query)]

    def load(self, id: str) -> StoredJob:
        """Returns a job with its document and the state of its session, all of one revision."""
        columns = [*_JOB_COLUMNS, _jobs.c.content, _jobs.c.session]
        with self._snapshot() as connection:
            row = connection.execute(sql.select(*columns).where(_jobs.c.id == id)).first()
            if row is None:
                raise NotFoundError
            query = sql.select(_sentences.c.state).where(_sentences.c.job == id).order_by(_sentences.c.index)
            states = list(connection.execute(query).scalars())
        return StoredJob(JobRecord(*row[:-2]), row.content, states, row.session)

    @contextmanager
    def _snapshot(self) -> Iterator[Connection]:
        level = {} if self.engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**level) as connection, connection.begin():
            yield connection

    def delete(self, id: str) -> None:
        """Deletes a job; a server that works on it stops."""
        with self._writing() as connection:
            if connection.execute(_jobs.delete().where(_jobs.c.id == id)).rowcount == 0:
                raise NotFoundError

    def cancel(self, id: str) -> JobRecord:
        """Cancels a job that waits or is being translated; no-op for any other."""
        with self._writing() as connection:
            changes = {"state": "cancelled", "owner": None, "lease_until": None, **_touch()}
            waits = _jobs.c.state.in_(("queued", "running"))
            connection.execute(_jobs.update().where(_jobs.c.id == id, waits).values(changes))
        return self.get(id)

    def resume(self, id: str, queue_limit: int) -> JobRecord:
        """Queues a job again that was cancelled or failed; no-op for any other."""
        with self._writing() as connection:
            changes = {"state": "queued", "error": None, "attempts": 0, **_touch()}
            ended = _jobs.c.state.in_(("cancelled", "failed"))
            resumed = connection.execute(_jobs.update().where(_jobs.c.id == id, ended).values(changes)).rowcount
            if resumed and self._waiting(connection) > queue_limit:
                raise QueueFullError  # the transaction is undone
        return self.get(id)

    def save_change(self, id: str, revision: int, change: SessionRecord) -> JobRecord:
        """Saves a correction made to revision `revision`; raises ConflictError if there is a later one."""
        with self._writing() as connection:
            values = _session_values(change)
            query = _jobs.update().where(_jobs.c.id == id, _jobs.c.revision == revision).values(values)
            if connection.execute(query).rowcount == 0:
                raise ConflictError
            _write(connection, id, change, revision + 1)
        return self.get(id)

    # Leases

    def claim(self) -> Lease | None:
        """Takes up the job that has waited longest, or one whose server has died; None if there is none."""
        with self._writing() as connection:
            while True:
                order = (_jobs.c.attempts, _jobs.c.number)  # those that may kill the server come last
                query = sql.select(_jobs.c.id, _jobs.c.attempts).where(self._claimable()).order_by(*order)
                row = connection.execute(query.limit(1).with_for_update(skip_locked=True)).first()
                if row is None:
                    return None
                if row.attempts < ATTEMPTS:
                    break
                message = f"the server died {ATTEMPTS} times while translating this document; split it"
                failed = {"state": "failed", "error": message, "owner": None, "lease_until": None, **_touch()}
                connection.execute(_jobs.update().where(_jobs.c.id == row.id).values(failed))
            lease = Lease(row.id, uuid.uuid4().hex)
            values = {"state": "running", "owner": lease.owner, "attempts": _jobs.c.attempts + 1, **_touch()}
            values["lease_until"] = _Clock() + self.lease_seconds
            connection.execute(_jobs.update().where(_jobs.c.id == lease.job).values(values))
        return lease

    def _claimable(self) -> sql.ColumnElement[bool]:
        """A lease that ends later than any new one would was made before the clock was set back; it counts as over."""
        until, now = _jobs.c.lease_until, _Clock()
        is_over = sql.or_(until < now, until > now + 2 * self.lease_seconds)
        return sql.or_(_jobs.c.state == "queued", sql.and_(_jobs.c.state == "running", is_over))

    def renew(self, lease: Lease) -> None:
        """Extends a lease; raises LeaseLostError if another server owns the job or nobody wants it any more."""
        with self._writing() as connection:
            self._update_owned(connection, lease, {"lease_until": _Clock() + self.lease_seconds})

    def save_progress(self, lease: Lease, revision: int, change: SessionRecord) -> int:
        """Saves translated sentences and extends the lease; returns the new revision.

        Raises ConflictError if a correction was saved after `revision`.
        """
        with self._writing() as connection:
            values = {**_session_values(change), "attempts": 0, "lease_until": _Clock() + self.lease_seconds}
            self._update_owned(connection, lease, values, revision)
            _write(connection, lease.job, change, revision + 1)
        return revision + 1

    def finish(self, lease: Lease, state: State, error: str | None = None, revision: int | None = None) -> None:
        """Ends the work on a job; the state `queued` gives it back to the queue.

        Raises ConflictError if a correction was saved after `revision`.
        """
        with self._writing() as connection:
            values = {"state": state, "error": error, "owner": None, "lease_until": None, "attempts": 0, **_touch()}
            self._update_owned(connection, lease, values, revision)

    def _update_owned(
        self, connection: Connection, lease: Lease, values: Mapping[str, Any], revision: int | None = None
    ) -> None:
        is_owned = sql.and_(_jobs.c.id == lease.job, _jobs.c.owner == lease.owner)
        is_current = sql.true() if revision is None else _jobs.c.revision == revision
        if connection.execute(_jobs.update().where(is_owned, is_current).values(values)).rowcount == 0:
            if connection.execute(sql.select(_jobs.c.id).where(is_owned)).first() is None:
                raise LeaseLostError
            raise ConflictError


def _touch() -> dict[str, Any]:
    return {"revision": _jobs.c.revision + 1, "updated": _Clock()}


def _session_values(change: SessionRecord) -> dict[str, Any]:
    """Returns the columns of a job that a change of its session sets."""
    return {
        "session": change.rest,
        "translated": change.translated,
        "can_undo": change.can_undo,
        "can_redo": change.can_redo,
        **_touch(),
    }


def _rows(id: str, session: SessionRecord, revision: int) -> Sequence[dict[str, Any]]:
    return [
        {"job": id, "index": index, "revision": revision, "state": state, "shown": session.shown[index]}
        for index, state in session.states.items()
    ]


def _write(connection: Connection, id: str, change: SessionRecord, revision: int) -> None:
    """Overwrites the sentences of a change."""
    if not change.states:
        return
    table = _sentences
    query = table.update().where(table.c.job == id, table.c.index == sql.bindparam("place"))
    query = query.values(revision=revision, state=sql.bindparam("new_state"), shown=sql.bindparam("new_shown"))
    rows = [
        {"place": index, "new_state": state, "new_shown": change.shown[index]} for index, state in change.states.items()
    ]
    connection.execute(query, rows)


def _engine(url: str) -> Engine:
    """Returns the engine of a database; SQLite files are opened in WAL mode."""
    try:
        engine = sql.create_engine(url, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError):
        raise DocgraphError(
            "--database is not the URL of a database; write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"
        ) from None
    except ImportError as error:
        raise DocgraphError(f"--database: {error.name} is not installed; {_POSTGRES_MESSAGE}") from None
    if engine.dialect.name not in ("sqlite", "postgresql", "mysql", "mariadb"):
        raise DocgraphError(f"--database: {engine.dialect.name} is not supported; use SQLite or PostgreSQL")
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _configure_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _configure_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin in _begin_sqlite
    for pragma in (
        f"busy_timeout = {_BUSY_SECONDS * 1000}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that reads first and then writes fails if another one has written in between.
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
