"""The trie of the phrases of a sentence's constraints, and the progress of a partial hypothesis in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from docgraph.translation.decoding.constraints import Constraint, Phrase


@dataclass(eq=False)
class Node:
    """A prefix of phrases."""

    depth: int = 0
    """Number of tokens."""
    children: dict[int, Node] = field(default_factory=dict)
    passing: int = 0
    """Bit mask of the constraints with a phrase that continues after this prefix."""
    ending: int = 0
    """Bit mask of the constraints that this prefix meets."""
    phrase: Phrase | None = None
    """The phrase that ends here, if any."""

    @property
    def constraints(self) -> int:
        """Bit mask of the constraints whose phrases have this prefix."""
        return self.passing | self.ending


class Trie:
    """The phrases of all constraints of a sentence.

    Phrases that must not follow different tokens have separate roots; of those with the same first token, only the
    first one is found.
    """

    def __init__(self, constraints: Sequence[Constraint]) -> None:
        self.constraints = constraints
        self.all = (1 << len(constraints)) - 1
        self.roots: list[tuple[Node, Phrase]] = []
        self._first: dict[int, list[tuple[Node, Phrase]]] = {}
        """First tokens of phrases, with their nodes."""
        for index, constraint in enumerate(constraints):
            for phrase in constraint.alternatives:
                self._add(phrase, 1 << index)
        for root, phrase in self.roots:
            for token, node in root.children.items():
                self._first.setdefault(token, []).append((node, phrase))

    def _add(self, phrase: Phrase, bit: int) -> None:
        others = phrase.not_after
        node = next((root for root, it in self.roots if it.not_after is others or it.not_after == others), None)
        if node is None:
            node = Node()
            self.roots.append((node, phrase))
        for token in phrase.tokens:
            node.passing |= bit
            node = node.children.setdefault(token, Node(node.depth + 1))
        node.ending |= bit
        node.phrase = phrase

    def begun(self, before: int, token: int, met: int) -> Node | None:
        """Returns the node of a token that begins a phrase of an unmet constraint after the token `before`."""
        for node, phrase in self._first.get(token, ()):
            if node.constraints & ~met and before not in phrase.not_after:
                return node
        return None

    def ends(self, met: int) -> Iterator[int]:
        """Yields the tokens that end the sentence of an unmet constraint; some may come twice."""
        for index in _bits(self.all & ~met):
            yield from self.constraints[index].ends

    def beginnings(self, before: int, met: int) -> Iterator[int]:
        """Yields the tokens that may begin a phrase of an unmet constraint after the token `before`."""
        for root, phrase in self.roots:
            if root.passing & ~met and before not in phrase.not_after:
                yield from (token for token, node in root.children.items() if node.constraints & ~met)


@dataclass(frozen=True, eq=False)
class ConstraintState:
    """The constraints that a partial hypothesis has met, and the phrase that it has begun."""

    last: int
    """Its last token."""
    met: int = 0
    """Bit mask of constraints."""
    misplaced: float = 0.0
    """Penalty for the positions of the phrases of met constraints."""
    node: Node | None = None
    """The prefix of a phrase that the hypothesis ends with."""
    begun: float = 0.0
    """Penalty for the position of the unfinished phrase."""
    broken_off: float = 0.0
    """Penalty if the unfinished phrase is abandoned: its first token then belongs to no phrase."""
    completed: int = 0
    """Bit of the constraint that the last token meets."""

    def extend(self, token: int, trie: Trie, penalties: Sequence[float]) -> ConstraintState:
        """Returns the row with one more token; `penalties` are those of beginning each constraint here and,
        last, of a token that belongs to no phrase."""
        met, misplaced, begun = self.met, self.misplaced, self.begun
        node = None if self.node is None else self.node.children.get(token)
        if node is not None and self.completed:  # a longer alternative: "moteur" goes on as "moteurs"
            if node.constraints & self.completed:
                met &= ~self.completed
            else:
                node = None
        broken_off = self.broken_off
        if node is None or not node.constraints & ~met:
            met, misplaced, broken_off = self.met, misplaced + broken_off, penalties[-1]
            node = trie.begun(self.last, token, met)
            if node is None:
                return ConstraintState(token, met, misplaced + penalties[-1])
            begun = max(penalties[index] for index in _bits(node.constraints & ~met))
        if unmet := node.ending & ~met:
            first = unmet & -unmet  # of equal constraints
            return ConstraintState(token, met | first, misplaced + begun, node, completed=first)
        return ConstraintState(token, met, misplaced, node, begun, broken_off)

    def wanted(self, trie: Trie, open_here: int) -> set[int]:
        """Returns the tokens that continue a phrase of an unmet constraint, or begin one that is `open_here`."""
        tokens = set() if self.prefix is not None else {*trie.beginnings(self.last, self.met | ~open_here)}
        if self.node is not None:
            open_constraints = ~self.met | self.completed
            tokens.update(t for t, node in self.node.children.items() if node.constraints & open_constraints)
        return tokens

    @property
    def prefix(self) -> Node | None:
        """The unfinished phrase."""
        return None if self.completed else self.node

    @property
    def penalty(self) -> float:
        """Penalty for the positions of all phrases."""
        return self.misplaced + self.begun


def _bits(mask: int) -> Iterator[int]:
    while mask:
        yield (mask & -mask).bit_length() - 1
        mask &= mask - 1
