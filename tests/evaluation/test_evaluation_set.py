"""Reading systems, reference and source line by line, with or without blank lines between documents."""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from docgraph.evaluation.evaluation_set import read_evaluation_set, read_output

PARTED = "a\nb\n\nc\n"


def write(folder: Path, **files: str) -> dict[str, Path]:
    for name, text in files.items():
        (folder / name).write_text(text)
    return {name: folder / name for name in files}


def test_the_reference_sets_the_documents_and_translations_may_be_empty(tmp_path: Path) -> None:
    files = write(
        tmp_path, ref=PARTED, parted="A\n\n\nC\n", flat="A\nB\nC\n", longer="A\nB\n\nC\n\n\n", last="A\nB\n\n\n"
    )
    reference = files.pop("ref")
    data = read_evaluation_set(files, reference)
    assert data.documents.tolist() == [0, 2, 3]
    assert data.systems == {
        "parted": ["A", "", "C"],
        "flat": ["A", "B", "C"],
        "longer": ["A", "B", "C"],
        "last": ["A", "B", ""],
    }
    assert data.split(data.reference) == [["a", "b"], ["c"]]


def test_the_source_sets_the_documents_if_the_reference_has_no_blank_line(tmp_path: Path) -> None:
    files = write(tmp_path, ref="a\nb\nc\n", source=PARTED, one="A\nB\n\nC\n", two="A\nB\nC\n")
    data = read_evaluation_set({"one": files["one"], "two": files["two"]}, files["ref"], files["source"])
    assert data.documents.tolist() == [0, 2, 3]
    assert data.source == ["a", "b", "c"]
    assert data.systems["one"] == data.systems["two"] == ["A", "B", "C"]


def test_a_line_that_is_blank_only_in_the_reference_is_a_sentence(tmp_path: Path) -> None:
    files = write(tmp_path, ref="a\n\n\nc\n", source=PARTED)
    data = read_evaluation_set({}, files["ref"], files["source"])
    assert data.reference == ["a", "", "c"]


def test_blank_lines_around_the_documents_of_an_output_do_not_count(tmp_path: Path) -> None:
    files = write(tmp_path, spaced="\nA\nB\n\n\nC\n", empty="A\n\n\nC\n", flat="A\nB\nC\n")
    found = {name: read_output(path, [2, 1], "the set") for name, path in files.items()}
    assert found == {"spaced": ["A", "B", "C"], "empty": ["A", "", "C"], "flat": ["A", "B", "C"]}


@pytest.mark.parametrize(
    ("system", "message"),
    [
        ("A\nB\n", "sys: has 2 lines and {ref} has 4 (3 sentences)"),
        ("A\nB\nX\nC\n", "sys:3: this line has text where {ref} has the blank line between two documents"),
    ],
    ids=["count", "boundary"],
)
def test_misaligned_files_are_named_with_their_sizes(tmp_path: Path, system: str, message: str) -> None:
    files = write(tmp_path, ref=PARTED, sys=system)
    with pytest.raises(DocgraphError) as caught:
        read_evaluation_set({"sys": files["sys"]}, files["ref"])
    assert message.format(ref=files["ref"]) in str(caught.value)


def test_undecodable_and_empty_references(tmp_path: Path) -> None:
    (tmp_path / "ref").write_bytes(b"a\n\xff\n")
    with pytest.raises(DocgraphError, match="ref:2: this line is not UTF-8"):
        read_evaluation_set({}, tmp_path / "ref")
    (tmp_path / "ref").write_text("\n\n")
    with pytest.raises(DocgraphError, match="holds no sentence"):
        read_evaluation_set({}, tmp_path / "ref")
