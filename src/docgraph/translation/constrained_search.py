"""Beam search with lexical constraints: dynamic beam allocation (Post & Vilar 2018) over a trie (Hu et al. 2019).

Every row knows which constraints it has met and which phrase it is in the middle of. The candidates of a step are the
best tokens of each row and, besides them, the tokens that begin or continue a phrase of an unmet constraint. Rows are
kept by bank: a bank for each number of met constraints, and one for each number of tokens of a phrase that has begun,
so that a phrase with unlikely tokens is tried at every position. Only a row that has met all constraints may end.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor

from docgraph.model.document_transformer import DecodingState, DocumentTransformer
from docgraph.translation.constraints import Constraint, Phrase
from docgraph.translation.hypotheses import Hypothesis, SearchConfig, top_candidates

MIN_BEAMS = 4
"""Minimum rows of a bank, if there are few constraints."""
MAX_BANKS = 4
"""From this number of banks on, banks share their rows."""
ROW_COUNTS = (12, 20, 32)
"""Numbers of rows: sentences with the same number are decoded together."""
PLACEMENT = 1.0
"""Weight of the attention to the source of a phrase, where the phrase begins."""
MIN_SHARE = 0.01
"""Attention below this is as good as none."""


@dataclass(eq=False)
class _Node:
    """A prefix of phrases."""

    depth: int = 0
    children: dict[int, _Node] = field(default_factory=dict)
    passing: int = 0
    """Bit mask of the constraints whose phrases go on after this prefix."""
    ending: int = 0
    """Bit mask of the constraints that this prefix meets."""
    phrase: Phrase | None = None
    """The phrase that ends here, if any."""

    @property
    def constraints(self) -> int:
        """Bit mask of the constraints whose phrases have this prefix."""
        return self.passing | self.ending


class _Trie:
    """The phrases of all constraints of a sentence. Phrases that differ in their neighbours have separate roots."""

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.constraints = constraints
        self.all = (1 << len(constraints)) - 1
        self.roots: list[tuple[_Node, Phrase]] = []
        for index, constraint in enumerate(constraints):
            for phrase in constraint.alternatives:
                self._add(phrase, 1 << index)

    def _add(self, phrase: Phrase, bit: int) -> None:
        node = next((root for root, first in self.roots if first.not_after is phrase.not_after), None)
        if node is None:
            node = _Node()
            self.roots.append((node, phrase))
        for token in phrase.tokens:
            node.passing |= bit
            node = node.children.setdefault(token, _Node(node.depth + 1))
        node.ending |= bit
        node.phrase = phrase

    def begun(self, before: int, token: int, met: int) -> _Node | None:
        """Returns the node of a token that begins a phrase of an unmet constraint after the token `before`."""
        for root, phrase in self.roots:
            node = root.children.get(token)
            if node is not None and node.constraints & ~met and before not in phrase.not_after:
                return node
        return None

    def beginnings(self, before: int, met: int) -> Iterator[int]:
        """Yields the tokens that may begin a phrase of an unmet constraint after the token `before`."""
        for root, phrase in self.roots:
            if root.passing & ~met and before not in phrase.not_after:
                yield from (token for token, node in root.children.items() if node.constraints & ~met)


@dataclass(frozen=True, eq=False)
class _Row:
    """What a partial hypothesis has met."""

    last: int
    """Its last token."""
    met: int = 0
    """Bit mask of constraints."""
    misplaced: float = 0.0
    """Penalty for the places of the phrases of met constraints."""
    node: _Node | None = None
    """The phrase that it is in the middle of, or has just completed."""
    begun: float = 0.0
    """Penalty for the place of a phrase that it is in the middle of."""
    completed: int = 0
    """Bit of the constraint that its last token meets."""

    def extend(self, token: int, trie: _Trie, penalties: Sequence[float]) -> _Row:
        """Returns the row with one more token; `penalties` are those of beginning each constraint here."""
        met, misplaced, begun = self.met, self.misplaced, self.begun
        node = None if self.node is None else self.node.children.get(token)
        if node is not None and self.completed:  # a longer alternative: "moteur" goes on as "moteurs"
            if node.constraints & self.completed:
                met &= ~self.completed
            else:
                node = None
        if node is None or not node.constraints & ~met:
            met, node = self.met, trie.begun(self.last, token, self.met)
            if node is None:
                return _Row(token, met, misplaced)
            begun = min(penalties[index] for index in _bits(node.constraints & ~met))
        if unmet := node.ending & ~met:
            first = unmet & -unmet  # of equal constraints
            return _Row(token, met | first, misplaced + begun, node, completed=first)
        return _Row(token, met, misplaced, node, begun)

    def wanted(self, trie: _Trie) -> set[int]:
        """Returns the tokens that begin or continue a phrase of an unmet constraint."""
        tokens = {*trie.beginnings(self.last, self.met)}
        if self.node is not None:
            open_constraints = ~self.met | self.completed
            tokens.update(t for t, node in self.node.children.items() if node.constraints & open_constraints)
        return tokens

    @property
    def bank(self) -> tuple[int, int]:
        """Number of met constraints, and of tokens of the phrase that has begun."""
        return self.met.bit_count(), 0 if self.node is None or self.completed else self.node.depth

    @property
    def penalty(self) -> float:
        """Penalty for the places of all phrases."""
        return self.misplaced + self.begun


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1


class Rows(Protocol):
    """The part of `search._Rows` that this search uses."""

    tokens: Tensor
    totals: Tensor
    limits: Tensor
    time: int
    eos: int
    active: list[int]
    done: list[bool]
    finished: list[list[Hypothesis]]
    config: SearchConfig
    model: DocumentTransformer
    state: DecodingState

    def step(self) -> Tensor: ...
    def reorder(self, parents: Tensor) -> None: ...
    def advance(self, tokens: Tensor) -> bool: ...


def num_rows(constraints: Sequence[Constraint], config: SearchConfig) -> int:
    """Returns the number of rows to search a sentence with constraints."""
    banks = min(len(constraints), MAX_BANKS - 1)
    longest = max(constraint.longest for constraint in constraints)
    wanted = max(MIN_BEAMS, config.beams) * (1 + banks) + banks * (longest - 1)
    rows = next((count for count in ROW_COUNTS if count >= wanted), ROW_COUNTS[-1])
    return max(rows, config.beams, len(constraints) + 1)


def room_for(constraints: Iterable[Constraint]) -> int:
    """Returns how many tokens the constraints may add to a translation."""
    return sum(constraint.longest for constraint in constraints)


def constrained_search(rows: Rows, constraints: Sequence[Sequence[Constraint]]) -> None:
    """Runs the search; `constraints` has those of each sentence of the group."""
    tries = [_Trie(each) for each in constraints]
    begin = int(rows.tokens[0, 0, 0])
    beams = rows.totals.shape[1]
    states = [[_Row(begin)] * beams for _ in tries]
    finishes = [_Finished(rows.config) for _ in tries]
    not_before: dict[int, Tensor] = {}
    rows.totals[:, 1:] = -math.inf  # all rows start from the same prefix: count it once
    rows.state.cache.watched = rows.state.cache.layers[rows.model.decoder.aligning_layer]
    open_sentences = True
    while open_sentences:
        log_probabilities = rows.step()
        attention = rows.state.cache.source_attention.tolist()
        _forbid(rows, log_probabilities, states, tries, not_before)
        chosen = _Chosen(beams)
        for place, candidates in enumerate(_candidates(rows, log_probabilities, states, tries)):
            sentence = rows.active[place]
            own, trie, finished = states[sentence], tries[sentence], finishes[sentence]
            kept: list[tuple[Candidate, _Row]] = []
            if not rows.done[sentence]:
                penalties = [_penalties(trie.constraints, weights) for weights in attention[place]]
                extended = _extended(candidates, own, trie, penalties)
                for (value, row, _), state in finished.ends(extended, rows.eos):
                    finished.add(rows.tokens[place, row, 1 : rows.time + 1].tolist(), value, state.penalty)
                kept = _select(extended, beams, rows.eos)
            states[sentence] = [state for _, state in kept] + [own[0]] * (beams - len(kept))
            chosen.add([candidate for candidate, _ in kept])
            rows.finished[sentence] = [hypothesis for _, hypothesis in finished.best]
            rows.done[sentence] |= finished.is_beaten(kept, rows.time + 1)
        rows.totals = torch.tensor(chosen.values, device=rows.totals.device)
        rows.reorder(torch.tensor(chosen.parents, device=rows.totals.device))
        open_sentences = rows.advance(torch.tensor(chosen.tokens, device=rows.totals.device))


def _penalties(constraints: Sequence[Constraint], attention: Sequence[float]) -> list[float]:
    """Returns the penalty of beginning each constraint where the attention over the source is `attention`."""
    shares = (
        1.0 if each.source is None else sum(attention[each.source.start : each.source.stop]) for each in constraints
    )
    return [PLACEMENT * math.log(max(share, MIN_SHARE)) for share in shares]


Candidate = tuple[float, int, int]
"""Log-probability, row and token of an extension."""


class _Chosen:
    """The rows after a step: values, parents and tokens [S', K]."""

    def __init__(self, beams: int) -> None:
        self._beams = beams
        self.values: list[list[float]] = []
        self.parents: list[list[int]] = []
        self.tokens: list[list[int]] = []

    def add(self, candidates: list[Candidate]) -> None:
        """Adds the rows of a sentence; unused rows have minus infinity."""
        candidates = candidates + [(-math.inf, 0, 0)] * (self._beams - len(candidates))
        self.values.append([value for value, _, _ in candidates])
        self.parents.append([row for _, row, _ in candidates])
        self.tokens.append([token for _, _, token in candidates])


def _forbid(
    rows: Rows, log_probabilities: Tensor, states: list[list[_Row]], tries: list[_Trie], not_before: dict[int, Tensor]
) -> None:
    """Forbids the end of rows with unmet constraints, and tokens that a completed phrase must not precede.

    `not_before` caches sets of such tokens as tensors, by identity.
    """
    unmet: list[tuple[int, int]] = []
    for place, sentence in enumerate(rows.active):
        for row, state in enumerate(states[sentence]):
            if state.met != tries[sentence].all:
                unmet.append((place, row))
            if state.completed and state.node is not None and state.node.phrase is not None:
                tokens, longer = state.node.phrase.not_before, list(state.node.children)
                if id(tokens) not in not_before:
                    not_before[id(tokens)] = torch.tensor(
                        sorted(tokens), dtype=torch.int64, device=log_probabilities.device
                    )
                own = log_probabilities[place, row]
                continued = own[longer]
                own.index_fill_(0, not_before[id(tokens)], -torch.inf)
                own[longer] = continued
    if unmet:
        places, numbers = zip(*unmet, strict=True)
        log_probabilities[list(places), list(numbers), rows.eos] = -torch.inf


def _candidates(
    rows: Rows, log_probabilities: Tensor, states: list[list[_Row]], tries: list[_Trie]
) -> Iterator[list[Candidate]]:
    """Yields the extensions of the rows of each sentence, best first."""
    sentences, beams, vocabulary = log_probabilities.shape
    count = 2 * max(MIN_BEAMS, rows.config.beams)
    values, _, tokens = top_candidates(
        log_probabilities.view(-1, 1, vocabulary), rows.totals.reshape(-1, 1), min(count, vocabulary)
    )
    likely_values, likely = values.view(sentences, beams, -1).tolist(), tokens.view(sentences, beams, -1).tolist()
    places: list[tuple[int, int, int]] = []
    totals = rows.totals.tolist()
    for place, sentence in enumerate(rows.active):
        for row, state in enumerate(states[sentence]):
            if totals[place][row] > -math.inf and not rows.done[sentence]:
                wanted = state.wanted(tries[sentence]).difference(likely[place][row])
                places += [(place, row, token) for token in sorted(wanted)]
    found: list[list[Candidate]] = [[] for _ in rows.active]
    if places:
        index = torch.tensor(places, device=log_probabilities.device).T
        wanted_values = log_probabilities[index[0], index[1], index[2]] + rows.totals[index[0], index[1]]
        for (place, row, token), value in zip(places, wanted_values.tolist(), strict=True):
            found[place].append((value, row, token))
    for place, own in enumerate(found):
        for row in range(beams):
            own += zip(likely_values[place][row], [row] * count, likely[place][row], strict=False)
        own = [candidate for candidate in own if candidate[0] > -math.inf]
        yield sorted(own, key=lambda candidate: (-candidate[0], candidate[1], candidate[2]))


def _extended(
    candidates: list[Candidate], own: list[_Row], trie: _Trie, penalties: list[list[float]]
) -> list[tuple[Candidate, _Row]]:
    """Returns the extensions with their states, best first."""
    extended = [
        (candidate, own[row].extend(token, trie, penalties[row]))
        for candidate in candidates
        for _, row, token in [candidate]
    ]
    return sorted(extended, key=lambda pair: -pair[0][0] - pair[1].penalty)


def _select(extended: list[tuple[Candidate, _Row]], beams: int, eos: int) -> list[tuple[Candidate, _Row]]:
    """Returns the extensions to keep, taken from all banks in turn."""
    banks: dict[tuple[int, int], list[tuple[Candidate, _Row]]] = {}
    for candidate, state in extended:
        bank = banks.setdefault(state.bank, [])
        # One row for each length of an unfinished phrase: the best prefix at every position.
        if candidate[2] != eos and len(bank) < (1 if state.bank[1] else beams):
            bank.append((candidate, state))
    kept: list[tuple[Candidate, _Row]] = []
    order = sorted(banks, reverse=True)
    for rank in range(beams):
        kept += [banks[bank][rank] for bank in order if rank < len(banks[bank])]
        if len(kept) >= beams:
            break
    return kept[:beams]


class _Finished:
    """The n best finished hypotheses of a sentence, by score and the places of their phrases."""

    def __init__(self, config: SearchConfig) -> None:
        self._config = config
        self.best: list[tuple[float, Hypothesis]] = []

    def ends(self, extended: list[tuple[Candidate, _Row]], eos: int) -> list[tuple[Candidate, _Row]]:
        """Returns the best extensions that end."""
        return [pair for pair in extended if pair[0][2] == eos][: max(MIN_BEAMS, self._config.beams)]

    def add(self, path: list[int], log_probability: float, penalty: float) -> None:
        """Adds a hypothesis; on ties the earlier one stays first."""
        hypothesis = Hypothesis(tuple(path), self._config.score(log_probability, len(path)), log_probability)
        ranked = self._config.score(log_probability + penalty, len(path)), hypothesis
        bisect.insort(self.best, ranked, key=lambda pair: -pair[0])
        del self.best[self._config.n_best :]

    def is_beaten(self, kept: list[tuple[Candidate, _Row]], length: int) -> bool:
        """Returns whether no open row would enter the n best if it ended now, after `length` tokens.

        Rows with unmet constraints go on after the sentence is complete, so the bound of plain beam search, which
        allows for any length, would be reached late.
        """
        best = max((candidate[0] + state.penalty for candidate, state in kept), default=-math.inf)
        full = len(self.best) == self._config.n_best
        return best == -math.inf or (full and self.best[-1][0] >= self._config.score(best, length))
