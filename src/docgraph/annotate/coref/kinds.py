"""The kinds of things coreference tells apart."""

from __future__ import annotations

from enum import IntEnum


class MentionKind(IntEnum):
    """What the head word of a mention is."""

    PRONOUN = 0
    NAME = 1
    NOUN = 2
    EVENT = 3


class Role(IntEnum):
    """The place of a mention in its clause."""

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
    """What a pronoun does; NONE is every other word. Relative and interrogative pronouns are no mentions."""

    NONE = 0
    PERSONAL = 1
    POSSESSIVE = 2
    REFLEXIVE = 3
    DEMONSTRATIVE = 4
    INDEFINITE = 5
    RELATIVE = 6


class Definiteness(IntEnum):
    """How a noun phrase is introduced."""

    BARE = 0
    DEFINITE = 1
    INDEFINITE = 2
    DEMONSTRATIVE = 3
    QUANTIFIED = 4
    POSSESSED = 5
