"""The word lists of a language (pronouns, determiners, names, nouns by sort), and the word attributes from them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import numpy.typing as npt

from docgraph.annotation import Annotation, Strings
from docgraph.errors import DocgraphError
from docgraph.languages import base_language

FOLDER = resources.files("docgraph") / "data" / "coref"
NUMBER = {"s": 1, "p": 2}
GENDER = {"m": 1, "f": 2, "n": 4}
ANIMACY = {"a": 1, "i": 2}
ANY_NUMBER, ANY_GENDER, ANY_ANIMACY = 3, 7, 3
PERSON, GROUP, TIME, PLACE = 1, 2, 4, 8
SORTS = {"masculine": PERSON, "feminine": PERSON, "person": PERSON, "group": GROUP, "time": TIME, "place": PLACE}
GENDERS = {"masculine": GENDER["m"], "feminine": GENDER["f"]}
ByteArray = npt.NDArray[np.uint8]


class MentionKind(IntEnum):
    """Category of a mention's head word."""

    PRONOUN = 0
    NAME = 1
    NOUN = 2
    EVENT = 3


class Role(IntEnum):
    """Grammatical role of a mention."""

    OTHER = 0
    SUBJECT = 1
    OBJECT = 2
    OBLIQUE = 3
    MODIFIER = 4
    POSSESSOR = 5
    CONJUNCT = 6
    APPOSITION = 7
    ROOT = 8
    COMPOUND = 9


class PronounKind(IntEnum):
    """Type of a pronoun; NONE for other words. Relative and interrogative pronouns are not mentions."""

    NONE = 0
    PERSONAL = 1
    POSSESSIVE = 2
    REFLEXIVE = 3
    DEMONSTRATIVE = 4
    INDEFINITE = 5
    RELATIVE = 6


class Definiteness(IntEnum):
    """Type of determiner of a noun phrase."""

    BARE = 0
    DEFINITE = 1
    INDEFINITE = 2
    DEMONSTRATIVE = 3
    QUANTIFIED = 4
    POSSESSED = 5


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A pronoun form. Number, gender and animacy are bit masks; two words agree if their masks share a bit."""

    form: str
    kind: PronounKind
    person: int
    number: int
    gender: int
    animacy: int
    pleonastic: bool


@dataclass(frozen=True, slots=True)
class WordLists:
    """The word lists of a language. Lists that its file omits are empty."""

    language: str
    pronouns: tuple[Pronoun, ...]
    determiners: Mapping[str, Definiteness]
    speech_verbs: frozenset[str]
    pleonastic: frozenset[str]
    nouns: Mapping[str, frozenset[str]]
    titles: Mapping[str, frozenset[str]]
    names: Mapping[str, frozenset[str]]
    attach_titles: bool
    """Whether to make titles dependents of the names that follow them."""

    def pronoun_numbers(self, *, before_noun: bool) -> dict[str, int]:
        """Returns form -> position in `pronouns`, from 1, for pronouns used before a noun or for the others."""
        numbers: dict[str, int] = {}
        for number, pronoun in enumerate(self.pronouns, start=1):
            if before_noun == (pronoun.kind in (PronounKind.POSSESSIVE, PronounKind.REFLEXIVE)):
                numbers.setdefault(pronoun.form, number)
        return numbers


def languages() -> list[str]:
    """Returns the codes of the languages that have word lists."""
    return sorted(file.name.removesuffix(".toml") for file in FOLDER.iterdir() if file.name.endswith(".toml"))


@cache
def load_word_lists(language: str) -> WordLists:
    """Loads the word lists of a language code such as `en` or `zh-Hans`, where only the part before `-` counts."""
    code = base_language(language)
    file = FOLDER / f"{code}.toml"
    if not file.is_file():
        known = ", ".join(languages())
        raise DocgraphError(f"no coreference word lists for language '{language}'; choose one of: {known}")
    data = tomllib.loads(file.read_text(encoding="utf-8"))
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
    return WordLists(
        language=code,
        pronouns=tuple(_pronoun(row, form) for row in data["pronouns"] for form in row["forms"]),
        determiners=determiners,
        speech_verbs=frozenset(data.get("speech", {}).get("verbs", ())),
        pleonastic=frozenset(pleonastic.get("verbs", ())) | frozenset(pleonastic.get("predicates", ())),
        nouns=_lists(data.get("nouns", {})),
        titles=_lists(titles),
        names=_lists(data.get("names", {})),
        attach_titles=titles.get("attach", False),
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


class WordAttributes:
    """Columns [W] of bit masks, from the word lists and from universal features; 0 if unknown."""

    def __init__(self, annotation: Annotation, lists: WordLists) -> None:
        lemmas = annotation.lemmas or annotation.forms
        self.sort = _list_masks(lemmas, lists.nouns, SORTS)
        self.noun_gender = _list_masks(lemmas, lists.nouns, GENDERS)
        self.title = _list_masks(annotation.forms, lists.titles, SORTS)
        self.title_gender = _list_masks(annotation.forms, lists.titles, GENDERS)
        self.name_gender = _list_masks(annotation.forms, lists.names, GENDERS)
        self.organisation = _list_masks(annotation.forms, lists.names, {"organisation": GROUP})
        feats = annotation.feats or Strings(np.zeros(annotation.num_words, dtype=np.int32), ("",))
        self.feats_number = _feature_masks(feats, "Number", {"Sing": NUMBER["s"], "Plur": NUMBER["p"]})
        genders = {"Masc": GENDER["m"], "Fem": GENDER["f"], "Neut": GENDER["n"]}
        self.feats_gender = _feature_masks(feats, "Gender", genders)
        self.feats_animacy = _feature_masks(feats, "Animacy", {"Anim": ANIMACY["a"], "Inan": ANIMACY["i"]})


def _list_masks(column: Strings, lists: Mapping[str, frozenset[str]], values: Mapping[str, int]) -> ByteArray:
    """Returns [W]: the union of the values of the lists that contain each word."""
    masks = [
        sum({values[key] for key in values if text in lists.get(key, ())}) for text in map(str.lower, column.table)
    ]
    return _spread(masks, column)


def _feature_masks(feats: Strings, name: str, values: Mapping[str, int]) -> ByteArray:
    """Returns [W]: a universal feature of each word as a mask."""
    masks = [0] * len(feats.table)
    for index, text in enumerate(feats.table):
        for pair in text.split("|"):
            key, _, value = pair.partition("=")
            if key == name:
                masks[index] = sum(values.get(part, 0) for part in value.split(","))
    return _spread(masks, feats)


def _spread(masks: list[int], column: Strings) -> ByteArray:
    """Returns [W] from one mask per distinct string of a column."""
    return np.array(masks or [0], dtype=np.uint8)[column.ids]
