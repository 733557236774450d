"""Train systems on the context task (context_corpus.py) and print their forced-choice accuracy (chance: 50%).

    python -m benchmarks.context_task [CONFIG ...] [--entities 2] [--steps 220] [--seeds 1]

trains one small Base and, starting from it, a small system with the `model.context` and `model.freeze` of each training
config (configs/train/*.yaml, or an ablation), by the code of `docgraph train`. The deciding sentence is up to four
sentences back, so that systems with a window read four.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.context_corpus import TaskDocument, accuracy, documents, variants, write
from docgraph.config import parse, read_values
from docgraph.corpus.config import PrepareConfig
from docgraph.corpus.prepare import prepare
from docgraph.corpus.store import PreparedCorpus
from docgraph.model.checkpoint import load
from docgraph.training.config import TrainingConfig
from docgraph.training.loop import train

CONFIGS = Path(__file__).parents[1] / "configs" / "train"
TRANSFORMER = {
    "dimension": 64,
    "feed_forward": 128,
    "heads": 4,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "dropout": 0.0,
    "norm": "pre",
    "max_positions": 64,
}
CONTEXT = {"heads": 4, "dropout": 0.0, "previous": 4}
GRAPH = {"dropout": 0.0, "max_sentences": 16}
RUN: dict[str, Any] = {
    "precision": "fp32",
    "workers": 0,
    "schedule": {"peak": 3e-3, "warmup": 50},
    "validation": {"every": 0, "bleu_every": 0},
}


def data_settings(folder: Path, train: int, dev: int, entities: int = 1) -> dict[str, Any]:
    """Write a corpus of `train` and `dev` documents into the folder, and return the settings that prepare it."""
    splits = {"train": documents(train, seed=0, entities=entities), "dev": dev_documents(dev, entities)}
    return {
        "languages": {"source": "en", "target": "fr"},
        "data": {split: write(folder, split, each) for split, each in splits.items()},
        "subwords": {"size": 400, "byte_fallback": False},
        "out": str(folder / "store"),
    }


def dev_documents(count: int, entities: int = 1) -> list[TaskDocument]:
    """`count` documents with questions, in four variants each."""
    return variants(count, seed=1, entities=entities)


def base_settings(store: str, steps: int = 100, seed: int = 1) -> dict[str, Any]:
    """Settings of stage 1."""
    batches = {"tokens": 600, "unit": "sentence", "max_length": 64}
    return {
        "data": store,
        **RUN,
        "model": {"transformer": TRANSFORMER},
        "steps": steps,
        "batches": batches,
        "seed": seed,
    }


def context_settings(
    store: str, base: str, context: Mapping[str, Any], freeze: str = "base", steps: int = 220, seed: int = 1
) -> dict[str, Any]:
    """Settings of stage 2, for any system."""
    small = {**context, **CONTEXT, "graph": {**context.get("graph", {}), **GRAPH}}
    model = {"transformer": TRANSFORMER, "context": small, "freeze": freeze}
    stage = {"stage": "context", "base": base, "model": model, "batches": {"tokens": 600, "max_length": 64}}
    return {"data": store, **RUN, **stage, "steps": steps, "seed": seed}


def run(
    settings: dict[str, Any], folder: Path, corpus: PreparedCorpus, questions: list[TaskDocument]
) -> tuple[float, ...]:
    """Train; return the accuracy by the source and by the target, and the seconds of training."""
    began = time.perf_counter()
    train(parse(TrainingConfig, settings), folder)
    seconds = time.perf_counter() - began
    correct = accuracy(load(folder / "best"), corpus, questions)
    return correct["source"], correct["target"], seconds


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("configs", nargs="*", type=Path, default=sorted(CONFIGS.glob("docgraph_*_both.yaml")))
    parser.add_argument("--entities", type=int, default=1, help="people and kinds of things in a document")
    parser.add_argument("--documents", type=int, default=200)
    parser.add_argument("--steps", type=int, default=220, help="updates of stage 2")
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args(arguments or [])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings = data_settings(folder, options.documents, 32, options.entities)
        prepare(parse(PrepareConfig, settings), cache=folder / "cache")
        store, questions = settings["out"], dev_documents(32, options.entities)
        corpus = PreparedCorpus.open(store, "dev")
        print(f"{'system':28}{'seed':>5}{'by source':>11}{'by target':>11}{'seconds':>9}")
        for seed in range(1, options.seeds + 1):
            runs = {"base": base_settings(store, seed=seed)}
            for path in options.configs:
                model = read_values(path)["model"]
                context, freeze = model["context"], model.get("freeze", "base")
                base = str(folder / f"base-{seed}" / "best")
                runs[path.stem] = context_settings(store, base, context, freeze, options.steps, seed)
            for system, values in runs.items():
                source, target, seconds = run(values, folder / f"{system}-{seed}", corpus, questions)
                print(f"{system:28}{seed:5}{source:11.1%}{target:11.1%}{seconds:9.1f}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
