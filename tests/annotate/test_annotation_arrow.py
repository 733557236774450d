"""Arrow files: lossless round trips, atomic writes, and errors for other files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from annotation_strategies import annotated_documents, assert_same
from hypothesis import given
from hypothesis import strategies as st

from docgraph.annotate import arrow
from docgraph.annotate.rule_based import WordAnnotator
from docgraph.annotation import Annotation
from docgraph.document import Document
from docgraph.errors import DocgraphError


@given(st.lists(annotated_documents(), max_size=4))
def test_written_reads_back(documents: list[tuple[Document, Annotation]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.arrow"
        arrow.write(path, ((document, annotation.with_notes("n")) for document, annotation in documents))
        back = arrow.read(path)
    assert len(back) == len(documents)
    for (document, annotation), (read_document, read_annotation) in zip(documents, back, strict=True):
        assert read_document == document
        assert_same(read_annotation, annotation)
        assert read_annotation.forms.table == annotation.forms.table
        assert read_annotation.notes == ("n",)


def test_rows_are_found_across_batches(tmp_path: Path) -> None:
    annotator = WordAnnotator("en")
    documents = [Document.from_sentences([f"number {n}"], f"d{n}") for n in range(2 * arrow.BATCH_ROWS + 3)]
    arrow.write(tmp_path / "a.arrow", ((document, annotator(document, None)) for document in documents))
    reader = arrow.ArrowReader(tmp_path / "a.arrow")
    assert reader.ids == [document.id for document in documents]
    for index in (0, arrow.BATCH_ROWS, len(documents) - 1, 1):
        document, annotation = reader[index]
        assert document == documents[index]
        assert annotation.forms.to_list() == ["number", str(index)]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    path.write_text("before")

    def broken() -> Iterator[tuple[Document, Annotation]]:
        document = Document.from_sentences(["a"])
        yield document, WordAnnotator("en")(document, None)
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        arrow.write(path, broken())
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "a.arrow"
    path.write_text("not Arrow at all")
    with pytest.raises(DocgraphError, match="not an Arrow file"):
        arrow.read(path)
    table = pa.table({"x": [1]})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(DocgraphError, match="no annotations of this version"):
        arrow.read(path)
