"""Beam search with lexical constraints: dynamic beam allocation (Post & Vilar 2018) over a trie (Hu et al. 2019).

Every row tracks the constraints it has met and the phrase it has begun. The candidates of a step are the best tokens of
each row, and the tokens that begin or continue a phrase of an unmet constraint. The rows to keep are taken in turn from
banks, one for each number of met constraints. Unfinished phrases have their own rows, so that phrases with unlikely
tokens are tried, too. Only a row that has met all constraints may end.

Attention over the source places phrases. It is taken as the alignment of the next token: a phrase may begin where the
source of its constraint is read, or after the sentence is complete, and tokens that belong to no phrase are not aligned
with the source of any constraint.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from docgraph.translation.decoding.constraint_trie import ConstraintState, Node, Trie
from docgraph.translation.decoding.constraints import Constraint
from docgraph.translation.decoding.hypotheses import Hypothesis, SearchConfig, top_candidates

if TYPE_CHECKING:
    from docgraph.translation.decoding.search import Rows

MIN_BEAMS = 4
"""Minimum rows of a bank, if there are few constraints."""
ROWS = (8, 16, 24)
"""Rows for one, two, and more constraints with a beam of 4."""
BEGIN_WEIGHT, OTHER_WEIGHT = 1.5, 0.5
"""Weights of the logarithm of the attention to the source of a phrase where the phrase begins, and of the attention to
anything else where a token belongs to no phrase."""
RANKING_PENALTY = 0.2
"""Maximum alpha by which translations of a sentence are ranked. An unlikely phrase costs a long translation less per
token, so that with the alpha of the search, the best translation would contain the sentence twice."""
MAX_FACTOR, MAX_CONSTANT = 1.2, 4
"""Rows with unmet constraints are given up after factor * length of the best hypothesis + constant steps."""
MIN_SHARE = 0.01
"""Lower bound for attention, whose logarithm is taken."""
MIN_BEGIN_SHARE = 0.05
"""Attention to its source without which a phrase does not begin, unless the sentence is complete."""
COMPLETE = math.log(0.25)
"""Log-probability of end-of-sentence from which a sentence is complete."""
BROKEN_OFF = math.log(0.005)
"""Log-probability of end-of-sentence, relative to the likeliest token, below which a sentence would be broken off."""


def num_rows(constraints: Sequence[Constraint], config: SearchConfig) -> int:
    """Returns the number of rows to search a sentence with constraints."""
    rows = ROWS[min(len(constraints), len(ROWS)) - 1] * max(MIN_BEAMS, config.beams) // MIN_BEAMS
    return max(rows, 2 * len(constraints) + 2)


def room_for(constraints: Iterable[Constraint]) -> int:
    """Returns how many tokens the constraints may add to a translation."""
    return sum(constraint.longest for constraint in constraints)


def constrained_search(rows: Rows, constraints: Sequence[Sequence[Constraint]]) -> None:
    """Runs the search; `constraints` has the constraints of each sentence of the group."""
    sentences = [_Sentence(rows, index, own) for index, own in enumerate(constraints)]
    rows.totals[:, 1:] = -math.inf  # all rows start from the same prefix: count it once
    # One layer is cheaper than the mean of two, and places phrases as well.
    rows.state.cache.watched = rows.state.cache.layers[rows.model.decoder.aligning_layers[-1]]
    not_before: dict[int, Tensor] = {}
    open_sentences = True
    while open_sentences:
        log_probabilities = rows.step()
        current = [sentences[index] for index in rows.active]
        complete = (log_probabilities[:, :, rows.eos] > COMPLETE).tolist()
        forbid_unlikely_ends(log_probabilities, rows.eos)
        attention = rows.state.cache.source_attention.tolist()
        for place, sentence in enumerate(current):
            sentence.read(attention[place], complete[place], rows.time)
        _forbid(log_probabilities, current, rows.eos, not_before)
        chosen = [
            [] if rows.done[sentence.index] else sentence.step(place, candidates)
            for place, (sentence, candidates) in enumerate(
                zip(current, _candidates(rows, log_probabilities, current), strict=True)
            )
        ]
        beams = rows.totals.shape[1]
        padded = [[*own, *[(-math.inf, 0, 0)] * (beams - len(own))] for own in chosen]
        rows.totals = torch.tensor([[value for value, _, _ in own] for own in padded], device=rows.totals.device)
        rows.reorder(torch.tensor([[row for _, row, _ in own] for own in padded], device=rows.totals.device))
        tokens = torch.tensor([[token for _, _, token in own] for own in padded], device=rows.totals.device)
        open_sentences = rows.advance(tokens)


Candidate = tuple[float, int, int]
"""Log-probability, row and token of an extension."""
Extension = tuple[Candidate, ConstraintState]
"""An extension and the state after it."""


class _Sentence:
    """The constraint states of the rows of a sentence, and its finished hypotheses."""

    def __init__(self, rows: Rows, index: int, constraints: Sequence[Constraint]) -> None:
        self._rows, self.index = rows, index
        self.trie = Trie(constraints)
        self.states = [ConstraintState(int(rows.tokens[0, 0, 0]))] * rows.totals.shape[1]
        self.open_here = [self.trie.all] * len(self.states)
        """For each row, a bit mask of the constraints whose phrases may begin now."""
        self._penalties: list[list[float]] = []
        """For each row, the penalties of beginning each constraint and, last, of a token that belongs to no phrase."""
        self._last_start = int(rows.limits[index]) - 2 * room_for(constraints)
        self._best: list[tuple[float, Hypothesis]] = []

    def read(self, attention: Sequence[Sequence[float]], complete: Sequence[bool], time: int) -> None:
        """Sets where phrases may begin, given the attention over the source and whether each row is complete."""
        self._penalties, self.open_here = [], []
        for weights, is_complete in zip(attention, complete, strict=True):
            shares = [
                None if each.source is None else sum(weights[each.source.start : each.source.stop])
                for each in self.trie.constraints
            ]
            known = [share for share in shares if share is not None]
            begins = [0.0 if share is None else math.log(max(share, MIN_SHARE)) for share in shares]
            other = sum(math.log(max(1 - share, MIN_SHARE)) for share in known)
            self._penalties.append([*(BEGIN_WEIGHT * each for each in begins), OTHER_WEIGHT * other])
            is_open = (share is None or share > MIN_BEGIN_SHARE for share in shares)
            anywhere = is_complete or time >= self._last_start
            self.open_here.append(-1 if anywhere else sum(1 << index for index, each in enumerate(is_open) if each))

    def step(self, place: int, candidates: list[Candidate]) -> list[Candidate]:
        """Returns the extensions to keep; adds the hypotheses that end to the n best."""
        rows, config = self._rows, self._rows.config
        extended = [
            (each, self.states[each[1]].extend(each[2], self.trie, self._penalties[each[1]])) for each in candidates
        ]
        extended.sort(key=lambda pair: -pair[0][0] - pair[1].penalty)
        ends = (pair for pair in extended if pair[0][2] == rows.eos)
        for (value, row, _), state in itertools.islice(ends, max(MIN_BEAMS, config.beams)):
            self._finish(rows.tokens[place, row, 1 : rows.time + 1].tolist(), value, state.penalty)
        kept = _select([pair for pair in extended if pair[0][2] != rows.eos], len(self.states))
        self.states = [state for _, state in kept] + [self.states[0]] * (len(self.states) - len(kept))
        rows.finished[self.index] = [hypothesis for _, hypothesis in self._best]
        rows.done[self.index] = self._is_beaten(kept)
        return [candidate for candidate, _ in kept]

    def _finish(self, path: list[int], log_probability: float, penalty: float) -> None:
        """Adds a hypothesis to the n best; on ties the earlier one stays first."""
        config = self._rows.config
        hypothesis = Hypothesis(tuple(path), config.score(log_probability, len(path)), log_probability)
        ranked = ranking_score(log_probability + penalty, len(path), config), hypothesis
        bisect.insort(self._best, ranked, key=lambda pair: -pair[0])
        del self._best[config.n_best :]

    def _is_beaten(self, kept: Sequence[Extension]) -> bool:
        """Returns whether no open row would enter the n best if it ended now.

        Rows with unmet constraints go on after the sentence is complete, so they are given up once they are much longer
        than the best hypothesis, and the bound of plain beam search, which allows for any length, is not used.
        """
        config, time = self._rows.config, self._rows.time
        if not kept or len(self._best) < config.n_best:
            return not kept
        too_long = time > MAX_FACTOR * len(self._best[0][1].tokens) + MAX_CONSTANT
        rivals = (
            candidate[0] + state.penalty for candidate, state in kept if not too_long or state.met == self.trie.all
        )
        return self._best[-1][0] >= ranking_score(max(rivals, default=-math.inf), time + 1, config)


def ranking_score(log_probability: float, tokens: int, config: SearchConfig) -> float:
    """Returns the score by which hypotheses with constraints are compared."""
    alpha = min(config.length_penalty, RANKING_PENALTY)
    return replace(config, length_penalty=alpha).score(log_probability, tokens)


def forbid_unlikely_ends(log_probabilities: Tensor, eos: int) -> None:
    """Forbids the end of rows that would be broken off: after *l* of *l'eau*, a model leaves it some probability, and
    ranking favours short translations."""
    ends, likeliest = log_probabilities[:, :, eos], log_probabilities.amax(dim=2)
    ends.masked_fill_(ends < likeliest + BROKEN_OFF, -torch.inf)


def _forbid(log_probabilities: Tensor, sentences: Sequence[_Sentence], eos: int, not_before: dict[int, Tensor]) -> None:
    """Forbids the end of rows with unmet constraints and of their sentence, and tokens that a completed phrase must not
    precede.

    `not_before` caches sets of such tokens as tensors, by identity.
    """
    unmet: list[tuple[int, int, int]] = []
    for place, sentence in enumerate(sentences):
        for row, state in enumerate(sentence.states):
            if state.met != sentence.trie.all:
                unmet += [(place, row, token) for token in (eos, *sentence.trie.ends(state.met))]
            if state.completed and state.node is not None and state.node.phrase is not None:
                tokens, longer = state.node.phrase.not_before, list(state.node.children)
                own = log_probabilities[place, row]
                if id(tokens) not in not_before:
                    not_before[id(tokens)] = torch.tensor(sorted(tokens), dtype=torch.int64, device=own.device)
                continued = own[longer]
                own.index_fill_(0, not_before[id(tokens)], -torch.inf)
                own[longer] = continued
    if unmet:
        places, numbers, tokens = map(list, zip(*unmet, strict=True))
        log_probabilities[places, numbers, tokens] = -torch.inf


def _candidates(rows: Rows, log_probabilities: Tensor, sentences: Sequence[_Sentence]) -> Iterator[list[Candidate]]:
    """Yields the extensions of the rows of each sentence."""
    count, beams, vocabulary = log_probabilities.shape
    most = min(2 * max(MIN_BEAMS, rows.config.beams), vocabulary)
    by_row = top_candidates(log_probabilities.view(-1, 1, vocabulary), rows.totals.reshape(-1, 1), most)
    values, tokens = (by_row[part].view(count, beams, -1).tolist() for part in (0, 2))
    wanted: list[tuple[int, int, int]] = []
    for place, sentence in enumerate(sentences):
        for row, state in enumerate(sentence.states):
            if values[place][row][0] > -math.inf and not rows.done[sentence.index]:
                own = state.wanted(sentence.trie, sentence.open_here[row]).difference(tokens[place][row])
                wanted += [(place, row, token) for token in sorted(own)]
    found: list[list[Candidate]] = [
        [
            (value, row, token)
            for row in range(beams)
            for value, token in zip(values[place][row], tokens[place][row], strict=True)
            if value > -math.inf
        ]
        for place in range(count)
    ]
    if wanted:
        index = torch.tensor(wanted, device=log_probabilities.device).T
        wanted_values = log_probabilities[index[0], index[1], index[2]] + rows.totals[index[0], index[1]]
        for (place, row, token), value in zip(wanted, wanted_values.tolist(), strict=True):
            if value > -math.inf:
                found[place].append((value, row, token))
    yield from found


def _select(extended: Iterable[Extension], beams: int) -> list[Extension]:
    """Returns the extensions to keep: the best prefix of each phrase, and the best others, from each bank in turn."""
    phrases: dict[int, list[Extension]] = {}
    banks: dict[int, list[Extension]] = {}
    prefixes: set[tuple[int, Node]] = set()
    for pair in extended:
        state = pair[1]
        if state.prefix is not None and (state.met, state.prefix) not in prefixes:
            prefixes.add((state.met, state.prefix))
            phrases.setdefault(state.met.bit_count(), []).append(pair)
        else:
            banks.setdefault(state.met.bit_count(), []).append(pair)
    for own in phrases.values():
        own.sort(key=lambda pair: -pair[1].prefix.depth if pair[1].prefix else 0)  # the most complete first
    kept = _in_turn(phrases, beams // 2)
    return kept + _in_turn(banks, beams - len(kept))


def _in_turn(banks: dict[int, list[Extension]], count: int) -> list[Extension]:
    """Returns the first extensions of every bank, as many of each as possible; most constraints met first."""
    order = [banks[met] for met in sorted(banks, reverse=True)]
    ranked = (bank[rank] for rank in range(max(map(len, order), default=0)) for bank in order if rank < len(bank))
    return list(itertools.islice(ranked, count))
