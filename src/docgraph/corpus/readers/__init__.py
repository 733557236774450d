"""Readers of parallel corpora: one function a format, streaming; checks that all formats share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from docgraph.corpus.config import DataEntry, FormatName
from docgraph.corpus.readers.aligned import read_blank_lines, read_docids, read_marks
from docgraph.corpus.readers.markup import read_sgm, read_train_tags, read_wmt_xml
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.text_files import open_bytes
from docgraph.corpus.readers.tmx import read_tmx
from docgraph.corpus.readers.tsv import read_tsv
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
SMOOTHING = 20
"""Characters added to both sides before their lengths are compared: short pairs vary."""


@dataclass(frozen=True)
class Limits:
    """What a sentence pair must keep to."""

    max_ratio: float | None = 8.0
    max_characters: int = 8_000


def detect(entry: DataEntry) -> FormatName:
    """The format an entry names or, from its file names and first bytes, most likely has."""
    if entry.format is not None:
        return entry.format
    name = Path(entry.source).name.lower().removesuffix(".gz").removesuffix(".xz")
    if entry.docids is not None:
        return "docids"
    if name.startswith("train.tags"):
        return "train-tags"
    if name.endswith((".sgm", ".sgml")):
        return "sgm"
    if name.endswith(".tsv"):
        return "tsv"
    if name.endswith(".tmx"):
        return "tmx"
    with open_bytes(entry.source) as file:
        head = file.read(4096)
    if name.endswith(".xml"):
        return "sgm" if entry.target is not None or b"<dataset" not in head else "wmt-xml"
    return "marks" if head.lstrip(b"\xef\xbb\xbf").startswith(b"<d>") else "lines"


def read(entry: DataEntry, problems: Problems, limits: Limits = Limits()) -> Iterator[ParallelDocument]:
    """The documents of an entry, one in memory at a time; an entry without any is an error."""
    some = False
    for document in FORMATS[detect(entry)](entry, problems):
        checked = _checked(document, problems, limits)
        if checked is not None:
            some = True
            yield checked
    if not some:
        dropped = ", ".join(f"{count:,} dropped as {reason}" for reason, count in problems.dropped.most_common())
        told = f" ({dropped})" if dropped else ""
        raise DocgraphError(
            f"there is no sentence pair in this file{told}; give one with text in it", path=entry.source
        )


def read_all(entries: Iterable[DataEntry], problems: Problems, limits: Limits = Limits()) -> Iterator[ParallelDocument]:
    """The documents of several entries, in order, each entry as often as it says."""
    for entry in entries:
        for _ in range(entry.times):
            yield from read(entry, problems, limits)


def _checked(document: ParallelDocument, problems: Problems, limits: Limits) -> ParallelDocument | None:
    """The document without its bad pairs; None where nothing is left."""
    rows = zip(document.source, document.target, document.lines, strict=True)
    keep = [index for index, row in enumerate(rows) if _is_good(*row, document, problems, limits)]
    if len(keep) == len(document):
        return document
    if not keep:
        return None
    source, target, lines = (
        tuple(column[index] for index in keep) for column in (document.source, document.target, document.lines)
    )
    speakers = document.speakers and tuple(document.speakers[index] for index in keep)
    return ParallelDocument(document.id, source, target, document.path, lines, speakers)  # type: ignore[arg-type]


def _is_good(
    source: str, target: str, line: int, document: ParallelDocument, problems: Problems, limits: Limits
) -> bool:
    short, long = sorted((len(source), len(target)))
    if long > limits.max_characters:
        message = f"a sentence of {long:,} characters (more than max_characters, {limits.max_characters:,})"
        problems.add("too long", message, document.path, line)
        return False
    if limits.max_ratio is not None and long + SMOOTHING > limits.max_ratio * (short + SMOOTHING):
        message = f"source and target have {len(source):,} and {len(target):,} characters, too far apart for a pair"
        problems.add("lengths differ", f"{message} (max_ratio is {limits.max_ratio:g})", document.path, line)
        return False
    return True
