"""Contrast and Suite: sources with several translations, one of them right, and how the suite counts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from docgraph.corpus.readers.text_files import DAMAGED, open_bytes
from docgraph.errors import DocgraphError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Contrast:
    """A source sentence in its context, and translations of it of which only one fits that context."""

    source: str
    candidates: tuple[str, ...]
    source_context: tuple[str, ...] = ()
    """The sentences before the source sentence, in order."""
    target_context: tuple[str, ...] = ()
    """Their translations, or none."""
    correct: int = 0
    """Which of the candidates is right."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What accuracies are counted by, such as {"pronoun": "it:sie"}."""
    distance: int | None = None
    """How many sentences back the needed context is, 0 for the same sentence."""
    block: str | None = None
    """Contrasts of one block are also counted together: the block is right when all of them are."""

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise ValueError("a contrast needs two candidates or more")
        if not 0 <= self.correct < len(self.candidates):
            raise ValueError(f"the right candidate is number {self.correct} of {len(self.candidates)}, counted from 0")
        if self.target_context and len(self.target_context) != len(self.source_context):
            sizes = f"{len(self.source_context)} source and {len(self.target_context)} target sentences"
            raise ValueError(f"the context has {sizes}")


@dataclass(frozen=True)
class Suite:
    """A contrastive test set."""

    name: str
    contrasts: tuple[Contrast, ...]
    languages: tuple[str, str] | None = None
    """Of the source and of the target."""
    ties: Literal["wrong", "first"] = "wrong"
    """The right candidate must be better than every other (wrong), or is the first of the best (first)."""
    far: int | None = None
    """Distances beyond this one are counted together."""
    text: Literal["raw", "detokenised"] = "raw"

    @property
    def num_candidates(self) -> int:
        return sum(len(contrast.candidates) for contrast in self.contrasts)

    @cached_property
    def digest(self) -> str:
        """A digest of all that scores depend on."""
        total = hashlib.blake2b(digest_size=16)
        for contrast in self.contrasts:
            total.update(json.dumps(asdict(contrast), sort_keys=True).encode())
        return total.hexdigest()


def read_text(path: str | Path) -> str:
    """The text of a file, plain or compressed."""
    try:
        with open_bytes(path) as file:
            return file.read().decode("utf-8-sig")
    except (UnicodeDecodeError, *DAMAGED):
        raise DocgraphError("this file is cut short or not UTF-8; get it again", path=path) from None


def read_lines(path: str | Path) -> list[str]:
    """Its lines, without white space around them; only \\n ends a line."""
    return [line.strip() for line in read_text(path).removesuffix("\n").split("\n")]


def read_json(path: str | Path) -> Any:
    """The value of a JSON file."""
    try:
        return json.loads(read_text(path))
    except (json.JSONDecodeError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise DocgraphError("this is not valid JSON; get the file again", path=path, line=line) from None


@contextmanager
def reading(record: str, path: str | Path, line: int | None = None) -> Iterator[None]:
    """A ValueError in this block becomes one sentence that says which record of which file is wrong, and how."""
    try:
        yield
    except ValueError as error:
        raise DocgraphError(f"{record} is broken: {error}; correct it or leave it out", path=path, line=line) from None


def field_of(record: Any, name: str, kind: type[T]) -> T:
    """A field that must be there and of its type; a ValueError otherwise."""
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}
        raise ValueError(f"'{name}' is missing or not {names[kind]}")
    return value


def texts_of(record: Any, name: str) -> tuple[str, ...]:
    """A field that must be a list of strings."""
    values = field_of(record, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"'{name}' is not a list of strings")
    return tuple(values)


def stem(path: str | Path) -> str:
    """The name of a file without what says how it is written: `deixis_test` of `deixis_test.json.xz`."""
    return Path(path).name.partition(".json")[0]
