"""Model folders that another program has changed, and a comparison of models."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import torch

from docgraph.model.document_transformer import DocumentTransformer

CONFIG, WEIGHTS = "config.json", "model.safetensors"


def equal(one: DocumentTransformer, other: DocumentTransformer) -> bool:
    mine, yours = one.state_dict(), other.state_dict()
    same = mine.keys() == yours.keys() and all(torch.equal(mine[name], yours[name]) for name in mine)
    return same and one.config == other.config


def edit(folder: Path, **changes: Any) -> None:
    """Changes config.json and updates its checksum, as another program might."""
    settings = {**json.loads((folder / CONFIG).read_text()), **changes}
    settings.pop("sha256")
    settings["files"] = {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest() if (folder / name).is_file() else ""
        for name in settings["files"]
    }
    settings["sha256"] = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    (folder / CONFIG).write_text(json.dumps(settings))


def replace_model(folder: Path, **fields: Any) -> None:
    model = json.loads((folder / CONFIG).read_text())["model"]
    model["transformer"].update(fields)
    edit(folder, model=model)
