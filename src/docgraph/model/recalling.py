"""A model without context and a pointer over linked translations, as it starts: a memory with nothing to train."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from docgraph.errors import DocgraphError
from docgraph.model import checkpoint
from docgraph.model.config import ContextConfig, LinkedConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.model_folder import ModelFolder, Precision

CARD = "README.md"
SEED = 1


def add_recall(
    folder: str | Path, out: str | Path, linked: LinkedConfig, precision: Precision | None = None
) -> DocumentTransformer:
    """Write the model of a folder with such a memory to a new folder, in the precision it is stored in unless told."""
    source, target = ModelFolder(folder), Path(out)
    config = source.config
    if config.context is not None or config.concatenation is not None:
        name = checkpoint.system_name(config)
        raise DocgraphError(f"this model ({name}) reads context already; name one without", path=folder)
    if target.exists() or target.is_symlink():
        raise DocgraphError("this is there already; name a folder that is not", path=target)
    context = ContextConfig("pointer", "post", "target", heads=config.transformer.heads, linked=linked)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(SEED)  # of weights that count only once it is trained on
        model = DocumentTransformer(replace(config, context=context))
    checkpoint.load_base(model, source)
    card = Path(folder) / CARD
    files = [file for file in source.tokenizer_files() if file.name != CARD]
    checkpoint.save(
        model,
        target,
        [*files, *([card] if card.is_file() else [])],
        precision or source.precision,
        languages=source.languages,
    )
    return model.eval()
