"""Accuracy of pronoun translation, after APT (Miculicich Werlen and Popescu-Belis 2017).

For each source pronoun of the table (data/pronouns), its translation in the output and in the reference is the target
pronoun of the table with the best link, if that passes the threshold of the aligner. The cases, as in APT:

    1 equal   2 equivalent   3 different   4 none in the output   5 none in the reference   6 none in either

APT = (cases 1 + 2) / (cases 1 to 4): of the pronouns that the reference translates by a pronoun, how many the output
translates by the same or an equally good one. The strict form counts case 1 alone. Equivalence is a table of our own,
wider where the parser says that the source pronoun is an expletive. Not implemented: APT's corrections of alignment by
rules on neighbouring words; candidates are restricted to pronouns here instead.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import permutations

import numpy as np

from docgraph.errors import DocgraphError
from docgraph.evaluation.aligner import Posteriors, sum_by
from docgraph.evaluation.alignment import THRESHOLD, Words
from docgraph.evaluation.metrics import Statistics
from docgraph.graph.links import LongArray

FOLDER = resources.files("docgraph") / "data" / "pronouns"
CASES = ("equal", "equivalent", "different", "none in the output", "none in the reference", "none in either")


@dataclass(frozen=True, slots=True)
class PronounTable:
    """Source pronouns that count, spellings of target pronouns, and which are as good as each other."""

    source: tuple[str, ...]
    target: dict[str, str]
    """Form -> pronoun."""
    equivalent: frozenset[tuple[str, str]]
    equivalent_expletive: frozenset[tuple[str, str]]


@cache
def pronoun_table(pair: str) -> PronounTable:
    """The table of a language pair such as en-fr."""
    file = FOLDER / f"{pair}.toml"
    if not file.is_file():
        known = ", ".join(sorted(entry.name.removesuffix(".toml") for entry in FOLDER.iterdir()))
        raise DocgraphError(f"there is no pronoun table for {pair}; the pairs that have one are: {known}")
    values = tomllib.loads(file.read_text(encoding="utf-8"))

    def couples(groups: Iterable[Iterable[str]]) -> frozenset[tuple[str, str]]:
        return frozenset(couple for group in groups for couple in permutations(group, 2))

    target = {form: forms[0] for forms in values["target"] for form in forms}
    return PronounTable(
        tuple(values["source"]), target, couples(values["equivalent"]), couples(values["equivalent_expletive"])
    )


@dataclass(frozen=True, eq=False)
class PronounCases:
    """The K source pronouns of a set."""

    sentences: LongArray
    """[K]"""
    pronouns: LongArray
    """[K]: number in the table."""
    cases: LongArray
    """[K]: number in `CASES`."""

    def statistics(self, num_sentences: int, num_pronouns: int, strict: bool = False) -> Statistics:
        """[sentences, pronouns, 2]: (right, those the reference has a pronoun for)."""
        rows, size = self.sentences * num_pronouns + self.pronouns, num_sentences * num_pronouns
        right, counted = self.cases < (1 if strict else 2), self.cases < 4
        counts = np.stack([sum_by(rows, weights, size) for weights in (right, counted)], axis=1)
        return counts.reshape(num_sentences, num_pronouns, 2)


def classify(
    table: PronounTable, source: Words, output: tuple[Words, Posteriors], reference: tuple[Words, Posteriors]
) -> PronounCases:
    """The case of every source pronoun, from the links of the source with the output and with the reference."""
    numbers = {form: number for number, form in enumerate(table.source)}
    places = [
        place
        for place, form in enumerate(source.forms)
        if form.lower() in numbers and (source.tags is None or source.tags[place] == "PRON")
    ]
    outputs, references = (_translations(table, source, *side) for side in (output, reference))
    cases = []
    for place in places:
        expletive = source.relations is not None and source.relations[place] == "expl"
        cases.append(_case(table, outputs[place], references[place], expletive))
    index = np.array(places, dtype=np.int64)
    pronouns = np.array([numbers[source.forms[place].lower()] for place in places], dtype=np.int64)
    return PronounCases(source.sentences[index], pronouns, np.array(cases, dtype=np.int64))


def _translations(table: PronounTable, source: Words, target: Words, links: Posteriors) -> list[str | None]:
    """[W]: the target pronoun each source word is best linked with."""
    found = [table.target.get(form.lower().replace("’", "'")) for form in target.forms]
    pronoun = np.array([one is not None for one in found], dtype=np.bool_)
    best = links.where(pronoun[links.target]).best_target(len(source.forms), THRESHOLD)
    return [found[place] if place >= 0 else None for place in best.tolist()]


def _case(table: PronounTable, output: str | None, reference: str | None, expletive: bool) -> int:
    if reference is None:
        return 5 if output is None else 4
    if output is None:
        return 3
    if output == reference:
        return 0
    couple = (output, reference)
    alike = couple in table.equivalent or (expletive and couple in table.equivalent_expletive)
    return 1 if alike else 2
