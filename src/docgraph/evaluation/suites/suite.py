"""Contrast and Suite, and docgraph's own suite format: JSON lines, one contrast each, after a header.

    {"suite": "names", "languages": ["en", "fr"], "ties": "wrong", "far": 3, "text": "raw"}
    {"source": "It is old.", "source_context": ["I like this house."], "target_context": ["J'aime cette maison."],
     "candidates": ["Elle est vieille.", "Il est vieux."], "correct": 0, "labels": {"pronoun": "it:elle"},
     "distance": 1, "block": "7"}

In a file, a contrast is on one line. The header is optional, and so are its fields except `suite`; of a contrast, only
`source` and `candidates` are required. The fields are those of `Suite` and `Contrast`.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from docgraph.corpus.readers.text_files import DAMAGED, open_bytes
from docgraph.errors import DocgraphError
from docgraph.files import replacing

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Contrast:
    """A source sentence in context, and several translations, one of which fits the context."""

    source: str
    candidates: tuple[str, ...]
    source_context: tuple[str, ...] = ()
    """The sentences before the source sentence, in order."""
    target_context: tuple[str, ...] = ()
    """The translations of `source_context`; empty if there are none."""
    correct: int = 0
    """The index of the right candidate."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Accuracies are counted by label, such as {"pronoun": "it:sie"}."""
    distance: int | None = None
    """Sentences back to the context that decides, 0 for the same sentence."""
    block: str | None = None
    """A block is right if all its contrasts are."""

    def __post_init__(self) -> None:
        if len(self.candidates) < 2:
            raise ValueError("a contrast needs at least two candidates")
        if not 0 <= self.correct < len(self.candidates):
            raise ValueError(f"'correct' is {self.correct}; it must index one of {len(self.candidates)} candidates")
        if self.target_context and len(self.target_context) != len(self.source_context):
            sizes = f"{len(self.source_context)} source and {len(self.target_context)} target sentences"
            raise ValueError(f"the context has {sizes}")


@dataclass(frozen=True)
class Suite:
    """A contrastive test set."""

    name: str
    contrasts: tuple[Contrast, ...]
    languages: tuple[str, str] | None = None
    """Language codes of source and target."""
    ties: Literal["wrong", "first"] = "wrong"
    """wrong: the right candidate must be better than all others; first: it must be the first of the best."""
    far: int | None = None
    """Distances beyond this one are counted together."""
    text: Literal["raw", "detokenised"] = "raw"

    @property
    def num_candidates(self) -> int:
        """Number of candidates of all contrasts."""
        return sum(len(contrast.candidates) for contrast in self.contrasts)

    @cached_property
    def digest(self) -> str:
        """A hash of everything that scores depend on."""
        total = hashlib.blake2b(digest_size=16)
        for contrast in self.contrasts:
            total.update(json.dumps(asdict(contrast), sort_keys=True).encode())
        return total.hexdigest()


HEADER = ("suite", "languages", "ties", "far", "text")
CONTRAST = tuple(field.name for field in fields(Contrast))


def read_jsonl(path: str | Path) -> Suite:
    """Reads a suite in docgraph's format; blank lines are skipped."""
    name, settings, contrasts = file_stem(path), dict[str, Any](), list[Contrast]()
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        with named_errors("this record", path, number):
            record = _parse(line)
            if "suite" in record and not contrasts:
                name, settings = get_field(record, "suite", str), _header(record)
            else:
                contrasts.append(_contrast(record))
    return Suite(name, tuple(contrasts), **settings)


def write_suite(suite: Suite, path: str | Path) -> None:
    """Writes a suite in docgraph's format, atomically."""
    header = {"suite": suite.name, **{name: getattr(suite, name) for name in HEADER[1:]}}
    records = [header, *({k: v for k, v in asdict(c).items() if v not in (None, (), {})} for c in suite.contrasts)]
    lines = "".join(f"{json.dumps(record, ensure_ascii=False)}\n" for record in records)
    with replacing(path) as temporary:
        # Only lone surrogates cannot be encoded; their backslash escapes are those of JSON.
        temporary.write_text(lines, encoding="utf-8", errors="backslashreplace")


def _parse(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    return record


def _check_names(record: dict[str, Any], names: Collection[str]) -> None:
    for name in record:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the fields are {', '.join(names)}"
            raise ValueError(f"it has an unknown field '{name}' ({hint})")


def _header(record: dict[str, Any]) -> dict[str, Any]:
    _check_names(record, HEADER)
    values = {name: value for name, value in record.items() if name != "suite" and value is not None}
    if "languages" in values:
        values["languages"] = get_texts(record, "languages")
        if len(values["languages"]) != 2:
            raise ValueError("'languages' must be two codes, of source and target")
    if "far" in values:
        get_field(record, "far", int)
    for name, choices in (("ties", ("wrong", "first")), ("text", ("raw", "detokenised"))):
        if values.get(name, choices[0]) not in choices:
            raise ValueError(f"'{name}' must be one of {', '.join(choices)}")
    return values


def _contrast(record: dict[str, Any]) -> Contrast:
    _check_names(record, CONTRAST)
    values = {name: value for name, value in record.items() if value is not None}
    values["source"], values["candidates"] = get_field(record, "source", str), get_texts(record, "candidates")
    for name in ("source_context", "target_context"):
        if name in values:
            values[name] = get_texts(record, name)
    for name, kind in (("correct", int), ("distance", int), ("block", str), ("labels", dict)):
        if name in values:
            get_field(record, name, kind)
    if not all(isinstance(label, str) for label in values.get("labels", {}).values()):
        raise ValueError("'labels' must be strings")
    return Contrast(**values)


def read_text(path: str | Path) -> str:
    """Returns the text of a plain or compressed file."""
    try:
        with open_bytes(path) as file:
            return file.read().decode("utf-8-sig")
    except (UnicodeDecodeError, *DAMAGED):
        raise DocgraphError("this file is truncated or not UTF-8; download it again", path=path) from None


def read_lines(path: str | Path) -> list[str]:
    """Returns the lines of a file, stripped; only \\n ends a line."""
    return [line.strip() for line in read_text(path).removesuffix("\n").split("\n")]


@contextmanager
def named_errors(record: str, path: str | Path, line: int | None = None) -> Iterator[None]:
    """Turns a ValueError into a DocgraphError that names the record and the file."""
    try:
        yield
    except ValueError as error:
        raise DocgraphError(f"{record} is broken: {error}; correct or remove it", path=path, line=line) from None


def get_field(record: Any, name: str, kind: type[T]) -> T:
    """Returns a required field of the given type; a ValueError if it is missing or of another type."""
    value = record.get(name) if isinstance(record, dict) else None
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        names = {str: "a string", int: "a whole number", list: "a list", dict: "an object"}
        raise ValueError(f"'{name}' is missing or not {names[kind]}")
    return value


def get_texts(record: Any, name: str) -> tuple[str, ...]:
    """Returns a required field that is a list of strings."""
    values = get_field(record, name, list)
    if not all(isinstance(value, str) for value in values):
        raise ValueError(f"'{name}' is not a list of strings")
    return tuple(values)


def file_stem(path: str | Path) -> str:
    """Returns the name of a file without its JSON and compression suffixes: `deixis_test` of `deixis_test.json.xz`."""
    return Path(path).name.partition(".json")[0]
