"""Every system on the same documents: parameters added to Base, and training speed against Base's, beside the paper's.

    python -m benchmarks.systems [--tokens 16000] [--rounds 5] [--only han,selective]

Steps as in `benchmarks.training_step`; Base, Unified and concatenation train everything, the others what they add. The
systems are those of configs/model/; with concatenation a sentence comes with those before it, so that a batch of the
same sentences has more sub-words, and is slower for that. The paper's added parameters are for d 512.
"""

from __future__ import annotations

import argparse
import statistics
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.training_step import heading, measured, step_times
from docgraph.model.checkpoint import blank
from docgraph.model.concatenation import concatenate
from docgraph.model.config import ModelConfig, TransformerConfig, read_yaml
from docgraph.model.report import PAPER as PARAMETERS

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
    """A shipped config on the Base that is measured."""
    config = read_yaml(CONFIGS / f"{name}.yaml")
    if config.context is None:
        return replace(config, transformer=transformer, freeze="none")
    return replace(config, transformer=transformer, context=replace(config.context, heads=transformer.heads))


def paper_parameters(config: ModelConfig) -> float | None:
    context = config.context
    return None if context is None else PARAMETERS.get((context.encoder, context.integration, context.sides))  # type: ignore[call-overload]


def main(arguments: list[str] | None = None) -> None:
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=16000 if gpu else 1500)
    parser.add_argument("--rounds", type=int, default=5 if gpu else 1)
    parser.add_argument("--only", default=",".join(ORDER))
    options = parser.parse_args(arguments or [])
    transformer, examples = measured(options.tokens)
    tokens = statistics.mean(sum(len(ids) for example in each for ids in example.target) for each in examples)
    print(heading(tokens))
    print(f"{'system':20}{'added M':>9}{'paper':>7}{'ms/step':>10}{'x Base':>8}{'paper':>7}{'peak GB':>9}")
    base = None
    for name in ["base", *(name for name in options.only.split(",") if name != "base")]:
        config = system(name, transformer)
        joined = [[concatenate(example, config.concatenation) for example in each] for each in examples]
        if gpu:
            torch.cuda.reset_peak_memory_stats()
        seconds = statistics.median(step_times(config, joined, options.rounds))
        base = base or seconds
        added, paper = blank(config, "meta").added_parameters() / 1e6, paper_parameters(config)
        figures = (f"{paper:.2f}" if paper is not None else "", f"{SPEED[name]:.2f}" if name in SPEED else "")
        peak = f"{torch.cuda.max_memory_allocated() / 1e9:.1f}" if gpu else ""
        print(
            f"{name:20}{added:9.2f}{figures[0]:>7}{seconds * 1e3:10.2f}{base / seconds:8.2f}{figures[1]:>7}{peak:>9}",
            flush=True,
        )
        torch.compiler.reset()


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
