"""Corrections over HTTP: linked sentences follow, changes are undone, revisions guard against stale clients."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from fastapi.testclient import TestClient

from docgraph.formats import read
from docgraph.server import draft
from docgraph.server.batching import BatchDecoder
from docgraph.server.session import Session
from server.server_examples import EXAMPLES, embedded_translator, finished_job, serving

HARBOUR = EXAMPLES / "harbour.txt"
KNOWN = (EXAMPLES / "harbour.known.txt").read_text("utf-8").splitlines()


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("server")) as client:
        yield client


def new_job(client: TestClient) -> str:
    """A translated document, as the path of its job."""
    job = client.post("/v1/jobs", files={"file": ("harbour.txt", HARBOUR.read_bytes())}).json()
    assert finished_job(client, job["id"])["state"] == "done"
    return f"/v1/jobs/{job['id']}"


def without_revisions(sentences: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in each.items() if name != "revision"} for each in sentences]


def expected_session() -> Session:
    session = Session(read(HARBOUR), embedded_translator())
    for _ in session.translate():
        pass
    return session


def correct_all(session: Session) -> list[list[dict[str, Any]]]:
    return [session.correct(index, text) for index, text in enumerate(KNOWN) if text]


def test_corrections_give_what_the_session_gives(client: TestClient) -> None:
    path, session = new_job(client), expected_session()
    before = client.get(f"{path}/sentences").json()
    assert without_revisions(before) == session.sentences
    changes = []
    for index, text in enumerate(KNOWN):
        if text:
            answer = client.patch(f"{path}/sentences/{index}", json={"translation": text, "confirm": True})
            assert answer.status_code == 200
            assert answer.json()["sentence"]["state"] == "confirmed"
            changes.append(answer.json()["changes"])
    assert changes == correct_all(session)
    assert any(changes)
    assert without_revisions(client.get(f"{path}/sentences").json()) == session.sentences
    proposed = [each["index"] for each in session.sentences if each["proposal"] is not None]
    answer = client.post(f"{path}/proposals", json={"accept": proposed}).json()
    assert answer["changes"] == session.accept(proposed)
    assert answer["job"]["can_undo"]
    assert client.get(f"{path}/download").content == session.download("original")[0]
    for kind in ("xliff", "tmx", "tsv", "html"):
        answer = client.get(f"{path}/download", params={"as": kind})
        content, _, suffix = session.download(kind)
        assert answer.content == content
        assert f'filename="harbour.fr{suffix}"' in answer.headers["content-disposition"]
    assert client.get(f"{path}/compare").json() == session.compare()
    assert client.get(f"{path}/graph").json() == session.chains()
    assert client.get(f"{path}/sentences/5/explain").json() == session.explain(5)


def test_changes_are_undone_and_made_again(client: TestClient) -> None:
    path = new_job(client)
    assert client.post(f"{path}/undo").status_code == 409
    states = [client.get(f"{path}/sentences").json()]
    for index in (0, 1):
        client.patch(f"{path}/sentences/{index}", json={"translation": KNOWN[index], "confirm": True})
        states.append(client.get(f"{path}/sentences").json())
    for state in (states[1], states[0]):
        assert client.post(f"{path}/undo").status_code == 200
        assert without_revisions(client.get(f"{path}/sentences").json()) == without_revisions(state)
    assert client.post(f"{path}/undo").status_code == 409
    for state in states[1:]:
        assert client.post(f"{path}/redo").status_code == 200
        assert without_revisions(client.get(f"{path}/sentences").json()) == without_revisions(state)
    assert client.post(f"{path}/redo").status_code == 409


def test_a_glossary_is_set_and_undone(client: TestClient) -> None:
    path, session = new_job(client), expected_session()
    assert client.get(f"{path}/glossary").json() == []
    entries = [{"source": "seawall", "target": "brise-lames"}]
    answer = client.put(f"{path}/glossary", json=entries)
    assert answer.status_code == 200
    assert answer.json()["changes"] == session.set_glossary(entries)
    assert answer.json()["changes"]
    assert client.get(f"{path}/glossary").json() == entries
    assert without_revisions(client.get(f"{path}/sentences").json()) == session.sentences
    client.post(f"{path}/undo")
    assert client.get(f"{path}/glossary").json() == []


def test_a_stale_revision_is_refused_and_only_changed_sentences_get_a_new_one(client: TestClient) -> None:
    path = new_job(client)
    old = client.get(f"{path}/sentences").json()
    body = {"translation": KNOWN[0], "confirm": True, "revision": old[0]["revision"]}
    answer = client.patch(f"{path}/sentences/0", json=body).json()
    assert client.patch(f"{path}/sentences/0", json=body).status_code == 409
    changed = {0, *(each["index"] for each in answer["changes"])}
    later = client.get(f"{path}/sentences", params={"after": answer["job"]["revision"] - 1}).json()
    assert changed <= {each["index"] for each in later}
    assert len(later) < len(old)


def test_a_new_server_continues_with_the_saved_work(tmp_path: Path) -> None:
    session = expected_session()
    with serving(tmp_path) as client:
        path = new_job(client)
        client.patch(f"{path}/sentences/0", json={"translation": KNOWN[0]})
    session.correct(0, KNOWN[0])
    with serving(tmp_path) as client:
        client.patch(f"{path}/sentences/1", json={"translation": KNOWN[1]})
        session.correct(1, KNOWN[1])
        assert without_revisions(client.get(f"{path}/sentences").json()) == session.sentences
        client.post(f"{path}/undo")
        client.post(f"{path}/undo")
        session.undo()
        session.undo()
        assert without_revisions(client.get(f"{path}/sentences").json()) == session.sentences


def test_corrections_at_once_are_all_kept_also_on_two_servers(tmp_path: Path) -> None:
    with serving(tmp_path) as one, serving(tmp_path) as two:
        path = new_job(one)

        def confirm(index: int) -> int:
            client = (one, two)[index % 2]
            return client.patch(f"{path}/sentences/{index}", json={"confirm": True}).status_code

        with ThreadPoolExecutor(6) as threads:
            assert {*threads.map(confirm, range(6))} == {200}
        assert [each["state"] for each in two.get(f"{path}/sentences").json()[:6]] == ["confirmed"] * 6
        for _ in range(6):
            assert one.post(f"{path}/undo").status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PATCH", "/sentences/999", {"translation": "x"}, 404),
        ("PATCH", "/sentences/0", {"translation": "  "}, 422),
        ("PATCH", "/sentences/0", {"text": "x"}, 422),
        ("PATCH", "/sentences/-1", {"translation": "x"}, 422),
        ("POST", "/proposals", {}, 422),
        ("POST", "/proposals", {"accept": [999]}, 404),
        ("GET", "/sentences/999/explain", None, 404),
        ("PUT", "/glossary", [{"source": " ", "target": "x"}], 422),
        ("PUT", "/glossary", {"source": "a", "target": "x"}, 422),
        ("GET", "/download?as=doc", None, 422),
    ],
)
def test_bad_corrections_are_refused(client: TestClient, method: str, path: str, body: Any, status: int) -> None:
    assert client.request(method, new_job(client) + path, json=body).status_code == status


def test_a_correction_does_not_wait_for_a_view_of_the_document(client: TestClient) -> None:
    id = new_job(client).rpartition("/")[2]
    sessions = client.app.state.server.sessions  # type: ignore[attr-defined]

    def look(session: Session) -> list[dict[str, Any]]:
        changes, _ = sessions.change(id, lambda changed: changed.correct(0, "Le havre est fermé."))
        assert isinstance(changes, list)
        return session.sentences

    seen = sessions.view(id, look)
    assert seen[0]["state"] == "translated"
    assert client.get(f"/v1/jobs/{id}/sentences").json()[0]["state"] == "confirmed"


def test_a_document_is_corrected_while_it_is_translated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "STEP", 4)
    after = expected_session()
    correct_all(after)
    with serving(tmp_path, job_threads=0) as client:
        id = client.post("/v1/jobs", files={"file": ("harbour.txt", HARBOUR.read_bytes())}).json()["id"]
        path = f"/v1/jobs/{id}"
        assert client.patch(f"{path}/sentences/1", json={"confirm": True}).status_code == 409  # no translation yet
        assert client.patch(f"{path}/sentences/1", json={"translation": KNOWN[1]}).json()["changes"] == []
    decode, corrections, servers = BatchDecoder.__call__, [0, 2], Queue[Any]()

    def correct_meanwhile(*arguments: Any, **options: Any) -> Any:
        """Saves a correction while the model decodes a step that does not know it."""
        found, server = decode(*arguments, **options), servers.get()
        if corrections:
            index = corrections.pop(0)
            server.sessions.change(id, lambda session: session.correct(index, KNOWN[index]))
        servers.put(server)
        return found

    monkeypatch.setattr(BatchDecoder, "__call__", correct_meanwhile)
    with serving(tmp_path) as client:
        servers.put(client.app.state.server)  # type: ignore[attr-defined]
        assert finished_job(client, id)["state"] == "done"
        found = client.get(f"{path}/sentences").json()
    assert [each["translation"] for each in found[:3]] == KNOWN[:3]
    assert {each["state"] for each in found[:3]} == {"confirmed"}
    proposed = [each["proposal"] or each["translation"] for each in found]
    assert proposed == [each["proposal"] or each["translation"] for each in after.sentences]
