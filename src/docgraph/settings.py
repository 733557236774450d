"""Settings from YAML files and from `--set a.b=c` on the command line, before any dataclass sees them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError


def read_settings(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The mapping of a YAML file, with each `a.b=c` of the overrides put in; numbers in a path count list entries."""
    import yaml

    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise DocgraphError("this is not valid YAML; correct it", path=path, line=line) from None
    if not isinstance(values, dict):
        raise DocgraphError("a config is a mapping of fields; correct it", path=path)
    for override in overrides:
        _put(values, override)
    return values


def _put(values: dict[str, Any], override: str) -> None:
    import yaml

    name, equals, text = override.partition("=")
    if not equals or not name:
        raise DocgraphError(f"'--set {override}' is not of the form a.b=c")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise DocgraphError(f"the value of '--set {override}' is not valid YAML; quote it") from None
    *parents, last = name.split(".")
    place: Any = values
    for parent in parents:
        place = _enter(place, parent, override)
    if isinstance(place, list):
        place[_index(place, last, override)] = value
    else:
        place[last] = value


def _enter(place: Any, name: str, override: str) -> Any:
    """The mapping or list under `name`, made where there is none yet."""
    if isinstance(place, list):
        inner = place[_index(place, name, override)]
    else:
        inner = place[name] = place[name] if place.get(name) is not None else {}
    if not isinstance(inner, dict | list):
        raise DocgraphError(
            f"'--set {override}' looks into '{name}', which is a value, not a mapping; shorten the path"
        )
    return inner


def _index(place: list[Any], name: str, override: str) -> int:
    if not name.isdecimal() or int(name) >= len(place):
        raise DocgraphError(f"'--set {override}': '{name}' is no entry of a list of {len(place)}, counted from 0")
    return int(name)
