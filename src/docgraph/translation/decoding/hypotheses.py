"""Hypotheses, the configuration of their search, and the operations that every search shares.

A hypothesis of n tokens with log-probability p (the end-of-sentence token counts in both: len = n + 1) has the score
p / ((5 + len) / 6)^alpha, the length penalty of Wu et al. (2016) that the paper uses.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from docgraph.config import Count, Flag, Integer, NonNegative, Positive, PositiveShare, Size, config_class
from docgraph.model.config import TransformerConfig

BLOCK = 64
"""Tokens per block of the vocabulary when the best candidates are selected."""


@config_class
class SearchConfig:
    """Settings of beam search, greedy decoding (one beam) or sampling."""

    beams: Size = 4
    length_penalty: NonNegative = 1.0
    """alpha; 0 compares plain log-probabilities. The paper and the configs of its tables have 0.6."""
    n_best: Size = 1
    """Number of hypotheses to return: at most `beams`, or any number of samples."""
    min_length: Count = 0
    """Minimum number of tokens. Lengths here and below exclude end-of-sentence."""
    max_length_factor: NonNegative = 2.0
    max_length_constant: Count = 20
    """A translation has at most factor * source sub-words + constant tokens, and at most `max_positions` - 1."""
    no_repeat_ngram: Count = 0
    """A hypothesis may not contain this many sub-words in the same order twice; 0 allows repetitions."""
    sampling: Flag = False
    """Draw `n_best` translations at random instead of searching for the best ones."""
    temperature: Positive = 1.0
    top_k: Count = 0
    """Sample from the k most likely tokens; 0 means from all."""
    top_p: PositiveShare = 1.0
    """Sample from the smallest set of most likely tokens with at least this total probability."""
    passes: Size | None = None
    """Maximum number of times a sentence is decoded when a document is decoded in parallel. None decodes until nothing
    changes, which gives the result of sequential decoding."""
    seed: Integer = 0
    """A sample depends only on this seed, the sentence and its position in the document."""

    def __post_init__(self) -> None:
        if not self.sampling and self.n_best > self.beams:
            raise ValueError(f"'n_best' is {self.n_best}, more than 'beams' ({self.beams}); raise 'beams'")

    def max_length(self, source_length: int, max_positions: int) -> int:
        """Returns the maximum number of tokens for a source sentence of `source_length` sub-words."""
        wanted = math.ceil(self.max_length_factor * source_length) + self.max_length_constant
        return max(1, min(max(wanted, self.min_length), max_positions - 1))

    def score(self, log_probability: float, tokens: int) -> float:
        """Returns the length-normalised score of a hypothesis of `tokens` tokens, end-of-sentence excluded."""
        return log_probability / self.penalty(tokens)

    def penalty(self, tokens: int) -> float:
        """Returns the length penalty of a hypothesis of `tokens` tokens, end-of-sentence excluded."""
        return math.pow((5 + tokens + 1) / 6, self.length_penalty)


@dataclass(frozen=True)
class Hypothesis:
    """A translation of one sentence."""

    tokens: tuple[int, ...]
    """Without end-of-sentence."""
    score: float
    log_probability: float
    """Natural logarithm; includes end-of-sentence."""
    given: bool = False
    """True for a translation supplied by the user, not found by a search."""
    base: tuple[int, ...] | None = None
    """The base translation, found without given translations and a dictionary (relevance.py); None if it has the same
    tokens."""
    looked_up: tuple[str, ...] = ()
    """Dictionary entries that the sentence read (hints.py)."""

    @property
    def base_tokens(self) -> tuple[int, ...]:
        """The tokens of the base translation."""
        return self.tokens if self.base is None else self.base


Hypotheses = list[list[Hypothesis]]
"""The hypotheses of consecutive sentences, best first."""
Known = Mapping[int, list[Hypothesis]]
"""Hypotheses of some sentences of a document, by index; the best one is context for other sentences."""


def given_hypotheses(tokens: Iterable[int]) -> list[Hypothesis]:
    """Returns a user-supplied translation, without end-of-sentence, as the only hypothesis, with probability 1."""
    return [Hypothesis(tuple(tokens), 0.0, 0.0, given=True)]


def with_base(hypotheses: Iterable[Hypothesis], base: tuple[int, ...]) -> list[Hypothesis]:
    """Returns hypotheses with their base translation."""
    return [replace(each, base=base if each.tokens != base else None) for each in hypotheses]


def any_given(known: Known) -> bool:
    """Returns whether any known translation was supplied by the user, rather than left by an earlier run."""
    return any(best.given for best, *_ in known.values())


def forbid(
    log_probabilities: Tensor, time: Tensor, limits: Tensor, transformer: TransformerConfig, config: SearchConfig
) -> None:
    """Sets the log-probabilities [N, V] of tokens that may not follow `time` [N] tokens to minus infinity, in place.

    Padding and begin-of-sentence are never allowed, end-of-sentence not before `min_length`, and at the limit [N] only
    end-of-sentence.
    """
    log_probabilities[:, list(transformer.never_generated)] = -torch.inf
    ended = time >= limits
    if config.min_length:
        log_probabilities[:, transformer.eos].masked_fill_((time < config.min_length) & ~ended, -torch.inf)
    if ended.any():
        others = torch.arange(log_probabilities.shape[-1], device=log_probabilities.device) != transformer.eos
        log_probabilities.masked_fill_(ended[:, None] & others, -torch.inf)


def top_candidates(
    log_probabilities: Tensor, scores: Tensor, count: int, ending: tuple[Tensor, int] | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Returns the `count` best one-token extensions of the K beams of each sentence, best first.

    log_probabilities [S, K, V], scores [S, K] -> score, beam and token, [S, count] each. Ties keep the order of beam
    and token. The best candidates lie in the `count` blocks with the largest maxima, so the vocabulary is read only
    once. With `ending`, a mask [S] and a token (count >= K), only that token may extend the masked sentences.
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
    excluded, token = token >= vocabulary, token.clamp(max=vocabulary - 1)
    if ending is not None:
        excluded |= ending[0][:, None, None] & (token != ending[1])
    values = log_probabilities.flatten()[place + token] + scores.gather(1, beam)[..., None]
    values = values.masked_fill_(excluded, -torch.inf).flatten(1)
    order = values.sort(dim=-1, descending=True, stable=True).indices[:, :count]
    return values.gather(1, order), beam.gather(1, order // BLOCK), token.flatten(1).gather(1, order)
