"""Sieves: rules from the surest to the least sure; each links the mentions that the ones before it left alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from docgraph.annotate.coref.kinds import Definiteness, MentionKind, PronounKind
from docgraph.annotate.coref.pairs import Pairs
from docgraph.annotation import BoolArray

Sieve = Callable[[Pairs], BoolArray]
PRONOUN_SENTENCES = 3
"""How many sentences back the antecedent of a third-person pronoun may stand."""
SENTENCE_COST = 40.0
"""Of a pronoun's candidates, those of the nearest sentence come first, whatever stands between."""
SUBJECT_BONUS = 30.0
"""Of those of one sentence, the subjects."""


def choose(pairs: Pairs) -> npt.NDArray[np.int64]:
    """[G]: the pair that links each mention to its antecedent, -1 for a mention that is new."""
    chosen = np.full(len(pairs.starts), -1, dtype=np.int64)
    cost = _cost(pairs)
    for sieve in SIEVES:
        passed = np.flatnonzero(sieve(pairs) & (chosen[pairs.group] < 0))
        order = passed[np.lexsort((cost[passed], pairs.group[passed]))]
        first = order[np.diff(pairs.group[order], prepend=-1) > 0]
        chosen[pairs.group[first]] = first
    return chosen


def _cost(p: Pairs) -> npt.NDArray[np.float64]:
    """[P]: near is better; among the pronoun's candidates of one sentence, the subject is."""
    pronoun = (p.kind_i == MentionKind.PRONOUN) & (p.person_i == 3)
    place = p.rank(np.ones(len(p), dtype=np.bool_)).astype(np.float64)
    return place + np.where(pronoun, SENTENCE_COST * p.sentences - SUBJECT_BONUS * p.subject_j, 0.0)


def speakers(p: Pairs) -> BoolArray:
    """First and second person: the same person of the same speaker, the partner of a dialogue, who is quoted."""
    m = p.mentions
    unknown = (m.speaker[p.i] < 0) & (m.speaker[p.j] < 0)
    same_voice = np.where(
        m.quote[p.i] >= 0, p.same(m.quoted_by) & (m.quoted_by[p.i] >= 0) | p.same(m.quote), m.quote[p.j] < 0
    )
    alike = p.same_person & (p.same_speaker | unknown) & same_voice
    quoted = (m.quoted_by[p.i] == m.word[p.j]) & (m.number[p.i] == 1) & (p.person_i == 1)
    participant = (p.kind_i == MentionKind.PRONOUN) & (p.person_i < 3)
    found: BoolArray = participant & (alike | p.dialogue | quoted | p.speaker_name)
    return found


def exact_match(p: Pairs) -> BoolArray:
    """The same words: names, and nouns that are definite or modified alike."""
    m = p.mentions
    specific = np.isin(m.definiteness, (Definiteness.INDEFINITE, Definiteness.QUANTIFIED), invert=True)
    modified = (m.modifier_bits > 0) | (m.definiteness != Definiteness.BARE)
    noun = p.nouns & specific[p.i] & modified[p.i] & p.number
    found: BoolArray = p.same(m.phrase) & (p.names | noun) & ~p.contains & ~p.contained
    return found


def proper_names(p: Pairs) -> BoolArray:
    """Names with a part in common and no part in conflict, or a name and its acronym."""
    part = p.same_lemma | p.head_in_j | p.head_in_i
    conflict = (p.new_modifiers > 0) & (p.lost_modifiers > 0)
    found: BoolArray = p.names & (part & ~conflict & p.agree | p.same_acronym) & ~p.contains & ~p.contained
    return found


def head_match(p: Pairs) -> BoolArray:
    """A definite noun whose modifiers the candidate has too."""
    given = (Definiteness.DEFINITE, Definiteness.DEMONSTRATIVE, Definiteness.POSSESSED)
    definite = np.isin(p.mentions.definiteness, given)
    found: BoolArray = (
        p.nouns & p.same_lemma & definite[p.i] & (p.new_modifiers == 0) & p.number & ~p.contains & ~p.contained
    )
    return found


def reflexives(p: Pairs) -> BoolArray:
    """A reflexive is bound by the subject of its clause."""
    reflexive = p.mentions.pronoun_kind[p.i] == PronounKind.REFLEXIVE
    same_person = (p.kind_j != MentionKind.PRONOUN) | (p.person_i == p.person_j)
    found: BoolArray = reflexive & p.same_clause & p.subject_j & p.agree & (p.person_i == 3) & same_person
    return found


def third_person(p: Pairs) -> BoolArray:
    """Third-person pronouns: the nearest that agrees and that binding allows, subjects first."""
    m = p.mentions
    kinds = (PronounKind.PERSONAL, PronounKind.POSSESSIVE, PronounKind.REFLEXIVE)
    anaphor = np.isin(m.pronoun_kind, kinds) & (m.person == 3) & ~m.pleonastic
    free = (m.pronoun_kind[p.i] != PronounKind.PERSONAL) | ~(p.arguments & p.same_clause)
    third = (p.kind_j != MentionKind.PRONOUN) | (p.person_j == 3) & np.isin(m.pronoun_kind, kinds)[p.j]
    near = (p.sentences <= PRONOUN_SENTENCES) & (p.kind_j != MentionKind.EVENT)
    found: BoolArray = anaphor[p.i] & free & third & near & p.agree & ~m.pleonastic[p.j] & ~p.contains & ~p.contained
    return found


SIEVES: tuple[Sieve, ...] = (speakers, exact_match, proper_names, head_match, reflexives, third_person)
