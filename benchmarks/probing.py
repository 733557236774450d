"""Scoring the candidates of a contrastive suite: batched, compared with one at a time.

    python -m benchmarks.probing [--contrasts 2500]

The contrasts resemble the consistency sets: four sentences of ten words per side, two candidates for the last one that
differ in one word, and the context in both languages. The time covers everything from sub-words and graphs to scores,
batching included. The model has base size on a GPU and is tiny on a CPU; its weights are random, which does not affect
the speed.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace

import numpy as np
import torch

from benchmarks.synthetic import EOS, synthetic_annotation
from benchmarks.training_step import systems
from docgraph.graph import build_graph
from docgraph.model.batch import DocumentExample
from docgraph.model.config import TransformerConfig
from docgraph.model.document_transformer import DocumentTransformer
from docgraph.translation.decoding.scoring import TOKENS, ScoringTask, score_candidates

SENTENCES, WORDS = 4, 10
BAR = 3_000
"""Target on a GPU, in candidates per second."""


def contrast(rng: np.random.Generator, vocabulary: int) -> ScoringTask:
    """A document of four sentences and two translations of its last one."""
    plain = synthetic_annotation(SENTENCES * WORDS, seed=int(rng.integers(1 << 31)))
    offsets = np.arange(0, (SENTENCES + 1) * WORDS, WORDS, dtype=np.int32)
    graph = build_graph(replace(plain, offsets=offsets))
    owners = [np.repeat(np.arange(WORDS), 1 + (rng.random(WORDS) < 0.3)) for _ in range(2 * SENTENCES)]
    ids = [np.append(rng.integers(4, vocabulary, len(owner)), EOS) for owner in owners]
    source_words = [np.append(owner + m * WORDS, -1) for m, owner in enumerate(owners[:SENTENCES])]
    target_words = [np.append(owner, -1) for owner in owners[SENTENCES:]]
    other = ids[-1].copy()
    other[int(rng.integers(len(other) - 1))] = 4
    window = range(SENTENCES - 1, SENTENCES)
    document = DocumentExample(ids[:SENTENCES], ids[SENTENCES:], graph, source_words, target_words, window)
    return ScoringTask(document, [[ids[-1], other]])


def seconds(model: DocumentTransformer, tasks: list[ScoringTask], tokens: int) -> float:
    """The time to score all candidates, after one warm-up."""
    score_candidates(model, tasks, tokens)
    began = time.perf_counter()
    score_candidates(model, tasks, tokens)
    return time.perf_counter() - began


def main(arguments: list[str] | None = None) -> None:
    """Print candidates per second of every system."""
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--contrasts", type=int, default=2500 if gpu else 200)
    options = parser.parse_args(arguments or [])
    transformer = TransformerConfig(32000, 32000) if gpu else TransformerConfig(4000, 4000, 128, 512, 4, 3, 3)
    rng = np.random.default_rng(0)
    tasks = [contrast(rng, transformer.source_vocabulary) for _ in range(options.contrasts)]
    some = [replace(task, translations=[[ids]]) for task in tasks[:50] for ids in task.translations[0]]
    name = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} thread(s)"
    print(f"candidates scored per second: {name}, {2 * len(tasks):,} candidates; target on an H200: {BAR:,}")
    print(f"{'system':12}{'precision':12}{'batched':>12}{'one at a time':>16}{'ratio':>8}", flush=True)
    for system, config in systems(transformer).items():
        for dtype in (torch.bfloat16, torch.float32) if gpu else (torch.float32,):
            torch.manual_seed(0)
            model = DocumentTransformer(config).eval().to("cuda" if gpu else "cpu", dtype)
            batched = 2 * len(tasks) / seconds(model, tasks, TOKENS)
            alone = len(some) / seconds(model, some, 1)
            precision = str(dtype).removeprefix("torch.")
            print(f"{system:12}{precision:12}{batched:12,.0f}{alone:16,.0f}{batched / alone:8.1f}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
