"""Write a model whose weights lie between those of a model and of one that was trained on from it.

    python scripts/interpolate_models.py runs/before/best runs/after/best runs/between --share 0.5

A share of 0 gives the weights of the first model, 1 those of the second. Between the two, a model often keeps what
further training taught it and loses less of what it knew (Wortsman et al. 2022). The settings are those of the second
model; what the first one has beside them (a pointer that `docgraph recall` added) is left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder


def interpolate(first: DocumentTransformer, second: DocumentTransformer, share: float) -> DocumentTransformer:
    """Returns the second model with weights (1 - share) * first + share * second."""
    ours, theirs = second.state_dict(), first.state_dict()
    if any(name not in theirs or theirs[name].shape != tensor.shape for name, tensor in ours.items()):
        raise DocgraphError("the second model has weights that the first does not have; train it from the first")
    between = checkpoint.blank(second.config)
    between.load_state_dict({name: torch.lerp(theirs[name], tensor, share) for name, tensor in ours.items()})
    return between.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first", type=Path, help="a model folder")
    parser.add_argument("second", type=Path, help="the folder of a model trained from it")
    parser.add_argument("out", type=Path, help="the model folder to write")
    parser.add_argument("--share", type=float, default=0.5, help="share of the second model (default: 0.5)")
    arguments = parser.parse_args()
    try:
        folder = ModelFolder(arguments.second)
        between = interpolate(checkpoint.load(arguments.first), checkpoint.load(folder), arguments.share)
        checkpoint.save_derived(between, arguments.out, folder)
    except DocgraphError as error:
        parser.exit(2, f"{error}\n")
    print(f"{arguments.out}: {1 - arguments.share:g} * {arguments.first} + {arguments.share:g} * {arguments.second}")


if __name__ == "__main__":
    main()
