"""Jobs for tests of the database."""

from __future__ import annotations

from docgraph.server.database import SessionRecord
from docgraph.server.storage import JobRecord, Store


def waiting(count: int) -> SessionRecord:
    """A document whose sentences wait."""
    return SessionRecord({m: {"t": None} for m in range(count)}, {m: {"index": m} for m in range(count)}, {}, 0)


def translated(*indices: int) -> SessionRecord:
    """A change: some sentences are translated."""
    states = {m: {"t": f"text {m} \u0000 \ud800"} for m in indices}
    return SessionRecord(states, {m: {"index": m, "translation": "x"} for m in indices}, {"step": 1}, len(indices))


def add(store: Store, sentences: int = 3, limit: int = 1000, key: str | None = None) -> JobRecord:
    """Queues a document."""
    return store.add("a.txt", "text", b"\0content", waiting(sentences), queue_limit=limit, request_key=key)
