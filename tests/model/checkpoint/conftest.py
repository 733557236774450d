"""A model and its folder."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from docgraph.model.checkpoint import save
from docgraph.model.document_transformer import DocumentTransformer

from ..examples import small_config, small_model


@pytest.fixture(scope="session")
def original() -> DocumentTransformer:
    return small_model(small_config(integration="hyb"), open_gates=True)


@pytest.fixture(scope="session")
def saved(original: DocumentTransformer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "saved"
    tokenizer = folder.parent / "joint.spm"
    tokenizer.write_bytes(b"pieces")
    save(original, folder, [tokenizer])
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "model"))
