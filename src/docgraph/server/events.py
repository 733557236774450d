"""Server-sent event streams, which wake when their job changes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

POLL_SECONDS = 1.0
"""How often a stream polls for changes by other servers."""
KEEP_ALIVE_SECONDS = 15.0


class Changes:
    """Wakes the streams of jobs that change; any thread may call `notify`."""

    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self.closed = False

    def open(self) -> None:
        """Binds the object to the running event loop."""
        self._loop, self.closed = asyncio.get_running_loop(), False

    def close(self) -> None:
        """Ends all streams."""
        self.closed = True
        for job in [*self._waiting]:
            self._set(job)

    def notify(self, job: str) -> None:
        """Wakes the streams of a job."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._set, job)

    def _set(self, job: str) -> None:
        for each in self._waiting.get(job, ()):
            each.set()

    async def stream(self, job: str, news: Callable[[], Any]) -> AsyncIterator[str]:
        """Yields server-sent events: the results of the coroutine `news`, which is called after every change.

        `news` returns a list of (event, id or None, data), or None to end the stream.
        """
        event = asyncio.Event()
        self._waiting.setdefault(job, set()).add(event)
        silent = 0.0
        try:
            while not self.closed:
                event.clear()
                found = await news()
                if found is None:
                    return
                if found:
                    silent = 0.0
                    yield "".join(_format(*each) for each in found)
                try:
                    await asyncio.wait_for(event.wait(), POLL_SECONDS)
                except TimeoutError:
                    silent += POLL_SECONDS
                    if silent >= KEEP_ALIVE_SECONDS:
                        silent = 0.0
                        yield ": nothing new\n\n"
        finally:
            self._waiting[job].discard(event)
            if not self._waiting[job]:
                del self._waiting[job]


def _format(event: str, id: int | None, data: Any) -> str:
    """Returns one server-sent event."""
    line = "" if id is None else f"id: {id}\n"
    return f"event: {event}\n{line}data: {json.dumps(data)}\n\n"
