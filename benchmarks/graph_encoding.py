"""Graph encoding: time and memory per word by document length, against the plain sparse path and PyTorch Geometric.

One document at a time, d 512, two layers, the default encoder, one core. docgraph sums lexical cliques by prefix sums.
The plain path multiplies with the union of the relations as one sparse matrix; `GCNConv` passes a message along each of
its edges. The number of edges grows with the square of the document, so that both stop when they would need too much
memory. GCNConv does only the convolutions: one over incoming and one over outgoing edges per layer, without fusion,
residual connection and LayerNorm. Every measurement has its own process. Times are CPU seconds; memory is the peak
above that of the graph and the weights.

glibc returns every freed block above 32 MB to the kernel, so that a long document pays for new pages in every
operation. docgraph's commands disable that (docgraph.workers), and so does every path here; the ratios with the default
allocator are printed as well.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

SIZES = (1_000, 4_000, 16_000, 64_000)
PATHS = ("docgraph", "plain", "GCNConv")
DIMENSION, LAYERS = 512, 2
BAR_TIME, BAR_MEMORY = 1.5, 1.5
"""Maximum ratio of the time and memory per word at the largest size to those at the smallest."""
EDGE_BYTES = {"docgraph": 0, "plain": 60, "GCNConv": 2 * 4 * DIMENSION}
"""Peak memory of each path per edge of the union, in bytes, in addition to that of the nodes."""
MEMORY_LIMIT = 4 << 30


@dataclass(frozen=True)
class Measurement:
    """CPU seconds of a forward pass and of forward and backward, and the peak memory of the latter in bytes."""

    forward: float
    training: float
    memory: int


def edges_in_union(words: int) -> int:
    """The number of edges of the document's graph, counted without expanding them."""
    from benchmarks.synthetic import synthetic_annotation
    from docgraph.graph import build_graph

    return build_graph(synthetic_annotation(words)).num_edges


def encoder_call(path: str, words: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """Two functions that run forward, and forward and backward, of one path on a document of `words` words."""
    import torch
    from torch import Tensor, nn

    from benchmarks.synthetic import synthetic_annotation
    from docgraph.graph import build_graph
    from docgraph.model.config import GraphConfig
    from docgraph.model.graph_encoder import GraphEncoder, source_structure

    torch.manual_seed(0)
    graph = build_graph(synthetic_annotation(words))
    states = torch.randn(words if path != "GCNConv" else graph.num_nodes, DIMENSION, requires_grad=True)
    if path == "GCNConv":
        from torch_geometric.nn import GCNConv

        union = graph.union()
        ends = torch.stack(
            [torch.from_numpy(union.source.astype("int64")), torch.from_numpy(union.target.astype("int64"))]
        )
        convolutions = nn.ModuleList(GCNConv(DIMENSION, DIMENSION, add_self_loops=False) for _ in range(2 * LAYERS))

        def encode() -> Tensor:
            nodes = states
            for layer in range(LAYERS):
                towards, away = convolutions[2 * layer](nodes, ends), convolutions[2 * layer + 1](nodes, ends.flip(0))
                nodes = torch.tanh(towards) + torch.tanh(away)
            return nodes
    else:
        structure = source_structure(graph, plain=path == "plain")
        encoder = GraphEncoder(DIMENSION, GraphConfig(layers=LAYERS))

        def encode() -> Tensor:
            nodes: Tensor = encoder.train(torch.is_grad_enabled())(states, structure)
            return nodes

    def training() -> None:
        torch.autograd.backward(encode().sum())

    return torch.no_grad()(encode), training


def peak_memory(call: Callable[[], object]) -> int:
    """The peak increase of resident memory during a call in bytes; -1 if the system does not report it."""
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return -1
    clear.write_text("5")  # Linux: reset the peak (VmHWM)
    before = _kilobytes(status, "VmRSS")
    call()
    return (_kilobytes(status, "VmHWM") - before) * 1024


def _kilobytes(status: Path, field: str) -> int:
    return int(next(line for line in status.read_text().splitlines() if line.startswith(field)).split()[1])


def cpu_seconds(call: Callable[[], object]) -> float:
    """CPU seconds of a call."""
    began = time.process_time()
    call()
    return time.process_time() - began


def best_time(call: Callable[[], object], seconds: float = 4.0) -> float:
    """CPU seconds of the fastest of the calls that fit into about `seconds`."""
    times: list[float] = []
    while sum(times) < seconds:
        times.append(cpu_seconds(call))
    return min(times)


def measure_here(path: str, words: int) -> Measurement:
    """Measure in this process, which must be fresh, or its peak memory would mean nothing."""
    import torch

    torch.set_num_threads(1)
    encoder_call(path, 200)[1]()  # allocations that libraries make once
    forward, training = encoder_call(path, words)
    # Not timed: memory that is new to the process takes a third of the time of a long document.
    memory = peak_memory(training)
    return Measurement(best_time(forward), best_time(training), memory)


def measure(path: str, words: int, keep_memory: bool = True) -> Measurement:
    """Measure in a new process."""
    command = [sys.executable, "-m", "benchmarks.graph_encoding", path, str(words), *["keep"] * keep_memory]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    root = Path(__file__).parents[1]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root, env=environment)
    return Measurement(**json.loads(done.stdout))


