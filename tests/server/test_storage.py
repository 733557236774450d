"""Storage: leases, fencing, revisions and conflicts, on SQLite and on PostgreSQL."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sql

from docgraph.errors import DocgraphError
from docgraph.server import storage
from docgraph.server.storage import (
    ConflictError,
    JobRecord,
    Lease,
    LeaseLostError,
    NotFoundError,
    QueueFullError,
    SessionRecord,
    Store,
)


def waiting(count: int) -> SessionRecord:
    """A document whose sentences wait."""
    return SessionRecord({m: {"t": None} for m in range(count)}, {m: {"index": m} for m in range(count)}, {}, 0)


def translated(*indices: int) -> SessionRecord:
    """A change: some sentences are translated."""
    states = {m: {"t": f"text {m} \u0000 \ud800"} for m in indices}
    return SessionRecord(states, {m: {"index": m, "translation": "x"} for m in indices}, {"step": 1}, len(indices))


def add(store: Store, sentences: int = 3, limit: int = 1000, key: str | None = None) -> JobRecord:
    return store.add("a.txt", "text", b"\0content", waiting(sentences), queue_limit=limit, request_key=key)


def execute(store: Store, query: str) -> None:
    with store.engine.begin() as connection:
        connection.exec_driver_sql(query)


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    store = Store(database, lease_seconds=60)
    yield store
    store.close()


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


def test_each_job_is_claimed_once_by_many_servers(database: str, store: Store) -> None:
    ids = [add(store).id for _ in range(40)]
    stores = [Store(database, lease_seconds=60) for _ in range(4)]

    def claim_all(store: Store) -> list[Lease]:
        return list(iter(store.claim, None))

    with ThreadPoolExecutor(8) as threads:
        leases = [lease for each in threads.map(claim_all, stores * 2) for lease in each]
    assert Counter(lease.job for lease in leases) == Counter(ids)
    assert len({lease.owner for lease in leases}) == len(ids)
    for each in stores:
        each.close()


def test_progress_has_revisions(store: Store) -> None:
    id = add(store).id
    lease = store.claim()
    assert lease is not None
    assert store.get(id).state == "running"
    before = store.get(id).revision
    assert store.save_progress(lease, before, translated(0, 2)) == before + 1
    job = store.get(id)
    assert (job.revision, job.translated) == (before + 1, 2)
    assert [each["index"] for each in store.sentences(id, after=before)] == [0, 2]
    assert [each["revision"] for each in store.sentences(id)] == [job.revision, 1, job.revision]
    assert [each["index"] for each in store.sentences(id, first=1, limit=1)] == [1]
    assert store.sentences(id, after=before, until=before) == []
    assert store.load(id).states == [{"t": "text 0 \u0000 \ud800"}, {"t": None}, {"t": "text 2 \u0000 \ud800"}]
    store.finish(lease, "done", revision=job.revision)
    assert store.get(id).state == "done"
    with pytest.raises(LeaseLostError):
        store.renew(lease)


def test_progress_does_not_overwrite_a_correction(store: Store) -> None:
    id = add(store).id
    lease = store.claim()
    assert lease is not None
    before = store.get(id).revision
    store.save_change(id, before, translated(1))
    for action in (
        lambda: store.save_progress(lease, before, translated(0)),
        lambda: store.finish(lease, "done", revision=before),
    ):
        with pytest.raises(ConflictError):
            action()
    assert store.get(id).state == "running"
    assert [state["t"] is None for state in store.load(id).states] == [True, False, True]
    store.save_progress(lease, before + 1, translated(0))
    assert [state["t"] is None for state in store.load(id).states] == [False, False, True]


def test_a_job_of_a_dead_server_is_taken_up_and_the_dead_one_is_fenced(store: Store) -> None:
    id = add(store).id
    first = store.claim()
    assert first is not None
    assert store.claim() is None
    execute(store, "UPDATE jobs SET lease_until = lease_until - 61")  # the server is silent for a minute
    second = store.claim()
    assert second is not None
    assert second.job == id
    assert second.owner != first.owner
    for action in (
        lambda: store.save_progress(first, store.get(id).revision, translated(0)),
        lambda: store.renew(first),
        lambda: store.finish(first, "done"),
    ):
        with pytest.raises(LeaseLostError):
            action()
    assert store.load(id).states == [{"t": None}] * 3
    store.save_progress(second, store.get(id).revision, translated(1))
    assert store.get(id).translated == 1


def test_leases_survive_a_clock_that_is_set_back(store: Store) -> None:
    add(store)
    assert store.claim() is not None
    execute(store, "UPDATE jobs SET lease_until = lease_until + 3600")  # made when the clock was an hour ahead
    assert store.claim() is not None


def test_a_renewed_lease_lasts(store: Store) -> None:
    add(store)
    lease = store.claim()
    assert lease is not None
    execute(store, "UPDATE jobs SET lease_until = lease_until - 59.5")
    store.renew(lease)
    time.sleep(0.6)
    assert store.claim() is None


def test_a_job_that_kills_servers_fails_but_one_that_makes_progress_does_not(store: Store) -> None:
    id = add(store).id
    for _ in range(2 * storage.ATTEMPTS):
        lease = store.claim()
        assert lease is not None
        store.save_progress(lease, store.get(id).revision, translated(0))
        execute(store, "UPDATE jobs SET lease_until = 1")
    for _ in range(storage.ATTEMPTS):
        assert store.claim() is not None
        execute(store, "UPDATE jobs SET lease_until = 1")
    assert store.claim() is None
    assert store.get(id).state == "failed"
    assert "died" in (store.get(id).error or "")


def test_a_job_whose_server_died_is_claimed_after_those_that_wait(store: Store) -> None:
    first, second = add(store).id, add(store).id
    claimed = []
    for _ in range(3):
        lease = store.claim()
        assert lease is not None
        claimed.append(lease.job)
        execute(store, "UPDATE jobs SET lease_until = 1 WHERE state = 'running'")
    assert claimed == [first, second, first]


def test_a_cancelled_job_is_not_claimed_and_its_server_is_fenced(store: Store) -> None:
    id = add(store).id
    lease = store.claim()
    assert lease is not None
    assert store.cancel(id).state == "cancelled"
    with pytest.raises(LeaseLostError):
        store.save_progress(lease, store.get(id).revision, translated(0))
    assert store.claim() is None
    revision = store.get(id).revision
    assert store.cancel(id).revision == revision


def test_a_cancelled_or_failed_job_is_resumed(store: Store) -> None:
    id = add(store, limit=1).id
    old = store.claim()
    assert old is not None
    store.save_progress(old, store.get(id).revision, translated(0))
    store.cancel(id)
    other = add(store, limit=1).id
    with pytest.raises(QueueFullError):
        store.resume(id, queue_limit=1)
    assert store.get(id).state == "cancelled"
    store.cancel(other)
    assert store.resume(id, queue_limit=1).state == "queued"
    new = store.claim()
    assert new is not None
    assert new.job == id
    assert store.resume(id, queue_limit=1).state == "running"  # no-op
    with pytest.raises(LeaseLostError):
        store.save_progress(old, store.get(id).revision, translated(1))
    store.finish(new, "failed", "a reason")
    resumed = store.resume(id, queue_limit=1)
    assert (resumed.state, resumed.error, resumed.translated) == ("queued", None, 1)


def test_a_job_that_is_given_back_is_claimed_at_once(store: Store) -> None:
    id = add(store).id
    lease = store.claim()
    assert lease is not None
    store.finish(lease, "queued")
    assert store.get(id).state == "queued"
    again = store.claim()
    assert again is not None
    assert again.job == id


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
    with store.engine.connect() as connection:
        assert connection.execute(sql.text("PRAGMA journal_mode")).scalar_one() == "wal"
        assert connection.execute(sql.text("PRAGMA foreign_keys")).scalar_one() == 1
    store.close()
