"""Faults: killed servers, full disks, lost clients. Nothing is lost, and nothing is saved twice."""

from __future__ import annotations

import random
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import sqlalchemy as sql

from docgraph.server.limits import Limits
from server.live_server import live_server
from server.server_examples import EXAMPLES, embedded_translator, finished_job, serving
from server.server_process import SOAK, ServerProcess

StartServer = Callable[..., ServerProcess]
KILLS = 20 if SOAK else 2
LEASE = ("--lease", "1")
SECONDS = 3600 if SOAK else 600
"""Time after which a test that waits fails."""
FAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
AUDIT = {
    "sqlite": """CREATE TRIGGER audit_saves AFTER UPDATE ON sentences BEGIN
        INSERT INTO audit VALUES (NEW.job, NEW."index"); END""",
    "postgresql": """CREATE FUNCTION audit_save() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO audit VALUES (NEW.job, NEW.index); RETURN NEW; END $$;
        CREATE TRIGGER audit_saves AFTER UPDATE ON sentences FOR EACH ROW EXECUTE FUNCTION audit_save()""",
}
"""Records every time that a sentence is saved."""


@pytest.fixture
def start() -> Iterator[StartServer]:
    """Starts servers, which end with the test."""
    started: list[ServerProcess] = []

    def start_server(database: str, *options: str, **settings: Any) -> ServerProcess:
        started.append(ServerProcess(database, *options, **settings))
        return started[-1]

    yield start_server
    for server in started:
        server.kill()


def documents(count: int, sentences: int) -> list[list[str]]:
    """Different documents."""
    text = (EXAMPLES / "three_men_in_a_boat.txt").read_text("utf-8")
    lines = [line for line in re.split(r"(?<=[.!?])\s+", " ".join(text.split())) if 20 < len(line) < 120]
    return [[lines[(7 * n + m) % len(lines)] for m in range(sentences)] for n in range(count)]


def start_audit(database: str) -> None:
    engine = sql.create_engine(database)
    with engine.begin() as connection:
        connection.exec_driver_sql('CREATE TABLE audit (job VARCHAR(32), "index" INTEGER)')
        connection.exec_driver_sql(AUDIT[engine.dialect.name])
    engine.dispose()


def check_audit(database: str, sentences: int) -> None:
    """Every sentence was saved exactly once."""
    engine = sql.create_engine(database)
    with engine.connect() as connection:
        counts = connection.exec_driver_sql('SELECT count(*) FROM audit GROUP BY job, "index"').scalars().all()
    engine.dispose()
    assert counts == [1] * sentences


def post(client: httpx.Client, key: str, sentences: list[str]) -> str:
    answer = client.post("/v1/jobs", json={"sentences": sentences}, headers={"Idempotency-Key": key})
    id: str = answer.raise_for_status().json()["id"]
    return id


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def wait_for_progress(server: ServerProcess, ids: list[str]) -> None:
    """Returns when some sentences are translated."""
    done = sum(server.job(id)["translated"] for id in ids)
    every = sum(server.job(id)["sentences"] for id in ids)
    wait_until(lambda: sum(server.job(id)["translated"] for id in ids) > min(done, every - 1))


def check_jobs(server: ServerProcess, ids: list[str], texts: list[list[str]]) -> None:
    """All jobs are done, with the translations that one process makes."""
    assert len(server.client.get("/v1/jobs").json()) == len(ids)
    for id, sentences in zip(ids, texts, strict=True):
        wait_until(lambda id=id: server.job(id)["state"] in ("done", "failed"))  # type: ignore[misc]
        assert server.job(id)["state"] == "done", server.job(id)["error"]
        found = [each["translation"] for each in server.client.get(f"/v1/jobs/{id}/sentences").json()]
        assert found == embedded_translator().translate(sentences).texts


def test_killed_servers_lose_nothing_and_repeat_nothing(tmp_path: Path, start: StartServer) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    texts = documents(3, 40 * KILLS)
    choice = random.Random(7)
    server = start(database, *LEASE)
    start_audit(database)
    ids = [post(server.client, f"job {n}", sentences) for n, sentences in enumerate(texts)]
    for _ in range(KILLS):
        wait_for_progress(server, ids)
        time.sleep(choice.random() / 2)
        server.kill()
        server = start(database, *LEASE)
        assert [post(server.client, f"job {n}", sentences) for n, sentences in enumerate(texts)] == ids
    check_jobs(server, ids, texts)
    server.stop()
    check_audit(database, sum(map(len, texts)))


def test_a_server_takes_up_the_jobs_of_another_that_was_killed(database: str, start: StartServer) -> None:
    texts = documents(4, 400 if SOAK else 48)
    first = start(database, *LEASE)
    start_audit(database)
    second = start(database, *LEASE)
    servers = [first, first, second, second]  # each takes up two jobs
    ids = [post(server.client, f"job {n}", texts[n]) for n, server in enumerate(servers)]
    wait_until(lambda: all(second.job(id)["state"] != "queued" for id in ids))
    first.kill()
    check_jobs(second, ids, texts)
    second.stop()
    check_audit(database, sum(map(len, texts)))


