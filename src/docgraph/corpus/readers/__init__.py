"""Readers of parallel corpora: one streaming function per format, and the checks that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import compress
from pathlib import Path

from docgraph.corpus.config import DataEntry, FormatName
from docgraph.corpus.readers.aligned import read_blank_lines, read_docids, read_marks, read_tsv
from docgraph.corpus.readers.markup import read_sgm, read_train_tags, read_wmt_xml
from docgraph.corpus.readers.text_files import Problems, open_bytes
from docgraph.corpus.readers.tmx import read_tmx
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

__all__ = ["FORMATS", "Limits", "Problems", "detect", "read", "read_all"]

Reader = Callable[[DataEntry, Problems], Iterator[ParallelDocument]]
FORMATS: dict[FormatName, Reader] = {
    "lines": read_blank_lines,
    "docids": read_docids,
    "marks": read_marks,
    "sgm": read_sgm,
    "train-tags": read_train_tags,
    "wmt-xml": read_wmt_xml,
    "tsv": read_tsv,
    "tmx": read_tmx,
}
EXTENSIONS: dict[str, FormatName] = {".sgm": "sgm", ".sgml": "sgm", ".tsv": "tsv", ".tmx": "tmx"}
SMOOTHING = 20
"""Characters added to both sides before their lengths are compared, because the ratio of short pairs varies."""


@dataclass(frozen=True)
class Limits:
    """Limits on the lengths of a sentence pair."""

    max_ratio: float | None = 8.0
    max_characters: int = 8_000


def detect(entry: DataEntry) -> FormatName:
    """Returns the format of an entry: the one it names, or a guess from its file names and first bytes."""
    if entry.format is not None:
        return entry.format
    name = Path(entry.source).name.lower().removesuffix(".gz").removesuffix(".xz")
    if entry.docids is not None:
        return "docids"
    if name.startswith("train.tags"):
        return "train-tags"
    if (extension := Path(name).suffix) in EXTENSIONS:
        return EXTENSIONS[extension]
    with open_bytes(entry.source) as file:
        head = file.read(4096)
    if extension == ".xml":
        return "sgm" if entry.target is not None or b"<dataset" not in head else "wmt-xml"
    return "marks" if head.lstrip(b"\xef\xbb\xbf").startswith(b"<d>") else "lines"


def read(entry: DataEntry, problems: Problems, limits: Limits = Limits()) -> Iterator[ParallelDocument]:
    """Yields the documents of an entry, one in memory at a time; raises an error if it has none."""
    empty = True
    for document in FORMATS[detect(entry)](entry, problems):
        checked = _without_bad_pairs(document, problems, limits)
        if checked is not None:
            empty = False
            yield checked
    if empty:
        dropped = ", ".join(f"{count:,} dropped as {reason}" for reason, count in problems.dropped.most_common())
        message = f"there is no sentence pair in this file{f' ({dropped})' if dropped else ''}"
        raise DocgraphError(f"{message}; give one with text in it", path=entry.source)


def read_all(entries: Iterable[DataEntry], problems: Problems, limits: Limits = Limits()) -> Iterator[ParallelDocument]:
    """Yields the documents of several entries in order, each entry `times` times."""
    for entry in entries:
        for _ in range(entry.times):
            yield from read(entry, problems, limits)


def _without_bad_pairs(document: ParallelDocument, problems: Problems, limits: Limits) -> ParallelDocument | None:
    """Returns the document without its bad pairs, or None if no pair is left."""
    rows = zip(document.source, document.target, document.lines, strict=True)
    good = [_is_good(*row, document.path, problems, limits) for row in rows]
    if all(good):
        return document
    if not any(good):
        return None
    return ParallelDocument(
        document.id,
        tuple(compress(document.source, good)),
        tuple(compress(document.target, good)),
        document.path,
        tuple(compress(document.lines, good)),
        document.speakers and tuple(compress(document.speakers, good)),
    )


def _is_good(source: str, target: str, line: int, path: str, problems: Problems, limits: Limits) -> bool:
    """Returns whether the pair keeps to the limits; reports it if not."""
    short, long = sorted((len(source), len(target)))
    if long > limits.max_characters:
        message = f"a sentence of {long:,} characters (more than max_characters, {limits.max_characters:,})"
        problems.add("too long", message, path, line)
        return False
    if limits.max_ratio is not None and long + SMOOTHING > limits.max_ratio * (short + SMOOTHING):
        message = f"source and target have {len(source):,} and {len(target):,} characters, too different for a pair"
        problems.add("lengths differ", f"{message} (max_ratio is {limits.max_ratio:g})", path, line)
        return False
    return True
