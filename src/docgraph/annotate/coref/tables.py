"""The word lists of one language: pronouns with their features, determiners, names and nouns of known sort."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from docgraph.annotate.coref.kinds import Definiteness, PronounKind
from docgraph.errors import DocgraphError

FOLDER = resources.files("docgraph") / "data" / "coref"
NUMBER = {"s": 1, "p": 2}
GENDER = {"m": 1, "f": 2, "n": 4}
ANIMACY = {"a": 1, "i": 2}
ANY_NUMBER, ANY_GENDER, ANY_ANIMACY = 3, 7, 3


@dataclass(frozen=True, slots=True)
class Pronoun:
    """One pronoun form. Number, gender and animacy are bit masks: two words agree where their masks share a bit."""

    form: str
    kind: PronounKind
    person: int
    number: int
    gender: int
    animacy: int
    pleonastic: bool


@dataclass(frozen=True, slots=True)
class Table:
    """What the sieves know of a language; a list that the language's file leaves out is empty."""

    language: str
    pronouns: tuple[Pronoun, ...]
    determiners: Mapping[str, Definiteness]
    speech_verbs: frozenset[str]
    pleonastic: frozenset[str]
    nouns: Mapping[str, frozenset[str]]
    titles: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]
    attach_titles: bool
    """Whether trees should have titles below the names they go with."""

    def numbers(self, *, before_noun: bool) -> dict[str, int]:
        """Form -> number of the pronoun, counted from 1, among those that stand before a noun or those that do not."""
        found: dict[str, int] = {}
        for number, pronoun in enumerate(self.pronouns, start=1):
            if before_noun == (pronoun.kind in (PronounKind.POSSESSIVE, PronounKind.REFLEXIVE)):
                found.setdefault(pronoun.form, number)
        return found

    @property
    def has_articles(self) -> bool:
        return Definiteness.DEFINITE in self.determiners.values()


def languages() -> list[str]:
    """The languages whose tables ship with the package."""
    return sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir() if file.name.endswith(".toml"))


@cache
def load_table(language: str) -> Table:
    """The table of a language code such as `en` or `zh-Hans` (the part before the hyphen counts)."""
    code = language.replace("_", "-").split("-")[0].lower()
    file = FOLDER / f"{code}.toml"
    if not file.is_file():
        known = ", ".join(languages())
        raise DocgraphError(f"no coreference table for the language '{language}'; there are tables for {known}")
    return parse_table(code, tomllib.loads(file.read_text(encoding="utf-8")))


def parse_table(language: str, data: Mapping[str, Any]) -> Table:
    """A table from the content of its TOML file."""
    pronouns = tuple(_pronoun(row, form) for row in data["pronouns"] for form in row["forms"])
    determiners = {
        word: Definiteness[name]
        for key, name in (
            ("definite", "DEFINITE"),
            ("indefinite", "INDEFINITE"),
            ("demonstrative", "DEMONSTRATIVE"),
            ("quantifier", "QUANTIFIED"),
            ("possessive", "POSSESSED"),
        )
        for word in data.get("determiners", {}).get(key, ())
    }
    pleonastic, titles = data.get("pleonastic", {}), data.get("titles", {})
    return Table(
        language,
        pronouns,
        determiners,
        frozenset(data.get("speech", {}).get("verbs", ())),
        frozenset(pleonastic.get("verbs", ())) | frozenset(pleonastic.get("predicates", ())),
        _lists(data.get("nouns", {})),
        _lists(titles),
        _lists(data.get("names", {})),
        titles.get("attach", False),
    )


def _pronoun(row: Mapping[str, Any], form: str) -> Pronoun:
    return Pronoun(
        form,
        PronounKind[row["kind"].upper()],
        row["person"],
        _mask(row["number"], NUMBER),
        _mask(row["gender"], GENDER),
        _mask(row["animacy"], ANIMACY),
        row.get("pleonastic", False),
    )


def _mask(letters: Iterable[str], bits: Mapping[str, int]) -> int:
    return sum(bits[letter] for letter in letters)


def _lists(data: Mapping[str, Any]) -> dict[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in data.items() if isinstance(words, list)}
