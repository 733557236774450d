"""How well predicted coreference links agree with gold chains, head word by head word.

Gold and prediction are chains of head words; a head word that two gold mentions share counts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

Link = tuple[int, int]
"""(antecedent, mention): head words, the antecedent first in the text."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Right answers among those given and among those wanted; counts of documents add up."""

    right_given: int = 0
    given: int = 0
    right_wanted: int = 0
    wanted: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.right_given + other.right_given,
            self.given + other.given,
            self.right_wanted + other.right_wanted,
            self.wanted + other.wanted,
        )

    @property
    def precision(self) -> float:
        return self.right_given / self.given if self.given else 0.0

    @property
    def recall(self) -> float:
        return self.right_wanted / self.wanted if self.wanted else 0.0

    @property
    def f1(self) -> float:
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def components(links: Iterable[Link]) -> list[list[int]]:
    """The chains that links join."""
    chain_of: dict[int, list[int]] = {}
    for antecedent, mention in links:
        one, two = chain_of.setdefault(antecedent, [antecedent]), chain_of.setdefault(mention, [mention])
        if one is not two:
            one.extend(two)
            for word in two:
                chain_of[word] = one
    return [sorted(chain) for word, chain in sorted(chain_of.items()) if word == min(chain)]


def index(chains: Iterable[Collection[int]]) -> dict[int, int]:
    """Head word -> number of its chain; a word of two chains counts for the smaller, more particular one."""
    found: dict[int, int] = {}
    for number, chain in sorted(enumerate(chains), key=lambda entry: len(entry[1])):
        for word in chain:
            found.setdefault(word, number)
    return found


def muc(gold: Sequence[Collection[int]], predicted: Sequence[Collection[int]]) -> Counts:
    """Link-based MUC (Vilain et al. 1995): links kept when one side's chains are cut along the other's."""
    right_wanted, wanted = _muc_side(gold, index(predicted))
    right_given, given = _muc_side(predicted, index(gold))
    return Counts(right_given, given, right_wanted, wanted)


def _muc_side(chains: Iterable[Collection[int]], other: Mapping[int, int]) -> tuple[int, int]:
    kept = total = 0
    for chain in chains:
        parts = {other[word] for word in chain if word in other}
        loose = sum(word not in other for word in chain)
        kept += len(chain) - len(parts) - loose
        total += len(chain) - 1
    return kept, total


def pairwise(gold: Sequence[Collection[int]], predicted: Sequence[Collection[int]]) -> Counts:
    """Every two words of one chain are a pair; pairs in common against pairs given and wanted."""
    right = sum(_pairs(_regroup(chain, index(gold))) for chain in predicted)
    return Counts(right, _pairs(map(len, predicted)), right, _pairs(map(len, gold)))


def _regroup(chain: Iterable[int], other: Mapping[int, int]) -> list[int]:
    """Sizes of the pieces a chain falls into along the other side's chains."""
    sizes: dict[int, int] = {}
    for word in chain:
        if word in other:
            sizes[other[word]] = sizes.get(other[word], 0) + 1
    return list(sizes.values())


def _pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def antecedents(gold: Sequence[Collection[int]], links: Iterable[Link], only: Collection[int] | None = None) -> Counts:
    """A link is right where both ends are in one gold chain; wanted is one for each mention with an earlier one.

    `only` restricts both to these mentions, such as the third-person pronouns.
    """
    chain_of = index(gold)
    first = {number: min(chain) for number, chain in enumerate(gold)}
    given = {mention: antecedent for antecedent, mention in links if only is None or mention in only}
    right = {m for m, a in given.items() if m in chain_of and chain_of.get(a) == chain_of[m]}
    wanted = {w for w, number in chain_of.items() if w != first[number] and (only is None or w in only)}
    return Counts(len(right), len(given), len(right & wanted), len(wanted))


THIRD_PERSON = frozenset({"he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself"})
THIRD_PERSON |= {"they", "them", "their", "theirs", "themselves", "'em"}


def third_person_pronouns(forms: Iterable[str]) -> set[int]:
    """The words that are English third-person personal, possessive or reflexive pronouns."""
    return {word for word, form in enumerate(forms) if form.lower() in THIRD_PERSON}


def evaluate(gold: Sequence[Collection[int]], links: Sequence[Link], forms: Iterable[str]) -> dict[str, Counts]:
    """Every measure for one document of words `forms`."""
    predicted = components(links)
    return {
        "muc": muc(gold, predicted),
        "pairwise": pairwise(gold, predicted),
        "antecedent": antecedents(gold, links),
        "third person": antecedents(gold, links, third_person_pronouns(forms)),
    }


def total(documents: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """The sum over documents, measure by measure."""
    found: dict[str, Counts] = {}
    for document in documents:
        for name, counts in document.items():
            found[name] = found.get(name, Counts()) + counts
    return found
