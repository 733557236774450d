"""The database of the jobs: its tables, its clock and its transactions.

Servers share nothing but the database; its clock gives all times.

Every change increases the revision of a job. A sentence has the revision of its last change, so a client that knows a
revision has missed the sentences with a higher one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sql
from sqlalchemy import event
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from docgraph.errors import DocgraphError

State = Literal["queued", "running", "done", "failed", "cancelled"]
_BUSY_SECONDS = 30
"""How long a transaction waits for other transactions on an SQLite file."""
_SCHEMA_LOCK = 0x646F636772617068
"""Number of the PostgreSQL advisory lock held while the tables are created."""
_POSTGRES_MESSAGE = "install a driver with: pip install 'docgraph[postgres]'"

_metadata = sql.MetaData()
jobs = sql.Table(
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
sentences = sql.Table(
    "sentences",
    _metadata,
    sql.Column("job", sql.String(32), sql.ForeignKey("jobs.id", ondelete="CASCADE"), primary_key=True),
    sql.Column("index", sql.Integer, primary_key=True),
    sql.Column("revision", sql.Integer, nullable=False),
    sql.Column("state", sql.JSON, nullable=False),
    sql.Column("shown", sql.JSON, nullable=False),
    sql.Index("sentences_by_revision", "job", "revision"),
)


class Clock(FunctionElement[float]):
    """The time of the database in seconds since 1970."""

    type = sql.Double()
    inherit_cache = True


@compiles(Clock, "postgresql")
def _postgres_clock(*_: Any, **__: Any) -> str:
    return "extract(epoch from clock_timestamp())::double precision"


@compiles(Clock, "sqlite")
def _sqlite_clock(*_: Any, **__: Any) -> str:
    return "((julianday('now') - 2440587.5) * 86400.0)"


@compiles(Clock, "mysql")
@compiles(Clock, "mariadb")
def _mysql_clock(*_: Any, **__: Any) -> str:
    return "unix_timestamp(sysdate(6))"


class ConflictError(Exception):
    """The job has changed since it was read."""


@dataclass(frozen=True)
class SessionRecord:
    """A session as stored: its sentences and the rest of its state."""

    states: Mapping[int, Any]
    """Saved state by sentence; in a change, only the sentences that changed."""
    shown: Mapping[int, Any]
    """The same sentences as clients see them."""
    rest: Any
    translated: int
    can_undo: bool = False
    can_redo: bool = False


class Database:
    """An SQL database with the tables of jobs. Threads may share it."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)
        try:
            with self.writing() as connection:
                if self.engine.dialect.name == "postgresql":  # several servers may start at once
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
                _metadata.create_all(connection)
        except SQLAlchemyError as error:
            reason = str(error.__cause__ or error).strip().splitlines()[0]
            raise DocgraphError(f"cannot open the database ({reason}); check --database") from None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Opens a transaction that writes."""
        with self.engine.connect().execution_options(writes=True) as connection, connection.begin():
            yield connection

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Opens a transaction whose queries all see the same revision of a job."""
        level = {} if self.engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        with self.engine.connect().execution_options(**level) as connection, connection.begin():
            yield connection


def next_revision() -> dict[str, Any]:
    """Returns the columns that every change of a job sets."""
    return {"revision": jobs.c.revision + 1, "updated": Clock()}


def released(state: State) -> dict[str, Any]:
    """Returns the columns of a job that no server works on any more."""
    return {"state": state, "owner": None, "lease_until": None, **next_revision()}


def session_columns(change: SessionRecord) -> dict[str, Any]:
    """Returns the columns of a job that a change of its session sets."""
    return {
        "session": change.rest,
        "translated": change.translated,
        "can_undo": change.can_undo,
        "can_redo": change.can_redo,
        **next_revision(),
    }


def write_sentences(connection: Connection, id: str, change: SessionRecord, revision: int) -> None:
    """Overwrites the sentences of a change."""
    if not change.states:
        return
    query = sentences.update().where(sentences.c.job == id, sentences.c.index == sql.bindparam("place"))
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
