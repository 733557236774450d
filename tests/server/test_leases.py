"""Leases: claims, fencing, renewal and progress, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from docgraph.server.database import ConflictError
from docgraph.server.leases import ATTEMPTS, Lease, LeaseLostError
from docgraph.server.storage import QueueFullError, Store
from server.store_examples import add, translated


def execute(store: Store, query: str) -> None:
    with store.database.engine.begin() as connection:
        connection.exec_driver_sql(query)


def test_each_job_is_claimed_once_by_many_servers(database: str, store: Store) -> None:
    ids = [add(store).id for _ in range(40)]
    stores = [Store(database, lease_seconds=60) for _ in range(4)]

    def claim_all(store: Store) -> list[Lease]:
        return list(iter(store.leases.claim, None))

    with ThreadPoolExecutor(8) as threads:
        leases = [lease for each in threads.map(claim_all, stores * 2) for lease in each]
    assert Counter(lease.job for lease in leases) == Counter(ids)
    assert len({lease.owner for lease in leases}) == len(ids)
    for each in stores:
        each.close()


def test_progress_has_revisions(store: Store) -> None:
    id = add(store).id
    lease = store.leases.claim()
    assert lease is not None
    assert store.get(id).state == "running"
    before = store.get(id).revision
    assert store.leases.save_progress(lease, before, translated(0, 2)) == before + 1
    job = store.get(id)
    assert (job.revision, job.translated) == (before + 1, 2)
    assert [each["index"] for each in store.sentences(id, after=before)] == [0, 2]
    assert [each["revision"] for each in store.sentences(id)] == [job.revision, 1, job.revision]
    assert [each["index"] for each in store.sentences(id, first=1, limit=1)] == [1]
    assert store.sentences(id, after=before, until=before) == []
    assert store.load(id).states == [{"t": "text 0 \u0000 \ud800"}, {"t": None}, {"t": "text 2 \u0000 \ud800"}]
    store.leases.finish(lease, "done", revision=job.revision)
    assert store.get(id).state == "done"
    with pytest.raises(LeaseLostError):
        store.leases.renew(lease)


def test_progress_does_not_overwrite_a_correction(store: Store) -> None:
    id = add(store).id
    lease = store.leases.claim()
    assert lease is not None
    before = store.get(id).revision
    store.save_change(id, before, translated(1))
    for action in (
        lambda: store.leases.save_progress(lease, before, translated(0)),
        lambda: store.leases.finish(lease, "done", revision=before),
    ):
        with pytest.raises(ConflictError):
            action()
    assert store.get(id).state == "running"
    assert [state["t"] is None for state in store.load(id).states] == [True, False, True]
    store.leases.save_progress(lease, before + 1, translated(0))
    assert [state["t"] is None for state in store.load(id).states] == [False, False, True]


def test_a_job_of_a_dead_server_is_taken_up_and_the_dead_one_is_fenced(store: Store) -> None:
    id = add(store).id
    first = store.leases.claim()
    assert first is not None
    assert store.leases.claim() is None
    execute(store, "UPDATE jobs SET lease_until = lease_until - 61")  # the server is silent for a minute
    second = store.leases.claim()
    assert second is not None
    assert second.job == id
    assert second.owner != first.owner
    for action in (
        lambda: store.leases.save_progress(first, store.get(id).revision, translated(0)),
        lambda: store.leases.renew(first),
        lambda: store.leases.finish(first, "done"),
    ):
        with pytest.raises(LeaseLostError):
            action()
    assert store.load(id).states == [{"t": None}] * 3
    store.leases.save_progress(second, store.get(id).revision, translated(1))
    assert store.get(id).translated == 1


def test_leases_survive_a_clock_that_is_set_back(store: Store) -> None:
    add(store)
    assert store.leases.claim() is not None
    execute(store, "UPDATE jobs SET lease_until = lease_until + 3600")  # made when the clock was an hour ahead
    assert store.leases.claim() is not None


def test_a_renewed_lease_lasts(store: Store) -> None:
    add(store)
    lease = store.leases.claim()
    assert lease is not None
    for _ in range(2):  # 40 of the 60 seconds pass
        execute(store, "UPDATE jobs SET lease_until = lease_until - 40")
        assert store.leases.claim() is None
        store.leases.renew(lease)


def test_a_job_that_kills_servers_fails_but_one_that_makes_progress_does_not(store: Store) -> None:
    id = add(store).id
    for _ in range(2 * ATTEMPTS):
        lease = store.leases.claim()
        assert lease is not None
        store.leases.save_progress(lease, store.get(id).revision, translated(0))
        execute(store, "UPDATE jobs SET lease_until = 1")
    for _ in range(ATTEMPTS):
        assert store.leases.claim() is not None
        execute(store, "UPDATE jobs SET lease_until = 1")
    assert store.leases.claim() is None
    assert store.get(id).state == "failed"
    assert "died" in (store.get(id).error or "")


def test_a_job_whose_server_died_is_claimed_after_those_that_wait(store: Store) -> None:
    first, second = add(store).id, add(store).id
    claimed = []
    for _ in range(3):
        lease = store.leases.claim()
        assert lease is not None
        claimed.append(lease.job)
        execute(store, "UPDATE jobs SET lease_until = 1 WHERE state = 'running'")
    assert claimed == [first, second, first]


def test_a_cancelled_job_is_not_claimed_and_its_server_is_fenced(store: Store) -> None:
    id = add(store).id
    lease = store.leases.claim()
    assert lease is not None
    assert store.cancel(id).state == "cancelled"
    with pytest.raises(LeaseLostError):
        store.leases.save_progress(lease, store.get(id).revision, translated(0))
    assert store.leases.claim() is None
    revision = store.get(id).revision
    assert store.cancel(id).revision == revision


def test_a_cancelled_or_failed_job_is_resumed(store: Store) -> None:
    id, leases = add(store, limit=1).id, store.leases
    old = leases.claim()
    assert old is not None
    leases.save_progress(old, store.get(id).revision, translated(0))
    store.cancel(id)
    other = add(store, limit=1).id
    with pytest.raises(QueueFullError):
        store.resume(id, queue_limit=1)
    assert store.get(id).state == "cancelled"
    store.cancel(other)
    assert store.resume(id, queue_limit=1).state == "queued"
    new = leases.claim()
    assert new is not None
    assert new.job == id
    assert store.resume(id, queue_limit=1).state == "running"  # no-op
    with pytest.raises(LeaseLostError):
        leases.save_progress(old, store.get(id).revision, translated(1))
    leases.finish(new, "failed", "a reason")
    resumed = store.resume(id, queue_limit=1)
    assert (resumed.state, resumed.error, resumed.translated) == ("queued", None, 1)


def test_a_job_that_is_given_back_is_claimed_at_once(store: Store) -> None:
    id = add(store).id
    lease = store.leases.claim()
    assert lease is not None
    store.leases.finish(lease, "queued")
    assert store.get(id).state == "queued"
    again = store.leases.claim()
    assert again is not None
    assert again.job == id
