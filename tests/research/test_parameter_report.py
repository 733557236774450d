"""The parameter report: counts that add up, the freeze policies, the paper's figures; the shipped configs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from docgraph.config import read_config
from docgraph.errors import DocgraphError
from docgraph.model.checkpoint import save
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.research.parameter_report import PAPER, read_model_config, report
from model.examples import small_config, small_model

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "model"


@pytest.mark.parametrize("freeze", ["base", "base_but_embeddings", "none"])
@pytest.mark.parametrize("integration", ["hyb", "post", "pre"])
def test_counts_are_those_of_the_model(integration: str, freeze: str) -> None:
    config = replace(small_config(integration=integration), freeze=freeze)
    model = DocumentTransformer(config)
    model.freeze(config.freeze)
    found = report(config)
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert found.total == sum(sizes.values()) == sum(row.parameters for row in found.modules)
    assert found.trainable == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert found.trainable == sum(row.parameters for row in found.modules if row.trainable)
    assert found.added == model.added_parameters()
    row = next(row for row in found.systems if row.system == f"docgraph {integration} both")
    assert row.total == found.added == row.context_encoder + row.context_attention


def test_layers_share_a_row() -> None:
    rows = {row.module: row for row in report(small_config()).modules}
    query = rows["encoder.layers.*.self_attention.query"]
    assert (query.shape, query.count, query.parameters) == ("32x32 + 32", 2, 2 * (32 * 32 + 32))
    assert rows["context.places"].parameters == 512 * 32


def test_all_of_base_trains_under_every_policy() -> None:
    found = report(small_config(context=False))
    assert found.system == "base"
    assert found.added == 0
    assert found.trainable == found.total


def test_added_parameters_of_the_paper_size() -> None:
    """By hand: 4 d^2 + 2 d^2 and five biases a site; 3 d^2 and biases a graph layer, its LayerNorm; 512 places."""
    d = 512
    site = 6 * d * d + 5 * d
    rest = 3 * d * d + 3 * d + 2 * d + 512 * d
    sites = {"hyb both": 12, "hyb source": 12, "post both": 2, "post source": 2, "pre both": 2, "pre source": 1}
    found = report(ModelConfig())
    assert [row.paper_millions for row in found.systems] == list(PAPER.values())
    for row in found.systems:
        if row.system.startswith("docgraph"):
            assert row.sites == sites[row.system.removeprefix("docgraph ")]
            assert row.total == row.sites * site + rest
    assert "19.96M (Hyb), 4.20M (Post, and Pre with both sides) and 2.63M (source-only Pre)" in found.comparison


def test_added_parameters_of_the_baselines() -> None:
    """CTX, HAN and Selective agree with the paper's table but for some biases."""
    found = {row.system.split()[0]: row for row in report(ModelConfig()).systems if "docgraph" not in row.system}
    for name in ("ctx", "han", "selective"):
        assert found[name].total / 1e6 == pytest.approx(found[name].paper_millions, abs=0.02)
    assert found["hm_gdc"].context_encoder == 2 * (12 * 512**2 + 4 * 512 + 2048 + 512 + 2 * 1024)
    assert (found["unified"].total, found["unified"].sites) == (2 * 512, 0)
    assert found["noise"].total == next(
        row.total for row in report(ModelConfig()).systems if row.system == "docgraph hyb both"
    )


def test_unshared_layers_and_more_places_come_near_the_paper() -> None:
    graph = GraphConfig(share_layers=False, max_sentences=1024)
    found = report(ModelConfig(context=ContextConfig(graph=graph)))
    totals = {row.system: round(row.total / 1e6, 2) for row in found.systems}
    assert totals["docgraph hyb source"] == PAPER["docgraph", "hyb", "source"]
    assert totals["docgraph pre source"] == 3.68
    assert "21.01M (Hyb) and 3.68M (source-only Pre)" in report(ModelConfig()).comparison


def test_another_size_is_not_compared() -> None:
    assert "do not compare" in report(small_config()).comparison


def test_a_report_is_json() -> None:
    values = json.loads(json.dumps(report(small_config()).to_dict()))
    assert values["system"] == "docgraph-hyb-both"
    assert values["modules"][0]["module"] == "embeddings.target_table"


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_shipped_config_is_a_system(path: Path) -> None:
    found = report(read_model_config(path))
    assert path.stem.split("_")[0] == found.system.split("-")[0].split("_")[0]
    assert (found.added > 0) == (path.stem.split("_")[0] not in ("base", "concatenation"))


@pytest.mark.parametrize(
    ("name", "integration"),
    [("base", None), ("docgraph_hyb", "hyb"), ("docgraph_post", "post"), ("docgraph_pre", "pre")],
)
def test_shipped_configs(name: str, integration: str | None) -> None:
    config = read_model_config(CONFIGS / f"{name}.yaml")
    assert config.transformer == replace(TransformerConfig(), dropout=0.2)
    assert (config.context.integration if config.context else None) == integration
    assert config.context is None or config.context == replace(ContextConfig(), integration=integration)


def test_a_model_folder_has_its_config(tmp_path: Path) -> None:
    config = small_config(integration="pre", sides="source")
    save(small_model(config), tmp_path / "model")
    assert read_model_config(tmp_path / "model") == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transformer: {", r"config.yaml:2: this is not valid YAML"),
        ("- 1", r"config.yaml: a config must be a mapping"),
        ("", r"config.yaml: a config must be a mapping"),
        (
            "transformer: {dimensions: 8}",
            r"config.yaml: unknown field 'transformer.dimensions'; did you mean 'dimension'",
        ),
        ("3: 4", r"config.yaml: unknown field '3'"),
        ("transformer: {heads: 7}", r"512 is not a multiple of 7 heads"),
        ("transformer: {encoder_layers: 0}", r"'transformer.encoder_layers' is 0; it must be at least 1"),
        ("transformer: {dropout: 1.5}", r"'transformer.dropout' is 1.5; it must be at least 0 and below 1"),
        ("transformer: {eos: 40000}", r"'transformer': 'eos' is 40000; it must be below the vocabulary size"),
        ("context: {heads: 7}", r"512 is not a multiple of 7 context heads"),
        ("context: {graph: {relations: 5}}", r"'context.graph.relations' is 5; it must be a list of names"),
        ("context: {graph: {layers: -1}}", r"'context.graph.layers' is -1; it must be at least 1"),
    ],
)
def test_a_bad_config_is_reported_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(text + "\n")
    with pytest.raises(DocgraphError, match=message) as caught:
        read_config(ModelConfig, path)
    assert "\n" not in str(caught.value)


def test_tokens_never_generated() -> None:
    assert TransformerConfig().never_generated == (0, 1)
    assert TransformerConfig(pad=7, bos=7, eos=0).never_generated == (7,)
