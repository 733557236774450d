"""Nouns, adjectives and the sentences that ask for them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

from .persons import Person, third_person
from .russian import CASES, determiner, with_preposition
from .tables import FOLDER, SCENES, Dialogue, check, rows

_LOCATIVES = {"саду": "саде", "аэропорту": "аэропорте", "лесу": "лесе"}
_ANY_LEAD = 0.35
"""Chance of a first sentence that fits every scene."""


class Noun(NamedTuple):
    """A noun with the kinds of thing it is, the class of its English article, gender (m, f, n, p) and cases."""

    kinds: tuple[str, ...]
    english: str
    article: str
    gender: str
    cases: dict[str, str]

    @property
    def is_name(self) -> bool:
        """True of the names of persons."""
        return "name" in self.kinds


class Adjective(NamedTuple):
    """An adjective with the kinds of noun it fits, and the question it answers (which, is)."""

    kinds: tuple[str, ...]
    english: str
    russian: str
    question: str


class Count(NamedTuple):
    """A plural noun to be counted, with its genitive plural."""

    kinds: tuple[str, ...]
    english: str
    gender: str
    is_animate: bool
    russian: str


class Frame(NamedTuple):
    """A sentence that asks for a noun of some kinds in a case, or has it at {n}."""

    kind: str
    scene: str
    kinds: tuple[str, ...]
    case: str
    preposition: str
    article: str
    english: str
    russian: str


class Lead(NamedTuple):
    """A first sentence, said to one or to more than one."""

    english: str
    to_one: str
    to_more: str


@cache
def read_nouns(path: Path = FOLDER / "nouns.tsv") -> tuple[Noun, ...]:
    """Returns the nouns of a table; raises SystemExit if a row is wrong."""
    nouns = []
    for where, (kinds, english, article, gender, forms) in rows(path, 5):
        words = [word.replace("_", " ") for word in forms.split()]
        is_place = bool({"place", "city", "event"} & set(kinds.split(",")))
        check(article in "ckmptx" and gender in "mfnp", where, "unknown article class or gender")
        check(len(words) == len(CASES) + is_place, where, "expected six cases, or seven with the forms of a place")
        cases = dict(zip(CASES, words, strict=False))
        if is_place:
            preposition, _, place = words[5].partition(" ")
            check(preposition in ("в", "на"), where, f"expected a place after в or на, not {words[5]!r}")
            cases |= {"where": words[5], "to": words[6], "loc": _LOCATIVES.get(place, place)}
            cases["from"] = with_preposition("с" if preposition == "на" else "из", cases["gen"])
        nouns.append(Noun(tuple(kinds.split(",")), english, article, gender, cases))
    return tuple(nouns)


@cache
def read_adjectives(path: Path = FOLDER / "adjectives.tsv") -> tuple[Adjective, ...]:
    """Returns the adjectives of a table; raises SystemExit if a row is wrong."""
    adjectives = []
    for where, (kinds, english, russian, question) in rows(path, 4):
        check(question in ("which", "is"), where, f"the question is which or is, not {question!r}")
        check(russian[-2:] in ("ый", "ий", "ой"), where, f"{russian} is no masculine nominative")
        adjectives.append(Adjective(tuple(kinds.split(",")), english, russian, question))
    return tuple(adjectives)


@cache
def read_counts(path: Path = FOLDER / "counts.tsv") -> tuple[Count, ...]:
    """Returns the counted nouns of a table; raises SystemExit if a row is wrong."""
    counts = []
    for where, (kinds, english, gender, animate, russian) in rows(path, 5):
        check(gender in "mfn" and animate in "ai", where, "unknown gender, or neither animate (a) nor inanimate (i)")
        counts.append(Count(tuple(kinds.split(",")), english, gender, animate == "a", russian))
    return tuple(counts)


@cache
def read_frames(path: Path = FOLDER / "noun_frames.tsv") -> tuple[Frame, ...]:
    """Returns the sentences of a table; raises SystemExit if a row is wrong."""
    frames = []
    known = {kind for noun in read_nouns() for kind in noun.kinds} | {kind for c in read_counts() for kind in c.kinds}
    for where, (kind, scene, kinds, case, preposition, article, english, russian) in rows(path, 8):
        check(kind in ("question", "statement", "lack", "which", "number"), where, f"unknown kind {kind!r}")
        check(scene in SCENES, where, f"unknown scene {scene!r}")
        check(case in (*CASES, "where", "to", "from"), where, f"unknown case {case!r}")
        check(set(kinds.split(",")) <= known, where, f"no noun is of one of the kinds {kinds}")
        check(("{n}" in english) == ("{n}" in russian) == (kind != "question"), where, "{n} is missing, or not wanted")
        frames.append(Frame(kind, scene, tuple(kinds.split(",")), case, preposition, article, english, russian))
    return tuple(frames)


@cache
def read_leads(path: Path = FOLDER / "leads.tsv") -> dict[str, list[Lead]]:
    """Returns the first sentences of a table by scene; raises SystemExit if a row is wrong."""
    leads: dict[str, list[Lead]] = {scene: [] for scene in (*SCENES, "any")}
    for where, (scene, english, russian) in rows(path, 3):
        check(scene in leads, where, f"unknown scene {scene!r}")
        to_one, _, to_more = russian.partition("=")
        leads[scene].append(Lead(english, to_one, to_more or to_one))
    return leads


def of_kinds(kinds: tuple[str, ...]) -> list[Noun]:
    """Returns the nouns of at least one of some kinds."""
    return [noun for noun in read_nouns() if not set(kinds).isdisjoint(noun.kinds)]


def draw_leads(generator: random.Random, scene: str, is_several: bool) -> Dialogue:
    """Returns two first sentences of a scene, said to one or to several."""
    leads = read_leads()
    first, second = generator.sample(leads[scene], 2)
    if generator.random() < _ANY_LEAD:
        first = generator.choice(leads["any"])
    return [(lead.english, lead.to_more if is_several else lead.to_one) for lead in (first, second)]


def draw_acquaintance(generator: random.Random) -> tuple[Person, str, str]:
    """Returns *my brother*, *Anna* or the like: the person, and the words in both languages."""
    noun = generator.choice([noun for noun in of_kinds(("person",)) if noun.article in "kx"])
    person, russian = third_person(noun.gender), noun.cases["nom"]
    if noun.is_name:
        return person, noun.english, russian
    return person, f"my {noun.english}", f"{determiner('мой', noun.gender, 'nom')} {russian}"
