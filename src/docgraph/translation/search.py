"""Beam search, greedy decoding and sampling over the sentences of a batch.

A hypothesis of n tokens and log-probability p (end-of-sentence included in both: len = n + 1) has the score
p / ((5 + len) / 6)^alpha, the length penalty of Wu et al. (2016) that the paper uses.
"""

from __future__ import annotations

import bisect
import itertools
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from docgraph.errors import DocgraphError
from docgraph.model.batch import DocumentBatch
from docgraph.model.config import TransformerConfig
from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.model.memory import Memories
from docgraph.model.transformer import Reader

BLOCK = 64
"""Tokens whose maximum stands for them while the best candidates are looked for."""
CAPTURED: tuple[str, ...] = ("cuda",)
"""Devices where greedy and beam search go through captured steps."""
CACHE_POSITIONS = {"cpu": 1 << 15, "cuda": 1 << 18}
"""Sentences x beams x longest length decoded at once: the memory of a search, whatever the number of sentences."""

KEPT_SHARE = 0.8
"""Finished sentences leave the batch when no more than this share is still open: moving the others has a price."""

VERIFIED_ROWS = 512
"""Tokens whose successors are scored at once when translations are verified."""


@dataclass(frozen=True)
class SearchConfig:
    """How to look for a translation: beam search, greedy with one beam, or sampling."""

    beams: int = 4
    length_penalty: float = 0.6
    """alpha; 0 compares plain log-probabilities."""
    n_best: int = 1
    """Hypotheses to return: at most `beams`, or any number of samples."""
    min_length: int = 0
    """Fewest tokens of a translation; its end is not counted here, nor below."""
    max_length_factor: float = 2.0
    max_length_constant: int = 20
    """A translation has at most factor * source sub-words + constant tokens, and the model's `max_positions` - 1."""
    sampling: bool = False
    """Draw `n_best` translations at random instead of looking for the best."""
    temperature: float = 1.0
    top_k: int = 0
    """Draw among so many likeliest tokens; 0: all."""
    top_p: float = 1.0
    """Draw among the fewest likeliest tokens that have this probability together."""
    passes: int | None = None
    """Of a document decoded in parallel, how often a sentence is looked at, at most: what is there then is the
    translation. None is until nothing changes, which is the translation sentence after sentence."""
    seed: int = 0
    """A draw depends on this, the sentence and its place in the document alone."""

    def __post_init__(self) -> None:
        for name, least in (("beams", 1), ("n_best", 1), ("min_length", 0), ("max_length_constant", 0), ("top_k", 0)):
            if getattr(self, name) < least:
                raise DocgraphError(f"'{name}' is {getattr(self, name)}; it must be at least {least}")
        if self.passes is not None and self.passes < 1:
            raise DocgraphError(f"'passes' is {self.passes}; it must be at least 1")
        if not self.sampling and self.n_best > self.beams:
            raise DocgraphError(f"{self.n_best} best of {self.beams} beams cannot be had; raise 'beams'")
        if self.length_penalty < 0 or self.max_length_factor < 0:
            raise DocgraphError("'length_penalty' and 'max_length_factor' must not be negative")
        if self.temperature <= 0 or not 0 < self.top_p <= 1:
            raise DocgraphError("'temperature' must be above 0, and 'top_p' above 0 and at most 1")

    def max_length(self, source_length: int, max_positions: int) -> int:
        """Most tokens of the translation of a sentence of so many sub-words."""
        wanted = math.ceil(self.max_length_factor * source_length) + self.max_length_constant
        return max(1, min(max(wanted, self.min_length), max_positions - 1))

    def score(self, log_probability: float, tokens: int) -> float:
        """The score of a hypothesis of so many tokens, its end not counted."""
        return log_probability / self.penalty(tokens)

    def penalty(self, tokens: int) -> float:
        return math.pow((5 + tokens + 1) / 6, self.length_penalty)


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence."""

    tokens: tuple[int, ...]
    """Without end-of-sentence."""
    score: float
    log_probability: float
    """Of the tokens and the end, natural logarithm."""
    given: bool = False
    """Not found by a search but known beforehand, as by a person."""


@torch.inference_mode()
def search(
    model: DocumentTransformer,
    batch: DocumentBatch,
    encoded: Tensor,
    memories: Memories,
    config: SearchConfig,
    sentences: Sequence[int] | None = None,
) -> list[list[Hypothesis]]:
    """The `n_best` translations, the best first, of every sentence of a batch (or of those named).

    Sentences of like length are decoded together, as many as fit the cache, so that short ones do not wait for long
    ones and memory stays flat; what each becomes does not depend on the others.
    """
    from docgraph.translation.captured_search import captured_search  # which builds on this module

    chosen = range(batch.num_sentences) if sentences is None else sentences
    lengths = batch.source.sentences.boundaries.diff().tolist()
    limits = {s: config.max_length(lengths[s], model.config.transformer.max_positions) for s in chosen}
    decode = _sampling_search if config.sampling else _beam_search if config.beams > 1 else _greedy_search
    beams = config.n_best if config.sampling else config.beams
    device = encoded.device.type
    captured = device in CAPTURED and not config.sampling and not torch.is_autocast_enabled(device)
    found: dict[int, list[Hypothesis]] = {}
    reader: Reader | None = None
    for group in _groups(limits, beams, CACHE_POSITIONS.get(device, CACHE_POSITIONS["cuda"])):
        places = torch.tensor(group, device=encoded.device)
        own = [limits[s] for s in group]
        state = model.start(batch, encoded, memories, beams, 0 if captured else max(own) + 1, places, reader)
        reader = state.reader
        if captured:
            finished = captured_search(model, state, own, config)
        else:
            rows = _Rows(model, state, own, config)
            decode(rows, batch)
            finished = rows.finished
        found.update(zip(group, finished, strict=True))
    return [found[s] for s in chosen]


@torch.inference_mode()
def still_likeliest(
    model: DocumentTransformer, batch: DocumentBatch, encoded: Tensor, memories: Memories, config: SearchConfig
) -> list[Hypothesis | None]:
    """For each translation in a batch itself, scored, if it is what greedy search would find; else None.

    One teacher-forced pass over all of them; a sentence without decoder input (not even its begin) gets None.
    """
    assert batch.target is not None
    assert batch.gold is not None
    transformer, packing = model.config.transformer, batch.target.sentences
    lengths = batch.source.sentences.boundaries.diff().tolist()
    limits = torch.tensor([config.max_length(n, transformer.max_positions) for n in lengths], device=encoded.device)
    decoded = model.decode(batch, encoded, memories)
    totals = torch.zeros(batch.num_sentences, device=encoded.device)
    right = packing.mask.any(-1)
    for begin in range(0, len(batch.gold), VERIFIED_ROWS):
        part = slice(begin, begin + VERIFIED_ROWS)
        following = model.log_probabilities(decoded.rows(part))
        sentence, gold = packing.sequence_of[part], batch.gold[part]
        forbid(following, packing.positions[part], limits[sentence], transformer, config)
        best = top_candidates(following[:, None], following.new_zeros(len(following), 1), 1)[2][:, 0]
        right[sentence[best != gold]] = False
        totals.index_add_(0, sentence, following.gather(1, gold[:, None])[:, 0])
    bounds, tokens = packing.boundaries.tolist(), batch.gold.tolist()
    paths = [tuple(tokens[a : b - 1]) for a, b in itertools.pairwise(bounds)]
    return [
        Hypothesis(path, config.score(total, len(path)), total) if ok else None
        for path, total, ok in zip(paths, totals.tolist(), right.tolist(), strict=True)
    ]


def forbid(
    following: Tensor, time: Tensor, limits: Tensor, transformer: TransformerConfig, config: SearchConfig
) -> None:
    """Minus infinity, in place, for what may not follow `time` [N] tokens: following [N, V], limits [N].

    Never padding or begin, no end before `min_length`, nothing but the end at the limit.
    """
    following[:, list(transformer.never_generated)] = -torch.inf
    ended = time >= limits
    if config.min_length:
        following[:, transformer.eos].masked_fill_((time < config.min_length) & ~ended, -torch.inf)
    if ended.any():
        others = torch.arange(following.shape[-1], device=following.device) != transformer.eos
        following.masked_fill_(ended[:, None] & others, -torch.inf)


def _groups(limits: dict[int, int], beams: int, positions: int) -> list[list[int]]:
    """Sentences to decode together: of like limits, as many as have room in the cache, in ascending order."""
    groups: list[list[int]] = []
    for sentence in sorted(limits, key=lambda s: (-limits[s], s)):
        if not groups or (len(groups[-1]) + 1) * beams * (limits[groups[-1][0]] + 1) > positions:
            groups.append([])
        groups[-1].append(sentence)
    return [sorted(group) for group in groups]


class _Rows:
    """The hypotheses of a group under way: K rows for each of the S' sentences still in the batch."""

    def __init__(self, model: DocumentTransformer, state: DecodingState, limits: list[int], config: SearchConfig):
        transformer = model.config.transformer
        device = state.sentences.device
        self.model, self.state, self.config = model, state, config
        self.eos = transformer.eos
        self.tokens = torch.full((len(limits), state.beams, max(limits) + 2), transformer.bos, device=device)
        """[S', K, T]: begin-of-sentence first."""
        self.totals = torch.zeros(len(limits), state.beams, device=device)
        """[S', K]: log-probabilities of the rows."""
        self.limits = torch.tensor(limits, device=device)
        """[S']"""
        self.time = 0
        self.scores = torch.empty(0, device=device)
        """[R, V], written anew in every step: fresh memory of that size would cost more than what is computed."""
        self.active = list(range(len(limits)))
        """[S']: which sentence of the group each is."""
        self.done = [False] * len(limits)
        self.finished: list[list[Hypothesis]] = [[] for _ in limits]

    def step(self) -> Tensor:
        """Log-probabilities [S', K, V] of the next token; what may not follow has minus infinity."""
        decoded = self.model.extend(self.tokens[:, :, self.time].flatten(), self.state)
        if len(self.scores) != len(decoded.hidden):
            vocabulary = self.model.config.transformer.target_vocabulary
            self.scores = decoded.hidden.new_empty(len(decoded.hidden), vocabulary, dtype=torch.float32)
        following = self.model.log_probabilities(decoded, self.scores)
        limits = self.limits.repeat_interleave(self.state.beams)
        forbid(following, torch.full_like(limits, self.time), limits, self.model.config.transformer, self.config)
        return following.view(*self.totals.shape, -1)

    def finish(self, place: int, row: int, log_probability: float) -> None:
        """A row ends here: put it among the n best; of equals the earlier stays first."""
        path = self.tokens[place, row, 1 : self.time + 1].tolist()
        best = self.finished[self.active[place]]
        found = Hypothesis(tuple(path), self.config.score(log_probability, len(path)), log_probability)
        bisect.insort(best, found, key=lambda hypothesis: -hypothesis.score)
        del best[self.config.n_best :]

    def advance(self, tokens: Tensor) -> bool:
        """Each row gets its next token [S', K]; says whether a sentence is still open.

        Finished sentences leave the batch once they are many: moving the others has a price.
        """
        self.time += 1
        self.tokens[:, :, self.time] = tokens
        keep = [place for place, sentence in enumerate(self.active) if not self.done[sentence]]
        if keep and len(keep) <= len(self.active) * KEPT_SHARE:
            places = torch.tensor(keep, device=tokens.device)
            self.state.select(places)
            self.tokens, self.totals, self.limits = self.tokens[places], self.totals[places], self.limits[places]
            self.active = [self.active[place] for place in keep]
        return bool(keep)


