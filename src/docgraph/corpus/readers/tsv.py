"""Tab-separated values: source, target and document id in one file."""

from __future__ import annotations

from collections.abc import Iterator

from docgraph.corpus.config import DataEntry
from docgraph.corpus.readers.builder import DocumentBuilder
from docgraph.corpus.readers.problems import Problems
from docgraph.corpus.readers.text_files import clean, read_lines
from docgraph.document import ParallelDocument
from docgraph.errors import DocgraphError


def read_tsv(entry: DataEntry, problems: Problems) -> Iterator[ParallelDocument]:
    """Another document id, or a blank line, begins another document; a first line of column names is passed over."""
    columns = list(entry.columns)
    if not {"source", "target"} <= set(columns):
        raise DocgraphError(f"'columns' is {', '.join(columns)}; it must name source and target", path=entry.source)
    builder = DocumentBuilder(entry.source, problems)
    current = ""
    for number, line in enumerate(read_lines(entry.source, problems, tabs=True), start=1):
        blank = line is not None and not line.strip()
        if blank:
            yield from builder.finish()
            current = ""
        if blank or line is None:
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