def measurements() -> dict[tuple[str, int], Measurement | str]:
    """The measurement of every path at every size, or the reason why there is none."""
    missing = importlib.util.find_spec("torch_geometric") is None
    found: dict[tuple[str, int], Measurement | str] = {}
    for words in SIZES:
        edges = edges_in_union(words)
        for path in PATHS:
            needed = edges * EDGE_BYTES[path]
            if path == "GCNConv" and missing:
                found[path, words] = "not installed"
            elif needed > MEMORY_LIMIT:
                found[path, words] = f"{edges / 1e6:,.0f}M edges, {needed / 2**30:,.0f} GB"
            else:
                found[path, words] = measure(path, words)
    return found


def main() -> None:
    """Print the table and whether each bar is met."""
    console = Console(width=110)
    results = measurements()
    table = Table(title=f"Graph encoding, one core, d {DIMENSION}, {LAYERS} layers; ratios are to docgraph")
    for column in (
        "words",
        "edges",
        "path",
        "fwd µs/word",
        "ratio",
        "fwd+bwd µs/word",
        "ratio",
        "peak kB/word",
        "ratio",
    ):
        table.add_column(column, justify="left" if column == "path" else "right")
    for words in SIZES:
        ours = results["docgraph", words]
        assert isinstance(ours, Measurement)
        for path in PATHS:
            row = results[path, words]
            first = (f"{words:,}", f"{edges_in_union(words):,}") if path == "docgraph" else ("", "")
            table.add_row(*first, path, *([row] if isinstance(row, str) else cells(row, ours, words)))
        table.add_section()
    console.print(table)
    if "not installed" in results.values():
        console.print("  GCNConv was skipped: install torch_geometric with pip install 'docgraph[bench]'")
    kept = [results["docgraph", words] for words in (SIZES[0], SIZES[-1])]
    default = [measure("docgraph", words, keep_memory=False) for words in (SIZES[0], SIZES[-1])]
    for name in ("forward", "training", "memory"):
        ratio, by_default = (
            getattr(large, name) / getattr(small, name) / (SIZES[-1] / SIZES[0]) for small, large in (kept, default)
        )
        bar = BAR_MEMORY if name == "memory" else BAR_TIME
        met = "met" if ratio <= bar else "MISSED"
        what = {"forward": "forward time", "training": "forward + backward time", "memory": "peak memory"}[name]
        console.print(
            f"  {what} per word, {SIZES[-1]:,} against {SIZES[0]:,} words: {ratio:.2f}x (bar: at most {bar}x) {met};"
            f" default allocator: {by_default:.2f}x",
            highlight=False,
        )


def cells(row: Measurement, ours: Measurement, words: int) -> list[str]:
    """Forward, training and memory per word, each followed by its ratio to docgraph's."""
    out: list[str] = []
    for value, own, unit in (
        (row.forward, ours.forward, 1e-6),
        (row.training, ours.training, 1e-6),
        (row.memory, ours.memory, 1e3),
    ):
        out += [f"{value / words / unit:,.1f}", f"{value / own:.2f}x"]
    return out


if __name__ == "__main__":
    if len(sys.argv) > 1:
        if sys.argv[3:] == ["keep"]:
            from docgraph.workers import keep_freed_memory

            keep_freed_memory()
        print(json.dumps(measure_here(sys.argv[1], int(sys.argv[2])).__dict__))
    else:
        main()
