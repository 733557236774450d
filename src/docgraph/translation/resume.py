"""What is kept beside outputs, so that an interrupted run can go on: what is final of a file whose translation is not,
and what the finished ones were made with.

JSON lines, appended to: of a file under way, first a key of all the translation depends on, then hypotheses as windows
become final; of a folder, the name of each finished file with digests of what its translation depends on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docgraph.files import report_errors_as
from docgraph.translation.hypotheses import Hypothesis

Found = list[list[Hypothesis]]
FINISHED = ".translated.jsonl"


class PartialFile:
    """`.NAME.partial` beside an output file."""

    def __init__(self, output: Path, key: str) -> None:
        self.output, self.path = output, output.with_name(f".{output.name}.partial")
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
        with report_errors_as(self.output):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


class FinishedFiles:
    """`.translated.jsonl` in a folder of outputs: what each was made with, by name."""

    def __init__(self) -> None:
        self._read: dict[Path, dict[str, dict[str, str]]] = {}

    def changed(self, output: Path, made_with: Mapping[str, str]) -> list[str]:
        """What a finished file was made with that is another now; nothing where that is not known."""
        before = self._of(output.parent).get(output.name, made_with)
        return [name for name, digest in made_with.items() if before.get(name) != digest]

    def add(self, output: Path, made_with: Mapping[str, str]) -> None:
        """A file is finished."""
        if self._of(output.parent).get(output.name) != made_with:
            self._of(output.parent)[output.name] = dict(made_with)
            with (output.parent / FINISHED).open("a", encoding="utf-8") as file:
                file.write(json.dumps({"file": output.name, "made_with": made_with}, ensure_ascii=False) + "\n")

    def _of(self, folder: Path) -> dict[str, dict[str, str]]:
        if folder not in self._read:
            path = folder / FINISHED
            lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
            entries = [entry for entry in map(_loaded, lines) if entry is not None]
            self._read[folder] = {entry["file"]: entry["made_with"] for entry in entries}
        return self._read[folder]


def _loaded(line: str) -> Any:
    """The value of a line; None where it is not whole."""
    try:
        return json.loads(line)
    except ValueError:
        return None
