"""Runs a server until it is stopped."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
import threading
import webbrowser

import uvicorn

from docgraph.errors import DocgraphError
from docgraph.server.app import create_app
from docgraph.server.state import ServerConfig
from docgraph.translation.translator import Translator
from docgraph.workers import release_memory_regularly

_STOP_SECONDS = 5
"""Time for requests to end when the server is stopped."""


def run_server(translator: Translator, config: ServerConfig, host: str, port: int, browser: bool) -> None:
    """Serves until SIGINT or SIGTERM. Prints the address, and opens it in a browser if asked to."""
    listener = listen(host, port)
    shown = "localhost" if config.loopback else host
    address = f"http://{f'[{shown}]' if ':' in shown else shown}:{listener.getsockname()[1]}/"
    logging.basicConfig(format="docgraph: %(message)s", level=logging.WARNING, stream=sys.stderr)
    settings = uvicorn.Config(
        create_app(translator, config),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
        lifespan="on",
    )
    threading.Thread(target=release_memory_regularly, daemon=True).start()
    # Ctrl+C ends the server, and uvicorn raises it again when the server has ended.
    with contextlib.suppress(KeyboardInterrupt):
        _Server(settings, address, browser).run([listener])


class _Server(uvicorn.Server):
    """Prints the address as soon as the server accepts connections."""

    def __init__(self, config: uvicorn.Config, address: str, browser: bool) -> None:
        super().__init__(config)
        self._address, self._browser = address, browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        print(f"docgraph: serving {self._address} (stop with Ctrl+C)", file=sys.stderr, flush=True)
        if self._browser:
            webbrowser.open(self._address)


def listen(host: str, port: int) -> socket.socket:
    """Returns a socket that listens on an address."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError:
        raise DocgraphError(f"--host {host} is not an address of this machine") from None
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        reason = (error.strerror or "not available").lower()
        raise DocgraphError(f"cannot listen on {host}:{port} ({reason}); choose another --port") from None
    return listener
