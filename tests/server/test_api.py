"""The API: translation, jobs, models, graphs, health, metrics."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from docgraph.document import Document
from docgraph.formats import read, render
from docgraph.server.limits import ApiKeys, Limits
from docgraph.translation.files.jobs import find_jobs
from docgraph.translation.files.translate import FileOptions, translate_files
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.terms.formality import FormalityOption, formality_of
from server.server_examples import EXAMPLES, embedded_translator, finished_job, serving
from translation.translator_examples import Silent

SENTENCES = ["The harbour is closed.", "The seawall is old.", "It will be replaced in March."]
REPORT = EXAMPLES / "harbour_report.md"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("server")) as client:
        yield client


def translated_report() -> bytes:
    documents = read(REPORT)
    texts = [each.texts for each in embedded_translator().translate_all(documents)]
    content = render(documents, texts, "fr")
    assert isinstance(content, str)
    return content.encode()


def test_a_text_is_translated_as_by_the_translator(client: TestClient) -> None:
    text = "The harbour is closed.\n\nThe seawall is old. It will be replaced in March."
    answer = client.post("/v1/translate", json={"text": text})
    expected = embedded_translator().translate(text)
    assert answer.status_code == 200
    assert answer.json()["translation"] == expected.document.source
    assert [each["translation"] for each in answer.json()["sentences"]] == expected.texts
    assert [each["score"] for each in answer.json()["sentences"]] == [each.score for each in expected]


def test_known_translations_are_kept_and_are_context(client: TestClient) -> None:
    known = ["Le havre est fermé.", None, None]
    answer = client.post("/v1/translate", json={"sentences": SENTENCES, "known": known}).json()
    expected = embedded_translator().translate(SENTENCES, known=known).texts
    assert [each["translation"] for each in answer["sentences"]] == expected
    assert answer["translation"] == "\n".join(expected)


def test_terms_of_a_glossary_are_used(client: TestClient) -> None:
    body = {"text": "The seawall is old.", "glossary": [{"source": "seawall", "target": "brise-lames"}]}
    assert "brise-lames" in client.post("/v1/translate", json=body).json()["translation"].lower()
    plain = client.post("/v1/translate", json={"text": body["text"]}).json()["translation"]
    assert "brise-lames" not in plain.lower()
    refused = client.post("/v1/translate", json={**body, "glossary": [{"source": " ", "target": "x"}]})
    assert refused.status_code == 422


ADDRESSED = ["You forgot your coat.", "The harbour is closed.", "Are you tired?"]


@pytest.mark.parametrize("formality", ["formal", "informal"])
def test_a_formality_is_used_for_texts_files_and_jobs(client: TestClient, formality: FormalityOption) -> None:
    request = TranslationRequest(Document.from_sentences(ADDRESSED), formality=formality)
    [(_, expected)] = embedded_translator().translate_requests([request])
    assert [formality_of(text) for text in expected.texts] == [formality, None, formality]
    body = {"sentences": ADDRESSED, "formality": formality}
    answer = client.post("/v1/translate", json=body).json()
    assert [each["translation"] for each in answer["sentences"]] == expected.texts
    upload = {"file": ("letter.txt", "\n".join(ADDRESSED).encode())}
    fields = {"format": "lines", "formality": formality}
    assert client.post("/v1/translate", files=upload, data=fields).text.splitlines() == expected.texts
    for created in (client.post("/v1/jobs", json=body), client.post("/v1/jobs", files=upload, data=fields)):
        job = finished_job(client, created.json()["id"])
        sentences = client.get(f"/v1/jobs/{job['id']}/sentences").json()
        assert [each["translation"] for each in sentences] == expected.texts
    assert client.post("/v1/translate", json={**body, "formality": "polite"}).status_code == 422
    refused = client.post("/v1/jobs", files=upload, data={"formality": "polite"})
    assert (refused.status_code, "choose auto" in refused.json()["error"]["message"]) == (422, True)


def test_a_file_is_translated_in_its_format(client: TestClient) -> None:
    answer = client.post("/v1/translate", files={"file": ("report.md", REPORT.read_bytes())})
    assert answer.status_code == 200
    assert answer.content == translated_report()
    assert 'filename="report.md"' in answer.headers["content-disposition"]


def test_files_that_the_command_refuses_are_refused(client: TestClient) -> None:
    upload = {"file": ("setup.py", b"import sys\n")}
    for route in ("/v1/translate", "/v1/jobs"):
        answer = client.post(route, files=upload)
        assert answer.status_code == 422
        assert "no format reads .py files; if it is plain text, send format=text" in answer.json()["error"]["message"]
    answer = client.post("/v1/translate", files={"file": ("letter.pdf", b"%PDF-1.4\n")})
    assert answer.status_code == 422
    assert "is not a text file but a PDF document; extract its text first" in answer.json()["error"]["message"]
    assert client.post("/v1/translate", files=upload, data={"format": "text"}).status_code == 200
    assert client.post("/v1/translate", files={"file": ("talk.en", b"The harbour is closed.")}).status_code == 200


def test_subtitles_are_divided_as_by_the_command(client: TestClient, tmp_path: Path) -> None:
    first = "1\n00:00:01,000 --> 00:00:03,000\nThe harbour master asked for\n\n"
    second = "2\n00:00:03,000 --> 00:00:06,000\na new seawall.\n"
    source, output = tmp_path / "talk.srt", tmp_path / "talk.fr.srt"
    source.write_text(first + second)
    translate_files(embedded_translator(), find_jobs([source], output), FileOptions(), Silent())
    answer = client.post("/v1/translate", files={"file": ("talk.srt", source.read_bytes())})
    assert answer.content == output.read_bytes()


def test_a_job_is_translated_and_downloaded(client: TestClient) -> None:
    created = client.post("/v1/jobs", files={"file": ("report.md", REPORT.read_bytes())})
    assert created.status_code == 202
    assert created.json()["sentences"] == 15
    assert created.json()["languages"] == ["en", "fr"]
    job = finished_job(client, created.json()["id"])
    assert (job["state"], job["translated"], job["format"]) == ("done", 15, "markdown")
    sentences = client.get(f"/v1/jobs/{job['id']}/sentences").json()
    [document] = read(REPORT)
    assert [each["source"] for each in sentences] == document.texts
    assert {each["state"] for each in sentences} == {"translated"}
    assert client.get(f"/v1/jobs/{job['id']}/download").content == translated_report()
    assert job["id"] in [each["id"] for each in client.get("/v1/jobs").json()]


def test_sentences_become_a_job(client: TestClient) -> None:
    id = client.post("/v1/jobs", json={"sentences": SENTENCES, "name": "a/b/letter.txt"}).json()["id"]
    job = finished_job(client, id)
    assert job["name"] == "letter.txt"
    sentences = client.get(f"/v1/jobs/{id}/sentences").json()
    assert [each["translation"] for each in sentences] == embedded_translator().translate(SENTENCES).texts


def test_a_repeated_request_makes_no_second_job(client: TestClient) -> None:
    body, headers = {"text": "One door."}, {"Idempotency-Key": "k1"}
    bodies = [client.post("/v1/jobs", json=body, headers=headers).json() for _ in range(2)]
    assert bodies[0]["id"] == bodies[1]["id"]
    for different in ({"text": "Two doors."}, {**body, "name": "door.txt"}, {**body, "formality": "formal"}):
        answer = client.post("/v1/jobs", json=different, headers=headers)
        assert answer.status_code == 422
        assert answer.json()["error"]["message"].startswith("this Idempotency-Key belongs to another request")
    other = client.post("/v1/jobs", json={"text": "One door."}, headers={"Idempotency-Key": "k2"}).json()
    assert other["id"] != bodies[0]["id"]


def read_events(client: TestClient, path: str) -> list[tuple[str, str, Any]]:
    """Reads the events of a job until it is final: (event, id, data)."""
    found = []
    with client.stream("GET", path) as answer:
        fields: dict[str, str] = {}
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line:
                fields[name] = value
                continue
            found.append((fields["event"], fields.get("id", ""), json.loads(fields["data"])))
            if found[-1][0] == "error" or found[-1][2].get("state") in ("done", "cancelled", "failed"):
                return found
            fields = {}
    return found


def test_models_formats_graph_health(client: TestClient) -> None:
    [model] = client.get("/v1/models").json()
    assert model["languages"] == ["en", "fr"]
    assert ".docx" in client.get("/v1/formats").json()["extensions"]
    graph = client.post("/v1/graph", json={"text": "Nick told you. He did."}).json()
    assert (graph["format"], graph["sentences"]) == ("docgraph-graph", 2)
    assert client.get("/healthz").text == "ok\n"
    assert client.get("/readyz").text == "ready\n"


def test_metrics_count_requests_and_sentences(client: TestClient) -> None:
    def sentences() -> float:
        lines = client.get("/metrics").text.splitlines()
        return float(next(line for line in lines if line.startswith("docgraph_sentences_total")).split()[1])

    before = sentences()
    client.post("/v1/translate", json={"sentences": SENTENCES})
    assert sentences() == before + 3
    assert 'docgraph_requests_total{method="POST",route="/v1/translate",status="200"}' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("method", "path", "content", "status"),
    [
        ("POST", "/v1/translate", {"json": {}}, 422),
        ("POST", "/v1/translate", {"json": {"text": "a", "sentences": ["b"]}}, 422),
        ("POST", "/v1/translate", {"json": {"txt": "a"}}, 422),
        ("POST", "/v1/translate", {"json": {"sentences": ["a"], "known": ["b", "c"]}}, 422),
        ("POST", "/v1/translate", {"content": b'{"text": "\\ud800"}'}, 422),
        ("POST", "/v1/translate", {"content": b"[" * 100_000}, 422),
        ("POST", "/v1/translate", {"content": b"text", "headers": {"Content-Type": "text/plain"}}, 415),
        ("POST", "/v1/translate", {"files": {"file": ("a.docx", b"no archive")}}, 422),
        ("POST", "/v1/translate", {"files": {"other": ("a.txt", b"text")}}, 422),
        ("POST", "/v1/translate", {"files": {"file": ("a.txt", b"text")}, "data": {"format": "nothing"}}, 422),
        ("POST", "/v1/jobs", {"files": {"file": ("../../etc/a.json", b"{")}}, 422),
        ("GET", "/v1/jobs/none", {}, 404),
        ("GET", "/v1/jobs/none/sentences", {}, 404),
        ("GET", "/v1/jobs/none/events", {}, 404),
        ("GET", "/v1/jobs/none/download", {}, 404),
        ("DELETE", "/v1/jobs/none", {}, 404),
        ("POST", "/v1/jobs/none/cancel", {}, 404),
        ("POST", "/v1/jobs/none/resume", {}, 404),
        ("GET", "/v1/nothing", {}, 404),
        ("PUT", "/v1/translate", {}, 405),
        ("GET", "/v1/jobs?limit=x", {}, 422),
    ],
)
def test_errors_have_one_shape(
    client: TestClient, method: str, path: str, content: dict[str, Any], status: int
) -> None:
    if "content" in content:
        content = {"headers": {"Content-Type": "application/json"}, **content}
    answer = client.request(method, path, **content)
    assert answer.status_code == status
    assert answer.json()["error"].keys() == {"code", "message"}
    assert "\n" not in answer.json()["error"]["message"]


def test_a_text_in_another_language_needs_force(client: TestClient) -> None:
    text = "La commission a fait une nouvelle proposition, et nous ne savons pas ce qui va se passer. " * 4
    refused = client.post("/v1/jobs", json={"text": text})
    assert refused.status_code == 422
    assert refused.json()["error"]["code"] == "other_language"
    assert "French" in refused.json()["error"]["message"]
    assert client.post("/v1/jobs", json={"text": text, "force": True}).status_code == 202


def test_other_sites_are_refused(client: TestClient) -> None:
    assert client.get("/v1/models", headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.get("/v1/models", headers={"Host": "evil.example"}).status_code == 403
    answer = client.get("/v1/models", headers={"Origin": "http://localhost"})
    assert answer.status_code == 200
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["content-security-policy"].startswith("default-src 'self'")


def test_limits(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(max_bytes=2000, max_characters=100, max_sentences=3, jobs=1)) as client:
        assert client.post("/v1/translate", json={"text": "a" * 3000}).status_code == 413
        assert client.post("/v1/translate", content=io.BytesIO(b"a" * 3000)).status_code == 413
        assert client.post("/v1/translate", json={"text": "A door. " * 20}).status_code == 413
        assert client.post("/v1/jobs", json={"sentences": ["One.", "Two.", "Three.", "Four."]}).status_code == 413
    with serving(tmp_path, Limits(requests=1)) as client:
        client.app.state.server.requests.take()  # type: ignore[attr-defined]
        refused = client.post("/v1/translate", json={"text": "A door."})
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
    with serving(tmp_path, Limits(seconds=0.01)) as client:
        assert client.post("/v1/translate", json={"text": "A door is open. " * 50}).status_code == 408


def test_a_full_queue_refuses_jobs(tmp_path: Path) -> None:
    with serving(tmp_path, Limits(jobs=2), job_threads=0) as client:
        statuses = [client.post("/v1/jobs", json={"text": "A door."}).status_code for _ in range(3)]
    assert statuses == [202, 202, 429]


def test_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("# for the shop\nfirst\n\nsecond\n")
    with serving(tmp_path, keys=ApiKeys.read(path)) as client:
        assert client.get("/healthz").status_code == 200
        assert client.get("/v1/models").status_code == 401
        assert client.get("/metrics").status_code == 401
        assert client.get("/v1/models", headers={"Authorization": "Bearer third"}).status_code == 401
        assert client.get("/v1/models", headers={"Authorization": "Bearer second"}).status_code == 200
        form = {"q": "A door.", "source": "en", "target": "fr"}
        assert client.post("/translate", data=form).status_code == 401
        assert client.post("/translate", data={**form, "api_key": "first"}).status_code == 200


def test_cancelled_and_deleted_jobs(tmp_path: Path) -> None:
    with serving(tmp_path, job_threads=0) as client:
        id = client.post("/v1/jobs", json={"text": "A door."}).json()["id"]
        assert client.post(f"/v1/jobs/{id}/cancel").json()["state"] == "cancelled"
        assert read_events(client, f"/v1/jobs/{id}/events")[-1][2]["state"] == "cancelled"
        assert client.get(f"/v1/jobs/{id}/download").content == b"A door."
        assert client.post(f"/v1/jobs/{id}/resume").json()["state"] == "queued"
        assert client.delete(f"/v1/jobs/{id}").status_code == 204
        assert client.get(f"/v1/jobs/{id}").status_code == 404


def test_openapi_describes_every_route(client: TestClient) -> None:
    schema = client.get("/openapi.json").json()
    assert {"/v1/translate", "/v1/jobs", "/v1/jobs/{id}/events", "/translate", "/healthz"} <= schema["paths"].keys()
    body = schema["paths"]["/v1/translate"]["post"]["requestBody"]["content"]
    for example in body["application/json"]["schema"]["examples"]:
        assert client.post("/v1/translate", json=example).status_code == 200
