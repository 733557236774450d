"""Fixtures of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from translation.translator_examples import model_folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads the translations before each sentence but no graph, so that nothing is annotated."""
    return model_folder(tmp_path_factory.mktemp("target"), sides="target")
