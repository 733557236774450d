"""Grammatical persons in both languages."""

from __future__ import annotations

from typing import NamedTuple


class Person(NamedTuple):
    """A subject: its pronouns, the Russian dative, its place among six persons, and m, f or p (plural)."""

    english: str
    russian: str
    dative: str
    place: int
    gender: str

    @property
    def is_third(self) -> bool:
        """True of he, she and they."""
        return self.place in (2, 5)

    @property
    def is_first(self) -> bool:
        """True of I and we."""
        return self.place in (0, 3)


WE = Person("we", "мы", "нам", 3, "p")
YOU_ALL = Person("you", "вы", "вам", 4, "p")
HE = Person("he", "он", "ему", 2, "m")
SHE = Person("she", "она", "ей", 2, "f")
THEY = Person("they", "они", "им", 5, "p")

POSSESSIVES = {"I": "my", "you": "your", "he": "his", "she": "her", "we": "our", "they": "their"}
OBJECTS = {
    "me": {"acc": "меня", "dat": "мне", "gen": "меня", "ins": "мной", "loc": "мне"},
    "you": {"acc": "тебя", "dat": "тебе", "gen": "тебя", "ins": "тобой", "loc": "тебе"},
    "him": {"acc": "его", "dat": "ему", "gen": "его", "ins": "им", "loc": "нём"},
    "her": {"acc": "её", "dat": "ей", "gen": "её", "ins": "ей", "loc": "ней"},
    "us": {"acc": "нас", "dat": "нам", "gen": "нас", "ins": "нами", "loc": "нас"},
    "them": {"acc": "их", "dat": "им", "gen": "их", "ins": "ими", "loc": "них"},
}
"""Russian cases of the English object pronouns."""


def first_person(gender: str) -> Person:
    """Returns *I*."""
    return Person("I", "я", "мне", 0, gender)


def second_person(gender: str) -> Person:
    """Returns *you* of one person, ты."""
    return Person("you", "ты", "тебе", 1, gender)


def third_person(gender: str) -> Person:
    """Returns *he*, *she* or *they*."""
    return {"m": HE, "f": SHE, "p": THEY}[gender]


def as_other_speaker_says(person: Person) -> Person:
    """Returns what the one spoken to calls a person: *you* for *I*, *I* or *we* for *you*."""
    if person.place == 0:
        return second_person(person.gender)
    if person.place == 1:
        return first_person(person.gender)
    return WE if person.place == 4 else person
