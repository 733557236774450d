"""What to do with bad input: stop with a sentence that names it, or drop it and count it by reason."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Literal

from docgraph.errors import DocgraphError

Reason = Literal[
    "boundaries differ",
    "documents differ",
    "empty side",
    "lengths differ",
    "line counts differ",
    "malformed",
    "not UTF-8",
    "too long",
]


class Problems:
    """Bad sentence pairs by reason; the first of each with its place."""

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.dropped: Counter[str] = Counter()
        """Sentence pairs dropped, by reason."""
        self.first: dict[str, str] = {}

    def add(self, reason: Reason, message: str, path: str | Path, line: int | None = None, pairs: int = 1) -> None:
        """Raise, or count `pairs` as dropped."""
        if not self.skip:
            raise DocgraphError(f"{message}; correct it, or leave such pairs out with --skip-bad", path=path, line=line)
        self.dropped[reason] += pairs
        self.first.setdefault(reason, f"{path}:{line}" if line is not None else str(path))
