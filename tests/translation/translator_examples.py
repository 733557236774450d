"""Model folders of small random models, a request that records its progress, and the embedded sub-words."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch

from docgraph.model.checkpoint import save
from docgraph.model.config import HintsConfig, LinkedConfig
from docgraph.model.hints import Hint
from docgraph.model.model_folder import ModelFolder, Precision, find_model
from docgraph.model.systems.pointer import add_recall
from docgraph.model.tokenizer import Tokenizer
from docgraph.translation.decoding.hypotheses import Hypotheses, Hypothesis
from docgraph.translation.files.jobs import Job
from docgraph.translation.model_input import TranslationRequest
from docgraph.translation.text.preprocessing import Preprocessor
from model.examples import context_layers, small_config, small_model
from model.subword_examples import joint_files


@dataclass(eq=False)
class RecordingRequest(TranslationRequest):
    """Keeps the final hypotheses by segment, and where each call began."""

    recorded: dict[int, list[Hypothesis]] = field(default_factory=dict)
    firsts: list[int] = field(default_factory=list)

    def record(self, first: int, hypotheses: Hypotheses) -> None:
        self.firsts.append(first)
        self.recorded.update(enumerate(hypotheses, start=first))


class Silent:
    """Progress that nobody sees."""

    def advance(self, job: Job, sentences: int, share: float) -> None:
        pass

    def finish(self, job: Job) -> None:
        pass

    def note(self, message: str) -> None:
        pass


VOCABULARY = {"source_vocabulary": 120, "target_vocabulary": 120, "output_bias": True}
EOS = 2


def model_folder(
    folder: Path,
    eos: float = 1.0,
    precision: Precision = "float32",
    max_positions: int = 48,
    hints: HintsConfig | None = None,
    **fields: Any,
) -> Path:
    """Writes a model that weighs context; a higher `eos` ends sentences earlier. `fields` go to `small_config`."""
    folder.mkdir(parents=True, exist_ok=True)
    joint_files(folder)
    config = small_config(transformer={**VOCABULARY, "max_positions": max_positions}, **fields)
    model = small_model(replace(config, hints=hints), open_gates=True)
    with torch.no_grad():
        assert model.embeddings.output_bias is not None
        model.embeddings.output_bias[EOS] = eos
        for site in context_layers(model):
            site.last.weight.mul_(4.0)
    save(model, folder / "model", [folder / "joint.spm"], precision, languages=("en", "fr"))
    return folder / "model"


REFERRING = [
    "The fox met the dog.",
    "It is quick.",
    "The dog told a test that it had met.",
    "42",
    "It jumps.",
    "The dog told it that they had met it.",
    "It is the test, and they are lazy.",
]
"""Sentences with pronouns, some of which refer to a sentence that has hints itself."""


def say_first_words(hint: Hint, translation: Any, weights: Any, coder: Any) -> Hint:
    """Stands in for `docgraph.model.hints.resolve`: random models do not align. A hint says how a sentence begins."""
    return replace(hint, ids=tuple(translation[:-1][:3].tolist()))


def hints_folder(folder: Path, recall: bool = True) -> Path:
    """Writes a random model that reads hints by all relations of a document and, with `recall`, given translations."""
    relations = ("definition", "coreference", "previous")
    base = model_folder(folder / "base", context=False, hints=HintsConfig(relations))
    if recall:
        add_recall(base, folder / "recall", LinkedConfig(sentences=2, own_weight=0.0))
    return folder / "recall" if recall else base


@cache
def embedded() -> Tokenizer:
    folder = find_model("en-fr")
    return Tokenizer.load(folder, ModelFolder(folder).config.transformer)


def english_to_french(**options: Any) -> Preprocessor:
    return Preprocessor(embedded().source, ("en", "fr"), 100, **options)
