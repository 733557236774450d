"""The Transformer equals PyTorch's layers with the same weights; packed batches equal single sentences."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import Packing
from docgraph.model.transformer import DecoderLayer, EncoderLayer, sinusoids

from .examples import VOCABULARY, batch_of, documents, sentence_rows, small_config, small_model

ACTIVATIONS = {"relu": F.relu, "swish": F.silu, "gelu": F.gelu}


def copied(attention: MultiHeadAttention) -> dict[str, Tensor]:
    parts = (attention.query, attention.key, attention.value)
    return {
        "in_proj_weight": torch.cat([part.weight for part in parts]),
        "in_proj_bias": torch.cat([part.bias for part in parts]),
        "out_proj.weight": attention.output.weight,
        "out_proj.bias": attention.output.bias,
    }


def reference_layer(layer: EncoderLayer | DecoderLayer, activation: str, norm: str) -> nn.Module:
    """A PyTorch layer with our weights."""
    kind = nn.TransformerDecoderLayer if isinstance(layer, DecoderLayer) else nn.TransformerEncoderLayer
    inner = layer.feed_forward.inner
    theirs = kind(
        inner.in_features,
        layer.self_attention.heads,
        inner.out_features,
        dropout=0.0,
        activation=ACTIVATIONS[activation],
        batch_first=True,
        norm_first=norm == "pre",
    )
    norms = [layer.around_attention, layer.around_feed_forward]
    state = {f"self_attn.{name}": value for name, value in copied(layer.self_attention).items()}
    if isinstance(layer, DecoderLayer):
        norms.insert(1, layer.around_cross)
        state |= {f"multihead_attn.{name}": value for name, value in copied(layer.cross_attention).items()}
    for index, around in enumerate(norms, 1):
        state |= {f"norm{index}.weight": around.norm.weight, f"norm{index}.bias": around.norm.bias}
    for name, part in (("linear1", inner), ("linear2", layer.feed_forward.outer)):
        state |= {f"{name}.weight": part.weight, f"{name}.bias": part.bias}
    theirs.load_state_dict(state)
    return theirs.eval()


def scrambled(model: DocumentTransformer) -> DocumentTransformer:
    """Moves biases and norms away from 0 and 1, so that a missing one changes the result."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model


def reference_logits(model: DocumentTransformer, source: Tensor, target: Tensor) -> Tensor:
    """Logits [Tt, V] of one sentence pair, computed by PyTorch's layers."""
    config, embeddings = model.config.transformer, model.embeddings

    def embedded(tokens: Tensor, table: nn.Embedding) -> Tensor:
        return (table.weight[tokens] * config.dimension**0.5 + embeddings.positions[: len(tokens)])[None]

    def run(x: Tensor, stack: Any, *memory: Tensor, **options: Any) -> Tensor:
        for layer in stack.layers:
            x = reference_layer(layer, config.activation, config.norm)(x, *memory, **options)
        return stack.norm(x) if config.norm == "pre" else x

    encoded = run(embedded(source, embeddings.source_table or embeddings.target_table), model.encoder)
    causal = nn.Transformer.generate_square_subsequent_mask(len(target))
    decoded = run(embedded(target, embeddings.target_table), model.decoder, encoded, tgt_mask=causal)
    return F.linear(decoded[0], embeddings.output_weight, embeddings.output_bias)


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize(
    ("activation", "share", "positions"),
    [("relu", "all", "sinusoidal"), ("swish", "target", "learned"), ("gelu", "none", "sinusoidal")],
)
def test_logits_equal_those_of_torchs_layers(norm: str, activation: str, share: str, positions: str) -> None:
    fields = {"activation": activation, "share_embeddings": share, "positions": positions, "output_bias": True}
    model = scrambled(small_model(small_config(norm, context=False, transformer=fields)))
    batch = batch_of(documents(0, [3, 0, 5], [2]))
    logits = model.logits(batch)
    assert batch.target is not None
    sources = [batch.source.tokens[rows] for rows in sentence_rows(batch.source.sentences.mask.sum(1).tolist())]
    rows_of = sentence_rows(batch.target.sentences.mask.sum(1).tolist())
    for source, rows in zip(sources, rows_of, strict=True):
        expected = reference_logits(model, source, batch.target.tokens[rows])
        torch.testing.assert_close(logits[rows], expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_batch_equals_its_sentences_alone_in_any_order(norm: str) -> None:
    model = small_model(small_config(norm, context=False)).double()
    whole = documents(1, [4, 1, 0, 7, 3])[0]
    count = len(whole.source)

    def pick(order: list[int]) -> Tensor:
        example = dataclasses.replace(
            whole,
            source=[whole.source[i] for i in order],
            target=[whole.target[i] for i in order],
            graph=None,
            source_words=(),
            target_words=(),
        )
        return model.logits(batch_of([example]))

    together = [pick(list(range(count)))[rows] for rows in sentence_rows(len(target) for target in whole.target)]
    for index in range(count):
        torch.testing.assert_close(pick([index]), together[index])
    order = np.random.default_rng(2).permutation(count).tolist()
    torch.testing.assert_close(pick(order), torch.cat([together[i] for i in order]))


@pytest.mark.parametrize("share", ["all", "target", "none"])
def test_embeddings_are_shared_as_the_config_says(share: Literal["all", "target", "none"]) -> None:
    model = small_model(small_config(context=False, transformer={"share_embeddings": share}))
    tables = sum(parameter.numel() for parameter in model.embeddings.parameters())
    assert tables == {"all": 1, "target": 2, "none": 3}[share] * VOCABULARY * 32
    batch = batch_of(documents(0, [3, 2]))
    model(batch)[0].backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.embeddings.parameters())


def test_embedding_norm_and_unscaled_embeddings() -> None:
    config = small_config(context=False, transformer={"embedding_norm": True, "scale_embeddings": False})
    embeddings = small_model(config).embeddings
    tokens, positions = torch.tensor([5, 9]), torch.tensor([0, 3])
    plain = embeddings.target_table.weight[tokens] + sinusoids(4, 32)[positions]
    torch.testing.assert_close(embeddings(tokens, positions, "target"), F.layer_norm(plain, (32,)))


def test_sinusoids_are_those_of_the_paper_with_sines_first() -> None:
    table = sinusoids(50, 8)
    for position in (0, 1, 7, 49):
        for pair in range(4):
            angle = position / 10000 ** (2 * pair / 8)
            assert table[position, pair] == pytest.approx(np.sin(angle), abs=1e-6)
            assert table[position, 4 + pair] == pytest.approx(np.cos(angle), abs=1e-6)


def test_context_is_read_at_the_three_places() -> None:
    model = small_model(small_config(context=False))
    seen: list[tuple[str, int]] = []

    def reader(place: str, layer: int) -> Callable[[Tensor], Tensor]:
        def site(x: Tensor) -> Tensor:
            seen.append((place, layer))
            return x

        return site

    x, packing = torch.randn(3, 32), Packing.of([3])
    model.decoder(x, model.encoder(x, packing, reader), packing, packing, reader)
    assert seen == 2 * [("pre", 0), ("hyb", 0), ("hyb", 1), ("post", 0)]
