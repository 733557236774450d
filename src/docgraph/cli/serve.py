"""docgraph serve: the HTTP API and the workbench."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from docgraph.cli.options import DeviceOption, ModelOption
from docgraph.errors import DocgraphError

PORT = 8765
MAX_PROCESSES = 4
"""Default maximum number of decoder processes."""


def serve(
    model: ModelOption = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 serves other machines, and needs --api-key-file.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 chooses a free one.")] = PORT,
    browser: Annotated[bool, typer.Option(help="Open the workbench in the browser.")] = True,
    database: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Database of the jobs, such as postgresql+psycopg://user@host/name (default: an SQLite file in the"
            " user's data folder). Servers with one database share its jobs.",
            envvar="DOCGRAPH_DATABASE",
        ),
    ] = None,
    api_key_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File with one API key per line (default: no key is needed)."),
    ] = None,
    open_access: Annotated[bool, typer.Option("--open-access", help="Serve other machines without API keys.")] = False,
    jobs: Annotated[
        int, typer.Option(min=1, help="Number of documents translated concurrently; their sentences share batches.")
    ] = 2,
    max_megabytes: Annotated[float, typer.Option(min=0.001, help="Maximum size of a request, in MiB.")] = 32,
    max_seconds: Annotated[float, typer.Option(min=0.1, help="Maximum time of a request, in seconds.")] = 120,
    max_requests: Annotated[
        int, typer.Option(min=1, help="Maximum number of concurrent translations; more are refused.")
    ] = 256,
    max_jobs: Annotated[
        int, typer.Option(min=1, help="Maximum number of waiting and running jobs; more are refused.")
    ] = 100,
    lease: Annotated[
        float,
        typer.Option(
            min=0.5, help="Seconds of silence after which another server takes up the jobs of a server that died."
        ),
    ] = 15,
    decoder_processes: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Maximum processes that decode sentences, each with a copy of the model: one at first, others under"
            " load (default: the number of CPU cores, at most 4). 0 needs the least memory.",
        ),
    ] = None,
    device: DeviceOption = None,
    threads: Annotated[int | None, typer.Option(min=1, help="Number of CPU threads (default: all cores).")] = None,
) -> None:
    """Serve translation over HTTP, with a workbench in the browser. Everything stays on this machine.

    The server listens on this machine only, unless --host says otherwise. Documents and corrections are kept in a
    database and survive a restart. GET /openapi.json describes the API.

    [bold]Examples[/bold]

    docgraph serve

    docgraph serve --no-browser --port 5000

    docgraph serve --host 0.0.0.0 --api-key-file keys.txt --database postgresql+psycopg://docgraph@db/docgraph

    curl -d '{"text": "The harbour is closed."}' -H 'Content-Type: application/json' localhost:8765/v1/translate
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        message = f"docgraph serve needs {error.name}; install it with: pip install 'docgraph[server]'"
        raise DocgraphError(message) from None
    from docgraph.workers import available_cores, bound_kept_memory, keep_freed_memory, let_idle_threads_sleep

    keep_freed_memory()
    bound_kept_memory()
    let_idle_threads_sleep()
    from docgraph.model.model_folder import ModelFolder, find_model
    from docgraph.server.limits import LOOPBACK, ApiKeys, Limits

    if host not in LOOPBACK and api_key_file is None and not open_access:
        raise DocgraphError(f"--host {host} serves other machines; protect it with --api-key-file, or --open-access")
    folder = ModelFolder(find_model(model))
    from docgraph.server.run import run_server
    from docgraph.server.state import ServerConfig
    from docgraph.translation.translator import Translator

    limits = Limits(max_bytes=int(max_megabytes * 2**20), seconds=max_seconds, requests=max_requests, jobs=max_jobs)
    config = ServerConfig(
        database=database or _default_database(),
        limits=limits,
        keys=ApiKeys() if api_key_file is None else ApiKeys.read(api_key_file),
        loopback=host in LOOPBACK,
        job_threads=jobs,
        lease_seconds=lease,
        model_name=model or folder.path.name,
        model_fingerprint=folder.fingerprint,
    )
    translator = Translator.load(folder, device, threads=threads)
    if translator.model.device.type == "cpu":
        processes = min(available_cores(), MAX_PROCESSES) if decoder_processes is None else decoder_processes
        config = replace(config, model_folder=folder.path, decoder_processes=processes)
    run_server(translator, config, host, port, browser)


def _default_database() -> str:
    """Returns the URL of an SQLite file in the user's data folder, which is made if needed."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
    folder = base / "docgraph"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return f"sqlite:///{folder / 'jobs.sqlite'}"
