"""The queue: threads that claim jobs from the database, translate them, and renew their leases."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from sqlalchemy.exc import SQLAlchemyError

from docgraph.errors import DocgraphError
from docgraph.server.database import ConflictError, State
from docgraph.server.leases import Lease, LeaseLostError
from docgraph.server.metrics import Metrics
from docgraph.server.session import Session
from docgraph.server.sessions import Sessions, difference
from docgraph.server.storage import NotFoundError, Store
from docgraph.server.tickets import Cancelled, Ticket

T = TypeVar("T")
logger = logging.getLogger("docgraph.server")
POLL_SECONDS = 1.0
"""How often an idle thread polls for jobs that other servers have queued or lost."""
RETRY_SECONDS = 1.0
"""Time between two attempts to save if the database does not answer or the disk is full."""


class JobQueue:
    """Claims jobs and translates them until it is stopped."""

    def __init__(
        self, store: Store, sessions: Sessions, metrics: Metrics, threads: int, on_change: Callable[[str], None]
    ) -> None:
        """`on_change` receives the id of each job that has changed."""
        self._store, self._leases, self._sessions = store, store.leases, sessions
        self._metrics, self._on_change = metrics, on_change
        self._active: dict[Lease, Ticket] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._wake = threading.Semaphore(0)
        self._threads = [
            threading.Thread(target=self._work, name=f"docgraph-job-{number}", daemon=True) for number in range(threads)
        ]
        self._threads.append(threading.Thread(target=self._renew, name="docgraph-leases", daemon=True))

    def start(self) -> None:
        """Starts the threads."""
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Gives the jobs back to the queue and ends the threads."""
        self._stop.set()
        with self._lock:
            for ticket in self._active.values():
                ticket.cancel()
        for _ in self._threads:
            self._wake.release()
        for thread in self._threads:
            thread.join()

    def notify(self) -> None:
        """Wakes a thread for a new job."""
        self._wake.release()

    def cancel(self, id: str) -> None:
        """Ends the work of this server on a job, which was cancelled or deleted in the database."""
        with self._lock:
            for lease, ticket in self._active.items():
                if lease.job == id:
                    ticket.cancel()

    def _work(self) -> None:
        while not self._stop.is_set():
            try:
                lease = self._leases.claim()
            except SQLAlchemyError as error:
                logger.error("cannot read the queue: %s", _first_line(error))
                self._stop.wait(RETRY_SECONDS)
                continue
            if lease is None:
                self._wake.acquire(timeout=POLL_SECONDS)
            else:
                self._run(lease)

    def _run(self, lease: Lease) -> None:
        """Translates a job, unless it is cancelled or its lease is lost."""
        ticket = Ticket()
        with self._lock:
            self._active[lease] = ticket
        self._on_change(lease.job)
        try:
            with ticket.active():
                self._translate(lease, ticket)
        except Cancelled:
            if self._stop.is_set():
                self._finish(lease, "queued")
        except (LeaseLostError, NotFoundError):
            self._metrics.taken_over.inc()
        except DocgraphError as error:
            self._finish(lease, "failed", str(error))
        except Exception:
            logger.exception("job %s failed", lease.job)
            self._finish(lease, "failed", "the document could not be translated; the log of the server says why")
        finally:
            with self._lock:
                del self._active[lease]
            self._on_change(lease.job)

    def _translate(self, lease: Lease, ticket: Ticket) -> None:
        """Translates a job and saves it after each step, with the corrections that users have saved meanwhile."""
        job = self._retry(ticket, lambda: self._store.load(lease.job))
        session, saved, revision = self._sessions.open(job), job.states, job.record.revision
        while True:
            for _ in session.translate():
                ticket.check()
                saved, revision = self._save(lease, ticket, session, saved, revision)
                self._on_change(lease.job)
            try:
                self._retry(ticket, partial(self._leases.finish, lease, "done", revision=revision))
            except ConflictError:
                saved, revision = self._save(lease, ticket, session, saved, revision)
            else:
                return

    def _save(
        self, lease: Lease, ticket: Ticket, session: Session, saved: list[Any], revision: int
    ) -> tuple[list[Any], int]:
        """Saves a session whose sentences `saved` were last saved as `revision`; returns the new values of both.

        If users have saved corrections since then, they are merged into the session.
        """
        while True:
            try:
                change = difference(session, saved)
                revision = self._retry(ticket, partial(self._leases.save_progress, lease, revision, change))
            except ConflictError:
                job = self._retry(ticket, partial(self._store.load, lease.job))
                session.merge(saved, {**job.rest, "sentences": job.states})
                saved, revision = job.states, job.record.revision
            else:
                return session.state["sentences"], revision

    def _finish(self, lease: Lease, state: State, error: str | None = None) -> None:
        try:
            self._retry(Ticket(), lambda: self._leases.finish(lease, state, error))
        except (LeaseLostError, NotFoundError, Cancelled):
            return

    def _retry(self, ticket: Ticket, action: Callable[[], T]) -> T:
        """Repeats a database action until it succeeds: a full disk or a restarted database lose nothing."""
        while True:
            try:
                return action()
            except SQLAlchemyError as error:
                logger.error("cannot save a job, trying again: %s", _first_line(error))
            ticket.check()
            if self._stop.wait(RETRY_SECONDS):
                raise Cancelled

    def _renew(self) -> None:
        while not self._stop.wait(self._leases.seconds / 3):
            with self._lock:
                active = list(self._active.items())
            for lease, ticket in active:
                try:
                    self._leases.renew(lease)
                except LeaseLostError:
                    ticket.cancel()
                except SQLAlchemyError as error:
                    logger.error("cannot renew a lease: %s", _first_line(error))


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]
