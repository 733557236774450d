"""Data configs: strict fields, overrides from the command line, and the examples that are shipped."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from docgraph.config import parse, read_config, read_values
from docgraph.corpus.config import PrepareConfig, SubwordsConfig
from docgraph.corpus.readers import FORMATS
from docgraph.corpus.readers.text_files import Reason
from docgraph.errors import DocgraphError

ROOT = Path(__file__).resolve().parents[2]
CONFIGS = sorted((ROOT / "configs" / "data").glob("*.yaml"))
PLAIN = "languages: {source: en}\ndata: {train: {source: a, target: b}}\nout: x\n"


def test_an_entry_or_a_list_of_entries_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(PLAIN)
    assert [entry.source for entry in read_config(PrepareConfig, path).data.train] == ["a"]
    path.write_text(PLAIN.replace("{source: a, target: b}", "[{source: a}, {source: b, format: tsv}]"))
    assert [(entry.source, entry.format) for entry in read_config(PrepareConfig, path).data.train] == [
        ("a", None),
        ("b", "tsv"),
    ]


def test_overrides_reach_mappings_lists_and_new_fields(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(PLAIN.replace("{source: a, target: b}", "[{source: a}]"))
    config = read_config(
        PrepareConfig, path, ["subwords.size=500", "data.train.0.source=z", "subwords.joint=false", "max_ratio=null"]
    )
    assert (config.subwords.size, config.subwords.joint, config.max_ratio) == (500, False, None)
    assert config.data.train[0].source == "z"


@pytest.mark.parametrize(
    ("override", "error"),
    [
        ("size", "is not of the form a.b=c"),
        ("out.x=1", "'out' is a value, not a mapping; shorten the path"),
        ("data.train.7.source=a", "the list has 1 entries and '7' is not one of them"),
        ("out=[", "is not valid YAML"),
    ],
)
def test_bad_overrides(override: str, error: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(PLAIN.replace("{source: a, target: b}", "[{source: a}]"))
    with pytest.raises(DocgraphError, match=error):
        read_values(path, [override])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("out: x", "outt: x"), "unknown field 'outt'; did you mean 'out'"),
        (("target: b", "tarket: b"), r"unknown field 'data.train\[0\].tarket'; did you mean 'target'"),
        (("source: a", "format: cvs"), "'data.train\\[0\\].format' is 'cvs'; it must be one of lines"),
        (("source: a, ", ""), r"'data.train\[0\]': 'source' is missing"),
        (("source: a", "source: a, times: 0"), r"'data.train\[0\].times' is 0; it must be at least 1 and at most 100"),
        (("{source: en}", "{}"), "'languages.source' is missing"),
        (
            ("{source: en}", "{source: 'conllu:x'}"),
            "'languages': 'conllu:x' is not a language code such as en or pt-BR",
        ),
        (("out: x", ""), "'out' is missing"),
        (("train:", "dev:"), "there is no 'data.train' to train sub-words on"),
        (("out: x", "out: [x"), "c.yaml:4: this is not valid YAML"),
    ],
)
def test_mistakes_are_named(change: tuple[str, str], error: str, tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(PLAIN.replace(*change))
    with pytest.raises(DocgraphError, match=error) as caught:
        read_config(PrepareConfig, path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_shipped_configs_load(path: Path) -> None:
    data = read_config(PrepareConfig, path).data
    assert data.train or data.test


def test_the_reference_config_shows_every_field_and_its_default() -> None:
    path = next(path for path in CONFIGS if path.stem == "europarl_en-fr")
    values = read_values(path)
    config = parse(PrepareConfig, values)
    assert set(values) == {field.name for field in fields(PrepareConfig)}
    assert set(values["subwords"]) == {field.name for field in fields(SubwordsConfig)}
    assert config.subwords == SubwordsConfig(size=16000)
    plain = PrepareConfig(config.data, config.languages, out="x")
    assert (config.max_ratio, config.max_characters) == (plain.max_ratio, plain.max_characters)


def test_the_page_on_data_describes_every_format_and_reason() -> None:
    page = (ROOT / "docs" / "data.md").read_text("utf-8")
    for name in FORMATS:
        assert f"### `{name}`: " in page
    for reason in get_args(Reason):
        assert f"\n| {reason} | " in page
