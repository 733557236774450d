"""A server in a thread of the test process, for clients that need an address."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import uvicorn

from docgraph.server.app import create_app
from docgraph.server.limits import Limits
from docgraph.server.run import listen
from docgraph.server.state import ServerConfig
from server.server_examples import embedded_translator


@contextmanager
def live_server(folder: Path, limits: Limits = Limits(), **settings: Any) -> Iterator[str]:
    """Yields the address of a server whose database is in a folder."""
    config = replace(ServerConfig(f"sqlite:///{folder / 'jobs.sqlite'}", limits), **settings)
    listener = listen("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(create_app(embedded_translator(), config), log_level="warning"))
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.02)
    yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    server.should_exit = True
    thread.join(60)
