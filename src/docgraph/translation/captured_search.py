"""Greedy and beam search by captured steps: on a GPU a step is one CUDA graph, replayed, not hundreds of launches.

The search is that of `search.py`, which is the definition, and finds the same. Here all that a step reads and writes
are tensors of fixed sizes at fixed addresses, the time among them: places for so many sentences, room for so many
tokens of each, and what is not filled is masked. The host looks every few steps who is done. When the room is full, or
half the places are done, the others move to a room twice as long, or half as many places, with a graph of its own.
Sizes are rounded, so that a few graphs serve all batches; they are kept as long as their model.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.model.integration import SiteReader
from docgraph.model.kv_cache import StaticCache, rounded
from docgraph.translation.search import Hypothesis, SearchConfig, top_candidates

LOOK = 4
"""Steps between two looks at who is done."""
ROOM = 32
"""Tokens there is room for at first, a multiple of LOOK."""
FEWEST = 16
"""Sentences there are places for at least: fewer would not take a step less time."""
AROUND = {"done": True, "best_totals": -torch.inf}
"""What stands where there is no sentence; elsewhere 0."""
PARTS = ("tokens", "totals", "limits", "done", "best_tokens", "best_totals", "best_lengths")
"""The tensors of a search, beside the cache."""

Graphs = dict[tuple[int, ...], torch.cuda.CUDAGraph | None]
"""By sizes: a graph, or None after the first step of these sizes, which runs uncaptured so that libraries warm up."""


class _Memory:
    """The buffers of a model's searches, which rooms of all sizes share, one at a time, and the graphs over them."""

    def __init__(self, addresses: tuple[int, ...], device: torch.device) -> None:
        self.addresses, self.lock = addresses, threading.Lock()
        self.buffers: dict[str, Tensor] = {}
        self.graphs: Graphs = {}
        self.time = torch.zeros(1, dtype=torch.int64, device=device)
        """Tokens there are of every row."""
        self.stream: Any = None
        self.pool: Any = None
        """Of the temporaries of all graphs: nothing but the buffers outlives a step."""

    @property
    def captures(self) -> bool:
        """Elsewhere every step is run as it is."""
        return self.time.is_cuda

    def place(self, name: str, content: Tensor, sizes: Sequence[int]) -> Tensor:
        """A tensor of these sizes in the buffer of that name, which begins with content that must not lie there."""
        count = math.prod(sizes)
        buffer = self.buffers.get(name)
        if buffer is None or buffer.dtype != content.dtype or len(buffer) < count:
            self.graphs.clear()
            buffer = self.buffers[name] = torch.empty(count, dtype=content.dtype, device=content.device)
        placed = buffer[:count].view(*sizes).fill_(AROUND.get(name, 0))
        placed[tuple(slice(size) for size in content.shape)] = content
        return placed

    def capture(self, step: Callable[[], object]) -> torch.cuda.CUDAGraph:
        """A step, recorded, not run. Not by torch.cuda.graph, which would give cached memory back to the device."""
        if self.stream is None:
            self.stream = torch.cuda.Stream(self.time.device)  # type: ignore[no-untyped-call]
            # A pool lives as long as a graph that has it: one for that, never replayed.
            self.anchor = self.capture(lambda: self.time.add_(0))
            self.pool = self.anchor.pool()
        graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream(self.time.device))
        with torch.cuda.stream(self.stream):
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                step()
            finally:
                graph.capture_end()
        return graph


_MEMORIES: WeakKeyDictionary[DocumentTransformer, _Memory] = WeakKeyDictionary()


def _memory_of(model: DocumentTransformer) -> _Memory:
    """What a model's searches keep; graphs know weights by their addresses, so that other ones begin anew."""
    addresses = tuple(tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers()))
    memory = _MEMORIES.get(model)
    if memory is None or memory.addresses != addresses:
        memory = _MEMORIES[model] = _Memory(addresses, model.device)
    return memory


def captured_search(
    model: DocumentTransformer, state: DecodingState, limits: list[int], config: SearchConfig
) -> list[list[Hypothesis]]:
    """The `n_best` hypotheses of each sentence of a state just started, of at most `limits` [S] tokens each."""
    memory = _memory_of(model)
    with memory.lock:
        return _Search(memory, model, state, limits, config).run()


