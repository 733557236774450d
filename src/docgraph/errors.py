"""DocgraphError: the exception whose message is shown to the user."""

from __future__ import annotations

from pathlib import Path

from docgraph.files import display_name


class DocgraphError(Exception):
    """Bad input or a missing dependency. The message says in one sentence what is wrong, where, and what to do.

    The command line prints the message without a traceback and exits with status 2.
    """

    def __init__(self, message: str, *, path: str | Path | None = None, line: int | None = None) -> None:
        """Prefixes the message with `path:line: ` or `path: ` if these are given."""
        name = None if path is None else display_name(path)
        location = "" if name is None else f"{name}:{line}: " if line is not None else f"{name}: "
        super().__init__(location + message)


class UntranslatableError(DocgraphError):
    """A file that can be read but is not to be translated, such as settings; among several files it is copied."""
