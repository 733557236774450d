"""Coreference scores: gold chains from CoNLL-U files, and MUC, pairwise and antecedent measures.

Gold and predicted chains consist of head words. A head word that two gold mentions share counts once.
"""

from __future__ import annotations

import lzma
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from docgraph.annotate.conllu import parse_with_chains
from docgraph.annotation import Annotation, link_chains
from docgraph.document import Document

Link = tuple[int, int]
"""Head words of (antecedent, mention); the antecedent comes first in the document."""
Chain = Collection[int]
THIRD_PERSON = frozenset({"he", "him", "his", "himself", "she", "her", "hers", "herself", "it", "its", "itself"})
THIRD_PERSON |= {"they", "them", "their", "theirs", "themselves", "'em"}


@dataclass(frozen=True, eq=False)
class GoldDocument:
    """A document with its gold trees and gold chains."""

    document: Document
    annotation: Annotation
    chains: list[list[int]]


def read_gold(path: str | Path) -> list[GoldDocument]:
    """Reads the documents of a CoNLL-U file with `Entity=` brackets; the file may be compressed with xz."""
    path = Path(path)
    with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
        return [
            GoldDocument(document, annotation, disjoint_chains(chains))
            for document, annotation, chains in parse_with_chains(file, str(path))
        ]


def chain_index(chains: Iterable[Chain]) -> dict[int, int]:
    """Returns head word -> number of its chain. A word of two chains belongs to the smaller one."""
    index: dict[int, int] = {}
    for number, chain in sorted(enumerate(chains), key=lambda entry: len(entry[1])):
        for word in chain:
            index.setdefault(word, number)
    return index


def disjoint_chains(chains: list[list[int]]) -> list[list[int]]:
    """Assigns each word to its smallest chain only, so that "Bos" is not also "Bos and colleagues"."""
    members: dict[int, list[int]] = {}
    for word, number in sorted(chain_index(chains).items()):
        members.setdefault(number, []).append(word)
    return [chain for chain in members.values() if len(chain) > 1]


@dataclass(frozen=True, slots=True)
class Counts:
    """Correct and total items for precision (predicted) and recall (gold). Counts of documents can be added."""

    correct_predicted: int = 0
    predicted: int = 0
    correct_gold: int = 0
    gold: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.correct_predicted + other.correct_predicted,
            self.predicted + other.predicted,
            self.correct_gold + other.correct_gold,
            self.gold + other.gold,
        )

    @property
    def precision(self) -> float:
        """Share of the predicted items that are correct."""
        return self.correct_predicted / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold items that are found."""
        return self.correct_gold / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


def muc(gold: Sequence[Chain], predicted: Sequence[Chain]) -> Counts:
    """Returns link-based MUC counts (Vilain et al. 1995)."""
    correct_gold, gold_links = _muc_links(gold, chain_index(predicted))
    correct_predicted, predicted_links = _muc_links(predicted, chain_index(gold))
    return Counts(correct_predicted, predicted_links, correct_gold, gold_links)


def _muc_links(chains: Iterable[Chain], other: Mapping[int, int]) -> tuple[int, int]:
    """Returns (links that remain when the chains are split along the other side's chains, all links)."""
    correct = total = 0
    for chain in chains:
        parts = {other[word] for word in chain if word in other}
        unassigned = sum(word not in other for word in chain)
        correct += len(chain) - len(parts) - unassigned
        total += len(chain) - 1
    return correct, total


def pairwise(gold: Sequence[Chain], predicted: Sequence[Chain]) -> Counts:
    """Returns counts of word pairs in the same chain."""
    index = chain_index(gold)
    correct = sum(_num_pairs(_part_sizes(chain, index)) for chain in predicted)
    return Counts(correct, _num_pairs(map(len, predicted)), correct, _num_pairs(map(len, gold)))


def _part_sizes(chain: Iterable[int], other: Mapping[int, int]) -> Iterable[int]:
    """Returns the sizes of the parts into which the other side's chains split a chain."""
    sizes: dict[int, int] = {}
    for word in chain:
        if word in other:
            sizes[other[word]] = sizes.get(other[word], 0) + 1
    return sizes.values()


def _num_pairs(sizes: Iterable[int]) -> int:
    return sum(size * (size - 1) // 2 for size in sizes)


def antecedents(gold: Sequence[Chain], links: Iterable[Link], only: Collection[int] | None = None) -> Counts:
    """Returns counts of links. A link is correct if both ends are in the same gold chain.

    Gold items are the mentions that are not the first of their chain. `only` restricts both sides to these mentions.
    """
    chain_of = chain_index(gold)
    first = {number: min(chain) for number, chain in enumerate(gold)}
    antecedent_of = {mention: antecedent for antecedent, mention in links if only is None or mention in only}
    correct = {m for m, a in antecedent_of.items() if m in chain_of and chain_of.get(a) == chain_of[m]}
    wanted = {w for w, number in chain_of.items() if w != first[number] and (only is None or w in only)}
    return Counts(len(correct), len(antecedent_of), len(correct & wanted), len(wanted))


def evaluate(gold: Sequence[Chain], links: Sequence[Link], forms: Iterable[str]) -> dict[str, Counts]:
    """Returns all measures of one document, given the forms of its words."""
    predicted = link_chains(links)
    third_person = {word for word, form in enumerate(forms) if form.lower() in THIRD_PERSON}
    return {
        "muc": muc(gold, predicted),
        "pairwise": pairwise(gold, predicted),
        "antecedent": antecedents(gold, links),
        "third person": antecedents(gold, links, third_person),
    }


def total(documents: Iterable[Mapping[str, Counts]]) -> dict[str, Counts]:
    """Adds the counts of documents, measure by measure."""
    sums: dict[str, Counts] = {}
    for document in documents:
        for name, counts in document.items():
            sums[name] = sums.get(name, Counts()) + counts
    return sums
