"""Readers of message catalogues: gettext (PO, MO), JSON, Fluent, string tables and .properties."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from everyday.cleaning import COUNT
from everyday.documents import Document, Pair, Reader, cut, find, matched, regroup, twins

_FLUENT = re.compile(r"(-?[A-Za-z][\w-]*|\s+\.[A-Za-z][\w-]*)\s*=\s*(.*)")
_PROPERTY = re.compile(r"(?m)^([^#!=\s][^=\n]*?)\s*=[ \t]*(.*)")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


def gettext(*patterns: str, most: int = 300) -> Reader:
    """Return a reader of PO and MO files; the messages of a source file are a document of at most `most` messages."""

    def read(folder: Path) -> Iterator[Document]:
        for pattern in patterns:
            for path in find(folder, pattern):
                yield from regroup(str(path.relative_to(folder)), gettext_parts(path), most)

    return read


def gettext_parts(path: Path) -> Iterator[list[Pair]]:
    """Yield the translated messages of a catalogue, grouped by source file (which MO files do not have)."""
    import polib  # type: ignore[import-untyped]

    entries = polib.mofile(str(path)) if path.suffix == ".mo" else polib.pofile(str(path))
    usable = (entry for entry in entries if not entry.obsolete and "fuzzy" not in entry.flags)
    for _, group in groupby(usable, key=_origin):
        yield [pair for entry in group for pair in _messages(entry)]


def _origin(entry: Any) -> tuple[str, ...]:
    return Path(entry.occurrences[0][0]).parts[-2:] if entry.occurrences else ()


def _messages(entry: Any) -> list[Pair]:
    """Return a message and its translation, or two pairs if it has a plural; the count of the singular is 1."""
    if not entry.msgid_plural:
        return [(entry.msgid, entry.msgstr)] if entry.msgstr else []
    one, many = entry.msgstr_plural.get(0), entry.msgstr_plural.get(1)
    if not one or not many:
        return []
    return [(COUNT.sub("1", entry.msgid), COUNT.sub("1", one)), (entry.msgid_plural, many)]


def leaves(node: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, string) for all strings of a JSON value."""
    if isinstance(node, str):
        yield path, node
        return
    items: Iterable[tuple[Any, Any]] = (
        node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    )
    for key, child in items:
        yield from leaves(child, f"{path}/{key}")


def load(path: Path, *keys: str) -> Any:
    """Return the content of a JSON file, or its value under `keys`."""
    node = json.loads(path.read_text(encoding="utf-8"))
    for key in keys:
        node = node[key]
    return node


def strings(path: Path, *keys: str) -> dict[str, str]:
    """Return the strings under `keys` of a JSON file, by path."""
    return dict(leaves(load(path, *keys)))


def json_files(pattern: str, english: str, french: str) -> Reader:
    """Return a reader of JSON catalogues in pairs of files; each pair is a document."""

    def read(folder: Path) -> Iterator[Document]:
        for path, twin in twins(folder, pattern, english, french):
            yield Document(str(path.relative_to(folder)), matched(strings(path), strings(twin)))

    return read


def json_languages(*patterns: str, keys: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> Reader:
    """Return a reader of JSON files, cut into documents; `*` is the language in the name, and the key of the content.

    `keys` select a part of the content; strings whose last key is in `skip` are left out.
    """

    def read(folder: Path) -> Iterator[Document]:
        for pattern in patterns:
            english, french = (
                strings(find(folder, pattern.replace("*", language))[0], language, *keys) for language in ("en", "fr")
            )
            kept = {key: text for key, text in english.items() if key.rsplit("/", 1)[-1] not in skip}
            yield from cut(pattern, matched(kept, french))

    return read


def json_hashed(folder_name: str) -> Reader:
    """Return a reader of en-HASH.json and fr-HASH.json in the folders below one folder, cut into documents."""

    def read(folder: Path) -> Iterator[Document]:
        for path in find(folder, f"{folder_name}/**/en-[0-9a-f]*.json"):
            for twin in path.parent.glob("fr-[0-9a-f]*.json"):
                yield from cut(str(path.parent.relative_to(folder)), matched(strings(path), strings(twin)))

    return read


def fluent(english: str, french: str) -> Reader:
    """Return a reader of Fluent files in two folders, paired by their paths after localization/LANGUAGE/."""

    def read(folder: Path) -> Iterator[Document]:
        translations = {_fluent_name(path): path for path in find(folder, f"{french}/**/*.ftl")}
        for path in find(folder, f"{english}/**/*.ftl"):
            if twin := translations.get(_fluent_name(path)):
                pairs = matched(fluent_messages(path), fluent_messages(twin))
                yield Document(str(path.relative_to(folder)), pairs)

    return read


def _fluent_name(path: Path) -> str:
    return re.sub(r".*localization/[^/]+/", "", path.as_posix())


def fluent_messages(path: Path) -> dict[str, str]:
    """Return the messages and attributes of a Fluent file, without variants, keyboard shortcuts and styles."""
    messages: dict[str, str] = {}
    key = ""
    for line in path.read_text(encoding="utf-8").split("\n"):
        if start := _FLUENT.match(line):
            name = start[1].strip()
            key = key.split(".")[0] + name if name.startswith(".") else name
            messages[key] = start[2]
        elif line and not line[0].isspace():
            key = ""
        elif key:
            before, more = messages[key], line.strip()
            joint = "\n" if not more else " " if before and not before.endswith("\n") else ""
            messages[key] = before + joint + more
    return {
        key: text for key, text in messages.items() if text and "->" not in text and not key.endswith(("key", ".style"))
    }


def string_tables(english: str, french: str) -> Reader:
    """Return a reader of FreeOrion's string tables: blocks of a key and lines of text."""

    def read(folder: Path) -> Iterator[Document]:
        tables = (string_table(find(folder, pattern)[0].read_text(encoding="utf-8")) for pattern in (english, french))
        yield from cut(english, matched(*tables))

    return read


def string_table(text: str) -> dict[str, str]:
    """Return the strings of a table by key; comments and blocks without a key are ignored."""
    blocks = (block.strip().partition("\n") for block in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n", "", text)))
    return {key.strip(): body.strip(" \n'") for key, _, body in blocks if body and re.fullmatch(r"[A-Z0-9_]+\s*", key)}


def properties(pattern: str, english: str, french: str, keys: str) -> Reader:
    """Return a reader of Java's .properties files as one document of the strings whose key matches `keys`."""

    def read(folder: Path) -> Iterator[Document]:
        pairs: list[Pair] = []
        for path, twin in twins(folder, pattern, english, french):
            pairs += matched(_properties(path, keys), _properties(twin, keys))
        yield Document(pattern, pairs)

    return read


def _properties(path: Path, keys: str) -> dict[str, str]:
    text = _ESCAPE.sub(lambda code: chr(int(code[1], 16)), path.read_text(encoding="latin-1"))
    return {found[1]: found[2].strip() for found in _PROPERTY.finditer(text) if re.fullmatch(keys, found[1])}
