"""Model folders by path, run folder or name."""

from __future__ import annotations

from pathlib import Path

import pytest

from docgraph.errors import DocgraphError
from docgraph.model import model_folder as model_folders
from docgraph.model.model_folder import find_model
from docgraph.translation.translator import Translator
from translation.translator_examples import model_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return model_folder(tmp_path_factory.mktemp("hyb"))


def test_a_run_folder_means_its_best_model(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "best").symlink_to(folder)
    assert find_model(tmp_path / "run") == tmp_path / "run" / "best"
    assert Translator.load(tmp_path / "run", device="cpu").languages == ("en", "fr")


def test_config_json_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Path] = []
    read = model_folders._read_metadata
    monkeypatch.setattr(model_folders, "_read_metadata", lambda path: reads.append(path) or read(path))
    Translator.load(folder, device="cpu")
    assert reads == [folder]


def test_embedded_models_go_by_name(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_folders, "EMBEDDED", tmp_path)
    with pytest.raises(DocgraphError, match="no model ships with this version yet; train one"):
        find_model()
    (tmp_path / "en-fr").symlink_to(folder)
    assert find_model() == find_model("en-fr") == tmp_path / "en-fr"
    with pytest.raises(DocgraphError, match="fr-en: there is no such model folder, and the models that ship are en-fr"):
        find_model("fr-en")
    (tmp_path / "en-de").symlink_to(folder)
    with pytest.raises(DocgraphError, match="choose one of en-de, en-fr"):
        find_model()
