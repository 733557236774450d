"""Tickets: cancel the work of a request from another thread, after its client disconnects or its time is over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


class Cancelled(Exception):  # noqa: N818 (not an error)
    """Raised in a thread whose ticket was cancelled."""


class Ticket:
    """The permission of a request to use the model, until it is cancelled."""

    def __init__(self) -> None:
        self._cancelled = threading.Event()
        self._on_cancel: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        """True once `cancel` was called."""
        return self._cancelled.is_set()

    def cancel(self) -> None:
        """Interrupts the thread that waits under this ticket."""
        self._cancelled.set()
        for call in [*self._on_cancel]:
            call()

    def check(self) -> None:
        """Raises `Cancelled` if the ticket was cancelled."""
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def active(self) -> Iterator[None]:
        """Makes this the ticket of the current thread."""
        token = _ticket.set(self)
        try:
            yield
        finally:
            _ticket.reset(token)

    @contextmanager
    def on_cancel(self, call: Callable[[], None]) -> Iterator[None]:
        """Calls `call` if the ticket is cancelled inside the block."""
        self._on_cancel.append(call)
        try:
            self.check()
            yield
        finally:
            self._on_cancel.remove(call)


_ticket: ContextVar[Ticket | None] = ContextVar("ticket", default=None)


def current_ticket() -> Ticket:
    """Returns the ticket of the current thread; a new one, which is never cancelled, if the thread has none."""
    return _ticket.get() or Ticket()
