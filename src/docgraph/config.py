"""Configs: YAML files with `extends` and `--set a.b=c` overrides, checked against the config dataclasses.

The config classes of the package are declared with `config_class` and the field types below; pydantic checks types,
ranges and unknown fields. Every mistake becomes a DocgraphError of one sentence that names the file, the field and
what is allowed.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field, StrictBool, ValidationError
from pydantic.dataclasses import dataclass
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from docgraph.errors import DocgraphError

T = TypeVar("T")
PACKAGED = Path(__file__).parent / "configs"
"""A copy of the repository's configs/ folder; installed packages have it, a clone does not need it."""
MAX_NODES = 100_000
"""Values of a YAML file, every alias counted as a copy. A short file with nested aliases can stand for billions."""
MAX_SHOWN = 100
"""Characters of a wrong value that an error message quotes."""


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise PydanticCustomError("float_type", "a boolean is not a number")
    return value


def _names(value: object) -> object:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise PydanticCustomError("names", "not a list of names")
    return tuple(names)


def _pair(value: object) -> object:
    names = _names(value)
    if not isinstance(names, tuple) or len(names) != 2:
        raise PydanticCustomError("pair", "not a list of two names")
    return names


def _entries(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


Flag = StrictBool
Integer = Annotated[int, Field(strict=True)]
Size = Annotated[int, Field(strict=True, ge=1)]
Count = Annotated[int, Field(strict=True, ge=0)]
Number = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
"""A finite number. A numeric string is accepted, because YAML reads 1e-4 (no decimal point) as a string."""
Positive = Annotated[Number, Field(gt=0)]
NonNegative = Annotated[Number, Field(ge=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
PositiveShare = Annotated[Number, Field(gt=0, le=1)]
Rate = Annotated[Number, Field(ge=0, lt=1)]
"""A dropout rate or a decay rate: from 0 to just below 1."""
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
"""A list of names, or one string with commas between them."""
NamePair = Annotated[tuple[str, str], BeforeValidator(_pair)]
Entries = Annotated[tuple[T, ...], BeforeValidator(_entries)]
"""A list of entries; a single entry needs no list."""


@typing.dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, dataclasses.Field))
def config_class(cls: type[T]) -> type[T]:
    """Makes `cls` a frozen dataclass whose fields are checked on construction, with our errors in place of pydantic's.

    `__post_init__` checks rules about several fields and raises ValueError with a whole sentence.
    """
    checked: Any = dataclass(frozen=True, config=ConfigDict(extra="forbid"))(cls)
    initialise = checked.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, *args: Any, **fields: Any) -> None:  # noqa: N807
        try:
            initialise(self, *args, **fields)
        except ValidationError as error:
            raise DocgraphError(_sentence(checked, error.errors()[0])) from None

    checked.__init__ = __init__
    made: type[T] = checked
    return made


def parse(cls: type[T], values: Any, path: str | Path | None = None) -> T:
    """Returns the config of class `cls` from nested mappings; a mistake is reported for the file `path`."""
    if not isinstance(values, Mapping):
        raise DocgraphError(f"a config must be a mapping of fields, not {_quoted(values)}", path=path)
    try:
        config: T = cls.__pydantic_validator__.validate_python(values)  # type: ignore[attr-defined]
    except ValidationError as error:
        raise DocgraphError(_sentence(cls, error.errors()[0]), path=path) from None
    return config


def read_config(cls: type[T], path: str | Path, overrides: Iterable[str] = ()) -> T:
    """Returns the config of class `cls` in a YAML file, with `a.b=c` overrides."""
    return parse(cls, read_values(path, overrides), path)


def to_dict(config: Any) -> dict[str, Any]:
    """Returns the config as nested plain values that JSON and YAML can store."""
    return dataclasses.asdict(config)


