"""A training step of each system against Base's on the same batches: forward, backward, update.

    python -m benchmarks.training_step [--tokens 16000] [--rounds 7]

Base trains everything (stage 1); the others train what they add to a frozen Base (stage 2). Documents of 100-150
sentences with lengths as in parliamentary speech; bf16 and compiled on a GPU, a toy size on a CPU.
"""

from __future__ import annotations

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np
import torch

from benchmarks.synthetic import random_examples
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.system import DocumentTransformer
from docgraph.training.precision import MasterWeights

PAPER = {"hyb": 0.68, "post": 0.76, "pre": 0.74}
"""Training speed relative to Base with source and target graphs, from the paper's main table."""


def systems(transformer: TransformerConfig) -> dict[str, ModelConfig]:
    """Base and the three integrations with both graphs."""
    base = ModelConfig(transformer, freeze="none")
    contexts = {name: ContextConfig(integration=name) for name in ("hyb", "post", "pre")}  # type: ignore[arg-type]
    return {"base": base, **{name: replace(base, context=c, freeze="base") for name, c in contexts.items()}}


def measured(tokens: int) -> tuple[TransformerConfig, list[list[DocumentExample]]]:
    """The sentence-level model, of base size on a GPU and a toy on a CPU, and the documents of four batches."""
    gpu = torch.cuda.is_available()
    transformer = TransformerConfig(16000, 16000, dropout=0.2)
    if not gpu:
        transformer = TransformerConfig(2000, 2000, 64, 128, 4, 2, 2)
    rng, sizes = np.random.default_rng(0), (100, 150) if gpu else (10, 20)
    return transformer, [random_examples(rng, tokens, transformer.source_vocabulary, sizes) for _ in range(4)]


def heading(tokens: float) -> str:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return f"{name}, torch {torch.__version__}; {tokens:.0f} non-padding target tokens a batch of whole documents"


def step_times(config: ModelConfig, batches: list[DocumentBatch], rounds: int, compiled: bool) -> list[float]:
    """Seconds a step in each of `rounds` rounds over the batches, after two rounds of warm-up."""
    device = batches[0].source.tokens.device
    torch.manual_seed(0)
    model = DocumentTransformer(config).to(device, torch.bfloat16 if device.type == "cuda" else torch.float32)
    model.freeze(config.freeze)
    masters = MasterWeights(model.parameters())
    optimizer = torch.optim.Adam(masters.parameters, lr=1e-4, fused=True)
    if compiled:
        model.compile_parts()

    def step(batch: DocumentBatch) -> None:
        loss, _ = model(batch, 0.1)
        (loss / len(batch.gold)).backward()
        masters.take_gradients()
        optimizer.step()
        masters.give_weights()

    for batch in batches * 2:
        step(batch)
    times = []
    for _ in range(rounds):
        synchronise(device)
        began = time.perf_counter()
        for batch in batches:
            step(batch)
        synchronise(device)
        times.append((time.perf_counter() - began) / len(batches))
    return times


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=16000 if torch.cuda.is_available() else 1500)
    parser.add_argument("--rounds", type=int, default=7 if torch.cuda.is_available() else 1)
    parser.add_argument("--only", default="base,hyb,post,pre")
    options = parser.parse_args(arguments or [])
    gpu = torch.cuda.is_available()
    transformer, examples = measured(options.tokens)
    device = torch.device("cuda" if gpu else "cpu")
    batches = [collate(each, bos=1).to(device) for each in examples]
    tokens = statistics.mean(len(batch.gold) for batch in batches)
    print(heading(tokens))
    print(f"{'system':8}{'ms/step':>10}{'tokens/s':>12}{'x Base':>9}{'paper':>8}")
    base = None
    for system, config in systems(transformer).items():
        if system not in options.only.split(","):
            continue
        seconds = statistics.median(step_times(config, batches, options.rounds, compiled=gpu))
        base = base or seconds
        paper = f"{PAPER[system]:.2f}" if system in PAPER else ""
        print(f"{system:8}{seconds * 1e3:10.2f}{tokens / seconds:12.0f}{base / seconds:9.2f}{paper:>8}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