def top_candidates(
    log_probabilities: Tensor, scores: Tensor, count: int, ending: tuple[Tensor, int] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """The `count` best one-token extensions of the K beams of each sentence, ties in the order of beam and token.

    log_probabilities [S, K, V], scores [S, K] -> score, beam and token, [S, count] each, the best first. The best lie
    in the `count` blocks with the largest maxima, so one pass over the vocabulary is all that reads it. With `ending`,
    sentences [S] bool and a token (count >= K), nothing but that token extends those sentences.
    """
    sentences, beams, vocabulary = log_probabilities.shape
    whole = vocabulary - vocabulary % BLOCK
    maxima = [log_probabilities[..., :whole].view(sentences, beams, -1, BLOCK).amax(-1)] if whole else []
    if whole < vocabulary:
        maxima.append(log_probabilities[..., whole:].amax(-1, keepdim=True))
    block_scores = torch.cat(maxima, -1) + scores[..., None]
    blocks = block_scores.shape[-1]
    if ending is not None:
        others = torch.arange(blocks, device=scores.device) != ending[1] // BLOCK
        block_scores.masked_fill_(ending[0][:, None, None] & others, -torch.inf)
    block_scores = block_scores.flatten(1)
    best = block_scores.topk(min(count, block_scores.shape[1])).indices.sort(-1).values
    beam, first = best // blocks, best % blocks * BLOCK
    token = first[..., None] + torch.arange(BLOCK, device=best.device)
    place = (torch.arange(sentences, device=best.device)[:, None] * beams + beam)[..., None] * vocabulary
    beyond, token = token >= vocabulary, token.clamp(max=vocabulary - 1)
    if ending is not None:
        beyond |= ending[0][:, None, None] & (token != ending[1])
    values = log_probabilities.flatten()[place + token] + scores.gather(1, beam)[..., None]
    values = values.masked_fill_(beyond, -torch.inf).flatten(1)
    order = values.sort(dim=-1, descending=True, stable=True).indices[:, :count]
    return values.gather(1, order), beam.gather(1, order // BLOCK), token.flatten(1).gather(1, order)


def _beam_search(rows: _Rows, batch: DocumentBatch) -> None:
    """Beam search: an extension by the end counts where it is among the K best; a sentence is left when no open
    hypothesis can still be among its n best, however long it grows."""
    config, beams = rows.config, rows.config.beams
    limits = rows.limits.tolist()
    rows.totals[:, 1:] = -torch.inf  # at first all beams are one
    going = True
    while going:
        values, parents, proposed = top_candidates(rows.step(), rows.totals, 2 * beams)
        ends = proposed == rows.eos
        for place, rank in (ends & values.isfinite())[:, :beams].nonzero().tolist():
            if not rows.done[rows.active[place]]:
                rows.finish(place, int(parents[place, rank]), float(values[place, rank]))
        kept = ends.sort(dim=-1, stable=True).indices[:, :beams]  # open ones first, in their order
        rows.totals, parents, proposed = (part.gather(1, kept) for part in (values, parents, proposed))
        for sentence, best in zip(rows.active, rows.totals[:, 0].tolist(), strict=True):
            finished = rows.finished[sentence]
            beaten = len(finished) == config.n_best and finished[-1].score >= config.score(best, limits[sentence])
            rows.done[sentence] |= beaten or best == -math.inf
        origin = torch.arange(len(parents), device=parents.device)[:, None] * beams + parents
        rows.state.reorder(origin.flatten())
        rows.tokens = rows.tokens.flatten(0, 1)[origin]
        going = rows.advance(proposed)


Chooser = Callable[[Tensor, int, Tensor], Tensor]
"""From log-probabilities [S', K, V], the time and the sentences [S'] to the next token of each row [S', K]."""


def _greedy_search(rows: _Rows, batch: DocumentBatch) -> None:
    """The likeliest token again and again."""

    def likeliest(following: Tensor, time: int, sentences: Tensor) -> Tensor:
        return top_candidates(following, torch.zeros_like(rows.totals), 1)[2]

    _independent_search(rows, likeliest)


def _sampling_search(rows: _Rows, batch: DocumentBatch) -> None:
    """Draw every token from the model's distribution, sharpened and cut as the config says."""
    config = rows.config
    bounds, index_of = batch.source.sentences.boundaries.tolist(), batch.index_of.tolist()
    source = batch.source.tokens.cpu().numpy()
    draws = np.zeros((batch.num_sentences, config.n_best, rows.tokens.shape[-1]))
    for sentence in rows.state.sentences.tolist():
        own = zlib.crc32(source[bounds[sentence] : bounds[sentence + 1]].tobytes())
        generator = np.random.default_rng([config.seed, index_of[sentence], own])
        # Step after step, so that a longer limit among its neighbours does not change what a sentence draws.
        draws[sentence] = generator.random((draws.shape[2], draws.shape[1])).T
    uniform = torch.from_numpy(draws).to(rows.tokens.device)

    def drawn(following: Tensor, time: int, sentences: Tensor) -> Tensor:
        ordered, tokens = (following.double() / config.temperature).sort(dim=-1, descending=True, stable=True)
        if config.top_k:
            ordered, tokens = ordered[..., : config.top_k], tokens[..., : config.top_k]
        mass = ordered.softmax(-1).cumsum(-1)
        last = (mass < config.top_p).sum(-1, keepdim=True).clamp(max=mass.shape[-1] - 1)
        aim = uniform[sentences, :, time, None] * mass.gather(-1, last)
        return tokens.gather(-1, (mass <= aim).sum(-1, keepdim=True).minimum(last))[..., 0]

    _independent_search(rows, drawn)


def _independent_search(rows: _Rows, choose: Chooser) -> None:
    """Extend every row by one token at a time until its end: no row looks at another."""
    going = True
    while going:
        following = rows.step()
        chosen = choose(following, rows.time, rows.state.sentences)
        rows.totals += following.gather(-1, chosen[..., None])[..., 0]
        # A row that has ended goes on for nothing until its sentence leaves; minus infinity marks it.
        for place, row in ((chosen == rows.eos) & rows.totals.isfinite()).nonzero().tolist():
            rows.finish(place, row, float(rows.totals[place, row]))
            rows.totals[place, row] = -torch.inf
        for sentence in rows.active:
            rows.done[sentence] = len(rows.finished[sentence]) == rows.config.n_best
        going = rows.advance(chosen)
