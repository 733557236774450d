"""Verbs of both languages: their table, their tenses, and which aspect Russian takes in them."""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

from . import english
from .persons import Person
from .russian import Paradigm, read_paradigm
from .tables import FOLDER, SCENES, Sentence, check, rows

_MAY = ("могу", "можешь", "может", "можем", "можете", "могут")
_KNOW_HOW = ("умею", "умеешь", "умеет", "умеем", "умеете", "умеют")
_SHALL = ("буду", "будешь", "будет", "будем", "будете", "будут")


class Verb(NamedTuple):
    """A verb: English forms, what may follow it in both languages, Russian aspects, and uses (see tables)."""

    scene: str
    base: str
    past: str
    participle: str
    complements: tuple[Sentence, ...]
    imperfective: Paradigm | None
    perfective: Paradigm | None
    uses: frozenset[str]
    imperative: str

    @property
    def infinitive(self) -> str:
        """The perfective infinitive, or the imperfective one if there is no other."""
        return self.aspect("p" if self.perfective else "i").infinitive

    def aspect(self, aspect: str) -> Paradigm:
        """Returns the forms of the aspect i or p, which must be there."""
        paradigm = self.imperfective if aspect == "i" else self.perfective
        assert paradigm is not None
        return paradigm


@cache
def read_verbs(path: Path = FOLDER / "verb_phrases.tsv") -> tuple[Verb, ...]:
    """Returns the verbs of a table; raises SystemExit if a row is wrong."""
    verbs = []
    for where, (scene, forms, source, target, imperfective, perfective, uses, imperative) in rows(path, 8):
        check(scene in SCENES, where, f"unknown scene {scene!r}")
        check(bool(uses) and set(uses) <= set("PpfFncsmdu"), where, f"unknown uses {uses!r}")
        try:
            imperfect, perfect = (read_paradigm(text) if text else None for text in (imperfective, perfective))
        except ValueError as error:
            raise SystemExit(f"{where}: {error}") from None
        check(bool(perfect) or not set(uses) & set("Pf"), where, "the uses P and f need a perfective verb")
        check(bool(imperfect) or not set(uses) & set("pFncu"), where, "the uses p, F, n, c, u need an imperfective one")
        sources, targets = source.split(" / "), target.split(" / ")
        check(len(sources) == len(targets), where, "expected as many Russian complements as English ones")
        complements = tuple(zip(sources, targets, strict=True))
        verbs.append(
            Verb(scene, *_english_forms(forms, where), complements, imperfect, perfect, frozenset(uses), imperative)
        )
    return tuple(verbs)


def _english_forms(forms: str, where: str) -> tuple[str, str, str]:
    """Returns base, past and participle, given all of them or the base of a regular verb."""
    words = forms.split()
    if len(words) <= 2:
        return forms, english.past(forms), english.past(forms)
    check(len(words) % 3 == 0, where, f"base, past and participle expected: {forms}")
    third = len(words) // 3
    base, past, participle = (" ".join(words[start : start + third]) for start in range(0, len(words), third))
    return base, past, participle


def draw_aspect(verb: Verb, tense: str, generator: random.Random) -> str:
    """Returns an aspect (i or p) that a verb has in a tense, or nothing if it is not used in it."""
    uses = verb.uses
    if tense == "past":
        aspects = "i" * ("p" in uses) + "p" * ("P" in uses)
        return generator.choice(aspects) if aspects else ""
    if tense in ("future", "going"):
        return "p" if "f" in uses else "i" if "F" in uses else ""
    if tense == "who":
        return "p" if "P" in uses else "i" if "p" in uses else ""
    if tense == "can":
        return "i" if "u" in uses else "p" if "m" in uses and verb.perfective else ""
    if tense == "imperative":
        return "p" if verb.imperative and {"P", "f"} <= uses else ""
    if tense == "should":
        return "p" if verb.imperative and {"P", "f", "m"} <= uses else ""
    use, aspect = {
        "perfect": ("P", "p"),
        "never": ("p", "i"),
        "present": ("n", "i"),
        "progressive": ("c", "i"),
        "conditional": ("f", "p"),
    }[tense]
    return aspect if use in uses else ""


def conjugated(verb: Verb, tense: str, person: Person, aspect: str) -> str:
    """Returns the Russian verb of a tense for a person, in the aspect i or p."""
    forms = verb.aspect(aspect)
    if tense in ("past", "perfect"):
        return forms.past_of(person.gender)
    if tense == "conditional":
        return f"{forms.past_of(person.gender)} бы"
    if tense in ("future", "going") and aspect == "i":
        return f"{_SHALL[person.place]} {forms.infinitive}"
    if tense == "can":
        return f"{(_KNOW_HOW if 'u' in verb.uses else _MAY)[person.place]} {forms.infinitive}"
    return forms.persons[person.place]
