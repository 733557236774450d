"""Settings that extend other settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from docgraph.settings import read_settings


def write(folder: Path, **files: str) -> Path:
    """YAML files by name; the path of the last."""
    for name, text in files.items():
        path = folder / f"{name}.yaml"
        path.write_text(text)
    return path


def test_mappings_merge_along_the_chain_and_other_values_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "bases").mkdir()
    write(tmp_path / "bases", root="{a: {x: 1, y: {p: 1, q: 2}}, b: [1, 2], c: 3, context: {d: 4}}")
    write(tmp_path / "bases", middle="{extends: root.yaml, a: {y: {q: 5}}, b: [6]}")
    leaf = write(tmp_path, leaf="{extends: bases/middle.yaml, a: {z: 7}, context: null, e: {f: 8}}")
    expected = {"a": {"x": 1, "y": {"p": 1, "q": 5}, "z": 7}, "b": [6], "c": 3, "context": None, "e": {"f": 8}}
    assert read_settings(leaf) == expected
    assert read_settings(leaf, ["a.y.p=9", "b.0=0"]) == {
        **expected,
        "a": {"x": 1, "y": {"p": 9, "q": 5}, "z": 7},
        "b": [0],
    }


def test_two_files_may_extend_the_same_one(tmp_path: Path) -> None:
    one = write(tmp_path, root="{a: {x: 1}}", other="{extends: root.yaml, a: {x: 2}}", one="extends: root.yaml")
    assert read_settings(tmp_path / "other.yaml") == {"a": {"x": 2}}
    assert read_settings(one) == {"a": {"x": 1}}


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"leaf": "extends: leaf.yaml"}, r"leaf.yaml: this config extends itself"),
        (
            {"root": "extends: leaf.yaml", "leaf": "extends: ./root.yaml"},
            r"leaf.yaml: this config extends itself, by way of the files it extends; break the cycle",
        ),
        ({"leaf": "extends: gone.yaml"}, r"leaf.yaml: 'extends' names .*gone.yaml, which does not exist"),
        ({"leaf": "extends: [a, b]"}, r"leaf.yaml: 'extends' is \['a', 'b'\]; it must be the path of one file"),
        ({"root": "a: [", "leaf": "extends: root.yaml"}, r"root.yaml:1: this is not valid YAML"),
    ],
    ids=["itself", "cycle", "missing", "list", "broken"],
)
def test_mistakes_are_named(files: dict[str, str], error: str, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=error):
        read_settings(write(tmp_path, **files))