@pytest.mark.skipif(FAKETIME is None, reason="libfaketime is not installed (Debian: apt-get install libfaketime)")
def test_clocks_that_jump_lose_nothing_and_repeat_nothing(database: str, start: StartServer, tmp_path: Path) -> None:
    """The clock of SQLite jumps with the servers'; that of PostgreSQL does not."""
    clock = tmp_path / "clock"
    clock.write_text("+0")
    faked = {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    jumps = ("+1d", "-3d", "+90s", "+400d", "+0")
    texts = documents(len(jumps), 400 if SOAK else 30)
    first = start(database, *LEASE, environment=faked)
    start_audit(database)
    second = start(database, *LEASE, environment=faked)
    ids: list[str] = []
    seen = set()
    for n, jump in enumerate(jumps):
        clock.write_text(jump)
        time.sleep(1)  # until the servers read it
        ids.append(post(first.client, f"job {n}", texts[n]))
        wait_for_progress(second, ids)
        seen |= {second.job(id)["updated"][:10] for id in ids}
    assert len(seen) > 1 or database.startswith("postgresql")
    check_jobs(second, ids, texts)
    first.stop()
    second.stop()
    check_audit(database, sum(map(len, texts)))


def test_a_stopped_server_gives_its_jobs_back(tmp_path: Path, start: StartServer) -> None:
    database = f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    [sentences] = documents(1, 600)  # more than can be translated before the server stops
    server = start(database)
    id = post(server.client, "job", sentences)
    wait_until(lambda: server.job(id)["translated"] > 0)
    server.stop()
    engine = sql.create_engine(database)
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT state, owner FROM jobs").all() == [("queued", None)]
    engine.dispose()


def set_disk_size(app: Any, pages: int) -> None:
    """Limits the size of the database, as a full disk does."""

    def limit(connection: Any, *_: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages}")  # the last of several listeners decides

    sql.event.listen(app.state.server.store.database.engine, "checkout", limit)


def test_a_full_disk_refuses_new_jobs_and_delays_running_ones(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        [sentences] = documents(1, 40)
        finished_job(client, client.post("/v1/jobs", json={"text": "One door."}).json()["id"])
        with client.app.state.server.store.database.engine.connect() as connection:  # type: ignore[attr-defined]
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        set_disk_size(client.app, pages)
        refused = client.post("/v1/jobs", json={"sentences": sentences * 20})
        assert refused.status_code == 507
        assert refused.json()["error"]["code"] == "storage_full"
        assert client.post("/v1/translate", json={"text": "One door."}).status_code == 200
        set_disk_size(client.app, 10**9)
        assert client.get("/readyz").status_code == 200
        id = client.post("/v1/jobs", json={"sentences": sentences * 5}).json()["id"]
        wait_until(lambda: client.get(f"/v1/jobs/{id}").json()["state"] == "running")
        with client.app.state.server.store.database.engine.connect() as connection:  # type: ignore[attr-defined]
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        set_disk_size(client.app, pages)
        time.sleep(2)
        set_disk_size(client.app, 10**9)
        assert finished_job(client, id)["state"] == "done"
        found = [each["translation"] for each in client.get(f"/v1/jobs/{id}/sentences").json()]
        assert found == embedded_translator().translate(sentences * 5).texts


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("server")
    process = ServerProcess(f"sqlite:///{folder / 'jobs.sqlite'}")
    yield process
    process.stop()


def in_flight(server: ServerProcess) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return float(next(line for line in lines if line.startswith("docgraph_requests_in_flight")).split()[1])


def test_the_work_of_a_client_that_has_gone_ends(server: ServerProcess) -> None:
    [sentences] = documents(1, 1500)
    sentences = [each[:60] for each in sentences]
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(f"{server.address}/v1/translate", json={"sentences": sentences}, timeout=1)
    wait_until(lambda: in_flight(server) == 0)
    assert server.client.post("/v1/translate", json={"text": "A door."}).status_code == 200


def test_a_request_that_does_not_arrive_is_ended(tmp_path: Path) -> None:
    with live_server(tmp_path, Limits(seconds=0.3)) as address:
        place = urlsplit(address)
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(b"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{")
            assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")


def test_events_resume_after_a_lost_connection(server: ServerProcess) -> None:
    [sentences] = documents(1, 100)
    id = post(server.client, "events", sentences)
    seen: dict[int, str] = {}
    revision, state = "0", ""
    while state != "done":
        with server.client.stream("GET", f"/v1/jobs/{id}/events", headers={"Last-Event-ID": revision}) as answer:
            event: dict[str, str] = {}
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    event[name] = value
                    continue
                data = httpx.Response(200, content=event["data"]).json()
                if event["event"] == "sentence" and data["translation"] is not None:
                    assert data["index"] not in seen
                    seen[data["index"]] = data["translation"]
                if event["event"] == "state":
                    revision, state = event["id"], data["state"]
                    break  # the connection is lost after each change
                event = {}
    assert [seen[m] for m in range(100)] == embedded_translator().translate(sentences).texts


def test_clients_at_once_get_the_answers_they_would_get_alone(server: ServerProcess) -> None:
    texts = [" ".join(each) for each in documents(24, 2)]
    clients = threading.local()

    def translate(text: str) -> str:
        if not hasattr(clients, "own"):
            clients.own = httpx.Client(base_url=server.address, timeout=120)
        answer = clients.own.post("/v1/translate", json={"text": text}).raise_for_status()
        return str(answer.json()["translation"])

    with ThreadPoolExecutor(12) as threads:
        together = list(threads.map(translate, texts))
    assert together == [embedded_translator().translate(text).document.source for text in texts]
