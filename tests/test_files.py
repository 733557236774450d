"""Atomic writes, and errors that name the output."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from docgraph.files import new_folder, replacing
from docgraph.translation.resume import PartialFile


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
