"""Add encoder layers to a trained model without changing what it computes.

    python scripts/deepen_model.py runs/shipped_8_layers/best runs/deeper --encoder-layers 11

The new layers are spread evenly over the encoder. Each is a copy of the layer below it whose sub-layers write zero, so
it hands its input on until training goes on. Only Base models with pre-normalisation can be deepened in this way.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder

LAYERS = "encoder.layers."
WRITING = ("self_attention.output.", "feed_forward.outer.")
"""What a sub-layer adds to the residual stream comes from these parameters."""


def layer_origins(old: int, new: int) -> list[tuple[int, bool]]:
    """Returns for each of `new` layers the old layer that it copies, and whether that layer comes again."""
    origins = [index * old // new for index in range(new)]
    return [(origin, index > 0 and origins[index - 1] == origin) for index, origin in enumerate(origins)]


def deepen(model: DocumentTransformer, encoder_layers: int) -> DocumentTransformer:
    """Returns a model with more encoder layers that computes what `model` computes."""
    transformer = model.config.transformer
    if model.config.context is not None or transformer.norm != "pre":
        raise DocgraphError("layers can be added to a Base with norm: pre only; train a deeper model from scratch")
    if encoder_layers <= transformer.encoder_layers:
        raise DocgraphError(f"the model has {transformer.encoder_layers} encoder layers already; ask for more")
    deeper = checkpoint.blank(replace(model.config, transformer=replace(transformer, encoder_layers=encoder_layers)))
    state = model.state_dict()
    tensors: dict[str, Tensor] = {name: tensor for name, tensor in state.items() if not name.startswith(LAYERS)}
    for index, (origin, again) in enumerate(layer_origins(transformer.encoder_layers, encoder_layers)):
        prefix = f"{LAYERS}{origin}."
        for name, tensor in state.items():
            if name.startswith(prefix):
                rest = name.removeprefix(prefix)
                tensors[f"{LAYERS}{index}.{rest}"] = (
                    torch.zeros_like(tensor) if again and rest.startswith(WRITING) else tensor.clone()
                )
    deeper.load_state_dict(tensors)
    return deeper.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a model folder")
    parser.add_argument("out", type=Path, help="the model folder to write")
    parser.add_argument("--encoder-layers", type=int, required=True, help="how many the new model has")
    arguments = parser.parse_args()
    try:
        folder = ModelFolder(arguments.model)
        deeper = deepen(checkpoint.load(folder), arguments.encoder_layers)
        precision: checkpoint.Precision = "float16" if folder.precision == "float16" else "float32"
        checkpoint.save_derived(deeper, arguments.out, folder, precision)
    except DocgraphError as error:
        parser.exit(2, f"{error}\n")
    print(f"{arguments.out}: {arguments.encoder_layers} encoder layers")


if __name__ == "__main__":
    main()
