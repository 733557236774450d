"""Our own format: JSON lines, one contrast each, after a line that says how they are counted.

    {"suite": "names", "languages": ["en", "fr"], "ties": "wrong", "far": 3, "text": "raw"}
    {"source": "It is old.", "source_context": ["I like this house."], "target_context": ["J'aime cette maison."],
     "candidates": ["Elle est vieille.", "Il est vieux."], "correct": 0, "labels": {"pronoun": "it:elle"},
     "distance": 1, "block": "7"}

(The contrast is on one line in a file.) The first line may be left out, and so may all fields of it but `suite`, and
all fields of a contrast but `source` and `candidates`. What the fields mean is said at `Suite` and `Contrast`.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Collection
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from docgraph.evaluation.suites.base import Contrast, Suite, field_of, read_text, reading, stem, texts_of
from docgraph.files import replacing

HEADER = ("suite", "languages", "ties", "far", "text")
CONTRAST = tuple(field.name for field in fields(Contrast))


def read(path: str | Path) -> Suite:
    """A suite; blank lines are passed over."""
    name, counting, contrasts = stem(path), dict[str, Any](), list[Contrast]()
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if not line.strip():
            continue
        with reading("this record", path, number):
            record = _parse(line)
            if "suite" in record and not contrasts:
                name, counting = field_of(record, "suite", str), _counting(record)
            else:
                contrasts.append(_contrast(record))
    return Suite(name, tuple(contrasts), **counting)


def write(suite: Suite, path: str | Path) -> None:
    """Write a suite, whole or not at all; `read` gives it back."""
    header = {"suite": suite.name, **{name: getattr(suite, name) for name in HEADER[1:]}}
    records = [header, *({k: v for k, v in asdict(c).items() if v not in (None, (), {})} for c in suite.contrasts)]
    with replacing(path) as temporary:
        temporary.write_text("".join(f"{json.dumps(r, ensure_ascii=False)}\n" for r in records), encoding="utf-8")


def _parse(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("it is not valid JSON") from None
    if not isinstance(record, dict):
        raise ValueError("it is not an object")
    return record


def _known(record: dict[str, Any], names: Collection[str]) -> None:
    for name in record:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"the fields are {', '.join(names)}"
            raise ValueError(f"it has an unknown field '{name}' ({hint})")


def _counting(record: dict[str, Any]) -> dict[str, Any]:
    _known(record, HEADER)
    values = {name: value for name, value in record.items() if name != "suite" and value is not None}
    if "languages" in values:
        values["languages"] = texts_of(record, "languages")
        if len(values["languages"]) != 2:
            raise ValueError("'languages' are two codes, of source and target")
    if "far" in values:
        field_of(record, "far", int)
    for name, choices in (("ties", ("wrong", "first")), ("text", ("raw", "detokenised"))):
        if values.get(name, choices[0]) not in choices:
            raise ValueError(f"'{name}' is one of {', '.join(choices)}")
    return values


def _contrast(record: dict[str, Any]) -> Contrast:
    _known(record, CONTRAST)
    values = {name: value for name, value in record.items() if value is not None}
    values["source"], values["candidates"] = field_of(record, "source", str), texts_of(record, "candidates")
    for name in ("source_context", "target_context"):
        if name in values:
            values[name] = texts_of(record, name)
    for name, kind in (("correct", int), ("distance", int), ("block", str), ("labels", dict)):
        if name in values:
            field_of(record, name, kind)
    if not all(isinstance(label, str) for label in values.get("labels", {}).values()):
        raise ValueError("'labels' are strings")
    return Contrast(**values)
