"""ContraPro (Müller et al. 2018, English-German) and the large pronoun set of Lopes et al. (2020, English-French).

The JSON file lists sentences with their pronouns and `errors`, the wrong translations; the context is in the subtitles
they were taken from, looked for beside it: in a folder `documents` (`documents/1921/1921_12806_3712161.en` and `.de`),
as the set-up scripts of both sets lay them out, or in a folder `extracted` with the text files that come with the
French set. Without these there is no context. The text files can also be read alone: `[NAME.]current.src` and `.trg`,
a right line before a wrong one, and `[NAME.]cK.context.src` and `.trg` with the K sentences before each line.

The original script, the same for both, takes the score of the reference and then one an error, in file order; a
sentence is right when the reference is strictly better (lower, unless told to maximise) than every error. It counts by
pronoun (`it:er`), by whether the antecedent is in the same segment, and by the distance of the antecedent, all beyond
3 together. The text files alone give the pronouns only, and no distance.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites.base import Contrast, Suite, field_of, read_lines, reading, stem

FAR = 3
CONTEXT = 10
"""Sentences taken from the documents before each."""
_PRONOUN = re.compile(r"\b(?:il|elle)s?\b")
_SPELLING = re.compile(r"[\s\"'`´]")
Contexts = Callable[[Contrast, Any], Contrast]
"""A contrast with the context of its record."""


def read(path: str | Path, records: Any) -> Suite:
    """A set from the parsed records of its JSON file, with the context found beside it."""
    corpus = str(records[0].get("corpus"))
    languages = (corpus[-4:-2], corpus[-2:]) if re.search(r"[a-z]{4}$", corpus) else None
    with_context = _contexts(Path(path).parent, languages or ("en", "de"))
    contrasts = []
    for number, record in enumerate(records, 1):
        with reading(f"record {number}", path):
            contrasts.append(with_context(_contrast(record), record))
    return Suite(stem(path), tuple(contrasts), languages, far=FAR)


def _contrast(record: Any) -> Contrast:
    pronouns = (field_of(record, f"{side} pronoun", str).lower() for side in ("src", "ref"))
    wrong = [field_of(error, "contrastive", str) for error in field_of(record, "errors", list)]
    return Contrast(
        field_of(record, "src segment", str).strip(),
        tuple(text.strip() for text in (field_of(record, "ref segment", str), *wrong)),
        labels={"pronoun": ":".join(pronouns), "intrasegmental": str(record.get("intrasegmental")).lower()},
        distance=field_of(record, "ante distance", int),
    )


def _contexts(folder: Path, languages: tuple[str, str]) -> Contexts:
    if (folder / "documents").is_dir():
        return lambda contrast, record: _from_documents(contrast, record, folder / "documents", languages)
    if (folder / "extracted").is_dir():
        known = {_key(contrast): contrast for contrast in read_texts(folder / "extracted").contrasts}
        return lambda contrast, record: _from_texts(contrast, known)
    return lambda contrast, record: contrast


def _from_documents(contrast: Contrast, record: Any, folder: Path, languages: tuple[str, str]) -> Contrast:
    name, segment = field_of(record, "document id", str), field_of(record, "segment id", int)
    base = folder / name.partition("_")[0] / name.partition(".")[0]
    source, target = (_document(base.with_name(f"{base.name}.{language}")) for language in languages)
    # Segments count from 1 in the German set, from 0 in the French one.
    places = [place for place in (segment - 1, segment) if _same(source[place : place + 1], contrast.source)]
    if not places or len(source) != len(target):
        raise ValueError(f"segment {segment} of document '{name}' is not its source sentence")
    before = [pair for pair in zip(source[: places[0]], target[: places[0]], strict=True) if all(pair)][-CONTEXT:]
    context = tuple(pair[0] for pair in before), tuple(pair[1] for pair in before)
    return replace(contrast, source_context=context[0], target_context=context[1])


@lru_cache(maxsize=16)
def _document(path: Path) -> list[str]:
    if not path.is_file():
        raise ValueError(f"its document {path} is missing")
    return read_lines(path)


def _same(lines: list[str], text: str) -> bool:
    return bool(lines) and _SPELLING.sub("", lines[0]) == _SPELLING.sub("", text)


def _key(contrast: Contrast) -> tuple[str, ...]:
    return tuple(_SPELLING.sub("", text) for text in (contrast.source, *contrast.candidates))


def _from_texts(contrast: Contrast, known: dict[tuple[str, ...], Contrast]) -> Contrast:
    found = known.get(_key(contrast))
    if found is None:
        raise ValueError("its sentences are not in the text files of the folder 'extracted'")
    return replace(contrast, source_context=found.source_context, target_context=found.target_context)


def read_texts(folder: str | Path) -> Suite:
    """The French set from its text files."""
    current = next(iter(sorted(Path(folder).glob("*current.src"))), None)
    if current is None:
        raise DocgraphError("this folder has no 'current.src'; name a suite file, or the folder of one", path=folder)
    prefix = current.name.removesuffix("current.src")
    source, target = (read_lines(current.with_suffix(side)) for side in (".src", ".trg"))
    if len(source) != len(target) or len(source) % 2:
        counts = f"{len(source):,} source and {len(target):,} target lines"
        raise DocgraphError(f"{counts} are no pairs of a right and a wrong translation; get them again", path=current)
    paths = sorted(Path(folder).glob(f"{prefix}*context.src"))
    contexts = sorted((_windows(path, len(source)) for path in paths), key=lambda windows: -len(windows[0][0]))
    contrasts = []
    for first in range(0, len(source), 2):
        if source[first] != source[first + 1]:
            raise DocgraphError("this line differs from its pair, the line before", path=current, line=first + 2)
        # The longest context there is: near the beginning of a film the longer files have blank lines only.
        context = next((windows[first] for windows in contexts if all(windows[first][0])), ((), ()))
        pair = target[first], target[first + 1]
        contrasts.append(Contrast(source[first], pair, *context, labels={"pronoun": _pronoun(*pair)}))
    return Suite(prefix.rstrip(".") or Path(folder).name, tuple(contrasts), ("en", "fr"), far=FAR)


def _windows(path: Path, count: int) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """For each of `count` lines the sentences before it, of both sides."""
    sides = [read_lines(path), read_lines(path.with_suffix(".trg"))]
    size = len(sides[0]) // max(count, 1)
    if any(len(side) != size * count for side in sides) or not size:
        counts = f"{len(sides[0]):,} source and {len(sides[1]):,} target lines"
        raise DocgraphError(f"{counts} are no contexts of {count:,} sentences; get them again", path=path)
    source, target = ([tuple(side[i : i + size]) for i in range(0, len(side), size)] for side in sides)
    return list(zip(source, target, strict=True))


def _pronoun(right: str, wrong: str) -> str:
    """The pronoun that makes the difference, as the JSON file would name it: `it:il`, `they:elles`."""
    pairs = zip(*(_PRONOUN.findall(text.lower()) for text in (right, wrong)), strict=False)
    found = next((ours for ours, theirs in pairs if ours != theirs), "?")
    return f"{'they' if found.endswith('s') else 'it'}:{found}"
