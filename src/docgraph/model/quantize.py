"""Packed linear layers for translation on a CPU, in fp32 or int8.

oneDNN stores packed weights in the order its kernels read them. In int8, weights and inputs are bytes with one scale
per row, so a sentence's results do not depend on the other sentences of its batch. Without oneDNN, and on a GPU, layers
do not change.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphLayer

CpuPrecision = Literal["float32", "int8"]


def quantize_rows(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Int8 values [o, i] and fp32 scales [o] of a matrix [o, i]: weight = values * scale, within half a step."""
    scale = weight.abs().amax(1) / 127
    return (weight / scale.clamp(min=1e-30)[:, None]).round().to(torch.int8), scale


class PackedLinear(nn.Module):
    """x W^T + b with packed W in fp32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        """Applies the layer: [..., i] -> [..., o]."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result


class Int8Linear(nn.Module):
    """x W^T + b with packed int8 W; x is quantised on the fly. Both have one scale per row."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        quantized, self.scales = quantize_rows(weight)
        self.packed = torch.ops.onednn.qlinear_prepack(quantized, None)
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        self.bias = torch.zeros(len(weight)) if bias is None else bias
        # Without VNNI, products of two bytes are summed in 16 bits, where only 7 bits of the input are safe.
        self.levels = 127 if torch.cpu._is_vnni_supported() else 63

    def forward(self, x: Tensor) -> Tensor:
        """Applies the layer: [..., i] -> [..., o]."""
        rows = x.reshape(-1, x.shape[-1])
        scale = rows.abs().amax(1, keepdim=True).div_(self.levels).clamp_(min=1e-30)
        levels = (rows / scale).round_().add_(self.levels + 1).to(torch.uint8)
        offset = (1.0, self.levels + 1)
        product = torch.ops.onednn.qlinear_pointwise(
            levels, *offset, self.packed, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(self.bias, product, scale, out=product).view(*x.shape[:-1], len(self.scales))


@torch.no_grad()
def pack_for_cpu(model: DocumentTransformer, precision: CpuPrecision = "float32") -> DocumentTransformer:
    """Packs the linear layers of a model in place and returns it; it can no longer be trained or saved."""
    if not torch._C._has_mkldnn or model.device.type != "cpu" or model.embeddings.projection is not None:
        return model
    layer = PackedLinear if precision == "float32" else Int8Linear
    for attention in [module for module in model.modules() if isinstance(module, MultiHeadAttention)]:
        parts = (attention.query, attention.key, attention.value)
        if any(attention is stack.self_attention for stack in (*model.encoder.layers, *model.decoder.layers)):
            weights, biases = (torch.cat([getattr(part, name) for part in parts]) for name in ("weight", "bias"))
            attention.joint = layer(weights, biases)
            attention.query = attention.key = attention.value = nn.Identity()  # type: ignore[assignment]
    embeddings = model.embeddings
    embeddings.projection = layer(embeddings.output_weight, embeddings.output_bias)
    # A graph layer runs once per document and multiplies by parts of its weights, which packing would hide.
    for module in [module for module in model.modules() if not isinstance(module, GraphLayer)]:
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, layer(child.weight, child.bias))
    return model.requires_grad_(False)
