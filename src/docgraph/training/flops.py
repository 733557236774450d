"""Model FLOPs utilisation: the arithmetic a batch needs, against what the device could do in the same time."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import nn

from docgraph.model.attention import MultiHeadAttention
from docgraph.model.batch import DocumentBatch
from docgraph.model.context_attention import GatedSite
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphEncoder
from docgraph.model.packing import Packing
from docgraph.model.transformer import DecoderLayer, EncoderLayer

PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "A10": 125e12, "RTX 4090": 165e12}
"""Dense bf16 FLOP/s by a part of the device's name, from the makers' data sheets."""


def peak_flops(device: torch.device) -> float | None:
    """What the device could do in bf16, where it is known."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in PEAKS.items() if part in name), None)


class FlopCounter:
    """FLOPs of a training step: 2 for each weight and row that meet, and the attention in between.

    Forward: 2 x weights x rows of every linear layer (encoder: source tokens; decoder and output matrix: target tokens,
    but source tokens for the keys and values of cross-attention; graph encoder: nodes, in its last layer those that are
    read), and 4 d x (query, key) pairs of every attention. Backward: as much again for the gradients of the activations
    where anything below them trains, and as much again for those of the weights that train. What context attention does
    with its few slots, sums over edges, norms, softmax, dropout and context encoders without a graph count for nothing,
    nor does what is computed twice.
    """

    def __init__(self, model: DocumentTransformer) -> None:
        transformer, sites = model.config.transformer, model.integration
        base = any(weight.requires_grad for part in (model.embeddings, model.encoder) for weight in part.parameters())
        encoder_sites, decoder_sites = ([], []) if sites is None else (list(sites.encoder), list(sites.decoder))
        inside = sites is not None and sites.place != "post"
        encoder = self.encoder_factor = 2 + 2 * (base or (inside and bool(encoder_sites)))
        decoder = self.decoder_factor = 2 + 2 * (base or inside or bool(encoder_sites))
        layers = [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
        keys = _cost([part for layer in layers for part in _memory_parts(layer.cross_attention)], decoder)
        output = model.embeddings.output_weight
        self.per_source = _cost([model.encoder], encoder) + keys + _reading(encoder_sites)
        self.per_target = _cost([model.decoder], decoder) - keys + _reading(decoder_sites)
        self.per_target += 0.0 if sites is None else _cost([sites.output], 4)
        self.per_target += output.numel() * (4 + 2 * output.requires_grad)
        if not base and sites is not None and sites.place != "pre":  # nothing below the first self-attention trains
            lowest = next(layer for layer in model.encoder.layers if isinstance(layer, EncoderLayer))
            self.per_source -= _cost([lowest.self_attention], encoder - 2)
            self.per_target -= _cost([layers[0].self_attention], decoder - 2)
        graphs = [module for module in model.modules() if isinstance(module, GraphEncoder)]
        steps = [graph.layers[index % len(graph.layers)] for graph in graphs for index in range(graph.depth)]
        costs = [_cost([step], 4 if base or index else 2) for index, step in enumerate(steps)]  # nor below the first
        self.per_node, self.per_read_node = sum(costs[:-1]), sum(costs[-1:])
        self.words_are_read = model.config.context is not None and model.config.context.graph.nodes != "sentence"
        self.pad = transformer.pad
        self.dimension, self.layers = transformer.dimension, (transformer.encoder_layers, transformer.decoder_layers)

    def __call__(self, batch: DocumentBatch) -> float:
        """FLOPs of forward and backward on a batch that is still on the CPU, less the share of padding."""
        assert batch.target is not None
        source, target = batch.source.sentences, batch.target.sentences
        rows = self.per_source * source.num_tokens + self.per_target * target.num_tokens
        for graph, words in ((batch.graph, self.words_are_read), (batch.target_graph, False)):
            if graph is not None:
                nodes, sentences = graph.structure.num_nodes, graph.structure.num_sentences
                rows += self.per_node * nodes + self.per_read_node * (nodes if words else sentences)
        inner, cross, causal = _pairs(source, source), _pairs(target, source), _pairs(target, target) / 2
        # The gradient of attention is two products where the forward pass has one, and none of them are of weights.
        encoder = (2 * self.encoder_factor - 2) * self.layers[0] * inner
        decoder = (2 * self.decoder_factor - 2) * self.layers[1] * (cross + causal)
        assert batch.gold is not None
        real = float((batch.gold != self.pad).float().mean()) if len(batch.gold) else 0.0
        return (rows + 2 * self.dimension * (encoder + decoder)) * real


def _cost(modules: Iterable[nn.Module], factor: int) -> float:
    """FLOPs a row in the linear layers of some modules: `factor` a weight, and 2 more where it trains."""
    weights = [part.weight for module in modules for part in module.modules() if isinstance(part, nn.Linear)]
    return float(sum(weight.numel() * (factor + 2 * weight.requires_grad) for weight in weights))


def _reading(sites: Iterable[nn.Module]) -> float:
    """FLOPs a row of context attentions, without the keys and values of their memories."""
    found = [site for site in sites if isinstance(site, GatedSite)]
    return _cost(found, 4) - _cost([part for site in found for part in _memory_parts(site.attention)], 4)


def _memory_parts(attention: MultiHeadAttention) -> tuple[nn.Module, nn.Module]:
    """What is applied to what is attended to."""
    return attention.key, attention.value


def _pairs(queries: Packing, keys: Packing) -> float:
    return float((queries.boundaries.diff().double() * keys.boundaries.diff().double()).sum())
