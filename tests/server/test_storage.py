"""Storage: jobs, revisions and conflicts, on SQLite and on PostgreSQL."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sql

from docgraph.errors import DocgraphError
from docgraph.server.database import ConflictError
from docgraph.server.storage import NotFoundError, QueueFullError, Store
from server.store_examples import add, translated


def test_jobs_are_stored_listed_and_deleted(store: Store) -> None:
    first, second = add(store), add(store, 0)
    assert (first.state, first.sentences, first.revision) == ("queued", 3, 1)
    assert second.state == "done"  # nothing to translate
    assert abs(first.created - time.time()) < 60
    assert [job.id for job in store.recent()] == [second.id, first.id]
    assert [job.id for job in store.recent(limit=1, offset=1)] == [first.id]
    stored = store.load(first.id)
    assert (stored.content, stored.rest, stored.states) == (b"\0content", {}, [{"t": None}] * 3)
    assert store.counts() == {"queued": 1, "done": 1}
    store.delete(first.id)
    assert store.sentences(first.id) == []
    for action in (store.get, store.delete, store.load, store.cancel):
        with pytest.raises(NotFoundError):
            action(first.id)


def test_a_request_key_makes_one_job_even_at_once(store: Store) -> None:
    with ThreadPoolExecutor(8) as threads:
        jobs = list(threads.map(lambda _: add(store, key="k").id, range(16)))
    assert len({*jobs}) == 1
    assert len(store.recent()) == 1


def test_the_queue_is_bounded(store: Store) -> None:
    add(store, limit=2)
    add(store, limit=2)
    with pytest.raises(QueueFullError):
        add(store, limit=2)
    add(store, 0, limit=2)  # needs no translation


def test_of_two_changes_of_one_revision_one_is_refused(store: Store) -> None:
    job = add(store)
    store.save_change(job.id, 1, translated(0))
    with pytest.raises(ConflictError):
        store.save_change(job.id, 1, translated(1))
    assert store.load(job.id).rest == {"step": 1}
    assert [each["index"] for each in store.sentences(job.id, after=1)] == [0]


def test_concurrent_changes_are_serialised(store: Store) -> None:
    id = add(store, 8).id

    def change(index: int) -> None:
        while True:
            try:
                store.save_change(id, store.get(id).revision, translated(index))
                return
            except ConflictError:
                continue

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(change, range(8)))
    assert store.get(id).revision == 9
    assert sorted(each["revision"] for each in store.sentences(id)) == list(range(2, 10))


def test_servers_that_start_at_once_make_the_tables_once(database: str) -> None:
    with ThreadPoolExecutor(6) as threads:
        stores = list(threads.map(Store, [database] * 6))
    assert add(stores[0]).id == stores[5].recent()[0].id
    for each in stores:
        each.close()


@pytest.mark.parametrize(
    "url", ["sqlite:////nonexistent/folder/jobs.sqlite", "postgresql+psycopg://docgraph@/x?host=/nonexistent"]
)
def test_a_database_that_cannot_be_opened_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(DocgraphError, match="cannot open the database") as raised:
        Store(url)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("url", ["nonsense", "sqlit:///x", "oracle://x", "postgresql+nothing://x"])
def test_a_bad_url_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(DocgraphError, match="database"):
        Store(url)


def test_sqlite_files_are_in_wal_mode(tmp_path: object) -> None:
    store = Store(f"sqlite:///{tmp_path}/jobs.sqlite")
    with store.database.engine.connect() as connection:
        assert connection.execute(sql.text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(sql.text("PRAGMA foreign_keys")).scalar_one() == 1
    store.close()
