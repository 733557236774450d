"""Model folders of small random models, and a request that records its progress."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from docgraph.model.checkpoint import save
from docgraph.model.model_folder import Precision
from docgraph.translation.document_decoding import Hypotheses
from docgraph.translation.hypotheses import Hypothesis
from docgraph.translation.translator import TranslationRequest
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


VOCABULARY = {"source_vocabulary": 120, "target_vocabulary": 120, "output_bias": True}
EOS = 2


def model_folder(
    folder: Path, eos: float = 1.0, precision: Precision = "float32", max_positions: int = 48, **fields: Any
) -> Path:
    """Writes a model that weighs context; a higher `eos` ends sentences earlier. `fields` go to `small_config`."""
    folder.mkdir(parents=True, exist_ok=True)
    joint_files(folder)
    config = small_config(transformer={**VOCABULARY, "max_positions": max_positions}, **fields)
    model = small_model(config, open_gates=True)
    with torch.no_grad():
        assert model.embeddings.output_bias is not None
        model.embeddings.output_bias[EOS] = eos
        for site in context_layers(model):
            site.last.weight.mul_(4.0)
    save(model, folder / "model", [folder / "joint.spm"], precision, languages=("en", "fr"))
    return folder / "model"
