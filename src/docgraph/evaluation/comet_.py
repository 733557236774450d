"""COMET, where the package and a model are installed; a sentence that says what is missing where not."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from docgraph.errors import DocgraphError
from docgraph.evaluation.dataset import EvaluationSet
from docgraph.evaluation.metrics import Measured, ratio_scores

MODEL = "Unbabel/wmt22-comet-da"


def measure_comet(data: EvaluationSet, model: str = MODEL) -> Measured:
    """COMET of every sentence of every system; a mean, times 100, so that it is resampled as the other metrics are."""
    if data.source is None:
        raise DocgraphError("COMET was left out: it reads the source; name it with --source")
    loaded, version = _load(model)
    import torch

    gpus = int(torch.cuda.is_available())
    statistics = {}
    for system, sentences in data.systems.items():
        triples = zip(data.source, sentences, data.reference, strict=True)
        rows = [{"src": source, "mt": output, "ref": reference} for source, output, reference in triples]
        segments = loaded.predict(rows, batch_size=16, gpus=gpus, progress_bar=False).scores
        statistics[system] = np.stack([np.asarray(segments, np.float64), np.ones(len(rows))], axis=1)
    values = {system: float(ratio_scores(rows.sum(axis=0))) for system, rows in statistics.items()}
    signature = {"model": Path(model).name, "scale": "100", "version": version}
    return Measured("COMET", "sentence", statistics, ratio_scores, values, signature)


def _load(model: str) -> tuple[Any, str]:
    """A model from a checkpoint file or from the local cache, never from the network, and COMET's version."""
    try:
        comet = import_module("comet")
    except ImportError:
        raise DocgraphError("COMET was left out: it is not installed; pip install unbabel-comet") from None
    try:
        path = model if Path(model).is_file() else comet.download_model(model, local_files_only=True)
        return comet.load_from_checkpoint(path), version("unbabel-comet")
    except (OSError, KeyError, ValueError) as error:
        raise DocgraphError(
            f"COMET was left out: its model {model} is not on this machine ({type(error).__name__}); "
            f"get it once with: comet-score --model {model}, or name a checkpoint file with --comet-model"
        ) from None
