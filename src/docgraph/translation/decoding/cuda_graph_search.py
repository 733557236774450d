"""Greedy decoding and beam search with CUDA graphs: one graph replay per step instead of hundreds of kernel launches.

`search.py` defines the search; this module finds the same hypotheses. A CUDA graph needs tensors of fixed size at fixed
addresses, so a search has slots for a fixed number of sentences and a fixed number of tokens per hypothesis, and masks
what is unused. The host checks every few steps which sentences are done. When the token slots are full, or half of the
sentence slots are done, the remaining sentences move to a layout with twice the length, or half the slots, which has a
graph of its own. Sizes are rounded up, so that few graphs serve all batches. Graphs live as long as their model.
"""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from docgraph.model.context_attention import ContextReader
from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.model.kv_cache import FixedCache, round_up
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig, top_candidates

CHECK_EVERY = 4
"""Steps between two checks of which sentences are done."""
INITIAL_LENGTH = 32
"""Token slots of a hypothesis at first, a multiple of CHECK_EVERY."""
MIN_SENTENCES = 16
"""Minimum number of sentence slots: with fewer, a step takes no less time."""
MIN_ROWS_TO_LEAVE = 1 << 11
"""Sentence slots x beams from which it pays to capture a graph of half as many for a search with graphs of its own."""
PADDING = {"done": True, "best_totals": -torch.inf}
"""Content of unused slots, by tensor; 0 for the others."""
STATE = ("tokens", "totals", "limits", "done", "best_tokens", "best_totals", "best_lengths")
"""The tensors of a search beside the key-value cache."""

Graphs = dict[tuple[int, ...], torch.cuda.CUDAGraph | None]
"""Graph by tensor sizes; None after the first step with these sizes, which runs uncaptured to warm up the libraries."""


class _Workspace:
    """The buffers that all searches of a model share, one search at a time, and the CUDA graphs captured over them."""

    def __init__(self, addresses: tuple[int, ...], device: torch.device) -> None:
        self.addresses, self.lock = addresses, threading.Lock()
        self.buffers: dict[str, Tensor] = {}
        self.graphs: Graphs = {}
        self.time = torch.zeros(1, dtype=torch.int64, device=device)
        """[1]: number of tokens of every row."""
        self.stream: Any = None
        self.pool: Any = None
        """Memory pool for the temporaries of all graphs; only the buffers outlive a step."""

    @property
    def captures(self) -> bool:
        """True on a GPU; elsewhere every step runs uncaptured."""
        return self.time.is_cuda

    def place(self, name: str, content: Tensor, sizes: Sequence[int]) -> Tensor:
        """Returns a tensor of these sizes in the named buffer, filled with `content` (not a view of it) and padding."""
        count = math.prod(sizes)
        buffer = self.buffers.get(name)
        if buffer is None or buffer.dtype != content.dtype or len(buffer) < count:
            self.graphs.clear()
            buffer = self.buffers[name] = torch.empty(count, dtype=content.dtype, device=content.device)
        placed = buffer[:count].view(*sizes).fill_(PADDING.get(name, 0))
        placed[tuple(slice(size) for size in content.shape)] = content
        return placed

    def capture(self, step: Callable[[], object]) -> torch.cuda.CUDAGraph:
        """Captures a step without running it. torch.cuda.graph would return cached memory to the device."""
        if self.stream is None:
            self.stream = torch.cuda.Stream(self.time.device)  # type: ignore[no-untyped-call]
            # A pool lives as long as a graph that uses it; this graph is never replayed.
            self.anchor = self.capture(lambda: self.time.add_(0))
            self.pool = self.anchor.pool()
        graph = torch.cuda.CUDAGraph()
        self.stream.wait_stream(torch.cuda.current_stream(self.time.device))
        with _no_garbage_collection(), torch.cuda.stream(self.stream):
            graph.capture_begin(pool=self.pool, capture_error_mode="thread_local")
            try:
                step()
            finally:
                graph.capture_end()
        return graph


