"""Linear layers made ready for translation on a CPU: weights packed for its kernels, in fp32 or in int8.

oneDNN keeps packed weights in the order its kernels read them; in int8 they are bytes with a scale a row, and so are
the inputs, row by row: a sentence's numbers do not depend on what else is in the batch. Where oneDNN is absent, and on
a GPU, layers stay as they are.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from docgraph.model.attention import MultiHeadAttention
from docgraph.model.checkpoint import quantize_rows
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.graph_encoder import GraphLayer

CpuPrecision = Literal["float32", "int8"]


class PackedLinear(nn.Module):
    """x W^T + b with W packed, in fp32."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.contiguous(), None)
        self.bias = bias

    def forward(self, x: Tensor) -> Tensor:
        """[..., i] -> [..., o]."""
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
        return result


class Int8Linear(nn.Module):
    """x W^T + b with W packed in bytes, a scale a row; x becomes bytes on the way, a scale a row too."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        quantized, self.scales = quantize_rows(weight)
        self.packed = torch.ops.onednn.qlinear_prepack(quantized, None)
        self.zeros = torch.zeros(len(weight), dtype=torch.int64)
        self.bias = torch.zeros(len(weight)) if bias is None else bias
        # Without VNNI, products of two bytes are summed in 16 bits, where only 7 bits of the input are safe.
        self.levels = 127 if torch.cpu._is_vnni_supported() else 63

    def forward(self, x: Tensor) -> Tensor:
        """[..., i] -> [..., o]."""
        rows = x.reshape(-1, x.shape[-1])
        scale = rows.abs().amax(1, keepdim=True).div_(self.levels).clamp_(min=1e-30)
        levels = (rows / scale).round_().add_(self.levels + 1).to(torch.uint8)
        offset = (1.0, self.levels + 1)
        product = torch.ops.onednn.qlinear_pointwise(
            levels, *offset, self.packed, self.scales, self.zeros, None, 1.0, 0, torch.float32, "none", [], ""
        )
        return torch.addcmul(self.bias, product, scale, out=product).view(*x.shape[:-1], len(self.scales))


@torch.no_grad()
def ready_for_cpu(model: DocumentTransformer, precision: CpuPrecision = "float32") -> DocumentTransformer:
    """The model itself, changed in place for translation on a CPU: it can be neither trained nor saved any more."""
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
    # A graph layer, applied once a document, multiplies by parts of its weights.
    for module in [module for module in model.modules() if not isinstance(module, GraphLayer)]:
        for name, child in list(module.named_children()):
            if isinstance(child, nn.Linear):
                setattr(module, name, layer(child.weight, child.bias))
    return model.requires_grad_(False)
