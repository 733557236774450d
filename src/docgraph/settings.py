"""Settings from YAML files and from `--set a.b=c` on the command line, before any dataclass sees them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError


def read_settings(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """The mapping of a YAML file over those it `extends`, with each `a.b=c` of the overrides put in.

    `extends: other.yaml`, relative to the file, names a config to begin from: its mappings are merged field by field,
    and any other value (a list too) is replaced. In the path of an override, numbers count list entries.
    """
    values = _read_chain(Path(path), ())
    for override in overrides:
        _put(values, override)
    return values


def _read_chain(path: Path, heirs: tuple[Path, ...]) -> dict[str, Any]:
    """The mapping of a file merged over that of the file it extends; `heirs` are the files that led here."""
    if path.resolve() in [heir.resolve() for heir in heirs]:
        raise DocgraphError("this config extends itself, by way of the files it extends; break the cycle", path=path)
    try:
        values = _read(path)
    except FileNotFoundError:
        if not heirs:
            raise
        raise DocgraphError(f"'extends' names {path}, which does not exist; correct it", path=heirs[-1]) from None
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise DocgraphError(f"'extends' is {base!r}; it must be the path of one file", path=path)
    return _merged(_read_chain(path.parent / base, (*heirs, path)), values)


def _read(path: Path) -> dict[str, Any]:
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        raise DocgraphError("this is not valid YAML; correct it", path=path, line=line) from None
    if not isinstance(values, dict):
        raise DocgraphError("a config is a mapping of fields; correct it", path=path)
    return values


def _merged(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in values.items():
        inherited = merged.get(name)
        merged[name] = _merged(inherited, value) if isinstance(inherited, dict) and isinstance(value, dict) else value
    return merged


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
