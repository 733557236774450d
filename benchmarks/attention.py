"""Benchmark of attention inside sentences, forward and backward: our kernels, PyTorch's variable-length kernel, padded.

    python -m benchmarks.attention [--tokens 17800] [--tiles 32:2:4:2,32:2:2:2,32:4:4:2,64:4:4:2]

Sentences are those of `benchmarks.synthetic`, with 8 heads of 64 in bf16: as drawn, and with one sentence of 256
sub-words. A tile is given as rows : forward warps : backward warps : programs per sequence; the first one is ours.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from benchmarks.synthetic import random_examples
from docgraph.model import attention
from docgraph.model.packing import Packing

HEADS, SIZE = 8, 64
LIBRARY, PADDED = "variable-length", "padded"


def lengths_of(tokens: int) -> list[int]:
    """Lengths of the target sentences of documents with about `tokens` sub-words."""
    examples = random_examples(np.random.default_rng(0), tokens, 16_000, (100, 150))
    lengths = np.array([len(ids) for example in examples for ids in example.target])
    return lengths[: np.searchsorted(lengths.cumsum(), tokens)].tolist()


def padded(query: Tensor, key: Tensor, value: Tensor, packing: Packing, causal: bool) -> Tensor:
    """Attention as on a CPU: padded, masked, packed again."""
    steps = torch.arange(packing.max_length, device=query.device)
    visible = attention.unmask_empty_rows(packing.mask[:, None, None, :] & ((steps <= steps[:, None]) | (not causal)))
    laid_out = (packing.pad(x).transpose(1, 2) for x in (query, key, value))
    return packing.pack(attention.masked_attention(*laid_out, visible).transpose(1, 2))


def milliseconds(compute: Callable[[], object]) -> float:
    """Milliseconds per run: the best of seven replays of a CUDA graph of ten runs, which excludes launch times."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            compute()
    torch.cuda.current_stream().wait_stream(side)
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph):
        for _ in range(10):
            compute()
    for _ in range(7):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 10)
    return min(times)


def measure(lengths: list[int], causal: bool, tiles: list[str]) -> dict[str, tuple[float, float]]:
    """Milliseconds of forward, and of forward and backward, by kernel."""
    from docgraph.model.gpu import short_attention

    packing = Packing.of(lengths, "cuda")
    shape = packing.num_tokens, HEADS, SIZE
    *tensors, grad = (torch.randn(shape, dtype=torch.bfloat16, device="cuda").requires_grad_() for _ in range(4))
    limit, found = attention.SHORT, {}

    def packed() -> Tensor:
        return attention.packed_attention(*tensors, packing, packing, causal)

    def both(attend: Callable[[], Tensor]) -> tuple[float, float]:
        with torch.no_grad():
            forward = milliseconds(attend)
        return forward, milliseconds(lambda: torch.autograd.grad(attend(), tensors, grad))

    for tile in tiles:
        block, first, second, split = (int(number) for number in tile.split(":"))
        short_attention.BLOCK, short_attention.WARPS, short_attention.SPLIT = block, (first, second), split
        found[tile] = both(packed)
    attention.SHORT = 0
    found[LIBRARY] = both(packed)
    attention.SHORT = limit
    found[PADDED] = both(lambda: padded(*tensors, packing, causal))
    return found


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tokens", type=int, default=17_800)
    parser.add_argument("--tiles", default="32:2:4:2")
    options = parser.parse_args(arguments or [])
    if not torch.cuda.is_available():
        print("attention: the kernels compared here need a GPU")
        return
    drawn = lengths_of(options.tokens)
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}; {sum(drawn)} tokens in {len(drawn)} sentences")
    print(f"{'longest':>8}  {'mask':8}{'kernel':18}{'forward ms':>12}{'+ backward':>12}{'x library':>11}")
    for lengths in (drawn, [*drawn, 256]):
        for causal in (False, True):
            times = measure(lengths, causal, options.tiles.split(","))
            for kernel, (forward, training) in times.items():
                ratio = times[LIBRARY][1] / training
                mask = "causal" if causal else "full"
                print(f"{max(lengths):8}  {mask:8}{kernel:18}{forward:12.3f}{training:12.3f}{ratio:11.2f}", flush=True)


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
