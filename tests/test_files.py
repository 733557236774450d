"""Atomic writes, and errors that name the output."""

from __future__ import annotations

import errno
import json
import tempfile
from pathlib import Path

import pytest

from docgraph.files import hidden_sibling, new_folder, replacing
from docgraph.translation.files.resume import FINISHED, FinishedFiles, PartialFile


def test_errors_name_the_output_not_the_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(**options: str) -> None:
        raise PermissionError(13, "Permission denied", f"{options['prefix']}xyz.tmp")

    monkeypatch.setattr(tempfile, "mkstemp", refused)
    monkeypatch.setattr(tempfile, "mkdtemp", refused)
    output = tmp_path / "out.txt"
    for made in (replacing(output), new_folder(output)):
        with pytest.raises(PermissionError) as caught, made:
            pass
        assert caught.value.filename == str(output)
    (tmp_path / ".out.txt.partial").mkdir()
    with pytest.raises(IsADirectoryError) as taken:
        PartialFile(output, "key").append(0, 0, [])
    assert taken.value.filename == str(output)


@pytest.mark.parametrize("name", [None, "the temporary file", "another file"])
def test_a_full_disk_names_the_output(tmp_path: Path, name: str | None) -> None:
    """Also if the error names no file, or the source of a copy."""
    for make in (replacing, new_folder):
        output = tmp_path / "out"
        with pytest.raises(OSError, match="No space left on device") as caught, make(output) as temporary:
            raise OSError(
                errno.ENOSPC, "No space left on device", str(temporary) if name == "the temporary file" else name
            )
        assert caught.value.filename == str(output)
        assert list(tmp_path.iterdir()) == []


def test_errors_of_other_files_keep_their_name(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught, replacing(tmp_path / "out"):
        (tmp_path / "source").read_bytes()
    assert caught.value.filename == str(tmp_path / "source")


def test_a_partial_file_on_a_full_disk_names_the_output(tmp_path: Path) -> None:
    output = tmp_path / "out.txt"
    hidden_sibling(output, ".partial").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        PartialFile(output, "key").append(0, 0, [])
    assert caught.value.filename == str(output)


def test_half_a_line_of_the_list_of_finished_files_is_not_appended_to(tmp_path: Path) -> None:
    path = tmp_path / FINISHED
    whole = json.dumps({"file": "a.txt", "made_with": {"model": "1"}})
    damaged = b'[1]\n{"file": 3, "made_with": {}}\n{"file": "c.txt", "made_with": 5}\n'
    path.write_bytes(f"{whole}\n".encode() + damaged + '{"file": "b\u00e9.txt'.encode()[:-5])
    files = FinishedFiles()
    assert files.changed(tmp_path / "a.txt", {"model": "2"}) == ["model"]
    files.add(tmp_path / "b.txt", {"model": "2"})
    again = FinishedFiles()
    assert again.changed(tmp_path / "a.txt", {"model": "1"}) == []
    assert again.changed(tmp_path / "b.txt", {"model": "3"}) == ["model"]
