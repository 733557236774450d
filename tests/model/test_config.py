"""Model configs: round trips, defaults, and errors that name the field and suggest the right one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from docgraph.config import parse, to_dict
from docgraph.errors import DocgraphError
from docgraph.model.config import ContextConfig, GraphConfig, ModelConfig, TransformerConfig


@pytest.mark.parametrize(
    "config",
    [
        ModelConfig(),
        ModelConfig(context=ContextConfig()),
        ModelConfig(
            TransformerConfig(source_vocabulary=7, share_embeddings="none", norm="pre", dropout=0.0),
            ContextConfig(
                integration="pre", gate="paper", graph=GraphConfig(relations=("intra", "tfidf"), residual=False)
            ),
            freeze="none",
        ),
    ],
)
def test_round_trip_through_json(config: ModelConfig) -> None:
    assert parse(ModelConfig, json.loads(json.dumps(to_dict(config)))) == config


def test_missing_fields_take_their_defaults() -> None:
    assert parse(ModelConfig, {"context": {"graph": {"layers": 3}}}) == ModelConfig(
        context=ContextConfig(graph=GraphConfig(layers=3))
    )
    assert parse(ModelConfig, {"context": None}).context is None


def test_the_defaults_are_vaswani_base() -> None:
    config = TransformerConfig()
    layers = (config.encoder_layers, config.decoder_layers)
    assert (config.dimension, config.feed_forward, config.heads, layers) == (512, 2048, 8, (6, 6))
    assert (config.norm, config.positions, config.activation, config.dropout) == ("post", "sinusoidal", "relu", 0.1)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"transfomer": {}}, ["'transfomer'", "did you mean 'transformer'?"]),
        ({"transformer": {"dimensions": 4}}, ["'transformer.dimensions'", "did you mean 'dimension'?"]),
        ({"context": {"graph": {"share_layer": True}}}, ["'context.graph.share_layer'", "'share_layers'"]),
        ({"context": {"xyzzy": 1}}, ["'context.xyzzy'", "integration", "sides"]),
        ({"transformer": {"heads": "eight"}}, ["'transformer.heads'", "'eight'", "int"]),
        ({"transformer": {"heads": True}}, ["'transformer.heads'", "True", "int"]),
        ({"transformer": {"heads": 8.0}}, ["'transformer.heads'", "8.0", "int"]),
        ({"transformer": {"dropout": "low"}}, ["'transformer.dropout'", "float"]),
        ({"transformer": {"dropout": True}}, ["'transformer.dropout'", "True", "float"]),
        ({"transformer": {"output_bias": 1}}, ["'transformer.output_bias'", "bool"]),
        ({"transformer": {"norm": "both"}}, ["'transformer.norm'", "'both'", "post", "pre"]),
        ({"transformer": 3}, ["'transformer'", "mapping", "3"]),
        ({"context": "docgraph"}, ["'context'", "mapping"]),
        ({"context": {"graph": {"relations": 3}}}, ["'context.graph.relations'", "3"]),
        ({"context": {"graph": {"relations": ["all", 3]}}}, ["'context.graph.relations'", "3"]),
        ({"freeze": "all"}, ["'freeze'", "'all'", "base_but_embeddings"]),
    ],
)
def test_a_wrong_field_is_one_clear_sentence(values: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(DocgraphError) as caught:
        parse(ModelConfig, values)
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def test_numbers_and_lists_as_yaml_writes_them() -> None:
    config = parse(ModelConfig, {"transformer": {"dropout": 0}, "context": {"graph": {"relations": "intra,lexical"}}})
    assert config.transformer.dropout == 0.0
    assert isinstance(config.transformer.dropout, float)
    assert config.context is not None
    assert config.context.graph.relations == ("intra", "lexical")


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"dimension": 30, "heads": 8}, "multiple"),
        ({"source_vocabulary": 10, "target_vocabulary": 20}, "share_embeddings"),
    ],
)
def test_fields_that_do_not_go_together(fields: dict[str, int], word: str) -> None:
    with pytest.raises(DocgraphError, match=word):
        TransformerConfig(**fields)  # type: ignore[arg-type]


def test_an_unknown_context_encoder_lists_the_known_ones() -> None:
    from docgraph.model.document_transformer import DocumentTransformer

    with pytest.raises(DocgraphError, match="docgraph"):
        DocumentTransformer(ModelConfig(context=ContextConfig(encoder="han9000")))


def test_numbers_may_be_written_without_a_point() -> None:
    assert parse(TransformerConfig, {"dropout": "1e-1"}).dropout == 0.1