_CAPTURE = threading.Lock()


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Keeps the graphs of a discarded model from being freed during a capture, which would spoil it."""
    with _CAPTURE:  # another thread must not turn collection on again
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            yield
        finally:
            if was_enabled:
                gc.enable()


_WORKSPACES: WeakKeyDictionary[DocumentTransformer, _Workspace] = WeakKeyDictionary()


def _workspace_of(model: DocumentTransformer) -> _Workspace:
    """Returns the workspace of a model; a new one if its weights moved, because graphs hold their addresses."""
    addresses = tuple(tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers()))
    workspace = _WORKSPACES.get(model)
    if workspace is None or workspace.addresses != addresses:
        workspace = _WORKSPACES[model] = _Workspace(addresses, model.device)
    return workspace


def cuda_graph_search(
    model: DocumentTransformer, state: DecodingState, limits: list[int], config: SearchConfig
) -> list[list[Hypothesis]]:
    """Returns the `n_best` hypotheses of each sentence of a fresh state, of at most `limits` [S] tokens each."""
    workspace = _workspace_of(model)
    with workspace.lock:
        return _Search(workspace, model, state, limits, config).run()


class _Search:
    """Partial hypotheses of a group: K rows in each of S slots; the first slots hold sentences, the rest are unused."""

    tokens: Tensor
    """[S, K, T+1], begin-of-sentence first."""
    totals: Tensor
    """[S, K]: log-probabilities of the rows."""
    limits: Tensor
    """[S]"""
    done: Tensor
    """[S] bool"""
    best_tokens: Tensor
    """[S, n, T+1]: the n best finished hypotheses, best first."""
    best_totals: Tensor
    """[S, n]: their log-probabilities; minus infinity for none yet."""
    best_lengths: Tensor
    """[S, n]: their lengths, end-of-sentence excluded."""

    def __init__(
        self,
        workspace: _Workspace,
        model: DocumentTransformer,
        state: DecodingState,
        limits: list[int],
        config: SearchConfig,
    ) -> None:
        self.workspace, self.model, self.state, self.config = workspace, model, state, config
        self.last = max(limits) + 1
        """Number of steps after which every sentence has ended."""
        self.active = list(range(len(limits)))
        """The sentence of the group in each used slot."""
        self.hypotheses: list[list[Hypothesis]] = [[] for _ in limits]
        # A reader is bound to its sentences: exactly one slot for each, and its graphs serve this search only.
        self.has_reader = isinstance(state.reader, ContextReader)
        self.graphs: Graphs = {} if self.has_reader else workspace.graphs
        transformer, device, rows = model.config.transformer, state.sentences.device, (len(limits), state.beams)
        self.eos, self.never = transformer.eos, transformer.never_generated
        penalties = [config.penalty(tokens) for tokens in range(transformer.max_positions)]
        stored = torch.tensor(penalties, dtype=torch.float64, device=device)
        self.penalties = workspace.place("penalties", stored, stored.shape)
        """Length penalty by number of tokens."""
        workspace.time.zero_()
        totals = torch.zeros(rows, device=device)
        totals[:, 1:] = -torch.inf  # all beams start from the same prefix: count it once
        best = totals.new_full((len(limits), config.n_best), -torch.inf)
        lengths = torch.zeros_like(best, dtype=torch.int64)
        begin = torch.full((*rows, 1), transformer.bos, device=device)
        limit = torch.tensor(limits, device=device)
        places = self._num_slots(len(limits))
        self.cache = state.cache = FixedCache(workspace.place, workspace.time, state.cache, places, INITIAL_LENGTH)
        self._lay_out((begin, totals, limit, limit < 0, lengths[..., None], best, lengths), places, INITIAL_LENGTH)

    def _num_slots(self, sentences: int) -> int:
        """Returns the number of slots for a number of sentences."""
        return sentences if self.has_reader else round_up(max(sentences, MIN_SENTENCES))

    def _lay_out(self, parts: Sequence[Tensor], places: int, room: int) -> None:
        """Copies the tensors of STATE into buffers for `places` sentences and `room` tokens."""
        self.room = room
        for name, part in zip(STATE, parts, strict=True):
            sizes = (places, *part.shape[1:-1], room + 1) if name.endswith("tokens") else (places, *part.shape[1:])
            setattr(self, name, self.workspace.place(name, part, sizes))

    def run(self) -> list[list[Hypothesis]]:
        """Runs steps until every sentence is done; returns the hypotheses."""
        time = 0
        while self.active:
            ahead = min(CHECK_EVERY, self.last - time)
            for _ in range(ahead):
                self._step_or_replay()
            time += ahead
            done = self.done.tolist()
            going = [place for place in range(len(self.active)) if not done[place] and time < self.last]
            full, places = time == self.room, self._num_slots(len(going))
            if not going or full or (places <= len(done) // 2 and self._gains_by_leaving(len(done))):
                self._collect(going)
                self._move(going, places, self.room * (2 if full else 1))
        return self.hypotheses

    def _gains_by_leaving(self, slots: int) -> bool:
        """Returns whether a layout of half as many slots saves more than its graph costs."""
        return not self.has_reader or slots * self.state.beams >= MIN_ROWS_TO_LEAVE

    def _step_or_replay(self) -> None:
        sizes = (*self.tokens.shape, self.cache.source_mask.shape[-1], self.config.n_best, self.config.min_length)
        if not self.workspace.captures or sizes not in self.graphs:
            self.graphs[sizes] = None
            self.step()
            return
        graph = self.graphs[sizes]
        if graph is None:
            graph = self.graphs[sizes] = self.workspace.capture(self.step)
        graph.replay()

    def _collect(self, going: list[int]) -> None:
        """Reads the hypotheses of the slots that are done."""
        places = sorted(set(range(len(self.active))).difference(going))
        parts = (part[places].tolist() for part in (self.best_totals, self.best_lengths, self.best_tokens))
        for place, *best in zip(places, *parts, strict=True):
            self.hypotheses[self.active[place]] = [
                Hypothesis(tuple(path[1 : length + 1]), self.config.score(total, length), total)
                for total, length, path in zip(*best, strict=True)
                if total > -math.inf
            ]

    def _move(self, going: list[int], places: int, room: int) -> None:
        """Keeps the sentences in `going` slots, in a layout of other sizes."""
        self.active = [self.active[place] for place in going]
        if not going:
            return
        keep = torch.tensor(going, device=self.tokens.device)
        self.cache.move(keep, places, room)
        self._lay_out([getattr(self, name)[keep] for name in STATE], places, room)
        if self.has_reader:
            self.graphs = {}
            if len(keep) < len(self.state.sentences):
                self.state.select(keep)

    def step(self) -> None:
        """Extends every row by a token: the same kernels on the same memory each time, without host synchronisation."""
        beams, config = self.state.beams, self.config
        decoded = self.model.extend(self.tokens.index_select(2, self.workspace.time).flatten(), self.state)
        log_probabilities = self.model.log_probabilities(decoded).view(*self.totals.shape, -1)
        length = self.workspace.time - 1  # `extend` has advanced the time already
        ending = length >= self.limits
        for token in self.never:
            log_probabilities[..., token].fill_(-torch.inf)
        if config.min_length:
            early = (length < config.min_length) & ~ending
            log_probabilities[..., self.eos].masked_fill_(early[:, None], -torch.inf)
        if beams == 1:
            values, parents, chosen = top_candidates(
                log_probabilities, torch.zeros_like(self.totals), 1, (ending, self.eos)
            )
            self.totals += values
            ends = chosen == self.eos
            self._finish(self.totals, parents, ends, length)
            self.done |= ends[:, 0]
        else:
            chosen = self._extend_beams(log_probabilities, ending, length)
        self.tokens.index_copy_(2, self.workspace.time, chosen[..., None])

    def _extend_beams(self, log_probabilities: Tensor, ending: Tensor, length: Tensor) -> Tensor:
        """Replaces the rows by their best extensions; returns the new tokens [S, K]."""
        beams = self.state.beams
        values, parents, proposed = top_candidates(log_probabilities, self.totals, 2 * beams, (ending, self.eos))
        ends = proposed == self.eos
        self._finish(values[:, :beams], parents[:, :beams], ends[:, :beams], length)
        kept = ends.sort(dim=-1, stable=True).indices[:, :beams]  # open hypotheses first, in their order
        values, parents, proposed = (part.gather(1, kept) for part in (values, parents, proposed))
        self.totals.copy_(values)
        best_possible = values[:, 0] / self.penalties[self.limits]
        beaten = self._scores(self.best_totals[:, -1], self.best_lengths[:, -1]) >= best_possible
        self.done |= beaten | (values[:, 0] == -torch.inf)
        origin = torch.arange(len(parents), device=parents.device)[:, None] * beams + parents
        self.state.reorder(origin.flatten())
        self.tokens.copy_(self.tokens.flatten(0, 1)[origin])
        return proposed

    def _finish(self, totals: Tensor, parents: Tensor, ends: Tensor, length: Tensor) -> None:
        """Merges rows that end now [S, K] into the n best of open sentences; on ties the earlier stays first."""
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
        """Selects rows [S, n] of paths [S, K, T+1]: [S, n, T+1]."""
        return paths.gather(1, rows[..., None].expand(-1, -1, paths.shape[-1]))
