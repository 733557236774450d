"""Fixtures of databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docgraph.server.storage import Store
from server.databases import new_postgres_database, postgres_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The socket folder of a PostgreSQL server."""
    with postgres_server() as folder:
        yield folder


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty database of each kind."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'jobs.sqlite'}"
    return new_postgres_database(request.getfixturevalue("postgres"))


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """A store in an empty database of each kind."""
    store = Store(database, lease_seconds=60)
    yield store
    store.close()
