"""Servers as processes of their own, which can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from typing import Any

import httpx

SOAK = bool(os.environ.get("DOCGRAPH_SOAK"))
"""True for the long version of the tests (make soak)."""
_ADDRESS = re.compile(r"serving (http://\S+)/ ")


class ServerProcess:
    """`docgraph serve` with a database."""

    def __init__(self, database: str, *options: str, environment: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "docgraph", "serve", "--no-browser", "--port", "0", "--threads", "1"]
        self._process = subprocess.Popen(
            [*command, "--database", database, *options],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(environment or {})},
        )
        self.log: list[str] = []
        """The lines that the server has written."""
        self.client = httpx.Client(base_url=self._address(), timeout=120)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def address(self) -> str:
        """The address, without a slash at its end."""
        return str(self.client.base_url).rstrip("/")

    def _address(self) -> str:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.log.append(line)
            if found := _ADDRESS.search(line):
                return found[1].replace("localhost", "127.0.0.1")
        raise AssertionError(f"the server did not start: {self.log}")

    def _read(self) -> None:
        assert self._process.stderr is not None
        self.log.extend(self._process.stderr)

    def kill(self) -> None:
        """Ends the process without warning, as a power cut does; no-op if it has ended."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Ends the process as an operator does."""
        self._end(signal.SIGTERM)

    def _end(self, kind: signal.Signals) -> None:
        self.client.close()
        self._process.send_signal(kind)
        self._process.wait(120)
        self._reader.join()
        assert self._process.stderr is not None
        self._process.stderr.close()

    def job(self, id: str) -> dict[str, Any]:
        """Returns a job."""
        answer: dict[str, Any] = self.client.get(f"/v1/jobs/{id}").raise_for_status().json()
        return answer
