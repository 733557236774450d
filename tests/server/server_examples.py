"""A server with the embedded model, for tests."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from fastapi.testclient import TestClient

from docgraph.server.app import create_app
from docgraph.server.limits import Limits
from docgraph.server.state import ServerConfig
from docgraph.translation.translator import Translator

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FINAL = ("done", "failed", "cancelled")


@cache
def embedded_translator() -> Translator:
    """The embedded model, loaded once."""
    return Translator.load("en-fr", device="cpu")


@contextmanager
def serving(folder: Path, limits: Limits = Limits(), **settings: Any) -> Iterator[TestClient]:
    """Yields a client of a server whose database is in a folder."""
    config = replace(ServerConfig(f"sqlite:///{folder / 'jobs.sqlite'}", limits), **settings)
    app = create_app(embedded_translator(), config)
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


def finished_job(client: TestClient, id: str) -> dict[str, Any]:
    """Returns a job when it is finished."""
    end = time.monotonic() + 600
    while time.monotonic() < end:
        job: dict[str, Any] = client.get(f"/v1/jobs/{id}").json()
        if job["state"] in FINAL:
            return job
        time.sleep(0.05)
    raise AssertionError(f"the job is not finished: {job}")
