"""Contrastive suites: one reader a format, told apart by what is in the file."""

from __future__ import annotations

from pathlib import Path

from docgraph.errors import DocgraphError
from docgraph.evaluation.suites import bawden, contrapro, jsonl, voita
from docgraph.evaluation.suites.base import Contrast, Suite, read_json

__all__ = ["Contrast", "Suite", "read_suite"]


def read_suite(path: str | Path) -> Suite:
    """The suite of a file (plain or compressed) or folder, in its authors' format or in ours."""
    suite = _read(Path(path))
    if not suite.contrasts:
        raise DocgraphError("there is no contrast in this suite; name another file", path=path)
    return suite


def _read(path: Path) -> Suite:
    if path.is_dir():
        return contrapro.read_texts(path)
    if ".jsonl" in path.suffixes:
        return jsonl.read(path)
    value = read_json(path)
    if isinstance(value, dict):
        return bawden.read(path, value)
    first = value[0] if isinstance(value, list) and value else None
    if isinstance(first, dict) and "dst" in first:
        return voita.read(path, value)
    if isinstance(first, dict) and "errors" in first:
        return contrapro.read(path, value)
    raise DocgraphError("this is no suite that docgraph can read; write one as JSON lines (NAME.jsonl)", path=path)
