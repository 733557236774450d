"""Beam search, greedy decoding and sampling over the sentences of a batch.

On a GPU, greedy decoding and beam search run as CUDA graphs (cuda_graph_search.py), with the same results.
"""

from __future__ import annotations

import bisect
import itertools
import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from docgraph.model.batch import DocumentBatch
from docgraph.model.cpu_threads import map_in_threads
from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.transformer import Reader
from docgraph.translation.decoding.constrained_search import constrained_search, num_rows, room_for
from docgraph.translation.decoding.constraints import Constraint, Constraints
from docgraph.translation.decoding.cuda_graph_search import cuda_graph_search
from docgraph.translation.decoding.forbidden_words import ForbiddenWords
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig, forbid, top_candidates

T = TypeVar("T")

CUDA_GRAPH_DEVICES: tuple[str, ...] = ("cuda",)
"""Device types on which greedy decoding and beam search run as CUDA graphs."""
CACHE_POSITIONS = {"cpu": 1 << 15, "cuda": 1 << 18}
"""Maximum of sentences x beams x maximum length decoded at once: bounds memory whatever the number of sentences."""
CACHE_SHARE = 1 / 16
"""Largest share of the memory of a GPU that the cache may take; at most half of what is free."""
MIN_POSITIONS = 5 << 10
"""Fewer sentences x beams x maximum length, about 30 sentences, are not divided between the threads of a CPU: threads
take turns in the interpreter, and small groups spend most of their time there."""

COMPACT_BELOW = 0.8
"""Finished sentences leave the batch once at most this share is still open, because moving the others has a cost."""

VERIFIED_ROWS = 512
"""Tokens whose successors are scored together when translations are verified."""


