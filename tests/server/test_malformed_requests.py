"""Malformed requests: no answer is an internal error, and the server goes on answering."""

from __future__ import annotations

import json
import random
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from docgraph.server.limits import Limits
from server.live_server import live_server
from server.server_process import SOAK

REQUESTS = 10_000 if SOAK else 150
SMALL = Limits(max_bytes=100_000, max_characters=300, max_sentences=20, seconds=20, jobs=10)
PATHS = [
    ("POST", "/v1/translate"),
    ("POST", "/v1/jobs"),
    ("POST", "/v1/graph"),
    ("POST", "/translate"),
    ("POST", "/detect"),
    ("POST", "/translate_file"),
    ("POST", "/v2/translate"),
    ("GET", "/v1/jobs"),
]
BODIES = [
    b'{"text": "The harbour is closed."}',
    b'{"sentences": ["A door.", "It is open."], "known": ["Une porte.", null]}',
    b'{"q": ["Hello", "You"], "source": "en", "target": "fr"}',
    b"q=Hello&source=en&target=fr&format=html",
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.md"\r\n\r\n# A door\r\n--x--\r\n',
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.docx"\r\n\r\nPK\x03\x04\r\n--x--\r\n',
]
KINDS = [
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "multipart/form-data",
    "text/plain; charset=nothing",
    "",
]
ODD = [b"\0", b"\xff", b"\\ud800", b"\r\n\r\n", b"--x--", b'"', b"{", b"]", b"1e999", b"../../etc/passwd", b"%00", b";"]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with live_server(tmp_path_factory.mktemp("server"), SMALL, job_threads=1) as address:
        yield address
        assert httpx.get(f"{address}/readyz").status_code == 200
        answer = httpx.post(f"{address}/v1/translate", json={"text": "A door."}, timeout=60)
        assert answer.status_code == 200


def mutated(body: bytes, choice: random.Random) -> bytes:
    """Returns a body with some bytes removed, repeated or replaced."""
    for _ in range(choice.randrange(4)):
        at = choice.randrange(len(body) + 1)
        end = min(len(body), at + choice.randrange(12))
        middle = choice.choice([b"", choice.choice(ODD), body[at:end] * choice.randrange(1, 50)])
        body = body[:at] + middle + body[end:]
    return body


def test_mutated_bodies(address: str) -> None:
    choice = random.Random(11)
    with httpx.Client(base_url=address, timeout=60) as client:
        for number in range(REQUESTS):
            method, path = choice.choice(PATHS)
            body, kind = mutated(choice.choice(BODIES), choice), choice.choice(KINDS)
            answer = client.request(method, path, content=body, headers={"Content-Type": kind})
            assert answer.status_code < 500, (number, method, path, kind, body, answer.text)


def test_mutated_http(address: str) -> None:
    place = urlsplit(address)
    choice = random.Random(12)
    request = (
        b"POST /v1/translate HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        b"Content-Length: 21\r\nConnection: close\r\n\r\n" + json.dumps({"text": "A door."}).encode()
    )
    for _ in range(REQUESTS):
        with socket.create_connection((place.hostname, place.port), timeout=60) as connection:
            connection.sendall(mutated(request, choice))
            connection.shutdown(socket.SHUT_WR)
            answer = b""
            try:
                while part := connection.recv(65536):
                    answer += part
            except ConnectionResetError:
                pass
        assert not answer.startswith((b"HTTP/1.1 5", b"HTTP/1.0 5")), answer


NAMES = st.text(max_size=30) | st.sampled_from(["a.md", "b.docx", "../c.txt", "d.json", "e.srt", "f.po", "g.csv", "h"])


@settings(max_examples=REQUESTS // 3, suppress_health_check=list(HealthCheck), database=None)
@given(name=NAMES, content=st.binary(max_size=300) | st.text(max_size=100).map(str.encode), format=st.text(max_size=9))
def test_uploads(address: str, name: str, content: bytes, format: str) -> None:
    fields = {"format": format} if format.isascii() else {}
    answer = httpx.post(f"{address}/v1/jobs", files={"file": (name or "x", content)}, data=fields, timeout=60)
    assert answer.status_code < 500, answer.text
    if answer.status_code == 202:
        assert httpx.delete(f"{address}/v1/jobs/{answer.json()['id']}").status_code == 204


def test_requests_made_from_the_openapi_description(address: str) -> None:
    schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
    operations = [result.ok() for result in schema.get_all_operations()]
    assert len(operations) > 15
    for operation in operations:

        @settings(
            max_examples=max(5, REQUESTS // len(operations)),
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
            database=None,
        )
        @given(
            case=operation.as_strategy() | operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
        )
        def check(case: schemathesis.Case) -> None:
            answer = case.call(timeout=60)
            assert answer.status_code < 500, (case.as_curl_command(), answer.text)

        check()
