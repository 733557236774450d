"""Word lists for written sentences: verbs.tsv and vocabulary.tsv."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pronouns.conjugation import Verb, conjugate

_FOLDER = Path(__file__).parent


class Subject(NamedTuple):
    """A person in both languages; `person` counts from 0 (je) to 5 (ils)."""

    source: str
    target: str
    person: int

    @property
    def is_third(self) -> bool:
        """True if the English verb has an -s."""
        return self.person == 2 and self.source != "we"


class Action(NamedTuple):
    """A transitive verb in both languages."""

    base: str
    past: str
    participle: str
    french: Verb
    kind: str
    """"thing", "person" (the object is given to a person) or "state" (nobody is told or about to do it)."""


def read_rows(name: str) -> list[list[str]]:
    """Returns the rows of a TSV file beside this module, without comments."""
    lines = (_FOLDER / name).read_text(encoding="utf-8").splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def read_lists() -> dict[str, list[list[str]]]:
    """Returns the lists of vocabulary.tsv by name."""
    lists: dict[str, list[list[str]]] = {}
    for name, *row in read_rows("vocabulary.tsv"):
        lists.setdefault(name, []).append(row)
    return lists


def read_actions() -> list[Action]:
    """Returns the verbs of verbs.tsv."""
    rows = read_rows("verbs.tsv")
    return [Action(base, past, participle, conjugate(verb), kind) for base, past, participle, verb, kind in rows]


def read_subjects() -> list[Subject]:
    """Returns the people of vocabulary.tsv; frequent ones occur more than once."""
    return [Subject(source, target, int(person)) for source, target, person in read_lists()["subject"]]
