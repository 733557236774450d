"""Time of a training step (forward, backward, update) of each system, relative to Base on the same batches.

    python -m benchmarks.training_step [--tokens 16000] [--rounds 7]

Base trains all its parameters (stage 1); the others train what they add to a frozen Base (stage 2). Documents have
100-150 sentences with lengths as in parliamentary speech. On a GPU: bf16, compiled and captured as in `docgraph train`,
batches copied from page-locked memory. On a CPU: a toy size.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from benchmarks.synthetic import random_examples
from docgraph.model.batch import DocumentBatch, DocumentExample, collate
from docgraph.model.config import ContextConfig, ModelConfig, TransformerConfig
from docgraph.model.device import TensorBundle
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.model.gpu.cuda_graphs import CapturedStep
from docgraph.model.padding import capacity, fill_up
from docgraph.model.transformer import Place
from docgraph.training.optimizer import MasterWeights

GPU = torch.cuda.is_available()
DEVICE = torch.device("cuda" if GPU else "cpu")
PAPER = {"hyb": 0.68, "post": 0.76, "pre": 0.74}
"""Training speed relative to Base with source and target graphs, from the paper's main table."""


def systems(transformer: TransformerConfig) -> dict[str, ModelConfig]:
    """Returns Base and the three integrations with both graphs."""
    base = ModelConfig(transformer, freeze="none")
    places: tuple[Place, ...] = ("hyb", "post", "pre")
    contexts = {name: ContextConfig(integration=name) for name in places}
    return {"base": base, **{name: replace(base, context=c, freeze="base") for name, c in contexts.items()}}


def measured(tokens: int) -> tuple[TransformerConfig, list[list[DocumentExample]]]:
    """Returns the config of the Transformer (base size on a GPU, a toy on a CPU) and the documents of four batches."""
    transformer = TransformerConfig(16000, 16000, dropout=0.2)
    if not GPU:
        transformer = TransformerConfig(2000, 2000, 64, 128, 4, 2, 2)
    rng, sizes = np.random.default_rng(0), (100, 150) if GPU else (10, 20)
    return transformer, [random_examples(rng, tokens, transformer.source_vocabulary, sizes) for _ in range(4)]


def mean_tokens(examples: list[list[DocumentExample]]) -> float:
    """Returns the mean number of target tokens of a batch."""
    return statistics.mean(sum(len(ids) for example in each for ids in example.target) for each in examples)


def heading(tokens: float) -> str:
    name = torch.cuda.get_device_name() if GPU else "CPU"
    return f"{name}, torch {torch.__version__}; {tokens:.0f} non-padding target tokens per batch of whole documents"


class BareStep:
    """Forward, backward and update alone; on a GPU compiled, and captured for batches of one size."""

    def __init__(self, config: ModelConfig, batches: list[DocumentBatch]) -> None:
        torch.manual_seed(0)
        self.model = DocumentTransformer(config).to(DEVICE, torch.bfloat16 if GPU else torch.float32).train()
        self.model.freeze(config.freeze)
        self.masters = MasterWeights(self.model.parameters())
        self.optimizer = torch.optim.Adam(self.masters.parameters, lr=1e-4, fused=True)
        self.tokens = [0 if batch.gold is None else len(batch.gold) for batch in batches]
        self.batches = batches
        self.compute: Callable[[DocumentBatch], Tensor] = self._gradient
        if GPU:
            self.model.compile_parts(dynamic=False)
            room = capacity(batches)
            filled = [fill_up(batch, room, config.transformer.pad) or batch for batch in batches]
            self.batches = [TensorBundle.of(batch).unpack(pin=True) for batch in filled]
            self.compute = CapturedStep(self._gradient, room, self.masters.gradients.zero_, DEVICE)

    def _gradient(self, batch: DocumentBatch) -> Tensor:
        loss, nll = self.model(batch, 0.1)
        loss.backward()
        self.masters.collect_gradients()
        return nll

    def seconds(self, batches: slice = slice(None)) -> float:
        """Returns the total time of a step on each of these batches."""
        synchronise(DEVICE)
        began = time.perf_counter()
        for batch, tokens in zip(self.batches[batches], self.tokens[batches], strict=True):
            self.compute(batch)
            self.masters.gradients /= tokens
            self.optimizer.step()
            self.masters.update_model()
        synchronise(DEVICE)
        return time.perf_counter() - began


def step_times(config: ModelConfig, examples: list[list[DocumentExample]], rounds: int) -> list[float]:
    """Returns seconds per step in each of `rounds` rounds over the batches, after two rounds of warm-up."""
    step = BareStep(config, [collate(each, bos=1) for each in examples])
    return [step.seconds() / len(examples) for _ in range(2 + rounds)][2:]


def synchronise(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize()


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=16000 if GPU else 1500)
    parser.add_argument("--rounds", type=int, default=7 if GPU else 1)
    parser.add_argument("--only", default="base,hyb,post,pre")
    options = parser.parse_args(arguments or [])
    transformer, examples = measured(options.tokens)
    tokens = mean_tokens(examples)
    print(heading(tokens))
    print(f"{'system':8}{'ms/step':>10}{'tokens/s':>12}{'x Base':>9}{'paper':>8}")
    base = None
    for system, config in systems(transformer).items():
        if system not in options.only.split(","):
            continue
        seconds = statistics.median(step_times(config, examples, options.rounds))
        base = base or seconds
        paper = f"{PAPER[system]:.2f}" if system in PAPER else ""
        print(f"{system:8}{seconds * 1e3:10.2f}{tokens / seconds:12.0f}{base / seconds:9.2f}{paper:>8}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
