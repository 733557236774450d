"""Compare all systems with the paper: parameters added to Base, and training speed relative to Base.

    python -m benchmarks.systems [--tokens 16000] [--rounds 5] [--only han,selective]

Steps are those of `benchmarks.training_step`. Base, Unified and concatenation train all parameters, the others those
they add. The systems are those of configs/model/. Concatenation repeats the sentences before each sentence, so that a
batch of the same sentences has more sub-words and takes longer. The paper's parameters are for d 512. Compilation takes
most of the time, so that systems compile in parallel; each is timed with the GPU to itself.
"""

from __future__ import annotations

import argparse
import fcntl
import multiprocessing
import statistics
import tempfile
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import shorten

import torch

from benchmarks.training_step import GPU, BareStep, heading, mean_tokens, measured
from docgraph.config import read_config
from docgraph.model.batch import collate
from docgraph.model.checkpoint import blank
from docgraph.model.config import ModelConfig, TransformerConfig
from docgraph.model.systems import prepare
from docgraph.research.parameter_report import PAPER as PARAMETERS

CONFIGS = Path(__file__).resolve().parents[1] / "configs" / "model"
SPEED = {
    "ctx": 0.65,
    "docgraph_hyb": 0.68,
    "hm_gdc": 0.80,
    "han": 0.58,
    "selective": 0.31,
    "docgraph_post": 0.76,
    "unified": 0.79,
    "docgraph_pre": 0.74,
}
"""Training speed relative to Base (table 1 of the paper)."""
ORDER = ["base", *SPEED, "noise", "concatenation_2_1", "concatenation_2_2", "concatenation_3_1"]


def system(name: str, transformer: TransformerConfig) -> ModelConfig:
    """A shipped config, with the Transformer that is measured."""
    config = read_config(ModelConfig, CONFIGS / f"{name}.yaml")
    if config.context is None:
        return replace(config, transformer=transformer, freeze="none")
    return replace(config, transformer=transformer, context=replace(config.context, heads=transformer.heads))


def paper_parameters(config: ModelConfig) -> float | None:
    """Added parameters of the paper in millions, if the system is in its table."""
    context = config.context
    return None if context is None else PARAMETERS.get((context.encoder, context.integration, context.sides))


@dataclass(frozen=True)
class Measured:
    """The cost of a system."""

    added: float
    """Millions of parameters."""
    seconds: float
    peak: float
    """Gigabytes."""


def measure(name: str, tokens: int, rounds: int, lock: Path) -> Measured:
    """Compile a training step in parallel with other systems, then time it alone."""
    transformer, examples = measured(tokens)
    config = system(name, transformer)
    batches = [collate([prepare(example, config) for example in each], bos=1) for each in examples]
    step = BareStep(config, batches)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_SH)  # several systems compile at a time,
        step.seconds()
        fcntl.flock(file, fcntl.LOCK_EX)  # one is timed, with the GPU to itself
        step.seconds()
        times = [step.seconds() / len(examples) for _ in range(rounds)]
    peak = torch.cuda.max_memory_allocated() / 1e9 if GPU else 0.0
    return Measured(blank(config, "meta").added_parameters() / 1e6, statistics.median(times), peak)


def attempt(name: str, tokens: int, rounds: int, lock: Path) -> Measured | str:
    """The cost of a system, or one line that says why it failed: compiler exceptions often cannot be pickled."""
    try:
        return measure(name, tokens, rounds, lock)
    except Exception as error:
        return reason(error)


def reason(error: Exception) -> str:
    """An exception in one line: its type and the first paragraph of its message, without the hints to developers."""
    if "out of memory" in str(error).lower():
        return "out of memory beside the other systems; try --jobs 1"
    first, *_ = str(error).strip().split("\n\n")
    return shorten(f"failed: {type(error).__name__}: {first}", 240)


def row(name: str, cost: Measured, base: Measured | str, paper: float | None) -> str:
    """A line of the table; `paper` is the number of parameters that the paper adds, in millions."""
    speed = "" if isinstance(base, str) else f"{base.seconds / cost.seconds:.2f}"
    figures = (f"{paper:.2f}" if paper is not None else "", f"{SPEED[name]:.2f}" if name in SPEED else "")
    return (
        f"{name:20}{cost.added:9.2f}{figures[0]:>7}{cost.seconds * 1e3:10.2f}{speed:>8}{figures[1]:>7}{cost.peak:9.1f}"
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=16000 if GPU else 1500)
    parser.add_argument("--rounds", type=int, default=5 if GPU else 1)
    parser.add_argument("--only", default=",".join(ORDER))
    parser.add_argument("--jobs", type=int, default=8 if GPU else 1, help="systems that compile in parallel")
    parser.add_argument("--lock", type=Path, help="a file on which other work on the GPU holds a shared lock")
    options = parser.parse_args(arguments or [])
    _, examples = measured(options.tokens)
    print(heading(mean_tokens(examples)))
    print(f"{'system':20}{'added M':>9}{'paper':>7}{'ms/step':>10}{'x Base':>8}{'paper':>7}{'peak GB':>9}")
    names = ["base", *(name for name in options.only.split(",") if name != "base")]
    transformer = TransformerConfig()
    with (
        tempfile.TemporaryDirectory(prefix="docgraph-") as folder,
        ProcessPoolExecutor(options.jobs, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool,
    ):
        lock = options.lock or Path(folder) / "lock"
        waiting = {name: pool.submit(attempt, name, options.tokens, options.rounds, lock) for name in names}
        base = waiting["base"].result()
        for name, future in waiting.items():
            cost, paper = future.result(), paper_parameters(system(name, transformer))
            print(f"{name:20}{cost}" if isinstance(cost, str) else row(name, cost, base, paper), flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
