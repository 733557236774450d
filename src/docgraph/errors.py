"""The one exception that reaches the user: a sentence that says what happened, where, and what to do."""

from __future__ import annotations

from pathlib import Path


class DocgraphError(Exception):
    """Bad input or a missing part, told in one sentence; the command line prints it and exits with 2."""

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(place + message)
