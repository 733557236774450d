"""Random models whose translations change with what they read."""

from __future__ import annotations

import pytest

from docgraph.model.config import LinkedConfig
from docgraph.model.systems import pointer
from docgraph.model.systems.pointer import add_recall
from docgraph.translation.translator import Translator
from translation.translator_examples import hints_folder, model_folder, say_first_words


@pytest.fixture(scope="session")
def translator(tmp_path_factory: pytest.TempPathFactory) -> Translator:
    """A random model with recall, whose pointer reads states that are not near each other."""
    base = model_folder(tmp_path_factory.mktemp("base"), context=False)
    folder = tmp_path_factory.mktemp("recall") / "model"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer, "NEAR", -1.0)
        add_recall(base, folder, LinkedConfig(sentences=2, own_weight=0.0))
    return Translator.load(folder, device="cpu")


@pytest.fixture(autouse=True)
def near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pointer, "NEAR", -1.0)
    monkeypatch.setattr("docgraph.translation.decoding.hints.resolve", say_first_words)
    # The probabilities of a random model are so close that the least change counts.
    monkeypatch.setattr("docgraph.translation.decoding.relevance.MIN_PROPOSAL", 1e-6)


@pytest.fixture(scope="session", params=["recall", "hints", "document graph"])
def any_translator(request: pytest.FixtureRequest, translator: Translator) -> Translator:
    if request.param == "recall":
        return translator
    folder = request.getfixturevalue("tmp_path_factory").mktemp(request.param)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pointer, "NEAR", -1.0)
        path = hints_folder(folder) if request.param == "hints" else model_folder(folder)
    reader = Translator.load(path, device="cpu")
    reader.repair = False  # almost all translations of a random model are doubtful
    return reader