@torch.inference_mode()
def search(
    model: DocumentTransformer,
    batch: DocumentBatch,
    encoded: Tensor,
    memories: Memories,
    config: SearchConfig,
    sentences: Sequence[int] | None = None,
    constraints: Constraints | None = None,
    on_decoded: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """Returns the `n_best` translations, best first, of every sentence of a batch or of the `sentences` given.

    Sentences of similar length are decoded together, as many as fit the cache: short sentences do not wait for long
    ones, and memory is bounded. The translation of a sentence does not depend on the others in its group. Sentences
    with `constraints` are decoded apart, by beam search even if the others are sampled; one whose constraints do not
    fit its maximum length has no translation. `on_decoded` receives the number of sentences of each group without
    required phrases.
    """
    chosen = range(batch.num_sentences) if sentences is None else sentences
    lengths = batch.source.sentences.boundaries.diff().tolist()
    positions = model.config.transformer.max_positions
    limits = {s: config.max_length(lengths[s], positions) for s in chosen}
    wanted = constraints or {}
    forbidden = {s: each for s in chosen for each in wanted.get(s, ()) if isinstance(each, ForbiddenWords)}
    required = {s: [each for each in wanted.get(s, ()) if isinstance(each, Constraint)] for s in chosen}
    constrained = {s: own for s, own in required.items() if own}
    hypotheses: dict[int, list[Hypothesis]] = {}
    for has_forbidden in (False, True):
        own_limits = {s: limits[s] for s in chosen if s not in constrained and (s in forbidden) == has_forbidden}
        hypotheses |= _free_search(model, batch, encoded, memories, config, own_limits, on_decoded, forbidden)
    by_rows: dict[int, dict[int, int]] = {}
    for s, own in constrained.items():
        limit = min(limits[s] + room_for(own), positions - 1)
        by_rows.setdefault(num_rows(own, config), {})[s] = limit

    def decode(beams: int, limits: dict[int, int], group: list[int]) -> list[list[Hypothesis]]:
        group_limits = [limits[s] for s in group]
        places = torch.tensor(group, device=encoded.device)
        state = model.start(batch, encoded, memories, beams, max(group_limits) + 1, places)
        rows = Rows(model, state, group_limits, config, [forbidden.get(s) for s in group])
        constrained_search(rows, [constrained[s] for s in group])
        return rows.finished

    for beams, some_limits in by_rows.items():
        groups = length_groups(some_limits, beams, _cache_positions(model))
        for group, found in zip(groups, _map(encoded)(partial(decode, beams, some_limits), groups), strict=True):
            hypotheses.update(zip(group, found, strict=True))
    return [hypotheses[s] for s in chosen]


def _free_search(
    model: DocumentTransformer,
    batch: DocumentBatch,
    encoded: Tensor,
    memories: Memories,
    config: SearchConfig,
    limits: dict[int, int],
    on_decoded: Callable[[int], None] | None,
    forbidden: Mapping[int, ForbiddenWords],
) -> dict[int, list[Hypothesis]]:
    """Returns the translations of sentences without required phrases; `limits` has the maximum length of each.

    All of them have forbidden words, or none.
    """
    if not limits:
        return {}
    beams = config.n_best if config.sampling else config.beams
    device = encoded.device.type
    use_graphs = device in CUDA_GRAPH_DEVICES and not config.sampling and not torch.is_autocast_enabled(device)
    use_graphs = use_graphs and not config.no_repeat_ngram and not forbidden.keys() & limits.keys()
    positions = _group_positions(limits, beams) if device == "cpu" else _cache_positions(model)
    groups = length_groups(limits, beams, positions)

    def start(group: list[int], reader: Reader | None = None) -> DecodingState:
        room = 0 if use_graphs else max(limits[s] for s in group) + 1
        places = torch.tensor(group, device=encoded.device)
        return model.start(batch, encoded, memories, beams, room, places, reader)

    first = start(groups[0])

    def decode(group: list[int]) -> list[list[Hypothesis]]:
        state = first if group is groups[0] else start(group, first.reader)
        group_limits = [limits[s] for s in group]
        if use_graphs:
            return cuda_graph_search(model, state, group_limits, config)
        running = GroupSearch(model, batch, state, group_limits, config, [forbidden.get(s) for s in group])
        while running.is_open:
            running.extend(running.rows.step())
        return running.rows.finished

    hypotheses: dict[int, list[Hypothesis]] = {}
    for group, finished in zip(groups, _map(encoded)(decode, groups), strict=True):
        hypotheses.update(zip(group, finished, strict=True))
        if on_decoded is not None:
            on_decoded(len(group))
    return hypotheses


def _map(encoded: Tensor) -> Callable[[Callable[[list[int]], T], list[list[int]]], Iterable[T]]:
    """Returns `map`, or a parallel map over the threads of a CPU; not with autocasting, which is set per thread."""
    device = encoded.device.type
    return map_in_threads if device == "cpu" and not torch.is_autocast_enabled(device) else map


def _group_positions(limits: dict[int, int], beams: int) -> int:
    """Returns the maximum of sentences x beams x maximum length of a group, so that each thread has a group."""
    threads, total = torch.get_num_threads(), beams * sum(limit + 1 for limit in limits.values())
    most = CACHE_POSITIONS["cpu"]
    return min(most, max(min(most, total) // threads, MIN_POSITIONS))


def _cache_positions(model: DocumentTransformer) -> int:
    device = model.device
    least = CACHE_POSITIONS.get(device.type, CACHE_POSITIONS["cuda"])
    if device.type != "cuda":
        return least
    transformer = model.config.transformer
    weight = next(model.parameters())
    size = 2 * transformer.decoder_layers * transformer.dimension * weight.element_size()  # keys and values
    free, total = torch.cuda.mem_get_info(device)
    # Other processes may use the same GPU; memory that PyTorch keeps for reuse is ours.
    available = free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return max(least, min(int(total * CACHE_SHARE), available // 2) // size)


@torch.inference_mode()
def verify_greedy(
    model: DocumentTransformer, batch: DocumentBatch, encoded: Tensor, memories: Memories, config: SearchConfig
) -> list[Hypothesis | None]:
    """Returns each translation of a batch, scored, if greedy search would find it again, else None.

    One teacher-forced pass verifies all of them. A sentence without decoder input (not even begin-of-sentence) gets
    None.
    """
    assert batch.target is not None
    assert batch.gold is not None
    transformer, packing = model.config.transformer, batch.target.sentences
    lengths = batch.source.sentences.boundaries.diff().tolist()
    limits = torch.tensor([config.max_length(n, transformer.max_positions) for n in lengths], device=encoded.device)
    decoded = model.decode(batch, encoded, memories)
    totals = torch.zeros(batch.num_sentences, device=encoded.device)
    confirmed = packing.mask.any(-1)
    for begin in range(0, len(batch.gold), VERIFIED_ROWS):
        part = slice(begin, begin + VERIFIED_ROWS)
        log_probabilities = model.log_probabilities(decoded.rows(part))
        sentence, gold = packing.sequence_of[part], batch.gold[part]
        forbid(log_probabilities, packing.positions[part], limits[sentence], transformer, config)
        no_scores = log_probabilities.new_zeros(len(log_probabilities), 1)
        best = top_candidates(log_probabilities[:, None], no_scores, 1)[2][:, 0]
        confirmed[sentence[best != gold]] = False
        totals.index_add_(0, sentence, log_probabilities.gather(1, gold[:, None])[:, 0])
    bounds, tokens = packing.boundaries.tolist(), batch.gold.tolist()
    paths = [tuple(tokens[a : b - 1]) for a, b in itertools.pairwise(bounds)]
    return [
        Hypothesis(path, config.score(total, len(path)), total) if ok else None
        for path, total, ok in zip(paths, totals.tolist(), confirmed.tolist(), strict=True)
    ]


def length_groups(limits: dict[int, int], beams: int, positions: int) -> list[list[int]]:
    """Groups sentences with similar limits, as many as fit the cache; each group is in ascending order."""
    groups: list[list[int]] = []
    for sentence in sorted(limits, key=lambda s: (-limits[s], s)):
        if not groups or (len(groups[-1]) + 1) * beams * (limits[groups[-1][0]] + 1) > positions:
            groups.append([])
        groups[-1].append(sentence)
    return [sorted(group) for group in groups]


class Rows:
    """Partial hypotheses of a group: K rows for each of the S' sentences still in the batch."""

    def __init__(
        self,
        model: DocumentTransformer,
        state: DecodingState,
        limits: list[int],
        config: SearchConfig,
        forbidden: Sequence[ForbiddenWords | None] = (),
    ) -> None:
        """`limits` are the maximum lengths of the sentences, `forbidden` their forbidden words."""
        transformer = model.config.transformer
        device = state.sentences.device
        self.model, self.state, self.config = model, state, config
        self.eos = transformer.eos
        self._forbidden = forbidden
        self.tokens = torch.full((len(limits), state.beams, max(limits) + 2), transformer.bos, device=device)
        """[S', K, T], begin-of-sentence first."""
        self.totals = torch.zeros(len(limits), state.beams, device=device)
        """[S', K]: log-probabilities of the rows."""
        self.limits = torch.tensor(limits, device=device)
        """[S']"""
        self.time = 0
        self.scores = torch.empty(0, device=device)
        """[R, V], overwritten at every step: allocating that much memory would cost more than computing the scores."""
        self.active = list(range(len(limits)))
        """[S']: the index of each sentence in the group."""
        self.done = [False] * len(limits)
        self.finished: list[list[Hypothesis]] = [[] for _ in limits]

    @property
    def newest(self) -> Tensor:
        """[R]: the newest token of each row."""
        return self.tokens[:, :, self.time].flatten()

    def step(self) -> Tensor:
        """Returns the log-probabilities [S', K, V] of the next token; forbidden tokens have minus infinity."""
        decoded = self.model.extend(self.newest, self.state)
        if len(self.scores) != len(decoded.hidden):
            vocabulary = self.model.config.transformer.target_vocabulary
            self.scores = decoded.hidden.new_empty(len(decoded.hidden), vocabulary, dtype=torch.float32)
        return self.allowed(self.model.log_probabilities(decoded, self.scores))

    def allowed(self, log_probabilities: Tensor) -> Tensor:
        """Sets the log-probabilities [R, V] of forbidden tokens to minus infinity, in place; returns [S', K, V]."""
        limits = self.limits.repeat_interleave(self.state.beams)
        time = torch.full_like(limits, self.time)
        forbid(log_probabilities, time, limits, self.model.config.transformer, self.config)
        if self.config.no_repeat_ngram:
            self._forbid_repeats(log_probabilities, self.config.no_repeat_ngram)
        by_sentence = log_probabilities.view(*self.totals.shape, -1)
        if any(self._forbidden):
            for place, paths in enumerate(self.tokens[:, :, 1 : self.time + 1].tolist()):
                words = self._forbidden[self.active[place]]
                if words is not None and not self.done[self.active[place]]:
                    words.apply(by_sentence[place], paths)
        return by_sentence

    def _forbid_repeats(self, log_probabilities: Tensor, size: int) -> None:
        """Forbids tokens [R, V] that would complete `size` tokens which the row has already, in place."""
        rows, tokens = [], []
        for row, path in enumerate(self.tokens[:, :, 1 : self.time + 1].flatten(0, 1).tolist()):
            last = path[len(path) - size + 1 :]
            for begin in range(len(path) - size + 1):
                if path[begin : begin + size - 1] == last:
                    rows.append(row)
                    tokens.append(path[begin + size - 1])
        log_probabilities[rows, tokens] = -torch.inf

    def finish(self, place: int, row: int, log_probability: float) -> None:
        """Adds a finished row to the n best of its sentence; on ties the earlier one stays first."""
        path = self.tokens[place, row, 1 : self.time + 1].tolist()
        best = self.finished[self.active[place]]
        hypothesis = Hypothesis(tuple(path), self.config.score(log_probability, len(path)), log_probability)
        bisect.insort(best, hypothesis, key=lambda hypothesis: -hypothesis.score)
        del best[self.config.n_best :]

    def reorder(self, parents: Tensor) -> None:
        """Replaces every row by the row of its sentence that it extends [S', K]."""
        origin = torch.arange(len(parents), device=parents.device)[:, None] * self.state.beams + parents
        self.state.reorder(origin.flatten())
        self.tokens = self.tokens.flatten(0, 1)[origin]

    def advance(self, tokens: Tensor) -> bool:
        """Appends the next token of each row [S', K]; returns whether any sentence is still open."""
        self.time += 1
        self.tokens[:, :, self.time] = tokens
        keep = [place for place, sentence in enumerate(self.active) if not self.done[sentence]]
        if keep and len(keep) <= len(self.active) * COMPACT_BELOW:
            places = torch.tensor(keep, device=tokens.device)
            self.state.select(places)
            self.tokens, self.totals, self.limits = self.tokens[places], self.totals[places], self.limits[places]
            self.active = [self.active[place] for place in keep]
        return bool(keep)


class GroupSearch:
    """A search for the translations of some sentences, which are extended by one token at a time."""

    def __init__(
        self,
        model: DocumentTransformer,
        batch: DocumentBatch,
        state: DecodingState,
        limits: list[int],
        config: SearchConfig,
        forbidden: Sequence[ForbiddenWords | None] = (),
    ) -> None:
        """`limits` are the maximum lengths of the sentences of `state`, `forbidden` their forbidden words."""
        self.rows = rows = Rows(model, state, limits, config, forbidden)
        self.is_open = True
        if config.sampling:
            self._extend = partial(_extend_independently, rows, _sampler(rows, batch))
        elif config.beams == 1:
            self._extend = partial(_extend_independently, rows, _most_likely)
        else:
            rows.totals[:, 1:] = -torch.inf  # all beams start from the same prefix: count it once
            self._extend = partial(_extend_beams, rows, limits)

    def extend(self, log_probabilities: Tensor) -> None:
        """Extends each row by a token, given the log-probabilities [S', K, V] of the allowed ones."""
        self.is_open = self._extend(log_probabilities)


def _extend_beams(rows: Rows, limits: list[int], log_probabilities: Tensor) -> bool:
    """Takes a step of beam search; returns whether any sentence is still open.

    A hypothesis is finished if its extension by end-of-sentence ranks among the K best. A sentence is done once no open
    hypothesis can still enter its n best, however long it grows.
    """
    config, beams = rows.config, rows.config.beams
    values, parents, proposed = top_candidates(log_probabilities, rows.totals, 2 * beams)
    ends = proposed == rows.eos
    for place, rank in (ends & values.isfinite())[:, :beams].nonzero().tolist():
        if not rows.done[rows.active[place]]:
            rows.finish(place, int(parents[place, rank]), float(values[place, rank]))
    kept = ends.sort(dim=-1, stable=True).indices[:, :beams]  # open hypotheses first, in their order
    rows.totals, parents, proposed = (part.gather(1, kept) for part in (values, parents, proposed))
    for sentence, best in zip(rows.active, rows.totals[:, 0].tolist(), strict=True):
        finished = rows.finished[sentence]
        beaten = len(finished) == config.n_best and finished[-1].score >= config.score(best, limits[sentence])
        rows.done[sentence] |= beaten or best == -math.inf
    rows.reorder(parents)
    return rows.advance(proposed)


Chooser = Callable[[Rows, Tensor], Tensor]
"""Maps log-probabilities [S', K, V] to the next token of each row [S', K]."""


def _most_likely(rows: Rows, log_probabilities: Tensor) -> Tensor:
    """Chooses the most likely token."""
    return top_candidates(log_probabilities, torch.zeros_like(rows.totals), 1)[2]


def _sampler(rows: Rows, batch: DocumentBatch) -> Chooser:
    """Returns a function that draws tokens from the model's distribution, after temperature, top-k and top-p."""
    config = rows.config
    bounds, index_of = batch.source.sentences.boundaries.tolist(), batch.index_of.tolist()
    source = batch.source.tokens.cpu().numpy()
    draws = np.zeros((batch.num_sentences, config.n_best, rows.tokens.shape[-1]))
    for sentence in rows.state.sentences.tolist():
        own = zlib.crc32(source[bounds[sentence] : bounds[sentence + 1]].tobytes())
        generator = np.random.default_rng([config.seed, index_of[sentence], own])
        # Drawn step by step, so that a longer limit in the group does not change the draws of a sentence.
        draws[sentence] = generator.random((draws.shape[2], draws.shape[1])).T
    uniform = torch.from_numpy(draws).to(rows.tokens.device)

    def sample(rows: Rows, log_probabilities: Tensor) -> Tensor:
        ordered, tokens = (log_probabilities.double() / config.temperature).sort(dim=-1, descending=True, stable=True)
        if config.top_k:
            ordered, tokens = ordered[..., : config.top_k], tokens[..., : config.top_k]
        mass = ordered.softmax(-1).cumsum(-1)
        last = (mass < config.top_p).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
        threshold = uniform[rows.state.sentences, :, rows.time, None] * mass.gather(-1, last)
        return tokens.gather(-1, (mass <= threshold).sum(-1, keepdim=True).minimum(last))[..., 0]

    return sample


def _extend_independently(rows: Rows, choose: Chooser, log_probabilities: Tensor) -> bool:
    """Extends every row by a chosen token; rows do not interact. Returns whether any sentence is still open."""
    chosen = choose(rows, log_probabilities)
    rows.totals += log_probabilities.gather(-1, chosen[..., None])[..., 0]
    # A row that has ended is extended in vain until its sentence leaves; minus infinity marks it.
    for place, row in ((chosen == rows.eos) & rows.totals.isfinite()).nonzero().tolist():
        rows.finish(place, row, float(rows.totals[place, row]))
        rows.totals[place, row] = -torch.inf
    for sentence in rows.active:
        rows.done[sentence] = len(rows.finished[sentence]) == rows.config.n_best
    return rows.advance(chosen)
