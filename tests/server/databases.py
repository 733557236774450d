"""Databases for tests: an SQLite file, and a PostgreSQL server that is started where it is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

USER = "postgres"


def _program(name: str) -> str | None:
    """Finds a program of PostgreSQL; Debian does not put them on the path."""
    found = [shutil.which(name), *map(str, sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), reverse=True))]
    return next((path for path in found if path is not None), None)


def _unprivileged() -> dict[str, Any]:
    """Options of a process that is not root, as which PostgreSQL does not run."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam(USER)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yields the folder of the socket of a running PostgreSQL server; skips the test where there is none."""
    initdb, postgres = _program("initdb"), _program("postgres")
    if initdb is None or postgres is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    folder = Path(tempfile.mkdtemp(prefix="docgraph-pg-", dir="/tmp"))
    options = _unprivileged()
    if options:
        os.chown(folder, options["user"], options["group"])
    data = folder / "data"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT, "cwd": folder}
    subprocess.run([initdb, "-D", data, "-U", USER, "--auth=trust", "-N"], check=True, **quiet, **options)
    settings = ["-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"]
    process = subprocess.Popen([postgres, "-D", data, *settings], **quiet, **options)
    try:
        _wait_for(str(folder), process)
        yield str(folder)
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder, ignore_errors=True)


def _url(folder: str, name: str) -> str:
    return f"postgresql+psycopg://{USER}@/{name}?host={folder}"


def _wait_for(folder: str, process: subprocess.Popen[bytes]) -> None:
    """Returns when the server of a process takes connections."""
    engine = sql.create_engine(_url(folder, "postgres"))
    while True:
        try:
            engine.connect().close()
            break
        except sql.exc.OperationalError:
            assert process.poll() is None, "PostgreSQL has ended"
            time.sleep(0.1)
    engine.dispose()


def new_postgres_database(folder: str) -> str:
    """Returns the URL of a new, empty database."""
    name = f"test_{uuid.uuid4().hex}"
    engine = sql.create_engine(_url(folder, "postgres"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return _url(folder, name)
