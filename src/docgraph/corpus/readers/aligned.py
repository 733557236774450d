"""Line-aligned text files: documents parted by blank lines, by a document id for each line, or by <d> marks."""

from __future__ import annotations

from collections.abc import Iterator

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.builder import DocumentBuilder
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.text_files import side_by_side
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError

MARK = "<d>"
Row = tuple[int, str | None, str | None, str | None, str | None]
"""(line, source, target, document id where there is a file of them, speaker where there is a file of them)."""


def _rows(entry: DataEntry, builder: DocumentBuilder, problems: Problems) -> Iterator[Row]:
    """The lines of all files of an entry; where their numbers differ, the document in which one ends is spoilt."""
    if entry.target is None:
        raise DocgraphError("this format has two files; name the other as 'target'", path=entry.source)
    optional = [path for path in (entry.docids, entry.speakers) if path is not None]
    for row in side_by_side([entry.source, entry.target, *optional], problems):
        if row is None:
            builder.spoil("line counts differ")
            return
        number, (source, target, *others) = row
        docid = others.pop(0) if entry.docids is not None else None
        speaker = others[0] or None if entry.speakers is not None else None
        yield number, source, target, docid, speaker


def read_blank_lines(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """A blank line on both sides ends a document; on one side it spoils the document it stands in."""
    builder = DocumentBuilder(entry.source, problems)
    for number, source, target, _, speaker in _rows(entry, builder, problems):
        if source == "" and target == "":
            yield from builder.finish()
        elif source == "" or target == "":
            blank, other = (entry.source, entry.target) if source == "" else (entry.target, entry.source)
            problems.add(
                "boundaries differ", f"this line is blank and line {number} of {other} is not", str(blank), number
            )
            builder.spoil("boundaries differ")
        else:
            builder.add(number, source, target, speaker)
    yield from builder.finish()


def read_docids(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Another document id begins another document; ids stand in their own file or in a first column of both files."""
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
    """(document id, source, target) of lines with an id and a tab before the text; no id where blank or bad."""
    (docid, tab, source), (other, other_tab, target) = source.partition("\t"), target.partition("\t")
    if not docid and not other:
        return "", "", ""
    if not tab or not other_tab:
        path = entry.source if not tab else str(entry.target)
        problems.add("malformed", "this line has no tab after a document id", path, number)
        return "", "", ""
    if docid != other:
        message = f"this line is of document '{other}' and line {number} of {entry.source} of '{docid}'"
        problems.add("boundaries differ", message, str(entry.target), number)
        return "", "", ""
    return docid.strip(), source.strip(), target.strip()


def read_marks(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """<d>, alone on a line or before its first sentence, begins a document on both sides."""
    builder = DocumentBuilder(entry.source, problems)
    for number, source, target, _, speaker in _rows(entry, builder, problems):
        marked = [text.startswith(MARK) for text in (source, target) if text is not None]
        if True in marked and False in marked:
            path, other = (entry.source, entry.target) if marked[0] else (entry.target, entry.source)
            problems.add(
                "boundaries differ", f"{MARK} stands here and not in line {number} of {other}", str(path), number
            )
            builder.spoil("boundaries differ")
        elif True in marked:
            yield from builder.finish()
        source, target = (text if text is None else text.removeprefix(MARK).strip() for text in (source, target))
        builder.add(number, source, target, speaker)
    yield from builder.finish()
