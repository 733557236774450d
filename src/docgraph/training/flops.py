"""Model FLOPs utilisation (MFU): the arithmetic of a training step, relative to what the device could do in its time.

The count is analytic. `torch.utils.flop_counter` sees neither our Triton kernels nor the variable-length attention of
packed sequences, and counts the padding of captured batches.
"""

from __future__ import annotations

import torch

from docgraph.model.batch import DocumentBatch
from docgraph.model.context_attention import ContextLayer, linear_flops
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.packing import Packing
from docgraph.model.transformer import DecoderLayer, EncoderLayer

PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "A10": 125e12, "RTX 4090": 165e12}
"""Dense bf16 FLOP/s by a part of the device's name, from the makers' data sheets."""


def peak_flops(device: torch.device) -> float | None:
    """Returns the bf16 FLOP/s of a device, or None if unknown."""
    if device.type != "cuda":
        return None
    name = torch.cuda.get_device_name(device)
    return next((peak for part, peak in PEAKS.items() if part in name), None)


class FlopCounter:
    """FLOPs of a training step.

    Forward: 2 x weights x rows of every linear layer, and 4 d x (query, key) pairs of every attention. The rows are
    source tokens in the encoder and for the keys and values of cross-attention, target tokens in the decoder and the
    output matrix. Backward: the same again for the gradients of activations if anything below them trains, and for
    the gradients of the weights that train. Context layers (`flops_per_row`) and context encoders (`flops`) count
    themselves. Not counted: attention over the few slots of a memory, sums over edges, norms, softmax, dropout, and
    recomputation.
    """

    def __init__(self, model: DocumentTransformer) -> None:
        transformer, integration = model.config.transformer, model.integration
        self.context, self.pad, self.dimension = model.context, transformer.pad, transformer.dimension
        self.layers = transformer.encoder_layers, transformer.decoder_layers
        base = any(weight.requires_grad for part in (model.embeddings, model.encoder) for weight in part.parameters())
        self.base_trains, has_context = base, model.config.context is not None
        inside = has_context and integration.place != "post"
        in_encoder = bool(len(integration.encoder))
        encoder = self.encoder_factor = 2 + 2 * (base or (inside and in_encoder))
        decoder = self.decoder_factor = 2 + 2 * (base or inside or in_encoder)
        layers = [layer for layer in model.decoder.layers if isinstance(layer, DecoderLayer)]
        cross = [layer.cross_attention for layer in layers]
        keys = linear_flops([part for attention in cross for part in (attention.key, attention.value)], decoder)
        output = model.embeddings.output_weight
        self.per_source = linear_flops([model.encoder], encoder) + keys + _context_flops(integration.encoder)
        self.per_target = linear_flops([model.decoder], decoder) - keys
        self.per_target += _context_flops(integration.decoder) + _context_flops(integration.output)
        self.per_target += output.numel() * (4 + 2 * output.requires_grad)
        if not base and has_context:
            # If nothing below the first self-attention of a stack trains, its input needs no gradient.
            if integration.place != "pre":
                lowest = next(layer for layer in model.encoder.layers if isinstance(layer, EncoderLayer))
                self.per_source -= linear_flops([lowest.self_attention], encoder - 2)
            if integration.place != "pre" or not len(integration.decoder):
                self.per_target -= linear_flops([layers[0].self_attention], decoder - 2)

    def __call__(self, batch: DocumentBatch) -> float:
        """Returns the FLOPs of forward and backward for a batch that is still on the CPU; padding does not count."""
        assert batch.target is not None
        assert batch.gold is not None
        source, target = batch.source.sentences, batch.target.sentences
        rows = self.per_source * source.num_tokens + self.per_target * target.num_tokens
        rows += self.context.flops(batch, self.base_trains)
        inner, cross, causal = _pairs(source, source), _pairs(target, source), _pairs(target, target) / 2
        # The backward pass of attention has two products for each one of the forward pass, and no weights.
        encoder = (2 * self.encoder_factor - 2) * self.layers[0] * inner
        decoder = (2 * self.decoder_factor - 2) * self.layers[1] * (cross + causal)
        real = float((batch.gold != self.pad).float().mean()) if len(batch.gold) else 0.0
        return (rows + 2 * self.dimension * (encoder + decoder)) * real


def _context_flops(layers: torch.nn.ModuleList) -> float:
    return sum(layer.flops_per_row() for layer in layers if isinstance(layer, ContextLayer))


def _pairs(queries: Packing, keys: Packing) -> float:
    """Returns the number of (query, key) pairs of attention within each sequence."""
    return float((queries.boundaries.diff().double() * keys.boundaries.diff().double()).sum())
