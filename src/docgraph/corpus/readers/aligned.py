"""Line-aligned text: two files with documents marked by blank lines, ids or <d>, or one tab-separated file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.text_files import Problems, Reason, clean, read_aligned_lines, read_lines
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

MARK = "<d>"
Row = tuple[int, str | None, str | None, str | None, str | None]
"""(line number, source, target, document id, speaker); the last two are None without a file of them."""


class DocumentBuilder:
    """Collects the sentence pairs of the current document; `finish` yields it and begins the next."""

    def __init__(self, path: str, problems: Problems) -> None:
        self._path, self._file = path, Path(path).name
        self._problems = problems
        self._begin("")

    def _begin(self, identifier: str) -> None:
        self._id = identifier
        self._pairs: list[tuple[str, str, int, str | None]] = []
        self._rejected: Reason | None = None

    def add(self, line: int, source: str | None, target: str | None, speaker: str | None = None) -> None:
        """Adds a pair; skips it if a side is None (not UTF-8, already counted), reports it if one side is empty."""
        if source is None or target is None:
            return
        if source and target:
            self._pairs.append((source, target, line, speaker))
        elif source or target:
            side = "source" if not source else "target"
            self._problems.add("empty side", f"the {side} side of this pair is empty", self._path, line)

    def reject(self, reason: Reason) -> None:
        """Drops the whole current document for the given reason."""
        self._rejected = reason

    def finish(self, next_id: str = "") -> Iterator[ParallelDocument]:
        """Yields the current document, unless it is empty or rejected, and begins document `next_id`."""
        pairs, identifier, rejected = self._pairs, self._id, self._rejected
        self._begin(next_id)
        if rejected is not None:
            self._problems.dropped[rejected] += len(pairs)
        elif pairs:
            source, target, lines, speakers = zip(*pairs, strict=True)
            name = identifier or f"{self._file}:{lines[0]}"
            known_speakers = speakers if any(speaker is not None for speaker in speakers) else None
            yield ParallelDocument(name, source, target, self._path, lines, known_speakers)


def target_path(entry: DataEntry) -> str:
    """Returns the target file of an entry; raises an error if it has none."""
    if entry.target is None:
        raise DocgraphError("this format has two files; give the other one as 'target'", path=entry.source)
    return entry.target


def _rows(entry: DataEntry, builder: DocumentBuilder, problems: Problems) -> Iterator[Row]:
    """Yields the lines of all files of an entry; if one file ends early, the document at that line is rejected."""
    optional = [path for path in (entry.docids, entry.speakers) if path is not None]
    for row in read_aligned_lines([entry.source, target_path(entry), *optional], problems):
        if row is None:
            builder.reject("line counts differ")
            return
        number, (source, target, *others) = row
        docid = others.pop(0) if entry.docids is not None else None
        speaker = others[0] or None if entry.speakers is not None else None
        yield number, source, target, docid, speaker


def read_blank_lines(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads documents that end at a line blank on both sides; a line blank on one side makes its document bad."""
    builder = DocumentBuilder(entry.source, problems)
    for number, source, target, _, speaker in _rows(entry, builder, problems):
        if source == "" and target == "":
            yield from builder.finish()
        elif source == "" or target == "":
            blank, other = (entry.source, entry.target) if source == "" else (entry.target, entry.source)
            message = f"this line is blank and line {number} of {other} is not"
            problems.add("boundaries differ", message, str(blank), number)
            builder.reject("boundaries differ")
        else:
            builder.add(number, source, target, speaker)
    yield from builder.finish()


def read_docids(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads documents that begin at a new id; ids are in their own file or in the first column of both files."""
    builder = DocumentBuilder(entry.source, problems)
    current: str | None = None
    for number, source, target, docid, speaker in _rows(entry, builder, problems):
        if source is None or target is None or (entry.docids is not None and docid is None):
            continue
        if entry.docids is None:
            docid, source, target = _split_columns(entry, number, source, target, problems)
        elif not docid and (source or target):
            problems.add("malformed", "this line has no document id", entry.docids, number)
        if docid:
            if docid != current:
                yield from builder.finish(docid)
            current = docid
            builder.add(number, source, target, speaker)
    yield from builder.finish()


def _split_columns(entry: DataEntry, number: int, source: str, target: str, problems: Problems) -> tuple[str, str, str]:
    """Returns (document id, source, target) of lines with an id and a tab; the id is empty for a blank or bad line."""
    (docid, tab, source), (other, other_tab, target) = source.partition("\t"), target.partition("\t")
    if not docid and not other:
        return "", "", ""
    if not tab or not other_tab:
        path = entry.source if not tab else str(entry.target)
        problems.add("malformed", "this line has no tab after a document id", path, number)
        return "", "", ""
    if docid != other:
        message = f"this line belongs to document '{other}' and line {number} of {entry.source} to '{docid}'"
        problems.add("boundaries differ", message, str(entry.target), number)
        return "", "", ""
    return docid.strip(), source.strip(), target.strip()


def read_marks(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads documents that begin with <d> on both sides, on a line of its own or before the first sentence."""
    builder = DocumentBuilder(entry.source, problems)
    for number, source, target, _, speaker in _rows(entry, builder, problems):
        marked = [text.startswith(MARK) for text in (source, target) if text is not None]
        if True in marked and False in marked:
            path, other = (entry.source, entry.target) if marked[0] else (entry.target, entry.source)
            message = f"this line has {MARK} and line {number} of {other} does not"
            problems.add("boundaries differ", message, str(path), number)
            builder.reject("boundaries differ")
        elif True in marked:
            yield from builder.finish()
        source, target = (text if text is None else text.removeprefix(MARK).strip() for text in (source, target))
        builder.add(number, source, target, speaker)
    yield from builder.finish()


def read_tsv(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Reads tab-separated values: a new document id or a blank line begins a document; a header line is skipped."""
    columns = list(entry.columns)
    if not {"source", "target"} <= set(columns):
        raise DocgraphError(f"'columns' is {', '.join(columns)}; it must name source and target", path=entry.source)
    builder = DocumentBuilder(entry.source, problems)
    current = ""
    for number, line in enumerate(read_lines(entry.source, problems, tabs=True), start=1):
        if line is None:
            continue
        if not line.strip():
            yield from builder.finish()
            current = ""
            continue
        cells = [clean(cell) for cell in line.split("\t")]
        if number == 1 and cells == columns:
            continue
        if len(cells) != len(columns):
            message = f"this line has {len(cells)} columns, not the {len(columns)} of {', '.join(columns)}"
            problems.add("malformed", message, entry.source, number)
            continue
        row = dict(zip(columns, cells, strict=True))
        if row.get("docid", "") != current:
            current = row["docid"]
            yield from builder.finish(current)
        builder.add(number, row["source"], row["target"])
    yield from builder.finish()