def _sentence(cls: type, error: ErrorDetails) -> str:
    """Returns one sentence about a mistake that pydantic found in a config of class `cls`."""
    place, kind = error["loc"], error["type"]
    name = _dotted(place)
    if kind == "value_error":
        text = str(error["ctx"]["error"])
        return f"'{name}': {text}" if name else text
    if kind in ("unexpected_keyword_argument", "invalid_key"):
        known, unknown = list(_fields(cls, place[:-1])), str(place[-1])
        name = _dotted((*place[:-1], unknown))
        close = difflib.get_close_matches(unknown, known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"the fields are {', '.join(known)}"
        return f"unknown field '{name}'; {hint}"
    if kind in ("missing", "missing_argument"):
        return f"'{name}' is missing; give it a value"
    return f"'{name}' is {_quoted(error['input'])}; it must be {_allowed(cls, error)}"


def _dotted(place: Sequence[int | str]) -> str:
    """Returns a field's path as users write it: data.train[0].source."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).removeprefix(".")


def _quoted(value: object) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4,300 digits
        return "a number with thousands of digits"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


_KINDS = {
    "names": "a list of names",
    "pair": "a list of two names",
    "dataclass_type": "a mapping of fields",
    "finite_number": "a finite number",
}
_TYPES = {"int": "int", "float": "float", "bool": "bool", "string": "str"}
_BOUNDS = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}


def _allowed(cls: type, error: ErrorDetails) -> str:
    """Returns the allowed values of a field of the wrong type or outside its range."""
    place, kind = error["loc"], error["type"]
    if kind == "literal_error":
        return f"one of {error['ctx']['expected']}".replace(" or ", ", ").replace("'", "")
    if kind in _KINDS:
        return _KINDS[kind]
    if kind.startswith(("greater_than", "less_than")):
        bounds = _bounds(_fields(cls, place[:-1])[str(place[-1])])
        return " and ".join(f"{_BOUNDS[name]} {limit}" for name, limit in bounds.items())
    for prefix, type_name in _TYPES.items():
        if kind.startswith(prefix):
            return f"of type {type_name}"
    return f"something else ({error['msg'][:1].lower()}{error['msg'][1:]})"


def _fields(cls: type, place: Sequence[int | str]) -> dict[str, FieldInfo]:
    """Returns the fields of the config class that stands at `place` inside a config of class `cls`."""
    fields: dict[str, FieldInfo] = cls.__pydantic_fields__  # type: ignore[attr-defined]
    for part in place:
        if isinstance(part, str):
            nested: Any = next(filter(dataclasses.is_dataclass, _types_in(fields[part].annotation)))
            fields = nested.__pydantic_fields__
    return fields


def _types_in(annotation: Any) -> Iterator[Any]:
    """Yields an annotation and every type nested in it."""
    yield annotation
    for inner in typing.get_args(annotation):
        yield from _types_in(inner)


def _bounds(field: FieldInfo) -> dict[str, Any]:
    """Returns the limits of a number's range by their names: ge, gt, le, lt."""
    nested = [inner for part in _types_in(field.annotation) if isinstance(part, FieldInfo) for inner in part.metadata]
    limits = (*field.metadata, *nested)
    return {name: getattr(limit, name) for name in _BOUNDS for limit in limits if hasattr(limit, name)}


def locate(path: str | Path) -> Path:
    """Returns `path`, or its copy in the installed package if it begins with configs/ and does not exist."""
    path = Path(path)
    packaged = PACKAGED.joinpath(*path.parts[1:])
    return packaged if path.parts[:1] == ("configs",) and not path.exists() and packaged.exists() else path


def read_values(path: str | Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Returns the mapping in a YAML file, merged over the file it `extends`, with `a.b=c` overrides applied.

    `extends: other.yaml` is relative to the file. Mappings are merged field by field; any other value, including a
    list, replaces the inherited one. In the path of an override, a number is an index into a list.
    """
    values = _read_chain(locate(path), ())
    for override in overrides:
        _apply(values, override)
    return values


def _read_chain(path: Path, children: tuple[Path, ...]) -> dict[str, Any]:
    """Returns the mapping in `path` merged over the file it extends; `children` are the files that extend `path`."""
    if path.resolve() in [child.resolve() for child in children]:
        raise DocgraphError("this config extends itself, directly or through other files; break the cycle", path=path)
    try:
        values = _read_mapping(path)
    except FileNotFoundError:
        if not children:
            raise
        raise DocgraphError(f"'extends' names {path}, which does not exist; correct it", path=children[-1]) from None
    base = values.pop("extends", None)
    if base is None:
        return values
    if not isinstance(base, str):
        raise DocgraphError(f"'extends' is {_quoted(base)}; it must be the path of one file", path=path)
    return _merge(_read_chain(path.parent / base, (*children, path)), values)


def _read_mapping(path: Path) -> dict[str, Any]:
    import yaml

    try:
        values = _load_yaml(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = None if mark is None else mark.line + 1
        reason = str(error) if type(error) is ValueError else "it cannot be parsed"
        raise DocgraphError(f"this is not valid YAML ({reason}); correct it", path=path, line=line) from None
    if not isinstance(values, dict):
        raise DocgraphError(f"a config must be a mapping of fields, not {_quoted(values)}", path=path)
    return values


def _load_yaml(text: str) -> Any:
    """Returns the value of a YAML text. Raises YAMLError, ValueError (a malformed date or number) or RecursionError."""
    import yaml

    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        stack, count = [root], 0
        while stack:
            node, count = stack.pop(), count + 1
            if count > MAX_NODES:
                raise ValueError(f"it has more than {MAX_NODES} values, counting every alias as a copy")
            if isinstance(node, yaml.SequenceNode):
                stack.extend(node.value)
            elif isinstance(node, yaml.MappingNode):
                stack.extend(part for pair in node.value for part in pair)
        return None if root is None else loader.construct_document(root)
    finally:
        loader.dispose()


def _merge(base: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for name, value in values.items():
        inherited = merged.get(name)
        merged[name] = _merge(inherited, value) if isinstance(inherited, dict) and isinstance(value, dict) else value
    return merged


def _apply(values: dict[str, Any], override: str) -> None:
    """Sets the field that an `a.b=c` override names."""
    import yaml

    name, equals, text = override.partition("=")
    if not equals or not name:
        raise DocgraphError(f"'--set {override}' is not of the form a.b=c")
    try:
        value = _load_yaml(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise DocgraphError(f"the value of '--set {override[:MAX_SHOWN]}' is not valid YAML; quote it") from None
    *parents, last = name.split(".")
    container: Any = values
    for parent in parents:
        container = _enter(container, parent, override)
    container[_index(container, last, override) if isinstance(container, list) else last] = value


def _enter(container: Any, name: str, override: str) -> Any:
    """Returns the mapping or list under `name`; a missing one is created as an empty mapping."""
    if isinstance(container, list):
        inner = container[_index(container, name, override)]
    else:
        inner = container[name] = container[name] if container.get(name) is not None else {}
    if not isinstance(inner, dict | list):
        raise DocgraphError(f"'--set {override}': '{name}' is a value, not a mapping; shorten the path")
    return inner


def _index(container: list[Any], name: str, override: str) -> int:
    if not name.isdecimal() or int(name) >= len(container):
        raise DocgraphError(
            f"'--set {override}': the list has {len(container)} entries and '{name}' is not one of them; the first is 0"
        )
    return int(name)
