"""What is final of a file whose translation is not: kept beside its output, so that an interrupted run can go on.

JSON lines, appended as windows become final: first a key of all the translation depends on, then hypotheses.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docgraph.translation.search import Hypothesis

Found = list[list[Hypothesis]]


class PartialFile:
    """`.NAME.partial` beside an output file."""

    def __init__(self, output: Path, key: str) -> None:
        self.path = output.with_name(f".{output.name}.partial")
        self.done: dict[int, dict[int, list[Hypothesis]]] = {}
        """By document: the hypotheses of texts of it."""
        self._lines = [json.dumps({"key": key})]
        self._open = False

    def read(self) -> bool:
        """Take up what an earlier run left; False where it left something of another input, model or search."""
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return True
        if lines[:1] != self._lines:
            return False
        for line in lines[1:]:
            entry = _loaded(line)
            if entry is None:  # the last line of a process that was killed
                break
            found = [[Hypothesis(tuple(h[0]), h[1], h[2]) for h in best] for best in entry["texts"]]
            self.done.setdefault(entry["document"], {}).update(enumerate(found, start=entry["first"]))
            self._lines.append(line)
        return True

    def append(self, document: int, first: int, found: Found) -> None:
        """Keep what became final; whatever the file held of another run goes with the first call."""
        if not self._open:
            self._open = True
            self._begin()
        texts = [[[h.tokens, h.score, h.log_probability] for h in best] for best in found]
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"document": document, "first": first, "texts": texts}) + "\n")

    def _begin(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def _loaded(line: str) -> Any:
    """The value of a line; None where it is not whole."""
    try:
        return json.loads(line)
    except ValueError:
        return None
