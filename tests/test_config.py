"""Config files: inheritance, overrides, unsafe YAML, and one-sentence errors for all kinds of config."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from docgraph import config
from docgraph.config import parse, read_config, read_values
from docgraph.corpus.config import DataEntry, PrepareConfig
from docgraph.errors import DocgraphError
from docgraph.model.config import TransformerConfig
from docgraph.research.table_config import find_table, read_table
from docgraph.training.config import TrainingConfig

ROOT = Path(__file__).resolve().parents[1]


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
    assert read_values(leaf) == expected
    assert read_values(leaf, ["a.y.p=9", "b.0=0"]) == {
        **expected,
        "a": {"x": 1, "y": {"p": 9, "q": 5}, "z": 7},
        "b": [0],
    }


def test_two_files_may_extend_the_same_one(tmp_path: Path) -> None:
    one = write(tmp_path, root="{a: {x: 1}}", other="{extends: root.yaml, a: {x: 2}}", one="extends: root.yaml")
    assert read_values(tmp_path / "other.yaml") == {"a": {"x": 2}}
    assert read_values(one) == {"a": {"x": 1}}


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"leaf": "extends: leaf.yaml"}, r"leaf.yaml: this config extends itself"),
        (
            {"root": "extends: leaf.yaml", "leaf": "extends: ./root.yaml"},
            r"leaf.yaml: this config extends itself, directly or through other files; break the cycle",
        ),
        ({"leaf": "extends: gone.yaml"}, r"leaf.yaml: 'extends' names .*gone.yaml, which does not exist"),
        ({"leaf": "extends: [a, b]"}, r"leaf.yaml: 'extends' is \['a', 'b'\]; it must be the path of one file"),
        ({"root": "a: [", "leaf": "extends: root.yaml"}, r"root.yaml:1: this is not valid YAML"),
    ],
    ids=["itself", "cycle", "missing", "list", "broken"],
)
def test_mistakes_are_named(files: dict[str, str], error: str, tmp_path: Path) -> None:
    with pytest.raises(DocgraphError, match=error):
        read_values(write(tmp_path, **files))


BOMB = "a0: &a0 [x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 8)}]\n" for i in range(1, 10)
)
MERGE_BOMB = "a0: &a0 {x: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 8)}]}}\n" for i in range(1, 10)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        MERGE_BOMB,
        "a: &a [*a]",
        "seed: 2024-02-30",
        "seed: !!int x",
        "a: " + "[" * 5000 + "]" * 5000,
        "seed: " + "9" * 5000,
        "a: !!python/object/apply:os.getcwd []",
        "a: \xff\ud800",
        "a: 1\n---\nb: 2",
    ],
    ids=["bomb", "merges", "cycle", "date", "tag", "nesting", "digits", "python", "bytes", "two documents"],
)
def test_hostile_yaml_is_refused_in_one_sentence(text: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    with pytest.raises(DocgraphError, match=r"c\.yaml(:\d+)?: this is not valid YAML") as caught:
        read_values(path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_an_override_may_not_be_hostile_either(tmp_path: Path) -> None:
    path = write(tmp_path, c="a: 1")
    with pytest.raises(DocgraphError, match="is not valid YAML"):
        read_values(path, ["a=" + "[" * 5000])


READERS: dict[str, tuple[Callable[[Path], object], dict[str, Any]]] = {
    "data": (
        lambda path: read_config(PrepareConfig, path),
        {"data": {"train": {"source": "a", "target": "b"}}, "languages": {"source": "en"}, "out": "x"},
    ),
    "train": (lambda path: read_config(TrainingConfig, path), {"data": "store", "stage": "base"}),
    "table": (
        read_table,
        {"sets": [{"name": "test"}], "columns": ["bleu:test"], "rows": [{"config": "a", "role": "base"}]},
    ),
}


@pytest.mark.parametrize(
    ("kind", "changes", "message"),
    [
        ("data", {"langages": {}}, "unknown field 'langages'; did you mean 'languages'?"),
        ("data", {"subwords": {"sise": 3}}, "unknown field 'subwords.sise'; did you mean 'size'?"),
        ("data", {"subwords": {"size": "many"}}, "'subwords.size' is 'many'; it must be of type int"),
        ("data", {"subwords": {"size": 7}}, "'subwords.size' is 7; it must be at least 8"),
        ("data", {"subwords": {"coverage": 0}}, "'subwords.coverage' is 0; it must be above 0 and at most 1"),
        ("data", {"max_ratio": 1}, "'max_ratio' is 1; it must be above 1"),
        ("data", {"data": {"train": ["a.txt"]}}, "'data.train[0]' is 'a.txt'; it must be a mapping of fields"),
        ("data", {"subwords": 32000}, "'subwords' is 32000; it must be a mapping of fields"),
        ("data", {1: 2}, "unknown field '1'; the fields are data, languages,"),
        ("train", {"optimiser": {}}, "unknown field 'optimiser'; did you mean 'optimizer'?"),
        (
            "train",
            {"model": {"context": {"graph": {"layer": 1}}}},
            "unknown field 'model.context.graph.layer'; did you mean 'layers'?",
        ),
        (
            "train",
            {"model": {"context": {"graph": {"layers": 0}}}},
            "'model.context.graph.layers' is 0; it must be at least 1",
        ),
        ("train", {"steps": 1e5}, "'steps' is 100000.0; it must be of type int"),
        ("train", {"steps": True}, "'steps' is True; it must be of type int"),
        ("train", {"schedule": {"peak": "fast"}}, "'schedule.peak' is 'fast'; it must be of type float"),
        ("train", {"schedule": {"peak": 0}}, "'schedule.peak' is 0; it must be above 0"),
        ("train", {"schedule": {"peak": float("nan")}}, "'schedule.peak' is nan; it must be a finite number"),
        ("train", {"precision": "fp16"}, "'precision' is 'fp16'; it must be one of fp32, bf16"),
        ("train", {"compile": "yes"}, "'compile' is 'yes'; it must be of type bool"),
        ("train", {"label_smoothing": 1}, "'label_smoothing' is 1; it must be at least 0 and below 1"),
        ("train", {"model": "base"}, "'model' is 'base'; it must be a mapping of fields"),
        ("train", {"batches": {"tokens": 0}}, "'batches.tokens' is 0; it must be at least 1"),
        ("train", {"validation": {"search": {"beams": 0}}}, "'validation.search.beams' is 0; it must be at least 1"),
        ("train", {"model": {"transformer": {"heads": 7}}}, "'model.transformer': dimension 512 is not a multiple of"),
        ("table", {"rowes": []}, "unknown field 'rowes'; did you mean 'rows'?"),
        ("table", {"rows": [{"config": "a", "seeds": 0}]}, "'rows[0].seeds' is 0; it must be at least 1"),
        (
            "table",
            {"rows": [{"config": "a", "paper": {"test": "x"}}]},
            "'rows[0].paper.test' is 'x'; it must be",
        ),
        ("table", {"rows": [{"config": "a", "role": "best"}]}, "'rows[0].role' is 'best'; it must be one of base,"),
        ("table", {"rows": 3}, "'rows[0]' is 3; it must be a mapping of fields"),
        ("table", {"columns": 3}, "'columns' is 3; it must be a list of names"),
        ("table", {"sets": "test"}, "'sets[0]' is 'test'; it must be a mapping of fields"),
    ],
)
def test_a_wrong_field_is_named_with_its_file_and_what_is_allowed(
    kind: str, changes: dict[Any, Any], message: str, tmp_path: Path
) -> None:
    read, values = READERS[kind]
    path = tmp_path / f"{kind}.yaml"
    path.write_text(yaml.safe_dump(values))
    read(path)
    path.write_text(yaml.safe_dump(values | changes))
    with pytest.raises(DocgraphError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_a_pair_of_names_is_a_list_or_a_string_with_a_comma() -> None:
    for pair in (["en", "fr"], "en,fr"):
        assert parse(DataEntry, {"source": "a", "languages": pair}).languages == ("en", "fr")
    with pytest.raises(DocgraphError, match=r"'languages' is \['en'\]; it must be a list of two names"):
        parse(DataEntry, {"source": "a", "languages": ["en"]})


def test_construction_in_python_is_checked_too() -> None:
    with pytest.raises(DocgraphError, match="'dropout' is 2; it must be at least 0 and below 1"):
        TransformerConfig(dropout=2)
    with pytest.raises(DocgraphError, match="'heads' is 0; it must be at least 1"):
        replace(TransformerConfig(), heads=0)


def test_packaged_configs_are_used_only_outside_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = tmp_path / "package"
    shutil.copytree(ROOT / "configs", packaged)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    with pytest.raises(DocgraphError, match=r"there is no table 'main'; name a YAML file or .* clone of docgraph's"):
        find_table("main")
    monkeypatch.setattr(config, "PACKAGED", packaged)
    assert find_table("main").path == packaged / "experiments" / "main.yaml"
    for run in find_table("main").runs():
        assert run.read_config(Path("runs")).data
    assert read_config(TrainingConfig, "configs/train/base.yaml").stage == "base"
    monkeypatch.chdir(ROOT)
    assert find_table("main").path == Path("configs/experiments/main.yaml")
