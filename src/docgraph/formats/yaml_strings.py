"""YAML files of strings: scalar values that are text are read; keys, comments, anchors, order and layout stay.

A translated value keeps its style (plain, quoted, literal, folded) if it can be written in it. If the only top-level
key is a language code, as in Rails, it becomes the target language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import yaml

from docgraph.errors import DocgraphError
from docgraph.formats.base import NEWLINE, Edit, decode
from docgraph.formats.catalog import Catalog, Unit, catalog_format, is_language, safe_apostrophes
from docgraph.formats.string_values import check_string_file, is_text

MAX_BYTES = 4 * 2**20
"""Maximum file size: the YAML parser reads about 100 kB per second."""
MAX_DEPTH = 100
"""Maximum nesting of mappings and lists."""
_PROPERTIES = re.compile(r"(?:[&!]\S*\s+)*")
_HEADER = re.compile(rf"[|>](?P<indicators>[-+0-9]*)[^\r\n]*{NEWLINE}")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_STR = "tag:yaml.org,2002:str"


@dataclass(frozen=True, slots=True)
class _Scalar:
    """A scalar at content[start:end], without anchor and tag."""

    start: int
    end: int
    value: str
    style: str | None
    is_string: bool
    in_flow: bool
    key_depth: int = 0
    """For a key, its depth from 1; 0 for a value."""


def scan(data: bytes, name: str) -> Catalog:
    """Read a YAML file."""
    content, encoding = _decode(data, name)
    scalars = list(_scalars(content, name))
    units = [
        Unit(scalar.value, partial(_write, content, scalar))
        for scalar in scalars
        if not scalar.key_depth and scalar.is_string and is_text(scalar.value) and _can_write(content, scalar)
    ]
    roots = [scalar for scalar in scalars if scalar.key_depth == 1]

    def declare(language: str) -> list[Edit]:
        if len(roots) != 1 or not is_language(roots[0].value):
            return []
        quote = roots[0].style or ("" if _is_plain(language, in_flow=False) else '"')
        return [(roots[0].start, roots[0].end, f"{quote}{language}{quote}")]

    return Catalog(content, encoding, units, declare=declare)


def check(data: bytes, name: str) -> None:
    """Refuse a YAML file of data or settings."""
    content, _ = _decode(data, name)
    values = [scalar for scalar in _scalars(content, name) if not scalar.key_depth and scalar.value]
    strings = [scalar.value for scalar in values if scalar.is_string]
    check_string_file(strings, len(values) - len(strings), name, "yaml")


def _decode(data: bytes, name: str) -> tuple[str, str]:
    if len(data) > MAX_BYTES:
        raise DocgraphError(f"is larger than {MAX_BYTES >> 20} MiB; split it into smaller files", path=name)
    return decode(data, name)


def _scalars(content: str, name: str) -> Iterator[_Scalar]:
    """Yield the scalars, keys included."""
    resolver = yaml.SafeLoader("")
    stack: list[list[bool | str]] = []
    """[kind, the next node is a key, the collection is inside a key] of each open collection."""
    flow = 0
    try:
        for event in yaml.parse(content, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.CollectionEndEvent):
                stack.pop()
                flow = max(flow - 1, 0)
            if not isinstance(event, yaml.NodeEvent):
                continue
            parent = stack[-1] if stack else ["document", False, False]
            is_key = bool(parent[1])
            if parent[0] == "mapping":
                parent[1] = not is_key
            if isinstance(event, yaml.CollectionStartEvent):
                if len(stack) == MAX_DEPTH:
                    raise DocgraphError(f"nests more than {MAX_DEPTH} values; check the file", path=name)
                kind = "mapping" if isinstance(event, yaml.MappingStartEvent) else "list"
                stack.append([kind, kind == "mapping", is_key or bool(parent[2])])
                flow += bool(flow or event.flow_style)
            elif isinstance(event, yaml.ScalarEvent):
                depth = len(stack) if is_key or parent[2] else 0
                yield _scalar(content, event, resolver, flow > 0, depth)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        reason = " ".join((error.problem or "error").split())
        raise DocgraphError(f"is not YAML ({reason}); correct it", path=name, line=line) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = " ".join(str(error).split())[:100]
        raise DocgraphError(f"is not YAML ({reason}); correct it", path=name) from error


def _scalar(content: str, event: yaml.ScalarEvent, resolver: yaml.SafeLoader, in_flow: bool, key_depth: int) -> _Scalar:
    assert event.start_mark is not None
    assert event.end_mark is not None
    start, tag = event.start_mark.index, event.tag
    if (event.anchor or tag) and (properties := _PROPERTIES.match(content, start)):
        start = properties.end()
    if tag is None or tag == "!":
        tag = resolver.resolve(yaml.ScalarNode, event.value, event.implicit)  # type: ignore[no-untyped-call]
    return _Scalar(start, event.end_mark.index, event.value, event.style, tag == _STR, in_flow, key_depth)


def _can_write(content: str, scalar: _Scalar) -> bool:
    """Return whether a new value can be written; block scalars with indentation of their own are left alone."""
    raw = content[scalar.start : scalar.end]
    if scalar.style not in ("|", ">"):
        return not re.search("[\ud800-\udfff]", scalar.value)
    header = _HEADER.match(raw)
    lines = [line for line in scalar.value.split("\n") if line]
    if header is None or re.search("[0-9]", header["indicators"]) or not lines:
        return False
    return not any(line[0].isspace() for line in (lines[:1] if scalar.style == "|" else lines))


def _write(content: str, scalar: _Scalar, text: str, language: str) -> list[Edit]:
    text = safe_apostrophes(scalar.value, text)
    raw = content[scalar.start : scalar.end]
    if scalar.style in ("|", ">"):
        start, end, new = _block(raw, text, scalar.style == ">")
        return [(scalar.start + start, scalar.start + end, new)]
    if _UNPRINTABLE.search(text) or "\n" in text or "\t" in text or scalar.style == '"':
        quoted = json.dumps(text, ensure_ascii=False)
        return [(scalar.start, scalar.end, _UNPRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted))]
    if scalar.style is None and _is_plain(text, scalar.in_flow):
        return [(scalar.start, scalar.end, text)]
    return [(scalar.start, scalar.end, "'" + text.replace("'", "''") + "'")]


def _is_plain(text: str, in_flow: bool) -> bool:
    """Return whether the text can be written without quotes."""
    try:
        scalars = list(_scalars(f"[{text}, x]" if in_flow else f"k: {text}\n", ""))
    except DocgraphError:
        return False
    found = scalars[0] if in_flow and scalars else scalars[-1] if scalars else None
    return found is not None and len(scalars) == 2 and found.value == text and found.is_string and found.style is None


def _block(raw: str, text: str, folded: bool) -> tuple[int, int, str]:
    """Return the span in `raw` of the lines of a block scalar, and the new lines."""
    header = _HEADER.match(raw)
    assert header is not None
    body = raw[header.end() :]
    first = header.end() + len(body) - len(body.lstrip(" \t\r\n"))
    last = len(raw.rstrip(" \t\r\n"))
    line_start = max(raw.rfind("\n", 0, first), raw.rfind("\r", 0, first)) + 1
    indent = raw[line_start:first]
    newline = re.search(NEWLINE, raw)
    separator = newline[0] if newline else "\n"
    text = _UNPRINTABLE.sub(" ", text).strip("\n")
    if folded:
        width = max(len(line) for line in raw[first:last].splitlines())
        text = re.sub(r"\n+", lambda run: run[0] + "\n", text)
        text = "\n".join(_wrap(line, width) for line in text.split("\n"))
    lines = text.split("\n")
    return first, last, separator.join([lines[0], *(indent + line if line else "" for line in lines[1:])]).rstrip()


def _wrap(line: str, width: int) -> str:
    """Break a line at single spaces, which YAML reads as spaces again."""
    lines = [""]
    for word in re.split(r"(?<=\S) (?=\S)", line):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] += f" {word}" if lines[-1] else word
    return "\n".join(lines)


YAML = catalog_format("yaml", (".yaml", ".yml"), scan, check=check)