class _Search:
    """The hypotheses of a group under way: K rows at each of S places, the first of which have a sentence."""

    tokens: Tensor
    """[S, K, T+1]: begin-of-sentence first."""
    totals: Tensor
    """[S, K]: log-probabilities of the rows."""
    limits: Tensor
    """[S]"""
    done: Tensor
    """[S] bool"""
    best_tokens: Tensor
    """[S, n, T+1]: the n best that have ended, the best first."""
    best_totals: Tensor
    """[S, n]: minus infinity where there is none yet."""
    best_lengths: Tensor
    """[S, n]: tokens, the end not counted."""

    def __init__(
        self, memory: _Memory, model: DocumentTransformer, state: DecodingState, limits: list[int], config: SearchConfig
    ) -> None:
        self.memory, self.model, self.state, self.config = memory, model, state, config
        self.last = max(limits) + 1
        """Steps after which every sentence has ended."""
        self.active = list(range(len(limits)))
        """Which sentence of the group is at each place."""
        self.found: list[list[Hypothesis]] = [[] for _ in limits]
        # A reader knows the sentences it reads for: there is a place for each, and graphs are not kept.
        self.reads = isinstance(state.reader, SiteReader)
        self.graphs: Graphs = {} if self.reads else memory.graphs
        transformer, device, rows = model.config.transformer, state.sentences.device, (len(limits), state.beams)
        self.eos, self.never = transformer.eos, transformer.never_generated
        penalties = [config.penalty(tokens) for tokens in range(transformer.max_positions)]
        stored = torch.tensor(penalties, dtype=torch.float64, device=device)
        self.penalties = memory.place("penalties", stored, stored.shape)
        """Of a hypothesis of so many tokens."""
        memory.time.zero_()
        totals = torch.zeros(rows, device=device)
        totals[:, 1:] = -torch.inf  # at first all beams are one
        best = totals.new_full((len(limits), config.n_best), -torch.inf)
        lengths = torch.zeros_like(best, dtype=torch.int64)
        begin = torch.full((*rows, 1), transformer.bos, device=device)
        own = torch.tensor(limits, device=device)
        places = self._places(len(limits))
        self.cache = state.cache = StaticCache(memory.place, memory.time, state.cache, places, ROOM)
        self._lay_out((begin, totals, own, own < 0, lengths[..., None], best, lengths), places, ROOM)

    def _places(self, sentences: int) -> int:
        """Places for so many sentences."""
        return sentences if self.reads else rounded(max(sentences, FEWEST))

    def _lay_out(self, parts: Sequence[Tensor], places: int, room: int) -> None:
        self.room = room
        for name, part in zip(PARTS, parts, strict=True):
            sizes = (places, *part.shape[1:-1], room + 1) if name.endswith("tokens") else (places, *part.shape[1:])
            setattr(self, name, self.memory.place(name, part, sizes))

    def run(self) -> list[list[Hypothesis]]:
        """All steps until every sentence is done."""
        time = 0
        while self.active:
            ahead = min(LOOK, self.last - time)
            for _ in range(ahead):
                self._step_or_replay()
            time += ahead
            done = self.done.tolist()
            going = [place for place in range(len(self.active)) if not done[place] and time < self.last]
            full, places = time == self.room, self._places(len(going))
            if not going or full or (places <= len(done) // 2 and not self.reads):
                self._collect(going)
                self._move(going, places, self.room * (2 if full else 1))
        return self.found

    def _step_or_replay(self) -> None:
        sizes = (*self.tokens.shape, self.cache.source_mask.shape[-1], self.config.n_best, self.config.min_length)
        if not self.memory.captures or sizes not in self.graphs:
            self.graphs[sizes] = None
            self.step()
            return
        graph = self.graphs[sizes]
        if graph is None:
            graph = self.graphs[sizes] = self.memory.capture(self.step)
        graph.replay()

    def _collect(self, going: list[int]) -> None:
        """Read what was found for those who do not go on."""
        places = sorted(set(range(len(self.active))).difference(going))
        parts = (part[places].tolist() for part in (self.best_totals, self.best_lengths, self.best_tokens))
        for place, *best in zip(places, *parts, strict=True):
            self.found[self.active[place]] = [
                Hypothesis(tuple(path[1 : length + 1]), self.config.score(total, length), total)
                for total, length, path in zip(*best, strict=True)
                if total > -math.inf
            ]

    def _move(self, going: list[int], places: int, room: int) -> None:
        """Let the others leave."""
        self.active = [self.active[place] for place in going]
        if not going:
            return
        keep = torch.tensor(going, device=self.tokens.device)
        self.cache.move(keep, places, room)
        self._lay_out([getattr(self, name)[keep] for name in PARTS], places, room)
        if self.reads:
            self.graphs = {}
            if len(keep) < len(self.state.sentences):
                self.state.select(keep)

    def step(self) -> None:
        """Extend every row by a token: the same kernels on the same memory each time, nothing is read by the host."""
        beams, config = self.state.beams, self.config
        decoded = self.model.extend(self.tokens.index_select(2, self.memory.time).flatten(), self.state)
        following = self.model.log_probabilities(decoded).view(*self.totals.shape, -1)
        length = self.memory.time - 1  # of what it follows: the step has advanced the time
        ending = length >= self.limits
        for token in self.never:
            following[..., token].fill_(-torch.inf)
        if config.min_length:
            early = (length < config.min_length) & ~ending
            following[..., self.eos].masked_fill_(early[:, None], -torch.inf)
        if beams == 1:
            values, parents, chosen = top_candidates(following, torch.zeros_like(self.totals), 1, (ending, self.eos))
            self.totals += values
            ends = chosen == self.eos
            self._finish(self.totals, parents, ends, length)
            self.done |= ends[:, 0]
        else:
            chosen = self._extend_beams(following, ending, length)
        self.tokens.index_copy_(2, self.memory.time, chosen[..., None])

    def _extend_beams(self, following: Tensor, ending: Tensor, length: Tensor) -> Tensor:
        """Rows become their best extensions; the new tokens [S, K]."""
        beams = self.state.beams
        values, parents, proposed = top_candidates(following, self.totals, 2 * beams, (ending, self.eos))
        ends = proposed == self.eos
        self._finish(values[:, :beams], parents[:, :beams], ends[:, :beams], length)
        kept = ends.sort(dim=-1, stable=True).indices[:, :beams]  # open ones first, in their order
        values, parents, proposed = (part.gather(1, kept) for part in (values, parents, proposed))
        self.totals.copy_(values)
        hope = values[:, 0] / self.penalties[self.limits]
        beaten = self._scores(self.best_totals[:, -1], self.best_lengths[:, -1]) >= hope
        self.done |= beaten | (values[:, 0] == -torch.inf)
        origin = torch.arange(len(parents), device=parents.device)[:, None] * beams + parents
        self.state.reorder(origin.flatten())
        self.tokens.copy_(self.tokens.flatten(0, 1)[origin])
        return proposed

    def _finish(self, totals: Tensor, parents: Tensor, ends: Tensor, length: Tensor) -> None:
        """Rows that end here [S, K] come among the n best of a sentence not done; of equals the earlier is first."""
        counted = ends & totals.isfinite() & ~self.done[:, None]
        totals = torch.cat([self.best_totals, totals.masked_fill(~counted, -torch.inf)], 1)
        lengths = torch.cat([self.best_lengths, length.expand_as(parents)], 1)
        order = self._scores(totals, lengths).sort(dim=1, descending=True, stable=True).indices[:, : self.config.n_best]
        paths = torch.cat([self.best_tokens, self._rows_of(self.tokens, parents)], 1)
        self.best_tokens.copy_(self._rows_of(paths, order))
        self.best_totals.copy_(totals.gather(1, order))
        self.best_lengths.copy_(lengths.gather(1, order))

    def _scores(self, totals: Tensor, lengths: Tensor) -> Tensor:
        return totals / self.penalties[lengths]

    @staticmethod
    def _rows_of(paths: Tensor, rows: Tensor) -> Tensor:
        """paths [S, K, T+1], rows [S, n] -> [S, n, T+1]."""
        return paths.gather(1, rows[..., None].expand(-1, -1, paths.shape[-1]))
