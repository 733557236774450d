"""Records beside output files that let an interrupted run resume.

Both are JSON lines, appended to. A partial file has a key of everything the translation depends on, then hypotheses as
they become final. The list of finished files has, for each file, digests of what its translation depends on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docgraph.files import hidden_sibling, report_errors_as
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis

FINISHED = ".translated.jsonl"


class PartialFile:
    """`.NAME.partial`, the final hypotheses of an unfinished output file."""

    def __init__(self, output: Path, key: str) -> None:
        self.output, self.path = output, hidden_sibling(output, ".partial")
        self.finished: dict[int, dict[int, list[Hypothesis]]] = {}
        """Final hypotheses by document and segment."""
        self._lines = [json.dumps({"key": key})]
        self._written = False

    def read(self) -> bool:
        """Reads the hypotheses of an interrupted run; returns False, and ignores them, if they have another key."""
        try:
            lines = self.path.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return True
        if lines[:1] != self._lines:
            return False
        for line in lines[1:]:
            entry = _parse(line)
            if entry is None:  # the last line of a process that was killed
                break
            hypotheses = [
                [Hypothesis(tuple(h[0]), h[1], h[2], base=h[3] and tuple(h[3]), looked_up=tuple(h[4])) for h in best]
                for best in entry["texts"]
            ]
            self.finished.setdefault(entry["document"], {}).update(enumerate(hypotheses, start=entry["first"]))
            self._lines.append(line)
        return True

    def append(self, document: int, first: int, hypotheses: Hypotheses) -> None:
        """Adds the final hypotheses of the segments from `first` on; the first call drops lines that are not used."""
        texts = [[[h.tokens, h.score, h.log_probability, h.base, h.looked_up] for h in best] for best in hypotheses]
        with report_errors_as(self.output):
            if not self._written:
                self._written = True
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.write_text("".join(f"{line}\n" for line in self._lines), encoding="utf-8")
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"document": document, "first": first, "texts": texts}) + "\n")

    def remove(self) -> None:
        """Deletes the file, because the output is complete."""
        self.path.unlink(missing_ok=True)


class FinishedFiles:
    """`.translated.jsonl` in output folders: the digests of everything that each finished file was made with."""

    def __init__(self) -> None:
        self._folders: dict[Path, dict[str, dict[str, str]]] = {}

    def changed(self, output: Path, made_with: Mapping[str, str]) -> list[str]:
        """Returns the names of the digests that differ from those of a finished file; none if it is not listed."""
        before = self._files(output.parent).get(output.name, made_with)
        return [name for name, digest in made_with.items() if before.get(name) != digest]

    def add(self, output: Path, made_with: Mapping[str, str]) -> None:
        """Lists a finished file."""
        files = self._files(output.parent)
        if files.get(output.name) != made_with:
            files[output.name] = dict(made_with)
            path = output.parent / FINISHED
            cut = path.exists() and not path.read_bytes().endswith(b"\n")  # by a process that was killed
            with report_errors_as(path), path.open("a", encoding="utf-8") as file:
                # Escapes keep names that are not UTF-8.
                file.write("\n" * cut + json.dumps({"file": output.name, "made_with": made_with}) + "\n")

    def _files(self, folder: Path) -> dict[str, dict[str, str]]:
        if folder not in self._folders:
            path = folder / FINISHED
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
            entries = [entry for entry in map(_parse, lines) if isinstance(entry, dict)]
            self._folders[folder] = {
                entry["file"]: entry["made_with"]
                for entry in entries
                if isinstance(entry.get("file"), str) and isinstance(entry.get("made_with"), dict)
            }
        return self._folders[folder]


def _parse(line: str) -> Any:
    """Returns the value of a JSON line, or None if the line is incomplete."""
    try:
        return json.loads(line)
    except ValueError:
        return None
