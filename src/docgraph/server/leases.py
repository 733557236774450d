"""Leases: which server translates which job.

A job belongs to a server for the time of a lease, which the server renews; a job whose lease has run out is taken up by
another server. Every claim draws a new owner id, and results are saved only for the current owner, so a server that
lost its lease (a pause, a jump of the clock) cannot overwrite the results of another one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from docgraph.server.database import (
    Clock,
    ConflictError,
    Database,
    SessionRecord,
    State,
    jobs,
    next_revision,
    released,
    session_columns,
    write_sentences,
)

ATTEMPTS = 20
"""Number of claims without any progress after which a job fails, because its document may crash servers. The number is
high, because a server that is killed repeatedly may have made progress with other jobs only."""


class LeaseLostError(Exception):
    """The job was cancelled, deleted, or claimed by another server."""


@dataclass(frozen=True)
class Lease:
    """A job that this server currently owns."""

    job: str
    owner: str


class Leases:
    """Gives jobs to the servers that translate them, and saves their progress. Threads may share it."""

    def __init__(self, database: Database, seconds: float) -> None:
        self._database = database
        self.seconds = seconds
        """How long a lease lasts after it is claimed or renewed."""

    def claim(self) -> Lease | None:
        """Claims the job that has waited longest, or a job whose server has died; None if there is none."""
        with self._database.writing() as connection:
            while True:
                order = (jobs.c.attempts, jobs.c.number)  # those that may kill the server come last
                query = sql.select(jobs.c.id, jobs.c.attempts).where(self._claimable()).order_by(*order)
                row = connection.execute(query.limit(1).with_for_update(skip_locked=True)).first()
                if row is None:
                    return None
                if row.attempts < ATTEMPTS:
                    break
                message = f"the server died {ATTEMPTS} times while translating this document; split it"
                failed = jobs.update().where(jobs.c.id == row.id).values(**released("failed"), error=message)
                connection.execute(failed)
            lease = Lease(row.id, uuid.uuid4().hex)
            values = {"state": "running", "owner": lease.owner, "attempts": jobs.c.attempts + 1, **next_revision()}
            values["lease_until"] = Clock() + self.seconds
            connection.execute(jobs.update().where(jobs.c.id == lease.job).values(values))
        return lease

    def _claimable(self) -> sql.ColumnElement[bool]:
        """A lease that ends later than any new one would was made before the clock was set back; it counts as over."""
        until, now = jobs.c.lease_until, Clock()
        is_over = sql.or_(until < now, until > now + 2 * self.seconds)
        return sql.or_(jobs.c.state == "queued", sql.and_(jobs.c.state == "running", is_over))

    def renew(self, lease: Lease) -> None:
        """Extends a lease; raises LeaseLostError if another server owns the job or nobody wants it any more."""
        with self._database.writing() as connection:
            self._update_owned(connection, lease, {"lease_until": Clock() + self.seconds})

    def save_progress(self, lease: Lease, revision: int, change: SessionRecord) -> int:
        """Saves translated sentences and extends the lease; returns the new revision.

        Raises ConflictError if a correction was saved after `revision`.
        """
        with self._database.writing() as connection:
            values = {**session_columns(change), "attempts": 0, "lease_until": Clock() + self.seconds}
            self._update_owned(connection, lease, values, revision)
            write_sentences(connection, lease.job, change, revision + 1)
        return revision + 1

    def finish(self, lease: Lease, state: State, error: str | None = None, revision: int | None = None) -> None:
        """Ends the work on a job; the state `queued` gives it back to the queue.

        Raises ConflictError if a correction was saved after `revision`.
        """
        with self._database.writing() as connection:
            values = {**released(state), "error": error, "attempts": 0}
            self._update_owned(connection, lease, values, revision)

    def _update_owned(
        self, connection: Connection, lease: Lease, values: Mapping[str, Any], revision: int | None = None
    ) -> None:
        is_owned = sql.and_(jobs.c.id == lease.job, jobs.c.owner == lease.owner)
        is_current = sql.true() if revision is None else jobs.c.revision == revision
        if connection.execute(jobs.update().where(is_owned, is_current).values(values)).rowcount == 0:
            if connection.execute(sql.select(jobs.c.id).where(is_owned)).first() is None:
                raise LeaseLostError
            raise ConflictError
